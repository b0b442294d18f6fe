//! The way of a change to the log: it is checked, cut into records, looked up in the segments and
//! submitted.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pageway_store::{Durability, Room};
use pageway_types::{Progress, Quiet};

use super::common::Common;
use super::edit::MakeRoom;
use super::options::{Acknowledged, Rows};
use super::pieces::{Pieces, check_attributes};
use super::record::Operation;
use super::state::{Batch, Done, Known, Refusal, State, find_in_segments};
use crate::error::{Error, ErrorKind, Result};
use crate::source::{
    BLOCK_BYTES, IdRead, IdSlice, Inspection, NamedRows, VectorSlice, check_free, check_unique,
    inspect_rows,
};

/// Ids that one record deletes at most.
pub(super) const RECORD_IDS: usize = 8192;
/// Time that a batch is taken to need, where searches have a latency target.
const BATCH_TIME: Duration = Duration::from_millis(1);
/// Memory for finding equal ids of a call.
const UNIQUE_BYTES: u64 = 1 << 20;

/// What is done with rows, and who can stop it.
pub(super) type How<'p> = (Operation, &'p dyn Progress);

/// What became of a batch.
pub(super) enum Submitted {
    /// It was applied.
    Done,
    /// There was no room for it: here it is again.
    Full(Box<Batch>),
    /// A row was not where the batch expected it: here it is again.
    Moved(Box<Batch>),
}

impl Common {
    /// Puts rows in, record by record.
    pub(super) fn put(
        &self,
        how: How<'_>,
        rows: &Rows<'_>,
        make_room: &mut MakeRoom<'_>,
    ) -> Result<Acknowledged> {
        let Some(names) = rows.names else {
            rows.attributes.map_or(Ok(()), check_free)?;
            return self.put_rows(how, rows, make_room);
        };
        if rows.ids.is_some() {
            return Err(Error::invalid("give ids or names, not both"));
        }
        let named = NamedRows {
            names,
            attributes: rows.attributes,
        };
        let mut ids = vec![0; names.count() as usize];
        named.read(0, &mut ids)?;
        let own = Rows {
            ids: Some(&ids),
            attributes: Some(&named),
            ..*rows
        };
        let done = self.put_rows(how, &own, make_room);
        done.map_err(|error| named.explain(error))
    }

    /// Puts rows in whose ids and documents are given.
    fn put_rows(
        &self,
        (operation, progress): How<'_>,
        rows: &Rows<'_>,
        make_room: &mut MakeRoom<'_>,
    ) -> Result<Acknowledged> {
        let capacity = self.commit.look(|state| state.capacity)?;
        self.check_rows(rows, capacity, progress)?;
        let mut pieces = Pieces::new(rows, capacity);
        if operation == Operation::Insert && !pieces.are_one() {
            self.refuse_live(rows.ids.unwrap_or_default())?;
            if rows.ids.is_none() {
                self.commit
                    .look(|state| state.given_ids(pieces.count as u64).map(drop))??;
            }
        }
        let mut sum = Acknowledged::default();
        let count = pieces.count;
        let how = (operation, progress);
        let put = self.put_pieces((how, rows), &mut pieces, (make_room, &mut sum));
        let put = put.map_err(|error| match sum.inserted + sum.replaced {
            0 => error,
            before => error.within(format!("the first {before} of {count} rows are in")),
        });
        put.map(|()| sum)
    }

