//! A merge that makes no new segment: for designs that change pages one by one, it puts the rows
//! of all smaller segments into the largest.
//!
//! Smaller segments arise where a flush could not wait for the merge that held the largest.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use pageway_store::LogWriter;
use pageway_types::{Progress, VectorRead};

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::living::LivingRows;
use super::options::MergeReport;
use super::patch::{ComingRows, takes_rows};
use super::state::State;
use super::tiers::{Tier, is_absorbed};
use super::upkeep::BuildLease;
use crate::build::Added;
use crate::error::Result;
use crate::execution::Segment;
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::source::IdRead;

impl Common {
    /// Puts the rows of all other segments into the largest; false if the design or memory does not
    /// allow it, or if so much has changed that all is written anew. The caller holds the turn to
    /// merge.
    pub(super) fn absorb(
        &self,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<bool> {
        let _turn = self.upkeep.turns.flush();
        let (lease, version) = self.begin_build();
        let Some(order) = absorbed(&version) else {
            return Ok(false);
        };
        let _begun = self.upkeep.merger.board.begin();
        let all = order.iter().filter_map(|at| version.segments.get(*at));
        let segments: Vec<Segment> = all.cloned().collect();
        let entries = &version.manifest.segments;
        let entry = order.first().and_then(|at| entries.get(*at));
        let (Some(largest), Some(entry)) = (segments.first(), entry) else {
            return Ok(false);
        };
        let shape = self.index.shape();
        let living = |_: &mut State, _: &mut LogWriter| LivingRows::new(&segments, shape);
        let living = self.commit.exclusive(living)?;
        let place = (largest, entry);
        let Some(added) = self.absorbing(&version, place, (&living, &lease), progress)? else {
            return Ok(false);
        };
        self.upkeep.former.note(largest);
        let came = added.came;
        drop((version, segments));
        let checkpoint = Checkpoint {
            gone: &order,
            added: Some(added),
            flushed: None,
            redesign: None,
            taken: &mut living.into_taken(),
        };
        self.checkpoint(checkpoint, lease)?;
        self.counters.merges.fetch_add(1, Ordering::Relaxed);
        self.counters.patches.fetch_add(1, Ordering::Relaxed);
        self.upkeep.merger.board.end();
        self.settle_pages()?;
        report.merges += 1;
        report.merged_segments += order.len() as u64;
        report.rows += u64::from(came);
        Ok(true)
    }

    /// The largest segment, with the living rows of the others behind its own; `None` if it cannot
    /// take them.
    fn absorbing(
        &self,
        version: &Version,
        place: (&Segment, &SegmentEntry),
        (living, lease): (&LivingRows, &BuildLease<'_>),
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        let (first, shape) = (living.first_rows(), VectorRead::shape(living));
        let count = VectorRead::count(living) - first;
        let Some(dead) = living.first_dead() else {
            return Ok(None);
        };
        let row_bytes = shape.row_bytes() as u64 + size_of::<u64>() as u64;
        let is_held = self.holds_rows(version, count * row_bytes);
        if !is_held || !self.patches_fit((version, place.1), count as u32, count * row_bytes)? {
            return Ok(None);
        }
        let mut ids = vec![0; count as usize];
        IdRead::read(living, first, &mut ids)?;
        let mut vectors = vec![0; count as usize * shape.row_bytes()];
        VectorRead::read(living, first, &mut vectors)?;
        let rows = ComingRows {
            vectors,
            shape,
            ids: &ids,
            known: &[],
            dead,
        };
        self.patch(version, place, (rows, lease), progress)
    }

    /// Whether a merge may hold `bytes` of rows in memory; more go through temporary files.
    fn holds_rows(&self, version: &Version, bytes: u64) -> bool {
        let limits = self.limits_of(version);
        bytes <= limits.build_memory.max(limits.index_memory)
    }
}

/// The numbers of all segments, if the largest is to take the rows of the others.
fn absorbed(version: &Version) -> Option<Vec<usize>> {
    let entries = &version.manifest.segments;
    let has_attributes = |entry: &SegmentEntry| entry.files.attributes.is_some();
    if entries.len() < 2 || entries.iter().any(has_attributes) {
        return None;
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| Reverse(entries.get(*at).map(|entry| entry.node_count)));
    let largest = order.first().and_then(|at| entries.get(*at))?;
    let segments = order.iter().filter_map(|at| version.segments.get(*at));
    let tiers: Vec<Tier> = segments.map(Tier::of).collect();
    let takes = takes_rows(largest) && is_absorbed(&tiers, largest.built().into());
    takes.then_some(order)
}
