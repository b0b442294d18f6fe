//! From several segments to one, without the rows that died.

use std::sync::atomic::Ordering;

use pageway_types::{Progress, VectorRead};

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::living::LivingRows;
use super::options::MergeReport;
use super::state::State;
use super::tiers::{Tier, choose, choose_all, choose_patched};
use crate::build::KeptLists;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Segment;
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::resolve::Source;
use crate::segment;

/// The writer checks whether to merge when one more in so many rows died.
const DYING_SHARE: u64 = 16;

impl Common {
    /// Flushes, and merges segments that are too many, or all.
    pub(super) fn merge(&self, full: bool, progress: &dyn Progress) -> Result<MergeReport> {
        self.flush_all(progress)?;
        let _turn = self.upkeep.turns.merge();
        let mut report = MergeReport::default();
        if full {
            self.merge_all(false, (&mut report, progress))?;
            return Ok(report);
        }
        self.merge_chosen((&mut report, progress))?;
        Ok(report)
    }

    /// Merges while there are too many segments. If memory is too small for a merge, they stay.
    pub(super) fn merge_tiers(&self, progress: &dyn Progress) -> Result<()> {
        let _turn = self.upkeep.turns.merge();
        let mut report = MergeReport::default();
        match self.merge_chosen((&mut report, progress)) {
            Err(error) if is_refused(&error) => {
                self.upkeep.merger.board.refuse(Some(error.to_string()));
                Ok(())
            }
            outcome => {
                self.upkeep.merger.board.refuse(None);
                outcome
            }
        }
    }

    /// Merges all segments so that they take less memory, after the merge that is under way. Does
    /// nothing if a version after `known` was committed. True if there is a newer version then.
    pub(super) fn merge_for_memory(&self, known: u64, progress: &dyn Progress) -> Result<bool> {
        let _turn = self.upkeep.turns.merge();
        let is_known = || self.index.version().manifest.generation == known;
        if is_known() {
            self.merge_all(true, (&mut MergeReport::default(), progress))?;
        }
        Ok(!is_known())
    }

    /// Merges all segments into one of the living rows, in the new design if one is due. Does
    /// nothing for a single segment that has no dead rows, was not patched and keeps its design.
    /// `for_memory`: whether a flush lacks memory.
    fn merge_all(
        &self,
        for_memory: bool,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        let version = self.index.version();
        let segments = version.segments.len();
        let is_patched = |entry: &SegmentEntry| entry.patched.is_some();
        let is_patched = version.manifest.segments.iter().any(is_patched);
        let is_done = segments <= 1 && version.dead_count() == 0 && !is_patched;
        if segments == 0 || (is_done && self.redesign(&version, for_memory).is_none()) {
            return Ok(());
        }
        drop(version);
        let all: Vec<usize> = (0..segments).collect();
        self.merge_segments((&all, for_memory), (report, progress))
    }

    /// Whether there is nothing to merge.
    pub(super) fn is_tidy(&self) -> bool {
        let version = self.index.version();
        to_merge(&version).is_empty() && !self.is_outgrown(&version) && !self.is_cut(&version)
    }

    /// Whether many rows died since the last call, so that there is something to merge.
    pub(super) fn is_dying(&self) -> bool {
        let version = self.index.version();
        let (dead, nodes) = (version.dead_count(), u64::from(version.node_count()));
        let known = self.counters.dead.load(Ordering::Relaxed).min(dead);
        if self.options.merge_by_hand || dead - known < (nodes / DYING_SHARE).max(1) {
            return false;
        }
        self.counters.dead.store(dead, Ordering::Relaxed);
        !self.is_tidy()
    }

    fn merge_chosen(&self, (report, progress): (&mut MergeReport, &dyn Progress)) -> Result<()> {
        let version = self.index.version();
        let is_cut = self.is_cut(&version);
        let is_due = is_cut || self.is_outgrown(&version);
        drop(version);
        if is_due {
            match self.merge_all(is_cut, (report, progress)) {
                // If the disk is too small to merge all, some are merged.
                Err(error) if is_refused(&error) => {}
                outcome => outcome?,
            }
        }
        loop {
            let chosen = to_merge(&self.index.version());
            if chosen.is_empty() {
                return Ok(());
            }
            if chosen.len() > 1 && self.absorb((report, progress))? {
                continue;
            }
            self.merge_what_fits(chosen, (report, progress))?;
        }
    }

