//! Opening and reading page files.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use super::buffer::ALIGNMENT;
use super::header::FileHeader;
use super::{AlignedBuffers, FileEntry, PageGeometry, SealError, UnitSeal};
use crate::frame::corrupt;
use crate::io::read_fully;
use crate::{OpenMode, StoreError, Vfs, VfsFile};

/// An open page file whose header and length agree with the manifest. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PageFile {
    file: Arc<dyn VfsFile>,
    path: Arc<Path>,
    seal: UnitSeal,
    units: u64,
    payload_bytes: u64,
    writable: bool,
}

impl PageFile {
    /// Opens the file that `entry` describes in `dir` to be read, reading its header page. What
    /// lies behind the units of a growable file is out of reach.
    ///
    /// `NotFound`, `Corrupt` (length, header, or header against manifest), `Incompatible`.
    pub fn open(
        vfs: &dyn Vfs,
        dir: &Path,
        entry: &FileEntry,
        mode: OpenMode,
    ) -> Result<Self, StoreError> {
        let bytes = entry.file_bytes()?;
        let path = dir.join(&entry.name);
        let file = vfs
            .open(&path, mode)
            .map_err(|error| missing(&path, error))?;
        let length = file
            .len()
            .map_err(|e| StoreError::io(&path, "ask the length", e))?;
        let differs = |what, expected, found| Err(corrupt(&path, 0, what, expected, found));
        if length < bytes || (length > bytes && !entry.growable) {
            return differs("file length", bytes, length);
        }
        let header = read_header(file.as_ref(), &path, entry.page_bytes as usize)?;
        if let Some((what, expected, found)) = difference(entry, &header) {
            return differs(what, expected, found);
        }
        Ok(Self {
            file,
            path: path.into(),
            seal: UnitSeal::new(header.geometry, header.uuid, entry.epoch),
            units: entry.units,
            payload_bytes: entry.payload_bytes,
            writable: false,
        })
    }

    /// Opens a growable file to be written, past the page cache where the file system can, and
    /// cuts off what an earlier writer left behind its units without committing it.
    ///
    /// The caller holds the lock of the directory, and `entry` comes from the current manifest:
    /// what is cut off belongs to nobody then. Errors as of [`open`](Self::open), and `Invalid`
    /// where the manifest says that the file never changes.
    pub fn open_to_write(vfs: &dyn Vfs, dir: &Path, entry: &FileEntry) -> Result<Self, StoreError> {
        if !entry.growable {
            return Err(StoreError::invalid(format!(
                "file {}: it never changes, so it is not to be written",
                entry.name
            )));
        }
        let mut file = Self::open(vfs, dir, entry, OpenMode::WriteDirect)?;
        file.file
            .set_len(entry.file_bytes()?)
            .map_err(|e| StoreError::io(&file.path, "set length", e))?;
        file.writable = true;
        Ok(file)
    }

    /// Makes room for `units` units, zeros where there were fewer, and sets their space aside.
    /// Readers and lanes that were taken before go on with the units they know.
    ///
    /// The length is durable after a sync, and the units belong to the index once a manifest
    /// counts them. `Invalid` when the file is open for reading, holds more units already, or
    /// would hold more than 2^32 - 1; `NoSpace`, and then the units are as many as before, while
    /// the file may have become longer.
    pub fn grow(&mut self, units: u64) -> Result<(), StoreError> {
        if !self.writable || units < self.units || units > u64::from(u32::MAX) {
            return Err(StoreError::invalid(format!(
                "{units} units in {}, which has {} and is open for {}",
                self.path.display(),
                self.units,
                if self.writable { "writing" } else { "reading" }
            )));
        }
        self.file
            .allocate(self.geometry().unit_offset(units))
            .map_err(|error| StoreError::io(&self.path, "set space aside", error))?;
        self.units = units;
        Ok(())
    }

    /// Page and unit sizes.
    pub fn geometry(&self) -> PageGeometry {
        self.seal.geometry()
    }

    /// Units behind the header page: those of the manifest, and those the file grew by since.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Payload bytes in all units of the manifest, padding not counted.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Where the file is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True when the file was opened to be written.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// True when reads bypass the page cache.
    pub fn direct(&self) -> bool {
        self.file.direct()
    }

    pub(crate) fn file(&self) -> &Arc<dyn VfsFile> {
        &self.file
    }

    pub(crate) fn seal(&self) -> UnitSeal {
        self.seal
    }

