//! What the tests of this module share.

use std::path::Path;
use std::sync::Arc;

use super::{LogPlace, LogWriter, Lsn, OnDamage, Replayed, Room, replay_log};
use crate::{FileUuid, OpenMode, OsVfs, StoreError, Vfs};

/// A small log in a directory.
pub(super) fn place(dir: &Path) -> LogPlace {
    LogPlace {
        file_bytes: 64 << 10,
        reserve_bytes: 4 << 10,
        ..LogPlace::new(Arc::new(OsVfs), dir, FileUuid([7; 16]))
    }
}

/// The record with this number: its length and its bytes depend on it.
pub(super) fn record(lsn: Lsn) -> Vec<u8> {
    let length = (lsn.0 * 37 % 500) as usize;
    (0..length).map(|at| (lsn.0 as usize + at) as u8).collect()
}

/// Appends the next records, so many, as one group.
pub(super) fn append(writer: &mut LogWriter, records: u64) -> Result<Lsn, StoreError> {
    let next: Vec<_> = (1..=records)
        .map(|by| record(writer.last().plus(by)))
        .collect();
    let bytes = next.iter().map(Vec::len).sum::<usize>() as u64;
    writer.reserve(records, bytes, Room::Ordinary)?;
    next.iter()
        .try_for_each(|record| writer.append(&[record]).map(drop))?;
    writer.write()
}

/// Replays, and checks that what comes are the records of `floor` + 1 on.
pub(super) fn replay_as(
    place: &LogPlace,
    floor: Lsn,
    on_damage: OnDamage,
) -> Result<Replayed, StoreError> {
    let mut next = floor.next();
    let replayed = replay_log(place, floor, on_damage, |lsn, bytes| {
        assert_eq!(lsn, next);
        assert_eq!(bytes, record(lsn), "record {lsn}");
        next = lsn.next();
        Ok::<(), StoreError>(())
    })?;
    assert_eq!(replayed.records, next.before().0 - floor.0);
    Ok(replayed)
}

pub(super) fn replay(place: &LogPlace, floor: u64) -> Result<Replayed, StoreError> {
    replay_as(place, Lsn(floor), OnDamage::Refuse)
}

/// Records that are recovered above no floor.
pub(super) fn found(place: &LogPlace) -> u64 {
    replay(place, 0).unwrap().records
}

/// Changes a byte of a file.
pub(super) fn damage(path: &Path, at: u64) {
    let file = OsVfs.open(path, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

pub(super) fn is_corrupt<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Corrupt { .. }))
}
