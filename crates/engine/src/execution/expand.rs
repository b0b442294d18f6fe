//! Expanding a node: its vector scored exactly where it is at hand, its unseen neighbours by code.

use pageway_quant::{CodeBatch, CodeScorer};
use pageway_types::{NodeId, PageId, Place};

use super::Traversal;
use super::refine::told;
use super::scratch::Scoring;
use super::traversal::Stage;
use crate::layout::{Neighbors, PageCodec, PageError, PageView, Record, StoredList, VectorPart};

impl<C: PageCodec> Traversal<'_, C> {
    /// The first candidates.
    pub(super) fn seed(&mut self) {
        let parts = self.parts;
        let admission = self.query.admission;
        let scratch = &mut *self.scratch;
        let scoring = &mut scratch.scoring;
        scoring.clear();
        let in_memory = parts.codes.table.node_count();
        let (fresh, coded, places) = (&mut scoring.fresh, &mut scoring.coded, &mut scoring.places);
        let mut meet = |node: NodeId| {
            if node.0 < in_memory {
                fresh.push(node);
            } else if let Some(place) = parts.entry.codes.place_of(node) {
                coded.push(node);
                places.push(place);
            }
        };
        let query = (self.query.vector, &*scoring.widened);
        let seen = &mut scratch.seen.nodes;
        let mut found = false;
        parts.entry.find(query, &mut scratch.entry, |node| {
            if !admission.hides(node) && seen.insert(node) {
                meet(node);
                found = true;
            }
        });
        if !found {
            // A hidden node that is the only entry: walks start there all the same.
            parts.entry.nodes.iter().for_each(|node| meet(*node));
        }
        self.score(&parts.entry.codes.codes);
    }

    /// What may be an answer, as candidates: the best by their codes. They are taken one by one
    /// only where that is what scores them.
    pub(super) fn list_admitted(&mut self) {
        let (parts, admission) = (self.parts, self.query.admission);
        let batch = self.scratch.shape.index.max_neighbors.max(1);
        let mut nodes = admission.listed(parts.codec.map().node_count).peekable();
        while nodes.peek().is_some() {
            let scoring = &mut self.scratch.scoring;
            scoring.clear();
            scoring.fresh.extend(nodes.by_ref().take(batch));
            self.score(&[]);
        }
        if !parts.execution.refine.is_inline() && !parts.vectors.is_coded() {
            self.scratch.candidates.take_off(0);
        }
    }

    /// Scores a record exactly, where its vector is there, and follows its list.
    pub(super) fn expand(&mut self, record: &Record<'_>) -> Result<(), PageError> {
        if let Some(vector) = &record.vector {
            self.score_exactly(record.node, vector);
        }
        self.follow(record.node, record.list)
    }

    /// Expands a node by its record or list in the node cache; false when it is not there.
    pub(super) fn expand_from_memory(&mut self, node: NodeId) -> Result<bool, PageError> {
        let parts = self.parts;
        let mut list = std::mem::take(&mut self.scratch.list);
        let expanded = match parts.cache.nodes.record(node, &mut list) {
            None => Ok(false),
            Some(record) => {
                self.stats.count_cache_hit();
                let used = self.stats.bytes_used;
                let outcome = self.expand(&record);
                // None of these bytes were read.
                self.stats.bytes_used = used;
                outcome.map(|()| true)
            }
        };
        self.scratch.list = list;
        expanded
    }

    /// Offers a record that was read for its node to a node cache that learns.
    pub(super) fn remember(&mut self, record: &Record<'_>) -> Result<(), PageError> {
        let nodes = &self.parts.cache.nodes;
        if nodes.learns() {
            let list = &mut self.scratch.list;
            let (neighbors, _) = record.list.unpack(list)?;
            nodes.offer(record.node, neighbors, record.vector.as_ref());
        }
        Ok(())
    }

    /// The exact distance of a node, offered to the ranking, and noted.
    pub(super) fn score_exactly(&mut self, node: NodeId, vector: &VectorPart<'_>) {
        if !self.meets_codes() {
            self.scratch.seen.exact.insert(node);
        }
        self.rank(node, vector);
    }

    /// The same of a node that lies on a page.
    pub(super) fn score_on_page(
        &mut self,
        view: &C::View<'_>,
        node: NodeId,
    ) -> Result<(), PageError> {
        self.with_vector(view, node, |own, vector| own.score_exactly(node, vector))
    }

    /// The exact distance of a node, offered to the ranking if the node is admitted.
    pub(super) fn rank(&mut self, node: NodeId, vector: &VectorPart<'_>) -> f32 {
        let interval = if self.meets_codes() {
            self.estimate_finely(vector.bytes)
        } else {
            self.stats.exact_distances += 1;
            ((self.parts.exact)(self.query.vector, vector.bytes), 0.0)
        };
        self.stats.bytes_used += vector.bytes.len() as u64;
        if !self.meets_codes()
            && let Some(met) = &mut self.scratch.told.met
        {
            met.note(node, vector.bytes);
        }
        if self.query.admission.admits(node) {
            if self.meets_codes() && self.ranks_coarse_codes() {
                // A coarse code may have put it among the answers already, at another distance.
                self.scratch.ranking.forget(node);
            }
            self.scratch.ranking.insert(node, interval, vector);
        }
        interval.0
    }

    /// The same of a node that lies on a page.
    pub(super) fn rank_on_page(
        &mut self,
        view: &C::View<'_>,
        node: NodeId,
    ) -> Result<f32, PageError> {
        self.with_vector(view, node, |own, vector| own.rank(node, vector))
    }

    fn with_vector<T>(
        &mut self,
        view: &C::View<'_>,
        node: NodeId,
        act: impl FnOnce(&mut Self, &VectorPart<'_>) -> T,
    ) -> Result<T, PageError> {
        let mut room = std::mem::take(&mut self.scratch.scoring.unfolded);
        let vector = view.vector(node, &mut room);
        let outcome = vector.map(|vector| act(self, &vector));
        self.scratch.scoring.unfolded = room;
        outcome
    }

    /// Whether what lies beside lists, and passes by now, are fine codes.
    fn meets_codes(&self) -> bool {
        self.stage != Stage::Refine && self.parts.vectors.is_coded()
    }

    /// Whether coarse codes put nodes among the answers whose fine codes may pass by.
    fn ranks_coarse_codes(&self) -> bool {
        self.parts.identities.is_some() || !self.query.tolerance.is_any()
    }

    /// The distance that a fine code estimates, and by how much it may be off.
    fn estimate_finely(&mut self, code: &[u8]) -> (f32, f32) {
        self.prepare_second();
        let scoring = &mut self.scratch.scoring;
        let Some(scorer) = &scoring.second else {
            return (f32::INFINITY, f32::INFINITY);
        };
        let (estimates, errors) = (&mut scoring.fine.0, &mut scoring.fine.1);
        scorer.score_with_errors(CodeBatch::Inline { codes: code }, estimates, errors);
        self.stats.approximate_distances += 1;
        let estimate = estimates.first().copied().unwrap_or(f32::INFINITY);
        let estimate = self.parts.possible(estimate);
        let error = errors.first().copied().unwrap_or(f32::INFINITY);
        (estimate, told(error))
    }

    /// Scores the unseen neighbours of a list by their codes, in one batch.
    pub(super) fn follow(&mut self, node: NodeId, stored: StoredList<'_>) -> Result<(), PageError> {
        if self.query.lists_admitted {
            return Ok(());
        }
        let mut list = std::mem::take(&mut self.scratch.list);
        let outcome = stored.unpack(&mut list).and_then(|(neighbors, bytes)| {
            self.stats.bytes_used += bytes as u64;
            self.follow_unpacked(node, neighbors)
        });
        self.scratch.list = list;
        outcome
    }

    fn follow_unpacked(&mut self, node: NodeId, neighbors: Neighbors<'_>) -> Result<(), PageError> {
        self.stats.hops += 1;
        if let Some(trace) = &mut self.scratch.told.trace {
            trace.push(node);
        }
        let node_count = self.parts.codec.map().node_count;
        let code_bytes = self.parts.codes.quantizer.code_bytes();
        let limit = self.scratch.candidates.limit();
        let table = &self.parts.codes.table;
        let first = table.first_bytes(&self.scratch.scoring.scorer, limit);
        let with_code = neighbors.codes.len() / code_bytes;
        let without = neighbors.len() - with_code.min(neighbors.len());
        self.scratch.scoring.clear();
        for (at, neighbor) in (0u32..).zip(neighbors.iter()) {
            if neighbor.0 >= node_count {
                return Err(PageError::Neighbor {
                    node: node.0,
                    neighbor: neighbor.0,
                    node_count,
                });
            }
            if !self.is_new(neighbor) {
                continue;
            }
            let scoring = &mut self.scratch.scoring;
            if let Some(place) = at.checked_sub(without as u32) {
                scoring.coded.push(neighbor);
                scoring.places.push(Place(place));
            } else if neighbor.0 < table.node_count() {
                // It arrives while the rest of the list is looked at.
                table.prefetch(neighbor, code_bytes, 0..first);
                scoring.fresh.push(neighbor);
            } else {
                return Err(PageError::Uncoded {
                    node: node.0,
                    neighbor: neighbor.0,
                });
            }
        }
        self.score(neighbors.codes);
        Ok(())
    }

    /// Whether a node is worth a score: not seen, not hidden, not on a page that was scored as a
    /// whole.
    #[inline]
    fn is_new(&mut self, node: NodeId) -> bool {
        if self.query.admission.hides(node) || !self.scratch.seen.nodes.insert(node) {
            return false;
        }
        let scores_pages = self.parts.execution.harvest.scores_pages();
        !scores_pages || !self.is_scored_as_a_whole(self.parts.codec.map().page_of(node))
    }

    /// Whether every record of a page was scored, or will be when it arrives.
    #[inline]
    pub(super) fn is_scored_as_a_whole(&self, page: PageId) -> bool {
        self.parts.execution.harvest.scores_pages() && self.scratch.seen.pages.contains(page)
    }

    /// One batch of estimates for each source of codes, offered to the candidate list.
    fn score(&mut self, codes_at_hand: &[u8]) {
        let scratch = &mut *self.scratch;
        let Scoring {
            scorer,
            fresh,
            coded,
            places,
            estimates,
            ..
        } = &mut scratch.scoring;
        self.stats.approximate_distances += (fresh.len() + coded.len()) as u64;
        let beside = CodeBatch::Gather {
            codes: codes_at_hand,
            places,
        };
        let table = &self.parts.codes.table;
        table.screen(scorer, scratch.candidates.limit(), fresh);
        let in_memory = table.batch(fresh);
        for (batch, nodes) in [(in_memory, &*fresh), (beside, &*coded)] {
            if nodes.is_empty() {
                continue;
            }
            scorer.score(batch, estimates);
            let scored = nodes.iter().copied().zip(estimates.iter().copied());
            scratch.candidates.insert_all(scored);
        }
    }
}

impl Scoring {
    fn clear(&mut self) {
        self.fresh.clear();
        self.coded.clear();
        self.places.clear();
    }
}
