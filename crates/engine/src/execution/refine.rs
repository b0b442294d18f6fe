//! The last batch of reads: exact distances for the best candidates that have none yet.

use pageway_quant::{CodeBatch, CodeScorer};
use pageway_types::{NodeId, PageId};

use super::Traversal;
use super::bounds::{Limits, Verdict};
use super::candidates::{key_distance, key_node, sort_key};
use super::query::{Goal, Sizes};
use super::traversal::{PageRequest, Stage};
use crate::layout::{PageCodec, PageError, PageView, VectorPart};
use crate::spec::RefineSpec;

/// Deviations that the error of an estimate hardly ever exceeds: it is about normal.
const SURE_DEVIATIONS: f32 = 3.0;

/// Candidates for each answer of a list whose bounds are as wide as the spec says.
const LIST_SHARE: f32 = 10.0;

impl<C: PageCodec> Traversal<'_, C> {
    /// Picks the candidates that a stage may read, and their bounds where those decide; `enter`
    /// follows, once the candidates of every segment are known.
    pub(super) fn prepare(&mut self, stage: Stage) {
        let mut keys = std::mem::take(&mut self.scratch.keys);
        keys.clear();
        match stage {
            Stage::FineCodes if self.reads_fine_codes() => {
                self.pick_scanned(&mut keys);
                self.bound(&keys);
            }
            Stage::Gather | Stage::FineCodes => {}
            Stage::Refine => self.pick_refined(&mut keys),
        }
        self.scratch.keys = keys;
    }

    /// Enters a stage that was prepared: puts its reads into the frontier.
    pub(super) fn enter(&mut self, stage: Stage, limits: Limits) {
        self.stage = stage;
        self.scratch.bounds.judge(limits);
        let mut keys = std::mem::take(&mut self.scratch.keys);
        match stage {
            Stage::FineCodes if self.reads_fine_codes() => {
                self.decide(&mut keys);
                self.request_fine_codes(&keys);
            }
            Stage::Gather | Stage::FineCodes => {}
            Stage::Refine => {
                if self.ranks_fine_codes() {
                    self.decide_ranked(&mut keys);
                } else {
                    self.decide(&mut keys);
                }
                self.pick(&keys);
                self.request_refinement();
            }
        }
        self.scratch.keys = keys;
    }

    /// Whether fine codes are read between candidates and vectors.
    pub(super) fn reads_fine_codes(&self) -> bool {
        self.parts.vectors.is_coded() && self.parts.entry.clusters().is_some()
    }

    /// Whether the ranking holds what fine codes say, for bounds to decide.
    fn ranks_fine_codes(&self) -> bool {
        self.parts.vectors.is_coded() && self.deviations().is_some()
    }

    /// Width of error bounds, where those decide.
    pub(super) fn deviations(&self) -> Option<f32> {
        match self.parts.execution.refine {
            RefineSpec::Bounded { deviations } => Some(self.width(deviations)),
            RefineSpec::Inline | RefineSpec::Deferred { .. } | RefineSpec::Cascade { .. } => None,
        }
    }

    /// Candidates that may be scored exactly at the end.
    fn pick_refined(&mut self, keys: &mut Vec<u64>) {
        let size = self.scratch.candidates.within_horizon();
        let most = |share: f32| match self.query.goal {
            Goal::Nearest => {
                let share = (size as f32 * share).ceil() as usize;
                share.max(self.scratch.shape.sizes.results)
            }
            // Any of them may lie within the radius.
            Goal::Within { .. } => usize::MAX,
        };
        let admission = self.query.admission;
        let listed = self.scratch.candidates.keys().iter().copied();
        let admitted = listed.filter(|key| admission.admits(key_node(*key)));
        match self.parts.execution.refine {
            RefineSpec::Inline => {}
            RefineSpec::Deferred { share } => keys.extend(admitted.take(most(share))),
            RefineSpec::Cascade { scored, read } => {
                keys.extend(admitted.take(most(scored)));
                let read = most(read);
                self.score_again(keys);
                keys.truncate(read);
            }
            RefineSpec::Bounded { .. } if self.ranks_fine_codes() => {
                let scratch = &mut *self.scratch;
                scratch.bounds.take(scratch.ranking.intervals());
            }
            RefineSpec::Bounded { .. } => {
                keys.extend(admitted);
                self.bound(keys);
            }
        }
    }

    /// Sorts `keys` anew, by the mean of both estimates.
    fn score_again(&mut self, keys: &mut [u64]) {
        let scoring = &mut self.scratch.scoring;
        let (Some(scorer), Some(part)) = (&scoring.second, &self.parts.second) else {
            return;
        };
        scoring.places.clear();
        scoring.places.extend(keys.iter().map(|key| key_node(*key)));
        let batch = CodeBatch::Gather {
            codes: part.table.bytes(),
            nodes: &scoring.places,
        };
        scorer.score(batch, &mut scoring.estimates);
        self.stats.approximate_distances += keys.len() as u64;
        for (key, second) in keys.iter_mut().zip(&scoring.estimates) {
            *key = sort_key(f32::midpoint(key_distance(*key), *second), key_node(*key));
        }
        keys.sort_unstable();
    }

    /// Deviations on either side of an estimate that bounds lie at: more for longer lists, as
    /// candidates missed by one and reads saved by the other should cost the same recall. What a
    /// radius leaves out no calibration makes up for.
    fn width(&self, deviations: f32) -> f32 {
        let Sizes {
            list_size, results, ..
        } = self.query.sizes;
        match self.query.goal {
            Goal::Nearest => deviations * (list_size as f32 / (LIST_SHARE * results as f32)).sqrt(),
            Goal::Within { .. } => deviations.max(SURE_DEVIATIONS),
        }
    }

    /// Leaves the candidates that their codes leave undecided, where codes have bounds. Those that
    /// are answers for sure join the ranking by their estimates, where memory knows who they are.
    /// An exact distance costs no read where memory has the vector, so that only what is far off
    /// goes without.
    fn decide(&mut self, keys: &mut Vec<u64>) {
        let Some(width) = self.deviations() else {
            return;
        };
        let scratch = &mut *self.scratch;
        let identities = self.parts.identities.as_ref().filter(|_| !self.query.exact);
        let coded = self.parts.vectors.is_coded();
        let far = SURE_DEVIATIONS / width;
        let mut at = 0;
        keys.retain(|key| {
            let (node, number) = (key_node(*key), at);
            at += 1;
            if self.parts.cache.vectors.contains(node) {
                return !scratch.bounds.is_beyond(number, far);
            }
            let verdict = scratch.bounds.verdict(number);
            let (Verdict::In, Some(identities)) = (verdict, identities) else {
                return verdict != Verdict::Out;
            };
            let (row, user_id) = identities.of(node);
            let known = VectorPart {
                bytes: &[],
                row,
                user_id,
            };
            let (_, error) = scratch.bounds.interval(number);
            let interval = (self.parts.possible(key_distance(*key)), error);
            scratch.ranking.insert(node, interval, &known);
            // Where fine codes follow, those count what stays an estimate.
            self.stats.estimated += u64::from(!coded);
            false
        });
    }

    /// Bounds of candidates, by their codes, where codes have any.
    fn bound(&mut self, keys: &[u64]) {
        let Some(width) = self.deviations() else {
            return;
        };
        let scratch = &mut *self.scratch;
        let scoring = &mut scratch.scoring;
        scoring.places.clear();
        scoring.places.extend(keys.iter().map(|key| key_node(*key)));
        let codes = &self.parts.codes;
        if let Some(table) = self.parts.entry.clusters() {
            scoring.score_around((table, codes), &scratch.entry.probe);
        } else {
            let batch = CodeBatch::Gather {
                codes: codes.table.bytes(),
                nodes: &scoring.places,
            };
            let (estimates, errors) = (&mut scoring.estimates, &mut scoring.errors);
            scoring.scorer.score_with_errors(batch, estimates, errors);
        }
        let (estimates, errors) = (&scoring.estimates, &scoring.errors);
        self.stats.approximate_distances += keys.len() as u64;
        let errors = errors.iter().map(|error| error * width);
        scratch.bounds.take(estimates.iter().copied().zip(errors));
    }

    /// The same where records hold fine codes: leaves in the ranking what is an answer for sure,
    /// and in `keys` what is undecided.
    fn decide_ranked(&mut self, keys: &mut Vec<u64>) {
        let scratch = &mut *self.scratch;
        let (bounds, exact, stats) = (&scratch.bounds, self.query.exact, &mut self.stats);
        scratch.ranking.remove(|at, node| {
            let verdict = bounds.verdict(at);
            let stays = verdict == Verdict::In && !exact;
            stats.estimated += u64::from(stays);
            if !stays && verdict != Verdict::Out {
                keys.push(sort_key(0.0, node));
            }
            !stays
        });
    }

    /// Leaves in `refine` the nodes that were not scored exactly and whose vectors are not in
    /// memory, by page.
    fn pick(&mut self, keys: &[u64]) {
        let (cache, map) = (&self.parts.cache.vectors, self.parts.codec.map());
        self.scratch.refine.clear();
        for node in keys.iter().map(|key| key_node(*key)) {
            let passed = map.vectors_per_page == 0 && self.is_scored_as_a_whole(map.page_of(node));
            if passed || self.scratch.seen.exact.contains(node) {
                continue;
            }
            match cache.record(node).and_then(|record| record.vector) {
                Some(vector) => {
                    let used = self.stats.bytes_used;
                    self.score_exactly(node, &vector);
                    self.stats.bytes_used = used;
                }
                None => self.scratch.refine.push(node),
            }
        }
        let by_page = |node: &NodeId| (map.vector_page_of(*node).0, node.0);
        self.scratch.refine.sort_unstable_by_key(by_page);
    }

    /// One read per page.
    fn request_refinement(&mut self) {
        let map = self.parts.codec.map();
        let pages = self
            .scratch
            .refine
            .iter()
            .map(|node| map.vector_page_of(*node));
        let frontier = &mut self.scratch.pages.frontier;
        for page in pages {
            if frontier.last().is_none_or(|last| last.page != page) {
                frontier.push(PageRequest::refining(self.segment, page));
            }
        }
        self.stats.refine_reads += frontier.len() as u64;
        self.stats.rounds += u64::from(!frontier.is_empty());
    }

    /// Scores the nodes of one page that the refinement wants; or, where pages of vectors are
    /// harvested, all that have no distance yet.
    pub(super) fn refine_page(&mut self, page: PageId, payload: &[u8]) -> Result<(), PageError> {
        let map = self.parts.codec.map();
        let view = self.parts.codec.view(page, payload)?;
        let harvests = self.parts.execution.harvest.is_all();
        if harvests && map.holds_vectors_alone(page) {
            for node in map.nodes_of(page).map(NodeId) {
                let scored = self.scratch.seen.exact.contains(node);
                if !scored && !self.scratch.ranking.holds(node) {
                    self.score_exactly(node, &view.vector(node)?);
                }
            }
            return Ok(());
        }
        let before = |node: &NodeId| map.vector_page_of(*node).0 < page.0;
        let mut at = self.scratch.refine.partition_point(before);
        while let Some(node) = self.scratch.refine.get(at).copied() {
            if map.vector_page_of(node) != page {
                break;
            }
            self.score_exactly(node, &view.vector(node)?);
            at += 1;
        }
        Ok(())
    }
}
