//! The log of a collection with several indexes: a change of points is in all of them, or in none,
//! whatever stops the server.
//!
//! ```text
//! JOURNAL/MANIFEST     identity of the log, and the last record that is in every index
//! JOURNAL/log-*.pwl    records: 1 if it begins a change + 2 if it ends one, and bytes of it
//! ```
//!
//! A change that a crash cut short begins and does not end: the next one that begins takes its
//! place.
//!
//! Records are bytes; what they mean is the collection's. They can be applied again: the order is
//! that of the log, and each says all of what a point is afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::Vfs;
use pageway::server::{
    FileUuid, LogFloor, LogPlace, LogWriter, Lsn, OnDamage, Room, commit_manifest,
    create_directory, read_manifest, replay_log,
};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};

/// Bytes of a change in a record; longer ones take several.
const PIECE_BYTES: usize = 512 << 10;
/// What the first byte of a record says of the change that it is a part of.
const BEGINS: u8 = 1;
const ENDS: u8 = 2;
/// Bytes beyond which what is in every index is given up.
const MOST_BYTES: u64 = 32 << 20;

#[derive(Serialize, Deserialize)]
struct JournalEntry {
    log: FileUuid,
    floor: u64,
    chain: Option<u32>,
}

/// An open journal.
pub(crate) struct Journal {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    log: FileUuid,
    writer: LogWriter,
    /// Bytes since the last floor.
    bytes: u64,
}

impl Journal {
    /// Makes an empty one.
    pub(crate) fn create(vfs: &Arc<dyn Vfs>, dir: &Path) -> Outcome<()> {
        create_directory(vfs.as_ref(), dir)?;
        let log = FileUuid(vfs.unique().map_err(pageway::Error::from)?);
        LogWriter::create(&LogPlace::new(Arc::clone(vfs), dir, log), Lsn(0))?;
        commit(vfs.as_ref(), dir, (log, 0, None))
    }

    /// Opens one, and shows every change that may not be in all indexes.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        mut redo: impl FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<Self> {
        let entry = read_manifest(vfs.as_ref(), dir)?;
        let entry: JournalEntry = serde_json::from_slice(&entry).map_err(Failure::internal)?;
        let place = LogPlace::new(Arc::clone(vfs), dir, entry.log);
        let floor = LogFloor {
            lsn: Lsn(entry.floor),
            chain: entry.chain,
        };
        let mut change = Vec::new();
        let mut visit = |_, record: &[u8]| {
            let (flags, piece) = record.split_first().unwrap_or((&(BEGINS | ENDS), &[]));
            if flags & BEGINS != 0 {
                change.clear();
            }
            change.extend_from_slice(piece);
            if flags & ENDS == 0 {
                return Ok(());
            }
            redo(&std::mem::take(&mut change))
        };
        let replayed = replay_log::<Failure>(&place, floor, OnDamage::Refuse, &mut visit)?;
        let writer = LogWriter::continue_after(&place, &replayed.tail)?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            dir: dir.to_path_buf(),
            log: entry.log,
            writer,
            bytes: 0,
        })
    }

    /// Appends a change; a kill does not lose it when this returns, a power cut may.
    pub(crate) fn append(&mut self, change: &[u8]) -> Outcome<()> {
        let count = change.len().div_ceil(PIECE_BYTES).max(1);
        let bytes = (change.len() + count) as u64;
        self.writer.reserve(count as u64, bytes, Room::Ordinary)?;
        for (number, piece) in change.chunks(PIECE_BYTES).enumerate() {
            let begins = if number == 0 { BEGINS } else { 0 };
            let ends = if number + 1 == count { ENDS } else { 0 };
            self.writer.append(&[&[begins | ends], piece])?;
        }
        self.writer.write()?;
        self.bytes += bytes;
        Ok(())
    }

    /// Makes durable what was appended.
    pub(crate) fn sync(&mut self) -> Outcome<()> {
        self.writer.sync()?;
        Ok(())
    }

    /// Whether nothing was appended since it was opened or last given up.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether indexes are to be synced, so that what is in all of them can go.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    /// Gives up everything so far: all indexes have it, durably.
    pub(crate) fn forget(&mut self) -> Outcome<()> {
        let floor = self.writer.rotate()?;
        let chain = Some(self.writer.chain());
        commit(self.vfs.as_ref(), &self.dir, (self.log, floor.0, chain))?;
        self.writer.remove_below(floor)?;
        self.bytes = 0;
        Ok(())
    }
}

fn commit(
    vfs: &dyn Vfs,
    dir: &Path,
    (log, floor, chain): (FileUuid, u64, Option<u32>),
) -> Outcome<()> {
    let entry = JournalEntry { log, floor, chain };
    let entry = serde_json::to_vec(&entry).map_err(Failure::internal)?;
    Ok(commit_manifest(vfs, dir, &entry)?)
}

#[cfg(test)]
mod tests {
    use pageway::OsVfs;

    use super::*;

    #[test]
    fn changes_are_shown_until_they_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("journal");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        Journal::create(&vfs, &dir).unwrap();
        let long = vec![7u8; PIECE_BYTES + 3];
        let open = |found: &mut Vec<Vec<u8>>| {
            Journal::open(&vfs, &dir, |change| {
                found.push(change.to_vec());
                Ok(())
            })
            .unwrap()
        };
        let mut journal = open(&mut Vec::new());
        journal.append(b"one").unwrap();
        journal.append(&long).unwrap();
        journal.sync().unwrap();
        drop(journal);
        let mut found = Vec::new();
        let mut journal = open(&mut found);
        assert_eq!(found, [b"one".to_vec(), long]);
        journal.forget().unwrap();
        // The beginning of a change, as a crash leaves it.
        journal.writer.reserve(1, 4, Room::Ordinary).unwrap();
        journal.writer.append(&[&[BEGINS], b"cut"]).unwrap();
        journal.writer.write().unwrap();
        drop(journal);
        found.clear();
        let mut journal = open(&mut found);
        assert!(found.is_empty(), "half a change is none");
        journal.append(b"two").unwrap();
        drop(journal);
        found.clear();
        let _journal = open(&mut found);
        assert_eq!(found, [b"two".to_vec()]);
    }
}
