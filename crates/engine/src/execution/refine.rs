//! The last batch of reads: exact distances for the best candidates that have none yet.

use pageway_quant::CodeScorer;
use pageway_types::{NodeId, PageId};

use super::Traversal;
use super::bounds::{Limits, Verdict};
use super::key::{key_distance, key_node, sort_key};
use super::query::{Goal, QuerySizes};
use super::tolerance::Tolerance;
use super::traversal::{PageRequest, Stage};
use crate::layout::{PageCodec, PageError, VectorPart};
use crate::spec::RefineSpec;

/// Deviations that the error of an estimate hardly ever exceeds: who is an answer is not asked
/// farther out.
pub(super) const FAR_DEVIATIONS: f32 = 3.0;

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

    /// The share of an error that decides who is an answer, where bounds do.
    pub(super) fn deciding_share(&self) -> f32 {
        self.deviations().unwrap_or_default() / Tolerance::DEVIATIONS
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
                let share = self.deciding_share();
                let scratch = &mut *self.scratch;
                scratch.bounds.take(share, scratch.ranking.intervals());
                self.loosen_bounds();
            }
            RefineSpec::Bounded { .. } => {
                keys.extend(admitted);
                self.bound(keys);
            }
        }
    }

    /// Sorts `keys` anew, by the mean of both estimates.
    fn score_again(&mut self, keys: &mut [u64]) {
        self.prepare_second();
        let scoring = &mut self.scratch.scoring;
        let (Some(scorer), Some(part)) = (&scoring.second, &self.parts.second) else {
            return;
        };
        scoring.fresh.clear();
        scoring.fresh.extend(keys.iter().map(|key| key_node(*key)));
        scorer.score(part.table.batch(&scoring.fresh), &mut scoring.estimates);
        self.stats.approximate_distances += keys.len() as u64;
        for (key, second) in keys.iter_mut().zip(&scoring.estimates) {
            *key = sort_key(f32::midpoint(key_distance(*key), *second), key_node(*key));
        }
        keys.sort_unstable();
    }

    /// Deviations on either side of an estimate that bounds lie at: more for longer lists, as
    /// candidates missed by one and reads saved by the other should cost the same recall. What a
    /// radius leaves out no calibration makes up for, nor what short codes of one segment seem to
    /// have nearer than the long ones of another.
    fn width(&self, deviations: f32) -> f32 {
        let QuerySizes {
            list_size, results, ..
        } = self.query.sizes;
        match self.query.goal {
            Goal::Nearest if self.scratch.shape.among.differ => deviations.max(FAR_DEVIATIONS),
            Goal::Nearest => Self::widened(deviations, (list_size as u32, results as u32)),
            Goal::Within { .. } => deviations.max(FAR_DEVIATIONS),
        }
    }

    /// The same of the nearest `k` by a list.
    pub(super) fn widened(deviations: f32, (list_size, k): (u32, u32)) -> f32 {
        deviations * (list_size as f32 / (LIST_SHARE * k as f32)).sqrt()
    }

    /// Leaves the candidates that their codes leave undecided, where codes have bounds. Those that
    /// are answers for sure join the ranking by their estimates, where memory knows who they are
    /// and the tolerance admits it, or where their vectors are read next. An exact distance costs
    /// no read where memory has the vector, so that only what is far off goes without.
    fn decide(&mut self, keys: &mut Vec<u64>) {
        if self.deviations().is_none() {
            return;
        }
        let tolerance = self.query.tolerance;
        // Fine codes tell who is an answer: what is one for sure costs a page whether its fine code
        // is read or its vector, and a second page where the fine code does not do.
        let passes_sure = !tolerance.is_any() && self.parts.vectors.is_coded();
        let passes_open = passes_sure && self.fine_codes_cost_more(keys);
        let unread = self.unread_times();
        let scratch = &mut *self.scratch;
        let mut at = 0;
        keys.retain(|key| {
            let (node, number) = (key_node(*key), at);
            at += 1;
            if self.parts.cache.vectors.contains(node) {
                return !scratch
                    .bounds
                    .is_beyond(number, FAR_DEVIATIONS / Tolerance::DEVIATIONS);
            }
            let (_, error) = scratch.bounds.interval(number);
            let distance = self.parts.possible(key_distance(*key));
            let is_admitted = tolerance.admits(distance, error);
            let known = || self.parts.identities.as_ref().map(|all| all.of(node));
            let mut told = error;
            let identity = match scratch.bounds.verdict(number) {
                Verdict::Out => return false,
                Verdict::In if is_admitted => known(),
                Verdict::In if passes_sure => Some((u32::MAX, u64::MAX)),
                // It may turn out to be one for sure, and no vector is read of it then.
                Verdict::Open if passes_open && is_admitted => known(),
                Verdict::Open if passes_open => {
                    told *= unread;
                    Some((u32::MAX, u64::MAX))
                }
                Verdict::In | Verdict::Open => None,
            };
            let Some((row, user_id)) = identity else {
                return true;
            };
            let known = VectorPart {
                bytes: &[],
                row,
                user_id,
            };
            scratch.ranking.insert(node, (distance, told), &known);
            false
        });
    }

    /// Times the error of its first code that what goes without a fine one is taken to be off. Of
    /// those of one segment that seem near by short codes some are not: beside fine codes of
    /// another they would leave out what is nearer.
    fn unread_times(&self) -> f32 {
        let width = self.deviations().unwrap_or(FAR_DEVIATIONS);
        if self.scratch.shape.among.segments > 1 {
            (FAR_DEVIATIONS / width).max(1.0)
        } else {
            1.0
        }
    }

    /// Whether the fine codes of what is undecided lie on more pages, with the vectors of the
    /// answers among them that are read after, than all their vectors.
    fn fine_codes_cost_more(&mut self, keys: &[u64]) -> bool {
        if self.query.goal != Goal::Nearest {
            return false;
        }
        let map = self.parts.codec.map();
        let scratch = &mut *self.scratch;
        let verdicts = || (0..keys.len()).map(|at| scratch.bounds.verdict(at));
        let sure = verdicts().filter(|verdict| *verdict == Verdict::In).count();
        let open = keys.iter().zip(verdicts());
        let open = open.filter(|(_, verdict)| *verdict == Verdict::Open);
        let nodes = &mut scratch.refine;
        nodes.clear();
        nodes.extend(open.map(|(key, _)| key_node(*key)));
        let share = self
            .query
            .sizes
            .results
            .div_ceil(scratch.shape.among.segments);
        let answers = share.saturating_sub(sure).min(nodes.len());
        let coded = pages_of(nodes, |node| map.page_of(node));
        coded + answers >= pages_of(nodes, |node| map.vector_page_of(node))
    }

    /// Bounds of candidates, by their codes, where codes have any: estimates are in the keys, and
    /// what they err by is told by factors of the codes.
    fn bound(&mut self, keys: &[u64]) {
        if self.deviations().is_none() {
            return;
        }
        let share = self.deciding_share();
        let mut bounds = std::mem::take(&mut self.scratch.bounds);
        let errors = keys.iter().map(|key| match self.parts.entry.clusters() {
            Some(table) => self.scanned_error(table, *key),
            None => self.gathered_error(*key),
        });
        let estimates = keys.iter().map(|key| key_distance(*key));
        bounds.take(share, estimates.zip(errors.map(told)));
        self.scratch.bounds = bounds;
        self.loosen_bounds();
    }

    /// Widens bounds that no calibration has tried.
    fn loosen_bounds(&mut self) {
        if let (Some(left_out), Goal::Nearest) = (self.query.left_out, self.query.goal) {
            let results = self.query.sizes.results;
            self.scratch.bounds.widen(results, left_out);
        }
    }

    /// By how much the estimate of a candidate is off, whose code the table holds.
    pub(super) fn gathered_error(&self, key: u64) -> f32 {
        let (codes, scorer) = (&self.parts.codes, &self.scratch.scoring.scorer);
        let code = codes.table.code(key_node(key), scorer.code_bytes());
        code.map_or(f32::INFINITY, |code| {
            scorer.code_error(code, key_distance(key))
        })
    }

    /// The same where records hold fine codes: leaves in the ranking what is an answer for sure,
    /// and in `keys` what is undecided.
    fn decide_ranked(&mut self, keys: &mut Vec<u64>) {
        let scratch = &mut *self.scratch;
        let (bounds, tolerance) = (&scratch.bounds, self.query.tolerance);
        scratch.ranking.remove(|at, node| {
            let verdict = bounds.verdict(at);
            let (estimate, error) = bounds.interval(at);
            let stays = verdict == Verdict::In && tolerance.admits(estimate, error);
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
                    self.score_on_page(&view, node)?;
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
            self.score_on_page(&view, node)?;
            at += 1;
        }
        Ok(())
    }
}

/// The error that is told of an estimate whose error has this standard deviation: never none.
pub(super) fn told(deviation: f32) -> f32 {
    deviation * Tolerance::DEVIATIONS + f32::MIN_POSITIVE
}

/// Pages that hold all `nodes`.
fn pages_of(nodes: &mut [NodeId], page_of: impl Fn(NodeId) -> PageId) -> usize {
    nodes.sort_unstable_by_key(|node| page_of(*node).0);
    nodes
        .chunk_by(|one, next| page_of(*one) == page_of(*next))
        .count()
}
