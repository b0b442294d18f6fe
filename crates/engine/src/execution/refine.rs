//! The last batch of reads: exact distances for the best candidates that have none yet.

use pageway_quant::{CodeBatch, CodeScorer};
use pageway_types::{NodeId, PageId};

use super::Traversal;
use super::bounds::Verdict;
use super::candidates::{key_distance, key_node, sort_key};
use super::entry::Entry;
use super::query::Goal;
use super::traversal::{PageRequest, Phase};
use crate::layout::{PageCodec, PageError, PageView, VectorPart};
use crate::spec::{HarvestSpec, RefineSpec, VectorStorage};

/// Deviations that the error of an estimate hardly ever exceeds: it is about normal.
const SURE_DEVIATIONS: f32 = 3.0;

/// Candidates for each answer of a list whose bounds are as wide as the spec says.
const LIST_SHARE: f32 = 10.0;

impl<C: PageCodec> Traversal<'_, C> {
    /// Ends the walk and puts the reads of the refinement into the frontier.
    pub(super) fn begin_refine(&mut self) {
        self.phase = Phase::Refine;
        let size = self.scratch.candidates.within_horizon();
        let most = |share: f32| match self.query.goal {
            Goal::Nearest => {
                let share = (size as f32 * share).ceil() as usize;
                share.max(self.scratch.shape.results)
            }
            // Any of them may lie within the radius.
            Goal::Within { .. } => usize::MAX,
        };
        let mut keys = std::mem::take(&mut self.scratch.keys);
        keys.clear();
        let listed = self.scratch.candidates.keys().iter().copied();
        match self.parts.execution.refine {
            RefineSpec::Inline => {}
            RefineSpec::Deferred { share } => keys.extend(listed.take(most(share))),
            RefineSpec::Cascade { scored, read } => {
                keys.extend(listed.take(most(scored)));
                let read = most(read);
                self.score_again(&mut keys);
                keys.truncate(read);
            }
            RefineSpec::Bounded { .. } if self.parts.vectors == VectorStorage::Coded => {
                self.decide_ranked(&mut keys);
            }
            RefineSpec::Bounded { deviations } => {
                keys.extend(listed);
                self.decide(&mut keys, deviations);
            }
        }
        self.pick(&keys);
        self.scratch.keys = keys;
        self.request_refinement();
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
    pub(super) fn width(&self, deviations: f32) -> f32 {
        match self.query.goal {
            Goal::Nearest => {
                let size = self.scratch.candidates.capacity() as f32;
                deviations * (size / (LIST_SHARE * self.scratch.shape.results as f32)).sqrt()
            }
            Goal::Within { .. } => deviations.max(SURE_DEVIATIONS),
        }
    }

    /// Leaves the candidates that their codes leave undecided. Those that are answers for sure join
    /// the ranking by their estimates, where memory knows who they are. An exact distance costs no
    /// read where memory has the vector, so that only what is far off goes without.
    pub(super) fn decide(&mut self, keys: &mut Vec<u64>, deviations: f32) {
        keys.retain(|key| Some(key_node(*key)) != self.query.held_out);
        let width = self.width(deviations);
        self.bound(keys, width);
        let scratch = &mut *self.scratch;
        let identities = self.parts.identities.as_ref().filter(|_| !self.query.exact);
        let coded = self.parts.vectors == VectorStorage::Coded;
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

    /// Judges candidates by their codes.
    fn bound(&mut self, keys: &[u64], deviations: f32) {
        let scratch = &mut *self.scratch;
        let scoring = &mut scratch.scoring;
        scoring.places.clear();
        scoring.places.extend(keys.iter().map(|key| key_node(*key)));
        let codes = &self.parts.codes;
        if let Entry::Clusters(table) = &self.parts.entry.entry {
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
        let errors = errors.iter().map(|error| error * deviations);
        scratch.bounds.take(estimates.iter().copied().zip(errors));
        scratch.bounds.judge(self.query.goal, scratch.shape.results);
    }

    /// The same where records hold fine codes: leaves in the ranking what is an answer for sure,
    /// and in `keys` what is undecided.
    fn decide_ranked(&mut self, keys: &mut Vec<u64>) {
        let scratch = &mut *self.scratch;
        scratch.bounds.take(scratch.ranking.intervals());
        scratch.bounds.judge(self.query.goal, scratch.shape.results);
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
                frontier.push(PageRequest {
                    page,
                    slot: 0,
                    refines: true,
                });
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
        let harvests = self.parts.execution.harvest == HarvestSpec::All;
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
