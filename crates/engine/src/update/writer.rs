//! The writer of an index: one per directory, shared by threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway_attributes::Edit;
use pageway_store::{Durability, LogWriter};
use pageway_types::{NoProgress, Progress};

use super::board::cancel;
use super::common::Common;
use super::edit::RowChange;
use super::options::{Acknowledged, Changes, MergeReport, Rows, Which};
use super::pieces::check_room;
use super::put::How;
use super::record::Operation;
use super::state::State;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;

/// Bytes of the changes that wait for the log, at most.
pub(super) const QUEUE_BYTES: u64 = 1 << 20;

/// What changes an index. One per directory; `Send + Sync`: share it between threads.
///
/// Changes of many threads share the syncs of the log. Flushes and merges run in threads of its
/// own, one of each at a time, and make way for searches; a call that finds no room for its rows
/// waits for the flush that is under way. What fails in those threads poisons nothing: the next
/// call that puts rows in reports it, in place of what it was to do. Dropping the writer cancels
/// what is under way; what is acknowledged is in the log.
pub struct Writer {
    pub(super) common: Arc<Common>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.common.end_background();
    }
}

impl Writer {
    /// The index, for searches: they see what is acknowledged.
    pub fn index(&self) -> &Arc<Index> {
        &self.common.index
    }

    /// Whether this process opened it, and is no child of a fork, which cannot change the index.
    pub fn is_of_this_process(&self) -> bool {
        self.common.owner.is_current()
    }

    /// Puts rows in whose ids no row has.
    ///
    /// A call that is one record of the log goes in as a whole or not at all: some 256 KiB of rows,
    /// as much of attributes, half of what the delta holds at most. A longer one goes in piece by
    /// piece: after an error the pieces before it stay, as safe as [`Durability::Deferred`] says,
    /// and the error tells how many rows of the call they are, which are its first.
    ///
    /// # Errors
    /// `InvalidInput` naming what is wrong with a row, or an id that a row has already, and where
    /// no ids are left below 2^63 for rows without, found before any row is in; `NoSpace`;
    /// `ReadOnly` after a write that failed. Once each, what a flush or merge in the background
    /// failed with: before the call begins, or where it waits for room.
    pub fn insert(&self, rows: &Rows<'_>) -> Result<Acknowledged> {
        self.insert_with(rows, &NoProgress)
    }

    /// As [`Writer::insert`]; `progress` can stop it between two pieces.
    ///
    /// # Errors
    /// As [`Writer::insert`]; `Cancelled` where it was stopped.
    pub fn insert_with(&self, rows: &Rows<'_>, progress: &dyn Progress) -> Result<Acknowledged> {
        self.put((Operation::Insert, progress), rows)
    }

    /// Puts rows in, each in place of the one that has its id, if one has.
    ///
    /// # Errors
    /// As [`Writer::insert`]; `InvalidInput` for rows without ids or names.
    pub fn upsert(&self, rows: &Rows<'_>) -> Result<Acknowledged> {
        self.upsert_with(rows, &NoProgress)
    }

    /// As [`Writer::upsert`]; `progress` can stop it between two pieces.
    ///
    /// # Errors
    /// As [`Writer::upsert`]; `Cancelled` where it was stopped.
    pub fn upsert_with(&self, rows: &Rows<'_>, progress: &dyn Progress) -> Result<Acknowledged> {
        if rows.ids.is_none() && rows.names.is_none() {
            return Err(Error::invalid(
                "rows to replace others by need ids or names",
            ));
        }
        self.put((Operation::Upsert, progress), rows)
    }

    /// Refuses what [`Writer::upsert`] would refuse of a row whose attributes have so many bytes,
    /// for want of memory: for who puts rows into several indexes, or into none.
    ///
    /// # Errors
    /// `InvalidInput` where the memory for updates is too small for the attributes; once each, what
    /// a flush or merge in the background failed with.
    pub fn check_room(&self, attributes: usize) -> Result<()> {
        self.common.check_process()?;
        self.common.report()?;
        let capacity = self.common.commit.look(|state| state.capacity)?;
        let row_bytes = self.common.index.shape().row_bytes();
        check_room(attributes, row_bytes, capacity)
    }

