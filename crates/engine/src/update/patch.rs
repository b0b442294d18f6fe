//! A flush into the segment that is there, where the design patches pages.

use pageway_store::LogWriter;
use pageway_types::Progress;

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::living::LivingRows;
use super::state::State;
use super::taken::{FromDelta, FromSegments, Taken};
use crate::build::{SegmentPatch, patch_bytes};
use crate::error::Result;
use crate::execution::Segment;
use crate::index::Version;
use crate::source::keep_exactly;

/// Rows of a delta, and of the segment that they go to.
struct FromBoth(FromDelta, FromSegments);

impl Taken for FromBoth {
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.0.each_death(tell)?;
        self.1.each_death(tell)
    }
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
        let Some(segment) = patched(&version) else {
            return Ok(false);
        };
        let Some((frozen, floor)) = self.freeze()? else {
            return Ok(true);
        };
        let _begun = self.upkeep.flusher.board.begin();
        let shape = self.index.shape();
        // Between two turns, as for a flush and for a merge.
        let take = |_: &mut State, _: &mut LogWriter| {
            let rows = FromDelta::take(&frozen, shape.row_bytes());
            (rows, LivingRows::new(std::slice::from_ref(segment), shape))
        };
        let ((taken, rows), living) = self.commit.exclusive(take)?;
        let size = (taken.ids().len() as u32, segment.node_count());
        let limits = self.limits_of(&version);
        let entry = version.manifest.segments.first();
        let Some((entry, dead)) = entry.zip(living.first_dead()) else {
            return Ok(false);
        };
        let fits = !self.is_bounded() || patch_bytes(&entry.spec, size)? <= limits.build_memory;
        if taken.ids().is_empty() || taken.documents().is_some() || !fits {
            return Ok(false);
        }
        let (rows, stored) = if entry.is_narrowed() {
            keep_exactly(rows, shape)?
        } else {
            (rows, shape)
        };
        if stored != entry.spec.shape.vectors() {
            return Ok(false);
        }
        let patch = SegmentPatch {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: lease.generation,
            base: entry,
            open: segment,
            dead,
            rows: &rows,
            ids: taken.ids(),
            limits,
            progress,
        };
        let added = patch.write()?;
        drop(rows);
        let checkpoint = Checkpoint {
            gone: &[0],
            added: Some(added),
            flushed: Some(floor),
            redesign: None,
            taken: &mut FromBoth(taken, living.into_taken()),
        };
        drop(version);
        self.checkpoint(checkpoint, lease)?;
        self.counters
            .flushes
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.upkeep.flusher.board.end();
        Ok(true)
    }
}

/// The segment that rows can be put into: the only one, with ids and without attributes.
fn patched(version: &Version) -> Option<&Segment> {
    let ([segment], [entry]) = (&version.segments[..], &version.manifest.segments[..]) else {
        return None;
    };
    let can = entry.spec.patches_pages()
        && entry.spec.storage.ids.are_given()
        && entry.files.ids.is_some()
        && entry.files.attributes.is_none();
    can.then_some(segment)
}
