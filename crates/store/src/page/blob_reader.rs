//! Reading a byte stream back from the units of a page file.

use std::path::Path;

use super::{AlignedBuffers, FileEntry, PageFile};
use crate::{OpenMode, StoreError, Vfs};

/// Bytes read ahead by sequential reads.
const BATCH_BYTES: usize = 1 << 20;

/// Reads a file of [`super::BlobWriter`], in sequence or by range; every unit is verified before
/// its bytes are handed out.
///
/// Holds at most 1 MiB. A sequential read costs one system call per MiB, a range one per MiB or
/// part of it, and reads no unit that the range does not touch.
#[derive(Debug)]
pub struct BlobReader {
    file: PageFile,
    batch: AlignedBuffers,
    /// Units `first..first + loaded` are in `batch`, verified.
    first: u64,
    loaded: usize,
    position: u64,
}

impl BlobReader {
    /// Opens the file, as [`PageFile::open`], and checks that its units are a stream's.
    pub fn open(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry) -> Result<Self, StoreError> {
        let file = PageFile::open(vfs, dir, entry, OpenMode::ReadOwn)?;
        let capacity = file.geometry().payload_bytes() as u64;
        let units = file.payload_bytes().div_ceil(capacity);
        if units != file.units() {
            return Err(StoreError::Corrupt {
                path: file.path().to_path_buf(),
                page: None,
                offset: 0,
                what: "units of a byte stream",
                expected: units,
                found: file.units(),
            });
        }
        let unit_bytes = file.geometry().unit_bytes();
        let most = u64::try_from(BATCH_BYTES / unit_bytes).unwrap_or(1);
        let count = usize::try_from(units.clamp(1, most)).unwrap_or(1);
        let batch = AlignedBuffers::new(count, unit_bytes)
            .map_err(|error| StoreError::io(file.path(), "allocate", error))?;
        Ok(Self {
            file,
            batch,
            first: 0,
            loaded: 0,
            position: 0,
        })
    }

    /// Bytes of the stream.
    pub fn total_bytes(&self) -> u64 {
        self.file.payload_bytes()
    }

    /// Bytes between the reading position and the end.
    pub fn remaining_bytes(&self) -> u64 {
        self.total_bytes() - self.position
    }

    /// Reads the next `out.len()` bytes, reading ahead. `Invalid` when fewer remain.
    pub fn read_exact(&mut self, out: &mut [u8]) -> Result<(), StoreError> {
        self.copy(out, true)
    }

    /// Reads `out.len()` bytes from `offset`, and goes on from there.
    pub fn read_range(&mut self, offset: u64, out: &mut [u8]) -> Result<(), StoreError> {
        self.position = offset.min(self.total_bytes());
        if offset > self.total_bytes() {
            return Err(self.past_the_end(out.len()));
        }
        self.copy(out, false)
    }

    /// Reads all that remains. `Invalid` when that is more than `limit_bytes`.
    pub fn read_rest(&mut self, limit_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let bytes = self.remaining_bytes();
        let length = usize::try_from(bytes).ok().filter(|_| bytes <= limit_bytes);
        let Some(length) = length else {
            return Err(StoreError::invalid(format!(
                "{} holds {bytes} bytes more, over the limit of {limit_bytes}",
                self.file.path().display()
            )));
        };
        let mut out = Vec::new();
        out.try_reserve_exact(length).map_err(|_| {
            let error = std::io::ErrorKind::OutOfMemory.into();
            StoreError::io(self.file.path(), "allocate", error)
        })?;
        out.resize(length, 0);
        self.read_exact(&mut out)?;
        Ok(out)
    }

    fn copy(&mut self, mut out: &mut [u8], read_ahead: bool) -> Result<(), StoreError> {
        if out.len() as u64 > self.remaining_bytes() {
            return Err(self.past_the_end(out.len()));
        }
        let capacity = self.file.geometry().payload_bytes();
        while !out.is_empty() {
            let unit = self.position / capacity as u64;
            let within = (self.position % capacity as u64) as usize;
            let wanted = if read_ahead {
                usize::MAX
            } else {
                (within + out.len()).div_ceil(capacity)
            };
            let payload = self.payload(unit, wanted)?;
            let available = payload.get(within..).unwrap_or_default();
            let count = available.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(available.get(..count).unwrap_or_default());
            out = later;
            self.position += count as u64;
        }
        Ok(())
    }

    /// The payload of `unit`; when it has to be read, up to `wanted` units are read with it.
    fn payload(&mut self, unit: u64, wanted: usize) -> Result<&[u8], StoreError> {
        let held = unit
            .checked_sub(self.first)
            .filter(|&at| at < self.loaded as u64);
        if held.is_none() {
            self.load(unit, wanted)?;
        }
        let at = held.map_or(0, |at| at as usize);
        let header = super::PAGE_HEADER_BYTES;
        Ok(self.batch.get(at).get(header..).unwrap_or_default())
    }

    fn load(&mut self, first: u64, wanted: usize) -> Result<(), StoreError> {
        let left = usize::try_from(self.file.units() - first).unwrap_or(usize::MAX);
        let count = self.batch.count().min(wanted).min(left);
        self.loaded = 0;
        self.file
            .read_units(first, self.batch.get_many_mut(0, count))?;
        for at in 0..count {
            self.file
                .verify_unit(first + at as u64, self.batch.get(at))?;
        }
        (self.first, self.loaded) = (first, count);
        Ok(())
    }

    fn past_the_end(&self, bytes: usize) -> StoreError {
        StoreError::invalid(format!(
            "{bytes} bytes at {} of {}, which holds {}",
            self.position,
            self.file.path().display(),
            self.total_bytes()
        ))
    }
}
