//! The writer of an index: one per directory, shared by threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pageway_store::{DirectoryLock, Durability, GroupCommit, Room, Vfs};
use pageway_types::{NoProgress, VectorShape};

use super::options::{Acknowledged, Changes, Rows, UpdateOptions, Work};
use super::record::Operation;
use super::state::{Batch, Done, Known, Refusal, State, find_in_segments};
use crate::build::AdditionLimits;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::source::{BLOCK_BYTES, IdSlice, Inspection, VectorSlice, check_unique, inspect_rows};

/// Bytes of the changes that wait for the log, at most.
pub(super) const QUEUE_BYTES: u64 = 1 << 20;
/// Bytes of a record, about: a long call is several.
const RECORD_BYTES: usize = 256 << 10;
/// Ids that are deleted by one record.
const RECORD_IDS: usize = 8192;
/// Memory that ids of a call are compared in.
const UNIQUE_BYTES: u64 = 1 << 20;

/// What changes an index. One per directory; `Send + Sync`: share it between threads.
///
/// Changes of many threads share the syncs of the log. A call that finds no room for its rows
/// flushes them first.
pub struct Writer {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    pub(super) index: Arc<Index>,
    pub(super) commit: GroupCommit<State>,
    pub(super) options: UpdateOptions,
    /// What a flush or merge may take.
    pub(super) limits: AdditionLimits,
    /// Held while segments are made.
    pub(super) maintenance: Mutex<Maintenance>,
    pub(super) counters: Counters,
    pub(super) _lock: DirectoryLock,
}

/// What flushes and merges know of each other.
pub(super) struct Maintenance {
    /// Number of the next build in the directory, and of the next manifest.
    pub(super) generation: u64,
    /// Dead rows of each segment that its file knows, by the name of its records.
    pub(super) persisted: std::collections::HashMap<String, u32>,
    pub(super) merge_refused: Option<String>,
}

/// What was done since the index was opened.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) flushes: AtomicU64,
    pub(super) merges: AtomicU64,
    pub(super) bytes_written: AtomicU64,
    pub(super) replayed: AtomicU64,
}

impl Writer {
    /// The index, for searches: they see what is acknowledged.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Puts rows in whose ids no row has. As a whole, or not at all.
    ///
    /// # Errors
    /// `InvalidInput` naming what is wrong with a row, or an id that a row has already; `NoSpace`;
    /// `ReadOnly` after a write that failed. Those of a flush where one was needed.
    pub fn insert(&self, rows: &Rows<'_>) -> Result<Acknowledged> {
        self.put(Operation::Insert, rows)
    }

    /// Puts rows in, each in place of the one that has its id, if one has.
    ///
    /// # Errors
    /// As [`Writer::insert`]; `InvalidInput` for rows without ids.
    pub fn upsert(&self, rows: &Rows<'_>) -> Result<Acknowledged> {
        if rows.ids.is_none() {
            return Err(Error::invalid("rows to replace others by need ids"));
        }
        self.put(Operation::Upsert, rows)
    }