    /// Merges segments: all of `chosen`, or as many of the smaller ones as memory and disk allow.
    fn merge_what_fits(
        &self,
        mut chosen: Vec<usize>,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        let rows: Vec<u32> = {
            let version = self.index.version();
            version
                .segments
                .iter()
                .map(|own| own.node_count())
                .collect()
        };
        loop {
            let merged = self.merge_segments((&chosen, false), (report, progress));
            if chosen.len() <= 2 || !merged.as_ref().is_err_and(is_refused) {
                return merged;
            }
            let rows = |at: &usize| rows.get(*chosen.get(*at)?).copied();
            let largest = (0..chosen.len()).max_by_key(rows);
            largest.map(|at| chosen.remove(at));
        }
    }

    /// Segments of a version without their caches, as a merge reads them, and their entries.
    fn uncached(
        &self,
        version: &Version,
        numbers: &[usize],
    ) -> Result<(Vec<Segment>, Vec<SegmentEntry>)> {
        let all = version.segments.iter().zip(&version.manifest.segments);
        let all: Vec<_> = all.collect();
        let own = numbers
            .iter()
            .filter_map(|number| all.get(*number).copied());
        let uncached = own.map(|(segment, entry)| {
            let source = Source {
                vfs: self.vfs.as_ref(),
                dir: &self.dir,
                segment: entry,
            };
            Ok((segment::uncached(source, segment)?, entry.clone()))
        });
        let uncached = uncached.collect::<Result<Vec<_>>>()?;
        Ok(uncached.into_iter().unzip())
    }

    /// Merges segments, given by number; flushes add others behind them meanwhile.
    fn merge_segments(
        &self,
        (chosen, for_memory): (&[usize], bool),
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        let _begun = self.upkeep.merger.board.begin();
        let shape = self.index.shape();
        let (lease, version) = self.begin_build();
        let keeps = version.manifest.spec.keeps_lists();
        let mut order = chosen.to_vec();
        if keeps {
            let nodes = |number: &usize| version.segments.get(*number).map(|own| own.node_count());
            order.sort_by_key(|number| std::cmp::Reverse(nodes(number)));
        }
        let (segments, entries) = self.uncached(&version, &order)?;
        let nodes = segments.iter().map(|segment| segment.node_count());
        let nodes: u64 = nodes.map(u64::from).sum();
        // Between two turns, as for a flush.
        let living = |_: &mut State, _: &mut _| LivingRows::new(&segments, shape);
        let rows = self.commit.exclusive(living)?;
        drop(segments);
        let count = VectorRead::count(&rows);
        let is_full = chosen.len() == version.segments.len();
        let redesign = is_full
            .then(|| self.redesign(&version, for_memory))
            .flatten();
        let room = self.room_for_merge(&version, count, (is_full, redesign))?;
        let kept = (keeps || can_join(&entries, (nodes, count))).then_some(KeptLists {
            segments: &entries,
            rows: &rows,
        });
        drop(version);
        let flushes = room.is_all.then(|| self.upkeep.turns.flush());
        let added = self.build_segment(
            (&rows, &rows, rows.documents()),
            (&lease, &room, kept),
            progress,
        )?;
        drop(flushes);
        let checkpoint = Checkpoint {
            gone: chosen,
            added,
            flushed: None,
            redesign: room.redesign,
            taken: &mut rows.into_taken(),
        };
        self.checkpoint(checkpoint, lease)?;
        self.counters.merges.fetch_add(1, Ordering::Relaxed);
        self.upkeep.merger.board.end();
        report.merges += 1;
        report.merged_segments += chosen.len() as u64;
        report.rows += count;
        report.dropped += nodes - count;
        Ok(())
    }
}

/// Whether a merge was refused for want of memory or disk.
fn is_refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NoSpace)
}

/// Whether the graphs of several segments are joined, with `nodes` nodes of which `living` live:
/// if many died, a new graph is better.
fn can_join(segments: &[SegmentEntry], (nodes, living): (u64, u64)) -> bool {
    let has_lists = |segment: &SegmentEntry| segment.spec.joins_lists();
    let few_died = (nodes - living) * DYING_SHARE <= nodes;
    segments.len() > 1 && few_died && segments.iter().all(has_lists)
}

/// The segments to merge next, by their numbers.
fn to_merge(version: &Version) -> Vec<usize> {
    let tiers: Vec<Tier> = version.segments.iter().map(Tier::of).collect();
    let segments = &version.manifest.segments;
    let is_patched =
        |entry: &SegmentEntry| entry.spec.patches_pages() && entry.files.attributes.is_none();
    if !segments.is_empty() && segments.iter().all(is_patched) {
        let built = segments.first().and_then(|entry| entry.patched);
        choose_patched(
            &tiers,
            built.map_or(u32::MAX, |patched| patched.built).into(),
        )
    } else if version.manifest.spec.keeps_lists() {
        choose_all(&tiers)
    } else {
        choose(&tiers)
    }
}
