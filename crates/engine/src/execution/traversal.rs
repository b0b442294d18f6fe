//! The search loop, once, for every design: a best-first walk as a state machine without I/O.
//!
//! ```text
//!            +--------------------------- want() == None and nothing in flight: finished
//!            |
//!  seed -> [start round] --cache hits are expanded at once--> frontier of up to W reads
//!            ^                                                   | want() hands them out
//!            +------- all supplied <--- supply(request, bytes) <-+
//! ```
//!
//! The reads of a round are chosen together, before any of them is supplied, and every structure is
//! order-independent: so the answer does not depend on the order in which reads complete, nor on
//! the driver.
//!
//! Greedy beam search with product codes and exact distances in passing: Subramanya et al., NeurIPS
//! 2019.

use pageway_quant::{CodeBatch, CodeScorer};
use pageway_types::{NodeId, PageId};

use super::{Parts, Query, QueryStats, Scratch};
use crate::layout::{PageCodec, PageError, PageView, Record};
use crate::spec::HarvestSpec;

/// A page the walk wants, and the node it wants it for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRequest {
    /// The page.
    pub(crate) page: PageId,
    /// The node to expand.
    pub(crate) node: NodeId,
}

/// One walk.
pub(crate) struct Traversal<'t, C: PageCodec> {
    parts: &'t Parts<C>,
    query: Query<'t>,
    scratch: &'t mut Scratch,
    stats: QueryStats,
    in_flight: usize,
}

impl<'t, C: PageCodec> Traversal<'t, C> {
    /// Prepares a walk: the table of the query, and the entry nodes as first candidates.
    pub(crate) fn new(parts: &'t Parts<C>, query: Query<'t>, scratch: &'t mut Scratch) -> Self {
        scratch.reset();
        (parts.widen)(query.vector, &mut scratch.widened);
        scratch.scorer.prepare(&parts.quantizer, &scratch.widened);
        let mut walk = Self {
            parts,
            query,
            scratch,
            stats: QueryStats::default(),
            in_flight: 0,
        };
        walk.scratch.fresh.clear();
        parts.entry.iter().for_each(|entry| walk.meet(*entry));
        if walk.scratch.fresh.is_empty() {
            // A held-out row that is the only entry: walks start there all the same.
            walk.scratch.fresh.extend_from_slice(&parts.entry);
        }
        walk.score_fresh();
        walk
    }

    /// The next page to read now, if any. Expands cached nodes on the way.
    ///
    /// # Errors
    /// When a cached record makes no sense.
    pub(crate) fn want(&mut self) -> Result<Option<PageRequest>, PageError> {
        if self.in_flight == 0 && self.scratch.frontier.is_empty() {
            self.start_round()?;
        }
        let request = self.scratch.frontier.pop();
        self.in_flight += usize::from(request.is_some());
        Ok(request)
    }

    /// Hands over the payload of a page that was wanted.
    ///
    /// # Errors
    /// When the page makes no sense; the walk is over then.
    pub(crate) fn supply(&mut self, request: PageRequest, payload: &[u8]) -> Result<(), PageError> {
        debug_assert!(self.in_flight > 0, "a page was supplied that nobody wanted");
        self.in_flight -= 1;
        self.stats.reads += 1;
        self.stats.pages += u64::from(self.parts.geometry.span());
        self.stats.bytes_read += self.parts.geometry.unit_bytes() as u64;
        let view = self.parts.codec.view(request.page, payload)?;
        match self.parts.execution.harvest {
            HarvestSpec::Target => {
                let record = view.record(request.node)?;
                self.stats.bytes_used += (record.vector.len() + record.neighbors.len()) as u64;
                self.expand(&record)
            }
        }
    }

    /// Reads that were handed out and not supplied yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Ends the walk: its scratch (which holds the ranking) and its counters.
    pub(crate) fn finish(self) -> (&'t mut Scratch, QueryStats) {
        (self.scratch, self.stats)
    }

    /// Chooses the best `beam` candidates, expands those in memory, and leaves the others as the
    /// reads of this round. What is in memory does not change which nodes are chosen, so the
    /// answer does not depend on the cache.
    fn start_round(&mut self) -> Result<(), PageError> {
        let mut chosen = std::mem::take(&mut self.scratch.frontier);
        while chosen.is_empty() {
            while chosen.len() < self.query.beam {
                let Some(node) = self.scratch.candidates.pop_unexpanded() else {
                    break;
                };
                let page = self.parts.codec.address().page_of(node);
                chosen.push(PageRequest { page, node });
            }
            if chosen.is_empty() {
                break;
            }
            self.expand_cached(&mut chosen)?;
        }
        chosen.reverse();
        self.stats.rounds += u64::from(!chosen.is_empty());
        self.scratch.frontier = chosen;
        Ok(())
    }

    /// Expands the nodes whose records are in memory, and takes them out of `chosen`.
    fn expand_cached(&mut self, chosen: &mut Vec<PageRequest>) -> Result<(), PageError> {
        let parts = self.parts;
        let mut outcome = Ok(());
        chosen.retain(|request| {
            let Some(bytes) = parts.cache.record(request.node) else {
                return true;
            };
            self.stats.count_cache_hit();
            let record = parts.codec.record(request.node, bytes);
            let expanded = record.and_then(|record| self.expand(&record));
            if outcome.is_ok() {
                outcome = expanded;
            }
            false
        });
        outcome
    }

    /// Scores a record exactly and its unseen neighbours by their codes.
    fn expand(&mut self, record: &Record<'_>) -> Result<(), PageError> {
        self.stats.hops += 1;
        let distance = (self.parts.exact)(self.query.vector, record.vector);
        self.stats.exact_distances += 1;
        self.scratch
            .ranking
            .insert(record.node, distance, record.user_id);
        let node_count = self.parts.codec.address().node_count();
        self.scratch.fresh.clear();
        for neighbor in record.neighbors() {
            if neighbor.0 >= node_count {
                let (node, neighbor) = (record.node.0, neighbor.0);
                return Err(PageError::Neighbor {
                    node,
                    neighbor,
                    node_count,
                });
            }
            self.meet(neighbor);
        }
        self.score_fresh();
        Ok(())
    }

    /// Notes a node for scoring, unless it was scored before.
    #[inline]
    fn meet(&mut self, node: NodeId) {
        if Some(node) != self.query.held_out && self.scratch.visited.insert(node) {
            self.scratch.fresh.push(node);
        }
    }

    /// One batch of estimates for `fresh`, offered to the candidate list.
    fn score_fresh(&mut self) {
        let Scratch {
            fresh,
            estimates,
            scorer,
            candidates,
            ..
        } = &mut *self.scratch;
        let codes = self.parts.codes.bytes();
        scorer.score(
            CodeBatch::Gather {
                codes,
                nodes: fresh,
            },
            estimates,
        );
        self.stats.approximate_distances += fresh.len() as u64;
        for (node, estimate) in fresh.iter().zip(estimates.iter()) {
            candidates.insert(*node, *estimate);
        }
    }
}