    fn put(&self, how: How<'_>, rows: &Rows<'_>) -> Result<Acknowledged> {
        self.common.check_process()?;
        self.common.report()?;
        let mut make_room = |rows| self.make_room(rows, how.1);
        self.common.put(how, rows, &mut make_room)
    }

    /// Deletes the rows of these ids. Ids that no row has are counted.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is given twice; `ReadOnly` after a write that failed.
    pub fn delete(&self, ids: &[u64], durability: Durability) -> Result<Acknowledged> {
        self.common.check_process()?;
        let done = self.common.delete(ids, durability)?;
        self.look_for_merges()?;
        Ok(done)
    }

    /// Deletes rows. Ids and names that no row has are counted.
    ///
    /// Which rows match a filter is told at the beginning, of each row once more when its turn
    /// comes: a row that another thread changes meanwhile is deleted if it matches then. Rows of
    /// names are read, to tell that they have them. After an error the rows before are deleted.
    ///
    /// # Errors
    /// As [`Index::count`] and [`Writer::delete`].
    pub fn delete_rows(&self, which: Which<'_>, durability: Durability) -> Result<Acknowledged> {
        if let Which::Ids(ids) = which {
            return self.delete(ids, durability);
        }
        let change = RowChange {
            edit: None,
            filter: None,
            durability,
        };
        self.change(which, change)
    }

    /// Changes the attributes of rows: what they were, as the change says. Ids that no row has are
    /// counted.
    ///
    /// No other change of a row is lost: each is changed as it is when its turn comes. A row that
    /// changes is put in anew with its vector, and costs what an upsert does and reading it. After
    /// an error the rows before are changed.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is given twice, and for attributes that would be too long or
    /// too deep, naming the row; as [`Writer::upsert`] and [`Index::count`].
    pub fn edit_attributes(
        &self,
        which: Which<'_>,
        edit: &Edit,
        durability: Durability,
    ) -> Result<Acknowledged> {
        edit.check()?;
        let change = RowChange {
            edit: Some(edit),
            filter: None,
            durability,
        };
        self.change(which, change)
    }

    fn change(&self, which: Which<'_>, change: RowChange<'_>) -> Result<Acknowledged> {
        self.common.check_process()?;
        self.common.report()?;
        let mut make_room = |rows| self.make_room(rows, &NoProgress);
        let done = self.common.change(which, change, &mut make_room)?;
        self.look_for_merges()?;
        Ok(done)
    }

    /// Wakes the merger if many rows died.
    fn look_for_merges(&self) -> Result<()> {
        if !self.common.options.in_foreground && self.common.is_dying() {
            self.common.upkeep.merger.wake(&self.common)?;
        }
        Ok(())
    }

    /// Makes room for rows and bytes of attributes: closes the delta, or waits until the closed one
    /// was flushed.
    fn make_room(&self, rows: (usize, u64), progress: &dyn Progress) -> Result<()> {
        let common = &self.common;
        if common.options.in_foreground {
            return common.make_room(rows);
        }
        loop {
            let flushed = common.upkeep.flusher.board.ended();
            let state = |state: &mut State, log: &mut LogWriter| {
                if state.has_room(rows) {
                    return Ok(Room::There);
                }
                if state.frozen.is_some() {
                    return Ok(Room::Later);
                }
                common.close_delta(state, log)?;
                Ok::<Room, Error>(Room::Made)
            };
            match common.commit.exclusive(state)?? {
                Room::There => return Ok(()),
                Room::Made => return common.upkeep.flusher.wake(common),
                Room::Later => {
                    common.upkeep.flusher.wake(common)?;
                    common
                        .upkeep
                        .flusher
                        .board
                        .wait_for_more(flushed, progress)?;
                }
            }
        }
    }

