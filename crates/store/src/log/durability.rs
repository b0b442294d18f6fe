//! What an acknowledgement means.

use std::time::Duration;

use super::Lsn;

/// What has happened to the records of a batch when its caller is told that it is done.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Synced: neither a kill nor a power cut loses them.
    #[default]
    Synced,
    /// Written: a kill loses nothing, a power cut at most what was acknowledged within this time,
    /// as long as somebody calls [`GroupCommit::keep_up`](super::GroupCommit::keep_up) so often.
    Batched(Duration),
    /// In memory, in the order of the log: a kill loses what was not written yet, a few hundred
    /// kilobytes at most. For bulk loads that end with a sync.
    Deferred,
}

/// The answer to a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgement<T> {
    /// What publishing it gave.
    pub outcome: T,
    /// The last record of the log when it was done: its own last one, or where it had none, the
    /// last before it.
    pub lsn: Lsn,
    /// Whether that record, and so all before it, was durable by then.
    pub durable: bool,
}
