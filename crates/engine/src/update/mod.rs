//! Axis 5: an index that changes while it is searched.
//!
//! ```text
//! insert, upsert, delete -> checked -> one order (`state`) -> log -> delta and dead sets
//! flush                     delta, closed -> a segment -> manifest -> log below it goes
//! merge                     living rows of some segments -> a segment -> manifest
//! open                      manifest -> segments; log above its floor -> delta and dead sets
//! ```
//!
//! Invariants: what is acknowledged is in the log, as durable as was asked, and visible to every
//! search that begins after it; rows that died stay dead. The floor is the last record whose change
//! is in files that the manifest names, and is given out in one place (`checkpoint`). The manifest
//! is the only commit point; no file that it names, and no log above its floor, is removed before
//! the one that replaces it is durable. After the first write that failed nothing changes any more,
//! and searches go on.

mod absorb;
mod background;
mod board;
mod building;
mod checkpoint;
mod common;
mod create;
mod division;
mod edit;
mod flush;
mod linking;
mod living;
mod merge;
mod open;
mod options;
mod pace;
mod patch;
mod pieces;
mod put;
mod record;
mod redesign;
mod settle;
mod snapshot;
mod state;
mod summary;
mod taken;
#[cfg(test)]
mod tests;
mod tiers;
mod upkeep;
mod verify;
mod writer;

pub use options::{
    Acknowledged, Background, Changes, CreateOptions, LatencyState, MergeReport, Rows,
    UpdateOptions, Which, Work,
};
pub use summary::{
    ChangeSummary, LogFileSummary, LogSummary, LostRecords, describe_changes, describe_changes_on,
};
pub use verify::{verify, verify_on};
pub use writer::Writer;