    /// Deletes the rows of these ids. Ids that no row has are counted.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is given twice; `ReadOnly` after a write that failed.
    pub fn delete(&self, ids: &[u64], durability: Durability) -> Result<Acknowledged> {
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

    /// Makes everything acknowledged durable, and returns its last record.
    ///
    /// # Errors
    /// `Io` where the sync fails; nothing changes any more then.
    pub fn sync(&self) -> Result<u64> {
        Ok(self.commit.sync()?.0)
    }

    /// Syncs what was acknowledged to be synced within a time, if that has come. To be called again
    /// after the time returned, or every second or so when there is none.
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn keep_up(&self) -> Result<Option<Duration>> {
        Ok(self.commit.keep_up()?)
    }

    /// Ends the log for good. What is not flushed is replayed when the index is next opened to be
    /// changed.
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn close(self) -> Result<u64> {
        let (_, last) = self.commit.close()?;
        Ok(last.0)
    }

    /// What has changed, and what that takes.
    ///
    /// # Errors
    /// `ReadOnly` after a thread panicked while it changed the index.
    pub fn changes(&self) -> Result<Changes> {
        let version = self.index.version();
        let log = |state: &mut State, log: &mut pageway_store::LogWriter| {
            let rows = |delta: &crate::delta::Delta| u64::from(delta.len());
            let frozen = state.frozen.as_ref().map_or(0, |(delta, _)| rows(delta));
            (
                rows(&state.active) + frozen,
                state.capacity,
                log.last(),
                log.durable(),
            )
        };
        let (delta_rows, capacity, lsn, durable) = self.commit.exclusive(log)?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = self.maintenance.try_lock().ok();
        Ok(Changes {
            rows: version.living(),
            segments: version.segments.len(),
            delta_rows,
            delta_capacity: capacity.into(),
            dead: version.dead_count(),
            lsn: lsn.0,
            durable_lsn: durable.0,
            floor: version.manifest.changes.map_or(0, |changes| changes.floor),
            work: Work {
                flushes: count(&self.counters.flushes),
                merges: count(&self.counters.merges),
                bytes_written: count(&self.counters.bytes_written),
                replayed: count(&self.counters.replayed),
            },
            merge_refused: refused.and_then(|refused| refused.merge_refused.clone()),
        })
    }

    fn put(&self, operation: Operation, rows: &Rows<'_>) -> Result<Acknowledged> {
        let shape = self.index.shape();
        self.check_rows(rows, shape)?;
        let row_bytes = shape.row_bytes();
        let capacity = self.commit.look(|state| state.capacity)? as usize;
        let each = (RECORD_BYTES / (row_bytes + 8)).clamp(1, capacity.max(1));
        let count = rows.rows.len() / row_bytes;
        if operation == Operation::Insert && count > each {
            self.refuse_live(rows.ids.unwrap_or_default())?;
        }
        let mut sum = Acknowledged::default();
        let last = count.div_ceil(each).saturating_sub(1);
        for (number, vectors) in rows.rows.chunks(each * row_bytes).enumerate() {
            let ids = rows.ids.map_or(&[][..], |ids| {
                let own = number * each..(number + 1) * each;
                ids.get(own.start..own.end.min(ids.len()))
                    .unwrap_or_default()
            });
            let durability = if number == last {
                rows.durability
            } else {
                Durability::Deferred
            };
            let here = vectors.len() / row_bytes;
            loop {
                let place = (ids.to_vec(), here as u32);
                let batch = Batch::new(operation, place, vectors.to_vec());
                if self.submit(batch, durability, &mut sum)? {
                    break;
                }
                self.make_room(here)?;
            }
        }
        Ok(sum)
    }

    /// Puts a batch through the log, and adds up what it did; false when there was no room.
    fn submit(
        &self,
        mut batch: Batch,
        durability: Durability,
        sum: &mut Acknowledged,
    ) -> Result<bool> {
        let (operation, gives_ids) = (batch.operation, batch.ids.is_empty());
        self.look_up(&mut batch)?;
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
        } = done.outcome;
        match refused {
            Some(Refusal::Full) => return Ok(false),
            Some(Refusal::Because(error)) => return Err(error),
            None => {}
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
        Ok(true)
    }

    /// Looks for the rows of a batch in the segments, outside of the order that all changes share.
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

    /// Flushes, unless somebody else did meanwhile.
    fn make_room(&self, rows: usize) -> Result<()> {
        let mut maintenance = self.maintenance();
        let has_room = |state: &mut State, _: &mut _| {
            state.active_rows as usize + rows <= state.capacity as usize
        };
        if self.commit.exclusive(has_room)? {
            return Ok(());
        }
        self.flush_and_merge(&mut maintenance, &NoProgress)
    }

    pub(super) fn maintenance(&self) -> MutexGuard<'_, Maintenance> {
        let guard = self.maintenance.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses ids that rows have, of a call that is too long for one record.
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

    fn check_rows(&self, rows: &Rows<'_>, shape: VectorShape) -> Result<()> {
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
        inspect_rows(inspection, BLOCK_BYTES, &NoProgress)?;
        Ok(())
    }
}

/// Refuses ids that come twice, and the one that stands for none.
fn check_ids(ids: &[u64]) -> Result<()> {
    check_unique(&IdSlice(ids), UNIQUE_BYTES)
}
