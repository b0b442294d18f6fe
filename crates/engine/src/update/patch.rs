//! A flush into the segment that is there, where the design changes pages one by one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway_store::{LogFloor, LogWriter};
use pageway_types::Progress;

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::living::LivingRows;
use super::state::State;
use super::taken::{FromDelta, FromSegments, Taken};
use super::upkeep::BuildLease;
use crate::build::{Added, SegmentPatch, patch_bytes};
use crate::delta::Delta;
use crate::error::Result;
use crate::execution::Segment;
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::source::keep_exactly;

/// Rows of a delta, and of the segment that they go to.
struct FromBoth(FromDelta, FromSegments);

impl Taken for FromBoth {
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.0.each_death(tell)?;
        self.1.each_death(tell)
    }
}

/// Rows on their way into a segment, and those that it has.
struct TakenRows {
    delta: FromDelta,
    vectors: Vec<u8>,
    living: LivingRows,
}

impl Common {
    /// Puts the rows of the delta into the segment that there is; false where that cannot be, and
    /// nothing is done: also beside a merge, which may be of the segment.
    pub(super) fn flush_into_segment(&self, progress: &dyn Progress) -> Result<bool> {
        if patched(&self.index.version()).is_none() {
            return Ok(false);
        }
        let Some(_merge) = self.upkeep.turns.try_merge() else {
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
        let added = self.patch(&version, (segment, entry), (&mut rows, &lease), progress)?;
        let Some(added) = added else {
            return Ok(false);
        };
        self.upkeep.former.note(segment);
        drop(version);
        self.commit_patch((added, floor), rows, lease)?;
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        self.upkeep.flusher.board.end();
        self.settle_pages()?;
        Ok(true)
    }

    /// Takes the rows of a delta, and notes who lives in a segment: between two turns, as for a
    /// flush and for a merge.
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

    /// The segment with the rows; none where they cannot be put there.
    fn patch(
        &self,
        version: &Version,
        (segment, entry): (&Segment, &SegmentEntry),
        (taken, lease): (&mut TakenRows, &BuildLease<'_>),
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        let ids = taken.delta.ids();
        let limits = self.limits_of(version);
        let size = (ids.len() as u32, segment.node_count());
        let fits = !self.is_bounded() || patch_bytes(&entry.spec, size)? <= limits.build_memory;
        let Some(dead) = taken.living.first_dead().filter(|_| fits) else {
            return Ok(None);
        };
        let is_nothing = ids.is_empty() && (entry.spec.repair.is_sweep() || dead.len() == 0);
        if is_nothing || taken.delta.documents().is_some() {
            return Ok(None);
        }
        let (rows, shape) = (std::mem::take(&mut taken.vectors), self.index.shape());
        let (rows, stored) = if entry.is_narrowed() {
            keep_exactly(rows, shape)?
        } else {
            (rows, shape)
        };
        if stored != entry.spec.shape.vectors() {
            return Ok(None);
        }
        let patch = SegmentPatch {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: lease.generation,
            base: entry,
            open: segment,
            dead,
            rows: &rows,
            ids,
            known: &taken.delta.lists(version.numbering()),
            limits,
            progress,
        };
        patch.write().map(Some)
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

/// The segment that rows can be put into: the only one, with ids and without attributes.
pub(super) fn patched(version: &Version) -> Option<(&Segment, &SegmentEntry)> {
    let ([segment], [entry]) = (&version.segments[..], &version.manifest.segments[..]) else {
        return None;
    };
    let can = entry.spec.patches_pages()
        && entry.spec.storage.ids.are_given()
        && entry.files.ids.is_some()
        && entry.files.attributes.is_none();
    can.then_some((segment, entry))
}
