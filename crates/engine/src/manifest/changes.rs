//! What the manifest says of changes since the segments were made.

use pageway_store::FileUuid;
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
    /// The id of the next row that is inserted without one: above all that were given so far.
    pub(crate) next_id: u64,
    /// Rows that the calibration was measured among.
    pub(crate) calibrated_rows: u64,
}
