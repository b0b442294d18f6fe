//! The end of the last file of a log.

use super::Lsn;
use super::scan::Scan;

/// A file, and where what counts of it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileEnd {
    /// Number of its first record, which is its name.
    pub(super) first: Lsn,
    /// Behind its last group.
    pub(super) end: u64,
    /// Groups with records behind this offset may not be durable.
    pub(super) told: u64,
}

impl FileEnd {
    pub(super) fn of(scan: &Scan) -> Self {
        Self {
            first: scan.header.first,
            end: scan.at,
            told: scan.told,
        }
    }
}
