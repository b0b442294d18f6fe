//! From the delta to a segment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway_store::{LogFloor, LogWriter};
use pageway_types::{NoProgress, Progress};

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::state::State;
use super::taken::FromDelta;
use crate::build::DocumentsById;
use crate::delta::Delta;
use crate::error::{ErrorKind, Result};
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::source::{IdSlice, ResidentSlice, VectorSlice, keep_exactly};

/// Merges for want of memory that a flush waits for at most, those of other callers included.
const MERGES_FOR_FLUSH: usize = 3;

impl Common {
    /// Flushes the closed delta, if there is one.
    pub(super) fn flush_closed(&self, progress: &dyn Progress) -> Result<()> {
        if self.commit.look(|state| state.frozen.is_some())? {
            self.flush(progress)?;
        }
        Ok(())
    }

    /// Flushes and merges in the calling thread, unless another thread made room meanwhile.
    pub(super) fn make_room(&self, rows: (usize, u64)) -> Result<()> {
        let has_room = || self.commit.look(|state| state.has_room(rows));
        if has_room()? {
            return Ok(());
        }
        self.flush_closed(&NoProgress)?;
        if !has_room()? {
            self.flush(&NoProgress)?;
        }
        if !self.options.merge_by_hand {
            self.merge_tiers(&NoProgress)?;
        }
        Ok(())
    }

    /// Flushes everything that is acknowledged.
    pub(super) fn flush_all(&self, progress: &dyn Progress) -> Result<()> {
        // A delta that is closed already comes first.
        self.flush_closed(progress)?;
        self.flush(progress)
    }

    /// Flushes the closed delta; if there is none, closes the open one and flushes that.
    fn flush(&self, progress: &dyn Progress) -> Result<()> {
        let flushed = self.flush_where_it_fits(progress);
        if flushed.is_err() {
            self.upkeep.pace.end(false);
        }
        flushed
    }

    /// Flushes into the one segment, or into a new one. If memory does not hold one more segment,
    /// all are merged first, into a design that takes less.
    fn flush_where_it_fits(&self, progress: &dyn Progress) -> Result<()> {
        if self.flush_into_segment(progress)? {
            return Ok(());
        }
        let mut left = MERGES_FOR_FLUSH;
        loop {
            let known = self.index.version().manifest.generation;
            let error = match self.flush_beside(progress) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => error,
                outcome => return outcome,
            };
            if left == 0 || !self.merge_for_memory(known, progress)? {
                return Err(error);
            }
            left -= 1;
        }
    }

    /// Flushes into a new segment.
    fn flush_beside(&self, progress: &dyn Progress) -> Result<()> {
        let _turn = self.upkeep.turns.flush();
        let Some((frozen, floor)) = self.freeze()? else {
            return Ok(());
        };
        let _begun = self.upkeep.flusher.board.begin();
        let merges = self.upkeep.turns.try_merge();
        let (lease, version) = self.begin_build();
        let shape = self.index.shape();
        // Between two turns: rows that died so far are left out, and later deaths are told by the
        // source of the rows.
        let take = |_: &mut State, _: &mut LogWriter| FromDelta::take(&frozen, shape.row_bytes());
        let (mut taken, vectors) = self.commit.exclusive(take)?;
        let rows = taken.ids().len() as u64;
        let room = self.room_for_flush(&version, (rows, merges.is_none()))?;
        let (vectors, shape) = if narrows(&version) {
            keep_exactly(vectors, shape)?
        } else {
            (vectors, shape)
        };
        drop(version);
        let rows = ResidentSlice(VectorSlice::new(&vectors, shape)?);
        let documents = taken.documents();
        let documents = documents.as_ref().map(|all| all as &dyn DocumentsById);
        let added = self.build_segment(
            (&rows, &IdSlice(taken.ids()), documents),
            (&lease, &room, None),
            progress,
        )?;
        drop(vectors);
        let checkpoint = Checkpoint {
            gone: &[],
            added,
            flushed: Some(floor),
            redesign: None,
            taken: &mut taken,
        };
        self.checkpoint(checkpoint, lease)?;
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        self.upkeep.flusher.board.end();
        Ok(())
    }

    /// The closed delta; closes the open one if there is none. `None` if the files hold all
    /// changes.
    pub(super) fn freeze(&self) -> Result<Option<(Arc<Delta>, LogFloor)>> {
        let freeze = |state: &mut State, log: &mut LogWriter| -> Result<_> {
            if state.frozen.is_none() {
                let known = state.version.manifest.changes;
                if known.is_some_and(|changes| changes.floor == log.last().0) {
                    return Ok(None);
                }
                self.close_delta(state, log)?;
            }
            let frozen = state.frozen.as_ref();
            Ok(frozen.map(|(delta, floor)| (Arc::clone(delta), *floor)))
        };
        self.commit.exclusive(freeze)?
    }

    /// Closes the delta, between two turns of the log, and opens the next.
    pub(super) fn close_delta(&self, state: &mut State, log: &mut LogWriter) -> Result<()> {
        let floor = LogFloor {
            lsn: log.rotate()?,
            chain: Some(log.chain()),
        };
        self.upkeep.pace.begin(state.active_rows);
        state.freeze(floor);
        state.version = self.index.turn_to_deltas(state.deltas());
        Ok(())
    }
}

/// Whether a new segment is stored as f16 if that holds all its values exactly: in an index that
/// has no segments, or one that is stored so.
fn narrows(version: &Version) -> bool {
    let segments = &version.manifest.segments;
    segments.is_empty() || segments.iter().any(SegmentEntry::is_narrowed)
}
