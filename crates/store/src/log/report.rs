//! What a log consists of, for people.

use super::scan::Scan;
use super::{LogDamage, LogFloor, LogPlace, Lsn, OnDamage, replay_log};
use crate::StoreError;

/// A file of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFileReport {
    /// Its name.
    pub name: String,
    /// Number of its first record, or of the next one to come.
    pub first: Lsn,
    /// Records that can be read one after the other.
    pub records: u64,
    /// Groups that hold them.
    pub groups: u64,
    /// Bytes up to the end of the last group.
    pub used_bytes: u64,
    /// Length.
    pub file_bytes: u64,
    /// Whether it was closed.
    pub closed: bool,
}

/// All of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogReport {
    /// Files, oldest first, those below the floor included. Of one whose header is damaged the
    /// name alone.
    pub files: Vec<LogFileReport>,
    /// The last record that can be recovered, or the floor where that is later.
    pub last: Lsn,
    /// Records above the floor.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// Whether the writer closed it: else it crashed, or still runs.
    pub closed: bool,
    /// Damage that keeps the index from being changed.
    pub damage: Option<LogDamage>,
}

/// Reads a whole log and describes it. Writes nothing, and fails only where the system does.
pub fn inspect_log(place: &LogPlace, floor: impl Into<LogFloor>) -> Result<LogReport, StoreError> {
    let files = place.files()?;
    let files = files.iter().map(|&first| describe(place, first));
    let files: Vec<LogFileReport> = files.collect::<Result<_, _>>()?;
    let ignore = |_: Lsn, _: &[u8]| Ok::<(), StoreError>(());
    let replayed = replay_log(place, floor, OnDamage::Salvage, ignore)?;
    Ok(LogReport {
        files,
        last: replayed.tail.last(),
        records: replayed.records,
        record_bytes: replayed.record_bytes,
        closed: replayed.closed,
        damage: replayed.damage,
    })
}

fn describe(place: &LogPlace, first: Lsn) -> Result<LogFileReport, StoreError> {
    let path = place.path(first);
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let mut report = LogFileReport {
        name: name.unwrap_or_default(),
        first,
        records: 0,
        groups: 0,
        used_bytes: 0,
        file_bytes: 0,
        closed: false,
    };
    let mut scan = match Scan::open_any(place, first) {
        Err(StoreError::Corrupt { .. }) => return Ok(report),
        opened => opened?,
    };
    while let Some(head) = scan.next_group()? {
        report.records += u64::from(head.records);
        report.groups += 1;
    }
    report.used_bytes = scan.at;
    report.file_bytes = scan.length();
    report.closed = scan.closed;
    Ok(report)
}
