//! From several segments to one, without the rows that died.

use std::sync::atomic::Ordering;

use pageway_types::{Progress, VectorRead};

use super::checkpoint::Checkpoint;
use super::common::{Common, Maintenance};
use super::living::LivingRows;
use super::options::MergeReport;
use super::state::State;
use super::tiers::{Tier, choose};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Segment;
use crate::index::Version;

/// Merges are looked for when one in so many rows died.
const DYING_SHARE: u64 = 16;

impl Common {
    /// Flushes, and merges what is too much, or all.
    pub(super) fn merge(&self, full: bool, progress: &dyn Progress) -> Result<MergeReport> {
        let mut maintenance = self.maintenance();
        self.flush_all(&mut maintenance, progress)?;
        let mut report = MergeReport::default();
        if full {
            let version = self.index.version();
            let all: Vec<usize> = (0..version.segments.len()).collect();
            if all.len() > 1 || version.dead_count() > 0 {
                self.merge_segments(&all, &mut maintenance, (&mut report, progress))?;
            }
            return Ok(report);
        }
        self.merge_chosen(&mut maintenance, (&mut report, progress))?;
        Ok(report)
    }

    /// Merges while there are too many segments. Where memory is too small for that, they stay.
    pub(super) fn merge_tiers(
        &self,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut report = MergeReport::default();
        match self.merge_chosen(maintenance, (&mut report, progress)) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NoSpace) => {
                self.board.refuse_merge(Some(error.to_string()));
                Ok(())
            }
            outcome => {
                self.board.refuse_merge(None);
                outcome
            }
        }
    }

    /// Whether there is nothing to merge.
    pub(super) fn is_tidy(&self) -> bool {
        choose(&tiers(&self.index.version())).is_empty()
    }

    /// Whether many rows died since this was asked, and there is something to merge for it.
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

    fn merge_chosen(
        &self,
        maintenance: &mut Maintenance,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        loop {
            let chosen = choose(&tiers(&self.index.version()));
            if chosen.is_empty() {
                return Ok(());
            }
            self.merge_what_fits(chosen, maintenance, (report, progress))?;
        }
    }

    /// Merges segments, or as many of the smaller ones as memory and disk are enough for.
    fn merge_what_fits(
        &self,
        mut chosen: Vec<usize>,
        maintenance: &mut Maintenance,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        let version = self.index.version();
        let rows = |number: &usize| Some(version.segments.get(*number)?.node_count());
        loop {
            let merged = self.merge_segments(&chosen, maintenance, (report, progress));
            let is_refused = |error: &Error| {
                matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NoSpace)
            };
            if chosen.len() <= 2 || !merged.as_ref().is_err_and(is_refused) {
                return merged;
            }
            let largest = (0..chosen.len()).max_by_key(|at| chosen.get(*at).and_then(rows));
            largest.map(|at| chosen.remove(at));
        }
    }

    fn merge_segments(
        &self,
        chosen: &[usize],
        maintenance: &mut Maintenance,
        (report, progress): (&mut MergeReport, &dyn Progress),
    ) -> Result<()> {
        let _begun = self.board.begin("merge");
        let shape = self.index.shape();
        let living = |state: &mut State, _: &mut _| {
            state.note_kills();
            let all = &state.version.segments;
            let segments = chosen.iter().filter_map(|number| all.get(*number).cloned());
            let segments: Vec<Segment> = segments.collect();
            LivingRows::new(&segments, shape)
        };
        let before = self.index.version();
        let rows = self.commit.exclusive(living)?;
        let nodes = chosen
            .iter()
            .filter_map(|number| before.segments.get(*number));
        let nodes: u64 = nodes.map(|segment| u64::from(segment.node_count())).sum();
        let count = VectorRead::count(&rows);
        let added = self.add((&rows, &rows, rows.documents()), (maintenance, progress))?;
        let checkpoint = Checkpoint {
            gone: chosen.to_vec(),
            added,
            flushed: None,
        };
        self.checkpoint(&checkpoint, maintenance)?;
        self.counters.merges.fetch_add(1, Ordering::Relaxed);
        report.merges += 1;
        report.merged_segments += chosen.len() as u64;
        report.rows += count;
        report.dropped += nodes - count;
        Ok(())
    }
}

fn tiers(version: &Version) -> Vec<Tier> {
    let tier = |segment: &Segment| Tier {
        rows: segment.node_count().into(),
        dead: segment.dead.as_ref().map_or(0, |dead| dead.len().into()),
    };
    version.segments.iter().map(tier).collect()
}
