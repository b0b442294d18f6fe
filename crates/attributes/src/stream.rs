//! Parts of a stream of bytes in a page file, read where they lie. Holds a unit.

use std::path::Path;

use pageway_store::{AlignedBuffers, FileEntry, OpenMode, PageFile, StoreError, Vfs};

use crate::error::{AttributeError, Result};

/// A stream that was written by a `BlobWriter`.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    file: PageFile,
}

/// Where parts of it are read.
pub(crate) struct Cursor<'s> {
    stream: &'s Stream,
    buffers: AlignedBuffers,
    unit: Option<u64>,
}

impl Stream {
    pub(crate) fn open(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry) -> Result<Self> {
        let file = PageFile::open(vfs, dir, entry, OpenMode::ReadOwn)?;
        Ok(Self { file })
    }

    /// Bytes of the stream.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.payload_bytes()
    }

    pub(crate) fn cursor(&self) -> Result<Cursor<'_>> {
        let unit_bytes = self.file.geometry().unit_bytes();
        let buffers = AlignedBuffers::new(1, unit_bytes).map_err(|error| StoreError::Io {
            path: self.file.path().to_path_buf(),
            op: "allocate",
            source: error,
        })?;
        Ok(Cursor {
            stream: self,
            buffers,
            unit: None,
        })
    }

    /// The error of bytes that were never written so.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> AttributeError {
        AttributeError::Corrupt(format!("{}: {what}", self.file.path().display()))
    }
}

impl Cursor<'_> {
    /// Bytes of the stream: `length` from `offset` on.
    ///
    /// # Errors
    /// `Corrupt` where the stream ends before.
    pub(crate) fn read(&mut self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.stream.bytes()) {
            return Err(self.stream.corrupt("a part lies behind the end"));
        }
        let mut out = Vec::with_capacity(length);
        let capacity = self.stream.file.geometry().payload_bytes();
        while out.len() < length {
            let at = offset + out.len() as u64;
            let within = (at % capacity as u64) as usize;
            let payload = self.payload(at / capacity as u64)?;
            let rest = payload.get(within..).unwrap_or_default();
            let count = rest.len().min(length - out.len());
            out.extend_from_slice(rest.get(..count).unwrap_or_default());
        }
        Ok(out)
    }

    fn payload(&mut self, unit: u64) -> Result<&[u8]> {
        let header = pageway_store::PAGE_HEADER_BYTES;
        if self.unit == Some(unit) {
            return Ok(self.buffers.get(0).get(header..).unwrap_or_default());
        }
        self.unit = None;
        let payload = self.stream.file.read_unit(unit, &mut self.buffers)?;
        self.unit = Some(unit);
        Ok(payload)
    }
}