    /// Makes a segment of the rows since the last flush, so that they take no memory and no
    /// replay. Nothing where there are none, and nothing died.
    ///
    /// Runs in the thread that calls, after the flush in the background, and beside a merge; behind
    /// that where the design changes pages, unless changes wait for room. Changes go on meanwhile,
    /// as far as there is room for them. Where there are too many segments then, they are merged in
    /// the background.
    ///
    /// # Errors
    /// `InvalidInput` where memory is too small for another segment, `NoSpace`, `Cancelled`: the
    /// rows stay where they are then. `ReadOnly` after a write that failed.
    pub fn flush(&self, progress: &dyn Progress) -> Result<()> {
        self.common.check_process()?;
        self.common.flush_all(progress)
    }

    /// Flushes, and merges segments: those of which there are too many of a size or which have
    /// mostly died, or all into one where `full`.
    ///
    /// Runs in the thread that calls, after what runs in the background. Changes, their flushes and
    /// searches go on meanwhile. A merge is a build over the living rows: it takes the memory for
    /// updates that is set aside for that, and as much disk again as it merges; where that memory
    /// does not hold the rows, temporary files as large as the rows beside it.
    ///
    /// # Errors
    /// `InvalidInput` where that memory is too small, with the least that works; `NoSpace`,
    /// `Cancelled`: the segments stay as they are then. `ReadOnly` after a write that failed.
    pub fn merge(&self, full: bool, progress: &dyn Progress) -> Result<MergeReport> {
        self.common.check_process()?;
        self.common.merge(full, progress)
    }

    /// Flushes, and merges what has become too many segments: what the background would do, for who
    /// is about to close. Why segments are not merged stands in [`Changes`] afterwards.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn settle(&self, progress: &dyn Progress) -> Result<()> {
        self.common.check_process()?;
        self.common.flush_all(progress)?;
        self.common.merge_tiers(progress)
    }

    /// Stops the flush and the merge in the background, and returns when they have.
    /// Segments and rows stay as they are; the next delta that fills begins another.
    pub fn cancel(&self) {
        if self.is_of_this_process() {
            let upkeep = &self.common.upkeep;
            cancel(&[&upkeep.flusher.board, &upkeep.merger.board]);
        }
    }

    /// Makes a copy of the index in the directory `dir`, which does not exist or is empty: an index
    /// of its own. It holds everything acknowledged before the call.
    ///
    /// Files that do not change are hard links where the file system has them, and take no room.
    ///
    /// # Errors
    /// Those of a flush; `InvalidInput` where there is an index already; `Io`, `NoSpace`.
    pub fn snapshot(&self, dir: &Path, progress: &dyn Progress) -> Result<()> {
        self.common.check_process()?;
        self.common.snapshot(dir, progress)
    }

    /// Makes everything acknowledged durable, and returns its last record.
    ///
    /// # Errors
    /// `Io` where the sync fails; nothing changes any more then.
    pub fn sync(&self) -> Result<u64> {
        self.common.check_process()?;
        Ok(self.common.commit.sync()?.0)
    }

    /// Syncs what was acknowledged to be synced within a time, if that has come. To be called again
    /// after the time returned, or every second or so when there is none.
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn keep_up(&self) -> Result<Option<Duration>> {
        self.common.check_process()?;
        Ok(self.common.commit.keep_up()?)
    }

    /// Ends the log for good. What is not flushed is replayed when the index is next opened to be
    /// changed; what runs in the background is cancelled.
    ///
    /// # Errors
    /// As [`Writer::sync`].
    pub fn close(self) -> Result<u64> {
        self.common.check_process()?;
        self.common.end_background();
        let common = Arc::clone(&self.common);
        drop(self);
        let common = Arc::into_inner(common).ok_or_else(|| {
            let words = "a writer that is closed is in use";
            Error::new(ErrorKind::Internal, words)
        })?;
        let (_, last) = common.commit.close()?;
        Ok(last.0)
    }

    /// What has changed, and what that takes.
    ///
    /// # Errors
    /// `ReadOnly` after a thread panicked while it changed the index.
    pub fn changes(&self) -> Result<Changes> {
        self.common.changes()
    }
}

/// Where rows are to go.
enum Room {
    There,
    Made,
    Later,
}
