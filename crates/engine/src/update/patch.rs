//! A flush into the one segment, for designs that change pages one by one.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use pageway_store::{LogFloor, LogWriter};
use pageway_types::{Progress, VectorShape};

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::living::LivingRows;
use super::state::State;
use super::taken::{FromDelta, FromSegments, Taken};
use super::upkeep::BuildLease;
use crate::build::{Added, SegmentPatch, patch_bytes};
use crate::delta::{Delta, KnownList};
use crate::error::Result;
use crate::execution::{DeadSet, Segment};
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::source::keep_exactly;

/// How long a flush rests before it looks again whether a merge is under way.
const WAIT: Duration = Duration::from_millis(2);

/// Rows of a delta, and of the segment that they go to.
struct FromBoth(FromDelta, FromSegments);

impl Taken for FromBoth {
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.0.each_death(tell)?;
        self.1.each_death(tell)
    }
}

/// New rows for a segment, and those that it has.
struct TakenRows {
    delta: FromDelta,
    vectors: Vec<u8>,
    living: LivingRows,
}

/// Rows for a segment.
pub(super) struct ComingRows<'r> {
    pub(super) vectors: Vec<u8>,
    pub(super) shape: VectorShape,
    pub(super) ids: &'r [u64],
    /// Neighbours of each row that are known.
    pub(super) known: &'r [KnownList],
    /// Dead nodes of the segment.
    pub(super) dead: &'r DeadSet,
}

impl Common {
    /// Puts the rows of the closed delta into the one segment. False if nothing was done: if the
    /// segment cannot take them, or if a merge goes on and changes wait for room.
    pub(super) fn flush_into_segment(&self, progress: &dyn Progress) -> Result<bool> {
        if patched(&self.index.version()).is_none() {
            return Ok(false);
        }
        let Some(_merge) = self.turn_of_merge(progress)? else {
            return Ok(false);
        };
        let _turn = self.upkeep.turns.flush();
        let (lease, version) = self.begin_build();
        let Some((segment, entry)) = patched(&version) else {
            return Ok(false);
        };
        let Some((frozen, floor)) = self.freeze()? else {
            return Ok(true);
        };
        let _begun = self.upkeep.flusher.board.begin();
        let mut rows = self.take_rows(&frozen, segment)?;
        let added = self.patch_delta(&version, (segment, entry), (&mut rows, &lease), progress)?;
        let Some(added) = added else {
            return Ok(false);
        };
        self.upkeep.former.note(segment);
        drop(version);
        self.commit_patch((added, floor), rows, lease)?;
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        self.counters.patches.fetch_add(1, Ordering::Relaxed);
        self.upkeep.flusher.board.end();
        self.settle_pages()?;
        Ok(true)
    }

    /// The turn to merge, once the merge under way has ended; `None` if it goes on and changes wait
    /// for room.
    fn turn_of_merge(&self, progress: &dyn Progress) -> Result<Option<MutexGuard<'_, ()>>> {
        loop {
            let turn = self.upkeep.turns.try_merge();
            if turn.is_some() || self.upkeep.flusher.board.is_awaited() {
                return Ok(turn);
            }
            progress.check()?;
            sleep(WAIT);
        }
    }

    /// Takes the rows of a delta and the living rows of a segment, between two turns.
    fn take_rows(&self, frozen: &Arc<Delta>, segment: &Segment) -> Result<TakenRows> {
        let shape = self.index.shape();
        let take = |_: &mut State, _: &mut LogWriter| {
            let (delta, vectors) = FromDelta::take(frozen, shape.row_bytes());
            let living = LivingRows::new(std::slice::from_ref(segment), shape);
            TakenRows {
                delta,
                vectors,
                living,
            }
        };
        Ok(self.commit.exclusive(take)?)
    }

    /// The segment with the rows of a delta; `None` if it cannot take them.
    fn patch_delta(
        &self,
        version: &Version,
        place: (&Segment, &SegmentEntry),
        (taken, lease): (&mut TakenRows, &BuildLease<'_>),
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        let Some(dead) = taken.living.first_dead() else {
            return Ok(None);
        };
        let ids = taken.delta.ids();
        let is_nothing = ids.is_empty() && (place.1.spec.repair.is_sweep() || dead.len() == 0);
        if is_nothing || taken.delta.documents().is_some() {
            return Ok(None);
        }
        let rows = ComingRows {
            vectors: std::mem::take(&mut taken.vectors),
            shape: self.index.shape(),
            ids,
            known: &taken.delta.lists(version.numbering()),
            dead,
        };
        self.patch(version, place, (rows, lease), progress)
    }

    /// The segment with more rows; `None` if memory is too small, or it cannot hold them.
    pub(super) fn patch(
        &self,
        version: &Version,
        (segment, entry): (&Segment, &SegmentEntry),
        (coming, lease): (ComingRows<'_>, &BuildLease<'_>),
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        let limits = self.limits_of(version);
        // A search among dead nodes alone finds no neighbours for the rows.
        let is_dead = coming.dead.len() >= segment.node_count();
        if is_dead || !self.patches_fit((version, entry), coming.ids.len() as u32, 0)? {
            return Ok(None);
        }
        let (rows, stored) = if entry.is_narrowed() && coming.shape == self.index.shape() {
            keep_exactly(coming.vectors, coming.shape)?
        } else {
            (coming.vectors, coming.shape)
        };
        if !entry.can_hold(&rows, stored) {
            return Ok(None);
        }
        let patch = SegmentPatch {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: lease.generation,
            base: entry,
            open: segment,
            dead: coming.dead,
            rows: &rows,
            ids: coming.ids,
            known: coming.known,
            limits,
            progress,
        };
        patch.write().map(Some)
    }

    /// Whether memory is enough to put rows into a segment; rows that are in no delta take `held`
    /// bytes of it. If not, `Changes` says what is missing.
    pub(super) fn patches_fit(
        &self,
        (version, entry): (&Version, &SegmentEntry),
        rows: u32,
        held: u64,
    ) -> Result<bool> {
        let least = patch_bytes(&entry.spec, (rows, entry.node_count))? + held;
        let given = self.limits_of(version).build_memory;
        let fits = !self.is_bounded() || least <= given;
        let refused = if fits {
            None
        } else {
            let (memory, least) = self.named_memory(version, least)?;
            Some(format!(
                "rows become segments: pages are changed in a {memory} of {least}, not in less"
            ))
        };
        self.upkeep.flusher.board.refuse(refused);
        Ok(fits)
    }

    fn commit_patch(
        &self,
        (added, floor): (Added, LogFloor),
        taken: TakenRows,
        lease: BuildLease<'_>,
    ) -> Result<()> {
        let checkpoint = Checkpoint {
            gone: &[0],
            added: Some(added),
            flushed: Some(floor),
            redesign: None,
            taken: &mut FromBoth(taken.delta, taken.living.into_taken()),
        };
        self.checkpoint(checkpoint, lease)
    }
}

/// The segment that rows can be put into: it must be the only one, with ids and without
/// attributes.
pub(super) fn patched(version: &Version) -> Option<(&Segment, &SegmentEntry)> {
    let ([segment], [entry]) = (&version.segments[..], &version.manifest.segments[..]) else {
        return None;
    };
    takes_rows(entry).then_some((segment, entry))
}

/// Whether rows can be put into a segment.
pub(super) fn takes_rows(entry: &SegmentEntry) -> bool {
    entry.spec.patches_pages()
        && entry.spec.storage.ids.are_given()
        && entry.files.ids.is_some()
        && entry.files.attributes.is_none()
}