    /// Checks a unit that was read, and returns its payload (padding included).
    #[inline]
    pub fn verify_unit<'b>(&self, unit: u64, bytes: &'b [u8]) -> Result<&'b [u8], StoreError> {
        self.seal
            .check(unit, bytes)
            .map_err(|error| corrupt_unit(&self.path, self.seal, unit, error))
    }

    /// As [`verify_unit`](Self::verify_unit), of a unit whose epoch is known better than that it
    /// is no newer than the manifest's. See [`StoreError::is_lost_write`].
    pub fn verify_unit_epoch<'b>(
        &self,
        unit: u64,
        bytes: &'b [u8],
        epochs: RangeInclusive<u32>,
    ) -> Result<&'b [u8], StoreError> {
        self.seal
            .check_epoch(unit, bytes, epochs)
            .map_err(|error| corrupt_unit(&self.path, self.seal, unit, error))
    }

    /// Reads adjacent units from `first` into `bytes`, a whole number of units in aligned memory.
    /// Nothing is verified yet. `Invalid` when the units are not all in the file.
    pub fn read_units(&self, first: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        let count = bytes.len() / self.geometry().unit_bytes();
        let end = first.checked_add(count as u64);
        let whole = bytes.len().is_multiple_of(self.geometry().unit_bytes());
        if !whole || end.is_none_or(|end| end > self.units) {
            return Err(StoreError::invalid(format!(
                "{} bytes from unit {first} of {}, which has {} units of {}",
                bytes.len(),
                self.path.display(),
                self.units,
                self.geometry().unit_bytes()
            )));
        }
        read_fully(
            self.file.as_ref(),
            bytes,
            self.geometry().unit_offset(first),
        )
        .map_err(|error| StoreError::io(&self.path, "read", error))
    }

    /// Reads and verifies one unit into buffer 0 of `buffers`, and returns its payload.
    pub fn read_unit<'b>(
        &self,
        unit: u64,
        buffers: &'b mut AlignedBuffers,
    ) -> Result<&'b [u8], StoreError> {
        if buffers.count() == 0 || buffers.bytes_each() != self.geometry().unit_bytes() {
            return Err(StoreError::invalid(
                "the buffer does not hold exactly one unit",
            ));
        }
        self.read_units(unit, buffers.get_mut(0))?;
        self.verify_unit(unit, buffers.get(0))
    }
}

pub(crate) fn corrupt_unit(path: &Path, seal: UnitSeal, unit: u64, e: SealError) -> StoreError {
    StoreError::Corrupt {
        path: path.to_path_buf(),
        page: Some(unit),
        offset: seal.geometry().unit_offset(unit),
        what: e.what,
        expected: e.expected,
        found: e.found,
    }
}

fn missing(path: &Path, error: std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::NotFound {
        let what = "the manifest lists this file, but it does not exist";
        return StoreError::NotFound {
            path: path.to_path_buf(),
            what,
        };
    }
    StoreError::io(path, "open", error)
}

fn read_header(
    file: &dyn VfsFile,
    path: &Path,
    page_bytes: usize,
) -> Result<FileHeader, StoreError> {
    let read = || {
        let mut page = AlignedBuffers::new(1, page_bytes.next_multiple_of(ALIGNMENT))?;
        read_fully(file, page.get_mut(0), 0)?;
        Ok(page)
    };
    match read() {
        Ok(page) => FileHeader::decode(path, page.get(0)),
        Err(error) => Err(StoreError::io(path, "read", error)),
    }
}

/// The first field in which header and manifest differ. A growable file has at least what it was
/// created with.
fn difference(entry: &FileEntry, header: &FileHeader) -> Option<(&'static str, u64, u64)> {
    let grown = |created: u64, now: u64| created.max(if entry.growable { now } else { 0 });
    let found = [
        (
            "page size against manifest",
            entry.page_bytes.into(),
            header.geometry.page_bytes().into(),
        ),
        (
            "pages per unit against manifest",
            entry.span.into(),
            header.geometry.span().into(),
        ),
        (
            "kind against manifest",
            entry.kind.into(),
            header.kind.into(),
        ),
        (
            "units against manifest",
            entry.units,
            grown(header.units, entry.units),
        ),
        (
            "payload bytes against manifest",
            entry.payload_bytes,
            grown(header.payload_bytes, entry.payload_bytes),
        ),
        (
            "uuid against manifest",
            0,
            u64::from(entry.uuid != header.uuid),
        ),
    ];
    found
        .into_iter()
        .find(|(_, expected, found)| expected != found)
}