    /// Puts in what is left of the rows of a call, and adds up what that did.
    fn put_pieces(
        &self,
        ((operation, progress), rows): (How<'_>, &Rows<'_>),
        pieces: &mut Pieces<'_>,
        (make_room, sum): (&mut MakeRoom<'_>, &mut Acknowledged),
    ) -> Result<()> {
        let replaces_named = rows.names.is_some() && operation == Operation::Upsert;
        while let Some(batch) = pieces.next(operation)? {
            let durability = if pieces.is_done() {
                rows.durability
            } else {
                Durability::Deferred
            };
            progress.check()?;
            self.admit();
            self.pace(batch.size().0)?;
            let mut waiting = Some(batch);
            while let Some(batch) = waiting.take() {
                let batch = if replaces_named {
                    self.expecting_names(batch)?
                } else {
                    batch
                };
                let size = batch.size();
                match self.submit(batch, durability, sum)? {
                    Submitted::Done => {}
                    Submitted::Full(back) => {
                        make_room(size)?;
                        waiting = Some(*back);
                    }
                    Submitted::Moved(back) => waiting = Some(*back),
                }
            }
        }
        Ok(())
    }

    /// Waits for searches that are over their latency target.
    fn admit(&self) {
        let rest = self.index.rest_after(BATCH_TIME, 0.0).unwrap_or_default();
        if !rest.is_zero() {
            thread::sleep(rest);
        }
    }

    /// Lets rows come no faster than they are flushed, once the open delta is half full while
    /// another is flushed.
    fn pace(&self, rows: usize) -> Result<()> {
        let pace = &self.upkeep.pace;
        if !pace.is_set() {
            return Ok(());
        }
        let filled = self
            .commit
            .look(|state| (state.active_rows, state.capacity))?;
        let rest = pace.rest(rows.try_into().unwrap_or(u32::MAX), filled);
        if !rest.is_zero() {
            thread::sleep(rest);
        }
        Ok(())
    }

    /// Puts a batch through the log, and adds up what it did.
    pub(super) fn submit(
        &self,
        mut batch: Batch,
        durability: Durability,
        sum: &mut Acknowledged,
    ) -> Result<Submitted> {
        let (operation, gives_ids) = (batch.operation, batch.ids.is_empty());
        self.look_up(&mut batch)?;
        self.link(&mut batch)?;
        let room = if operation.puts() {
            Room::Ordinary
        } else {
            Room::Reserve
        };
        let bytes = batch.bytes();
        let done = self.commit.submit(batch, bytes, durability, room)?;
        let Done {
            rows,
            killed,
            absent,
            first_id,
            refused,
            back,
        } = done.outcome;
        match (refused, back) {
            (Some(Refusal::Full), Some(back)) => return Ok(Submitted::Full(back)),
            (Some(Refusal::Moved), Some(back)) => return Ok(Submitted::Moved(back)),
            (Some(Refusal::Because(error)), _) => return Err(error),
            (Some(Refusal::Full | Refusal::Moved), None) => {
                let words = "a batch that was refused is gone";
                return Err(Error::new(ErrorKind::Internal, words));
            }
            (None, _) => {}
        }
        if operation.puts() {
            sum.replaced += killed;
            sum.inserted += rows - killed;
        } else {
            sum.deleted += killed;
            sum.absent += absent;
        }
        if operation.puts() && gives_ids {
            sum.first_id = sum.first_id.or(first_id);
        }
        (sum.lsn, sum.durable) = (done.lsn.0, done.durable);
        Ok(Submitted::Done)
    }

    /// Looks up the ids of a batch in the segments, before it has its turn in the order of changes.
    fn look_up(&self, batch: &mut Batch) -> Result<()> {
        if batch.ids.is_empty() {
            return Ok(());
        }
        let current = |state: &mut State| (Arc::clone(&state.version), state.lookups.clone());
        let (version, lookups) = self.commit.look(current)?;
        let find = |id: &u64| find_in_segments(&version, &lookups, *id);
        let places = batch.ids.iter().map(find).collect::<Result<_>>()?;
        batch.known = Some(Known {
            version: version.number,
            places,
        });
        Ok(())
    }

    /// Deletes rows by their ids, record by record.
    pub(super) fn delete(&self, ids: &[u64], durability: Durability) -> Result<Acknowledged> {
        check_ids(ids)?;
        let mut sum = Acknowledged::default();
        let last = ids.len().div_ceil(RECORD_IDS).saturating_sub(1);
        for (number, ids) in ids.chunks(RECORD_IDS).enumerate() {
            let wanted = if number == last {
                durability
            } else {
                Durability::Deferred
            };
            let place = (ids.to_vec(), ids.len() as u32);
            let batch = Batch::new(Operation::Delete, place, Vec::new());
            self.submit(batch, wanted, &mut sum)?;
        }
        Ok(sum)
    }

    /// Refuses ids that rows have, of a call of several records, before its first record.
    fn refuse_live(&self, ids: &[u64]) -> Result<()> {
        for ids in ids.chunks(RECORD_IDS) {
            let live = |state: &mut State| -> Result<Option<u64>> {
                for id in ids {
                    if state.is_live(*id)? {
                        return Ok(Some(*id));
                    }
                }
                Ok(None)
            };
            if let Some(id) = self.commit.look(live)?? {
                return Err(super::state::exists(id));
            }
        }
        Ok(())
    }

    fn check_rows(&self, rows: &Rows<'_>, capacity: u32, progress: &dyn Progress) -> Result<()> {
        let shape = self.index.shape();
        if rows.shape != shape {
            return Err(Error::invalid(format!(
                "the rows are {}, the index holds {shape}: convert them",
                rows.shape
            )));
        }
        let row_bytes = shape.row_bytes();
        if !rows.rows.len().is_multiple_of(row_bytes) {
            return Err(Error::invalid(format!(
                "{} bytes of rows are not a whole number of {row_bytes}-byte rows",
                rows.rows.len()
            )));
        }
        let count = rows.rows.len() / row_bytes;
        if let Some(ids) = rows.ids {
            if ids.len() != count {
                return Err(Error::invalid(format!(
                    "{} ids for {count} rows: give one for each",
                    ids.len()
                )));
            }
            check_ids(ids)?;
        }
        if let Some(attributes) = rows.attributes {
            let version = self.index.version();
            let rules = (capacity, version.manifest.schema.as_ref());
            check_attributes(attributes, (count, row_bytes), rules)?;
        }
        if count == 0 {
            return Ok(());
        }
        if u64::from(u32::MAX) <= self.index.len().saturating_add(count as u64) {
            let words = "more rows than an index can have: fewer than 2^32";
            return Err(Error::new(ErrorKind::Unsupported, words));
        }
        let inspection = Inspection {
            vectors: &VectorSlice::new(rows.rows, shape)?,
            name: "rows",
            metric: self.index.metric(),
        };
        inspect_rows(inspection, BLOCK_BYTES, &Quiet(progress))?;
        Ok(())
    }
}

/// Refuses ids that come twice, and the one that stands for no id.
pub(super) fn check_ids(ids: &[u64]) -> Result<()> {
    check_unique(&IdSlice(ids), UNIQUE_BYTES)
}
