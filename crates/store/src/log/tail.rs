//! Where a log ends, and what has to be done there before it goes on.

use std::io;
use std::path::{Path, PathBuf};

use super::file_end::FileEnd;
use super::scan::Scan;
use super::{LogPlace, Lsn};
use crate::{OpenMode, StoreError};

/// Bytes that are copied at once.
const COPY_BYTES: usize = 256 << 10;

/// Damage of a log: records that were durable once, or may have been, and cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogDamage {
    /// The damaged file, or the first one behind what is missing.
    pub path: PathBuf,
    /// Byte offset in it.
    pub offset: u64,
    /// Which rule is broken.
    pub what: &'static str,
    /// The first record that is lost.
    pub first_lost: Lsn,
    /// The last record that is known to be lost; there may have been more.
    pub last_lost: Lsn,
}

impl LogDamage {
    /// The damage as an error.
    pub fn error(&self) -> StoreError {
        StoreError::Corrupt {
            path: self.path.clone(),
            page: None,
            offset: self.offset,
            what: self.what,
            expected: self.first_lost.0,
            found: self.last_lost.0,
        }
    }
}

/// The end of a log that was replayed: what a writer needs to go on behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogTail {
    /// The last record, or the floor where that is later.
    pub(super) last: Lsn,
    /// Checksum of the last group with records, or what stands for it at the beginning of a log.
    pub(super) chain: u32,
    /// The greatest of any file.
    pub(super) sequence: u32,
    /// The file with the last group.
    pub(super) file: Option<FileEnd>,
    /// Files to be set aside, by their names.
    pub(super) aside: Vec<Lsn>,
    /// Files to be copied aside: a part of each is given up, and the rest is still read.
    pub(super) copied: Vec<Lsn>,
    /// Whether something was given up: then nothing is cut.
    pub(super) salvaged: bool,
}

impl LogTail {
    /// Of a log without records above a floor.
    pub(super) fn empty(floor: Lsn, chain: u32) -> Self {
        Self {
            last: floor,
            chain,
            sequence: 0,
            file: None,
            aside: Vec::new(),
            copied: Vec::new(),
            salvaged: false,
        }
    }

    /// The last record of the log, or the floor where that is later.
    pub fn last(&self) -> Lsn {
        self.last
    }

    /// Gives back the room behind the last group, now that a file begins there.
    pub(super) fn cut(&self, place: &LogPlace, begun: Lsn) {
        let file = self
            .file
            .as_ref()
            .filter(|file| file.first != begun && !self.salvaged);
        if let Some(FileEnd { first, end, .. }) = file
            && let Ok(opened) = place.vfs.open(&place.path(*first), OpenMode::ReadWrite)
        {
            let _space = opened.set_len(*end);
        }
    }
}

/// Makes what was replayed durable, and moves out of the way what was given up.
pub(super) fn settle(place: &LogPlace, tail: &LogTail) -> Result<(), StoreError> {
    if let Some(file) = &tail.file {
        write_again(place, file)?;
    }
    for &first in &tail.copied {
        keep_copy(place, first);
    }
    for &first in &tail.aside {
        place.rename(&place.path(first), &place.aside(first))?;
    }
    if !tail.aside.is_empty() {
        place.sync_dir()?;
    }
    Ok(())
}

/// Keeps a copy of a damaged file, which goes when what is sound in it has been flushed. Where no
/// copy can be made, as on a full disk, the log goes on without.
fn keep_copy(place: &LogPlace, first: Lsn) {
    let aside = place.aside(first);
    // The first copy has the least damage.
    if matches!(place.vfs.exists(&aside), Ok(false)) && copy(place, first, &aside).is_err() {
        let _left = place.vfs.remove_file(&place.temporary());
    }
}

/// Durable under its name, or not there.
fn copy(place: &LogPlace, first: Lsn, to: &Path) -> io::Result<()> {
    let temporary = place.temporary();
    if place.vfs.exists(&temporary)? {
        place.vfs.remove_file(&temporary)?;
    }
    let from = place.vfs.open(&place.path(first), OpenMode::ReadOwn)?;
    let target = place.vfs.open(&temporary, OpenMode::CreateNew)?;
    let (length, mut at) = (from.len()?, 0);
    let mut buffer = vec![0; COPY_BYTES];
    while at < length {
        let some = usize::try_from(length - at).unwrap_or(COPY_BYTES);
        let bytes = buffer.get_mut(..some.min(COPY_BYTES)).unwrap_or_default();
        from.read_exact_at(bytes, at)?;
        target.write_all_at(bytes, at)?;
        at += bytes.len() as u64;
    }
    target.sync_data()?;
    place.vfs.rename(&temporary, to)?;
    place.vfs.sync_dir(&place.dir)
}

/// Writes the groups that nothing tells to be durable over themselves, and syncs them.
fn write_again(place: &LogPlace, file: &FileEnd) -> Result<(), StoreError> {
    if file.told == file.end {
        return Ok(());
    }
    let path = place.path(file.first);
    let opened = place.vfs.open(&path, OpenMode::ReadWrite);
    let opened = opened.map_err(|e| StoreError::io(&path, "open", e))?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = file.told;
    while at < file.end {
        let length = usize::try_from(file.end - at).unwrap_or(COPY_BYTES);
        let bytes = buffer.get_mut(..length.min(COPY_BYTES)).unwrap_or_default();
        let read = opened.read_exact_at(bytes, at);
        read.map_err(|e| StoreError::io(&path, "read", e))?;
        let written = opened.write_all_at(bytes, at);
        written.map_err(|e| StoreError::io(&path, "write", e))?;
        at += bytes.len() as u64;
    }
    let synced = opened.sync_data();
    synced.map_err(|e| StoreError::io(&path, "sync", e))
}

/// Removes files of a log that was never finished: none of them has a record.
pub(super) fn clear(place: &LogPlace) -> Result<(), StoreError> {
    let files = place.files()?;
    for &first in &files {
        let mut scan = Scan::open_any(place, first)?;
        if scan.next_group()?.is_some_and(|head| head.records > 0) {
            return Err(StoreError::invalid(format!(
                "{} holds records of a log that the index does not know of",
                place.path(first).display()
            )));
        }
    }
    for &first in &files {
        place.remove(&place.path(first))?;
    }
    Ok(())
}
