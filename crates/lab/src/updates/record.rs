//! What is kept of an index that is searched and changed at once.

use pageway::Durability;
use serde::Serialize;

use super::finding::UpdateFinding;
use super::times::Latency;
use crate::stream::Found;

/// What is done to an index as it was built.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct UpdateRound {
    /// Inserts to deletes.
    pub mix: String,
    /// When a change counts.
    pub durability: &'static str,
}

/// What so many operations came to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdateStep {
    /// Design.
    pub design: String,
    /// Inserts to deletes, and when a change counts.
    #[serde(flatten)]
    pub round: UpdateRound,
    /// Operations that were done by then.
    pub operations: u64,
    /// Rows that live.
    pub rows: u64,
    /// Segments, and dead rows in them.
    pub segments: usize,
    /// See `segments`.
    pub dead: u64,
    /// Bytes that were written so far: log, flushes and merges.
    pub bytes_written: u64,
    /// Those of the log.
    pub log_bytes: u64,
    /// Flushes and merges so far.
    pub flushes: u64,
    /// See `flushes`.
    pub merges: u64,
    /// Recall and pages of searches afterwards, when nothing else is asked for.
    #[serde(flatten)]
    pub found: Found,
    /// How long it took; absent where counts alone are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<StepTimes>,
}

/// How long so many operations took, and the searches beside them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepTimes {
    /// Seconds.
    pub seconds: f64,
    /// Inserts and deletes.
    pub update: Latency,
    /// Inserts alone,
    pub insert: Latency,
    /// and deletes.
    pub delete: Latency,
    /// Searches.
    pub search: Latency,
    /// Searches in a second.
    pub queries_per_second: f64,
    /// Searches that ended in each second.
    pub searches_by_second: Vec<u64>,
}

/// What all operations on a design came to.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct UpdateRecord {
    /// Design.
    pub design: String,
    /// Inserts to deletes, and when a change counts.
    #[serde(flatten)]
    pub round: UpdateRound,
    /// Whether pages are changed in the segment that is there.
    pub in_place: bool,
    /// Why it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Operations.
    pub operations: u64,
    /// Recall and pages before the first of them,
    pub before: Found,
    /// and after each so many: mean, and least recall.
    pub beside: Found,
    /// See `beside`.
    pub least_recall: f64,
    /// And after everything was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Found>,
    /// What was written.
    #[serde(flatten)]
    pub work: UpdateWork,
    /// Absent where counts alone are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<RecordTimes>,
}

/// What all operations made the writer do.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct UpdateWork {
    /// Bytes that were written for each operation, without the merge of everything at the end.
    pub bytes_per_update: f64,
    /// Bytes of that merge.
    pub merge_bytes: u64,
    /// Flushes and merges, without that one.
    pub flushes: u64,
    /// See `flushes`.
    pub merges: u64,
}

/// How long all operations took, and the searches beside them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RecordTimes {
    /// Inserts and deletes.
    pub update: Latency,
    /// Searches.
    pub search: Latency,
    /// Searches in a second of changing.
    pub queries_per_second: f64,
    /// Inserts and deletes in a second.
    pub updates_per_second: f64,
    /// Seconds until what was due at the end was flushed and merged.
    pub settle_seconds: f64,
    /// Seconds of the merge of everything behind it.
    pub merge_seconds: f64,
}

impl RecordTimes {
    /// Seconds until everything was flushed and merged. What was due by then is merged first, and
    /// may be all there is.
    pub fn until_merged(&self) -> f64 {
        self.settle_seconds + self.merge_seconds
    }
}

/// A whole measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdateSummary {
    /// Rows that indexes are built of.
    pub first: u64,
    /// Threads that change, and threads that search.
    pub callers: usize,
    /// See `callers`.
    pub searchers: usize,
    /// Searches of a caller behind each of its changes.
    pub reads: f64,
    /// Each design in each round.
    pub designs: Vec<UpdateRecord>,
    /// What was published, of each design in place beside each out of place.
    pub findings: Vec<UpdateFinding>,
}

/// The name of a durability.
pub(super) const fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::Synced => "synced",
        Durability::Deferred => "deferred",
        Durability::Batched(_) => "batched",
    }
}
