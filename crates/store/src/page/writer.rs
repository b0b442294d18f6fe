//! Writing page files, front to back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::check_name;
use super::header::FileHeader;
use super::{FileEntry, FileUuid, MAX_UNIT_BYTES, PAGE_HEADER_BYTES, PageGeometry, UnitSeal};
use crate::{OpenMode, StoreError, Vfs, VfsFile};

/// Bytes gathered before a write; a unit is never larger.
const BUFFER_BYTES: usize = MAX_UNIT_BYTES;

/// Appends units to a new page file. The header goes in last, so a file that was not finished is
/// never taken for one that was.
///
/// Holds 1 MiB. Dropping it unfinished leaves an orphan, which the next writer removes.
#[derive(Debug)]
pub struct PageFileWriter {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    name: String,
    kind: u16,
    uuid: FileUuid,
    seal: UnitSeal,
    buffer: Vec<u8>,
    buffer_offset: u64,
    units: u64,
    payload_bytes: u64,
}

impl PageFileWriter {
    /// Creates the file, which must not exist. `path` must end in a plain name with the extension
    /// [`super::DATA_EXTENSION`].
    pub fn create(
        vfs: &dyn Vfs,
        path: &Path,
        kind: u16,
        geometry: PageGeometry,
        uuid: FileUuid,
    ) -> Result<Self, StoreError> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        check_name(name)?;
        let file = vfs
            .open(path, OpenMode::CreateNew)
            .map_err(|error| StoreError::io(path, "create", error))?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            name: name.to_owned(),
            kind,
            uuid,
            seal: UnitSeal::new(geometry, uuid, 0),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            buffer_offset: geometry.unit_offset(0),
            units: 0,
            payload_bytes: 0,
        })
    }

    /// Page and unit sizes.
    pub fn geometry(&self) -> PageGeometry {
        self.seal.geometry()
    }

    /// Units appended so far.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Appends a unit and returns its number. A payload shorter than the unit is padded with
    /// zeros; a longer one is `Invalid`. After an error the file is to be given up.
    pub fn append_unit(&mut self, payload: &[u8]) -> Result<u64, StoreError> {
        let geometry = self.geometry();
        if payload.len() > geometry.payload_bytes() || self.units >= u64::from(u32::MAX) {
            return Err(StoreError::invalid(format!(
                "{} bytes into unit {}: it takes {}, and a file takes 2^32 - 1 units",
                payload.len(),
                self.units,
                geometry.payload_bytes()
            )));
        }
        if self.buffer.len() + geometry.unit_bytes() > BUFFER_BYTES {
            self.flush()?;
        }
        let start = self.buffer.len();
        self.buffer.resize(start + PAGE_HEADER_BYTES, 0);
        self.buffer.extend_from_slice(payload);
        self.buffer.resize(start + geometry.unit_bytes(), 0);
        let unit = self.units;
        self.seal
            .seal(unit, 0, self.buffer.get_mut(start..).unwrap_or_default());
        self.units += 1;
        self.payload_bytes += payload.len() as u64;
        Ok(unit)
    }

    /// Writes what is left, the length and the header, and makes the contents durable. The name is
    /// durable once the manifest is committed.
    pub fn finish(mut self) -> Result<FileEntry, StoreError> {
        self.flush()?;
        let header = FileHeader {
            kind: self.kind,
            uuid: self.uuid,
            geometry: self.geometry(),
            units: self.units,
            payload_bytes: self.payload_bytes,
        };
        let path = &self.path;
        let bytes = self.geometry().unit_offset(self.units);
        self.file
            .set_len(bytes)
            .map_err(|e| StoreError::io(path, "set length", e))?;
        let page = header.encode();
        self.file
            .write_all_at(&page, 0)
            .map_err(|e| StoreError::io(path, "write", e))?;
        self.file
            .sync_data()
            .map_err(|e| StoreError::io(path, "sync", e))?;
        Ok(FileEntry {
            name: self.name,
            kind: self.kind,
            uuid: self.uuid,
            page_bytes: header.geometry.page_bytes(),
            span: header.geometry.span(),
            units: self.units,
            payload_bytes: self.payload_bytes,
            growable: false,
            epoch: 0,
        })
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.file
            .write_all_at(&self.buffer, self.buffer_offset)
            .map_err(|error| StoreError::io(&self.path, "write", error))?;
        self.buffer_offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
