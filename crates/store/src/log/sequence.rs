//! What the owner of a log does in the order of the log.

use super::{LogWriter, Lsn, Room};
use crate::StoreError;

/// The state that changes go through one after the other.
///
/// Called by one thread at a time, whichever leads. A turn takes some batches from the queue, and
/// for each in its order calls `resolve`, which appends its records; then the records are written
/// and synced as far as the batches ask; then `publish` is called for each in the same order, and
/// their callers are woken.
pub trait Sequence: Send {
    /// The changes of one caller.
    type Batch: Send;
    /// What its caller is told.
    type Outcome: Send;

    /// Decides what a batch does, after everything before it, and appends its records.
    ///
    /// What earlier batches of the same turn will do is resolved and not yet published: the
    /// implementation remembers it. A batch that is refused appends nothing; its `publish` tells
    /// why. One that changes something calls [`Records::reserve`] with everything it will append,
    /// first and once, and has changed nothing of its own when that fails.
    fn resolve(
        &mut self,
        batch: &mut Self::Batch,
        records: &mut Records<'_>,
    ) -> Result<(), StoreError>;

    /// Makes a batch visible. `last` is the LSN of its last record, or of the last before it where
    /// it has none.
    fn publish(&mut self, batch: Self::Batch, last: Lsn) -> Self::Outcome;

    /// Forgets a batch that was resolved, or whose `resolve` failed, and will not be published.
    ///
    /// After a failed `reserve` the log goes on. After a failed write or sync it does not, and
    /// whether a record of the batch is found when the index is next opened is unknown.
    fn abandon(&mut self, batch: Self::Batch);
}

/// Where a batch puts its records.
#[derive(Debug)]
pub struct Records<'w> {
    writer: &'w mut LogWriter,
    room: Room,
}

impl<'w> Records<'w> {
    pub(super) fn new(writer: &'w mut LogWriter, room: Room) -> Self {
        Self { writer, room }
    }

    /// Makes sure that so many records, of so many bytes together, find room: `NoSpace` where the
    /// disk is full, and the log is as it was.
    pub fn reserve(&mut self, records: u64, bytes: u64) -> Result<(), StoreError> {
        self.writer.reserve(records, bytes, self.room)
    }

    /// Appends a record.
    pub fn push(&mut self, record: &[u8]) -> Result<Lsn, StoreError> {
        self.writer.append(&[record])
    }

    /// Appends a record that lies in memory in parts, such as a header and a vector.
    pub fn push_parts(&mut self, parts: &[&[u8]]) -> Result<Lsn, StoreError> {
        self.writer.append(parts)
    }
}
