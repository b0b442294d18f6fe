//! Numbers of a file, one after the other, little-endian.

use std::sync::Arc;

use pageway::lab::VfsFile;
use pageway::{Error, Result};

/// A cursor over the fields of a file.
pub(super) struct Fields {
    file: Arc<dyn VfsFile>,
    name: String,
    length: u64,
    at: u64,
}

/// Array of one size, one after the other, in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) offset: u64,
    pub(super) count: u64,
}

impl Fields {
    /// At the front of `file`.
    pub(super) fn new(file: Arc<dyn VfsFile>, name: &str) -> Result<Self> {
        let length = file.len().map_err(|e| Error::from(e).within(name))?;
        Ok(Self {
            file,
            name: name.to_owned(),
            length,
            at: 0,
        })
    }

    pub(super) fn file(&self) -> &Arc<dyn VfsFile> {
        &self.file
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Where the next field begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// A complaint that names the file.
    pub(super) fn refuse(&self, words: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}: {words}", self.name))
    }

    /// Leaves out `bytes`.
    pub(super) fn skip(&mut self, bytes: u64, what: &str) -> Result<()> {
        let end = self.at.checked_add(bytes);
        let end = end.filter(|end| *end <= self.length);
        self.at = end.ok_or_else(|| {
            self.refuse(format!(
                "is cut short or damaged: {what} of {bytes} bytes begins at byte {} of {}",
                self.at, self.length
            ))
        })?;
        Ok(())
    }

    /// Refuses bytes behind the last field.
    pub(super) fn finish(&self) -> Result<()> {
        if self.at == self.length {
            return Ok(());
        }
        Err(self.refuse(format!(
            "has {} bytes behind its index, which ends at byte {}: is it damaged, or two files in \
             one?",
            self.length - self.at,
            self.at
        )))
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let from = self.at;
        self.skip(N as u64, what)?;
        let mut bytes = [0; N];
        let read = self.file.read_exact_at(&mut bytes, from);
        read.map_err(|error| Error::from(error).within(&self.name))?;
        Ok(bytes)
    }

    /// The next byte.
    pub(super) fn u8(&mut self, what: &str) -> Result<u8> {
        self.take(what).map(u8::from_le_bytes)
    }

    /// The next 4 bytes as letters.
    pub(super) fn letters(&mut self, what: &str) -> Result<[u8; 4]> {
        self.take(what)
    }

    /// The next number of 4 bytes.
    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        self.take(what).map(u32::from_le_bytes)
    }

    /// The next number of 8 bytes.
    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        self.take(what).map(u64::from_le_bytes)
    }

    /// A count, and as many items of `item_bytes` behind it, which are left out.
    pub(super) fn array(&mut self, item_bytes: u64, what: &str) -> Result<Array> {
        let count = self.u64(what)?;
        let offset = self.at;
        let bytes = count.saturating_mul(item_bytes);
        self.skip(bytes, what)?;
        Ok(Array { offset, count })
    }

    /// Numbers of 8 bytes that lie in the file, all of them.
    pub(super) fn numbers(&self, array: Array) -> Result<Vec<u64>> {
        let mut bytes = vec![0; array.count as usize * size_of::<u64>()];
        let read = self.file.read_exact_at(&mut bytes, array.offset);
        read.map_err(|error| Error::from(error).within(&self.name))?;
        let (words, _) = bytes.as_chunks::<8>();
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }
}
