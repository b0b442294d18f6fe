//! What the manifest says of changes since the segments were made.

use pageway_store::{FileUuid, LogFloor, Lsn};
use serde::{Deserialize, Serialize};

/// An index that was opened to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeEntry {
    /// The log that holds what came after the segments; absent in a snapshot.
    pub(crate) log: Option<FileUuid>,
    /// The last record of the log whose change is in the segments and dead sets that are named
    /// here: so is that of every record before it.
    pub(crate) floor: u64,
    /// Checksum of the last group of the log up to there; absent where the log was not cut there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) floor_chain: Option<u32>,
    /// The id of the next row that is inserted without one: above all that were given so far.
    pub(crate) next_id: u64,
    /// Rows that the calibration was measured among.
    pub(crate) calibrated_rows: u64,
    /// Rows that came and rows that went since, about: those that did both in a delta are not
    /// counted.
    #[serde(default)]
    pub(crate) changed_rows: u64,
}

impl ChangeEntry {
    /// From where on the log is read.
    pub(crate) fn log_floor(&self) -> LogFloor {
        LogFloor {
            lsn: Lsn(self.floor),
            chain: self.floor_chain,
        }
    }
}
