//! A byte stream over the units of a page file.

use std::path::Path;

use super::{FileEntry, FileUuid, PageFileWriter, PageGeometry};
use crate::{StoreError, Vfs};

/// Writes bytes of any length; every unit but the last is full.
///
/// Holds 1 MiB and one unit.
#[derive(Debug)]
pub struct BlobWriter {
    writer: PageFileWriter,
    unit: Vec<u8>,
}

impl BlobWriter {
    /// Creates the file, as [`PageFileWriter::create`].
    pub fn create(
        vfs: &dyn Vfs,
        path: &Path,
        kind: u16,
        geometry: PageGeometry,
        uuid: FileUuid,
    ) -> Result<Self, StoreError> {
        let writer = PageFileWriter::create(vfs, path, kind, geometry, uuid)?;
        Ok(Self {
            writer,
            unit: Vec::with_capacity(geometry.payload_bytes()),
        })
    }

    /// Appends bytes to the stream.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        let capacity = self.writer.geometry().payload_bytes();
        while !bytes.is_empty() {
            let room = capacity - self.unit.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.unit.extend_from_slice(now);
            bytes = later;
            if self.unit.len() == capacity {
                self.writer.append_unit(&self.unit)?;
                self.unit.clear();
            }
        }
        Ok(())
    }

    /// Finishes the file, as [`PageFileWriter::finish`].
    pub fn finish(mut self) -> Result<FileEntry, StoreError> {
        if !self.unit.is_empty() {
            self.writer.append_unit(&self.unit)?;
        }
        self.writer.finish()
    }
}
