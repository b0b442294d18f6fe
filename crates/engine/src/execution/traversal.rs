//! The search loop, once, for every design: a best-first walk as a state machine without I/O.
//!
//! ```text
//!  seed -> choose --> frontier --want()--> reads in flight --supply(bytes)--> absorb: expand the
//!            ^                                  |                             targets, harvest
//!            |                                work(): what can be done meanwhile   |
//!            +----------------------------------+----------------------------------+
//!  nothing to choose, nothing in flight -> refine: one last batch of reads -> finished
//! ```
//!
//! `choose` is the schedule, `harvest` decides what a page gives beside its target, `refine` what
//! is read at the end; each in its file. Every structure is order-independent and what depends on
//! order follows the order of requests: so the answer does not depend on the order in which reads
//! complete, nor on the driver, unless the schedule is a pipeline told to take pages as they come.
//!
//! Greedy beam search with product codes and exact distances in passing: Subramanya et al., NeurIPS
//! 2019.

use pageway_types::{Metric, NodeId, PageId};

use super::candidates::Horizon;
use super::entry::Entry;
use super::pipeline::Pipeline;
use super::{Goal, Parts, Query, QueryStats, Scratch};
use crate::layout::{PageCodec, PageError, PageView};
use crate::spec::StopSpec;

/// Share of a candidate list that must lie within the radius for a range search to go on with a
/// list of twice the size (Starling's phi).
const RANGE_SHARE: f32 = 0.5;

/// Share of the radius by which the estimate of a candidate may exceed it: about the error of a
/// code.
const RANGE_SLACK: f32 = 0.05;

/// A page the walk wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRequest {
    /// The page.
    pub(crate) page: PageId,
    /// Where it is kept, if it is.
    pub(super) slot: u16,
    /// Whether it is read for its vectors, at the end.
    pub(super) refines: bool,
}

/// Where a page came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It was read.
    Disk,
    /// It was in the page cache.
    Cache,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Walk,
    Refine,
}

/// One walk.
pub(crate) struct Traversal<'t, C: PageCodec> {
    pub(super) parts: &'t Parts<C>,
    pub(super) query: Query<'t>,
    pub(super) scratch: &'t mut Scratch,
    pub(super) stats: QueryStats,
    pub(super) pipeline: Pipeline,
    pub(super) phase: Phase,
    /// Requests handed out and not supplied yet.
    pub(super) in_flight: usize,
    /// Candidate list size for which clusters were looked into.
    pub(super) probed: usize,
    /// Whether there may be work to do while reads are in flight.
    pub(super) work_waits: bool,
}

impl<'t, C: PageCodec> Traversal<'t, C> {
    /// Prepares a walk: the table of the query, and the entry nodes as first candidates.
    pub(crate) fn new(parts: &'t Parts<C>, query: Query<'t>, scratch: &'t mut Scratch) -> Self {
        scratch.reset(&query);
        if query.goal == Goal::Nearest {
            let (size, k) = (scratch.shape.list_size, scratch.shape.results);
            scratch.candidates.look_to(Horizon {
                place: StopSpec::measured_by(k) - 1,
                slack: parts.execution.stop.slack(size, k),
            });
        }
        let scoring = &mut scratch.scoring;
        (parts.widen)(query.vector, &mut scoring.widened);
        let prepared = (&parts.codes.quantizer, &scoring.widened);
        scoring.scorer.prepare(prepared.0, prepared.1);
        if let (Some(second), Some(part)) = (&mut scoring.second, &parts.second) {
            second.prepare(&part.quantizer, &scoring.widened);
        }
        let mut walk = Self {
            parts,
            query,
            scratch,
            stats: QueryStats::default(),
            pipeline: Pipeline::new(parts.execution.schedule, query.beam),
            phase: Phase::Walk,
            in_flight: 0,
            probed: 0,
            work_waits: false,
        };
        walk.seed();
        walk
    }

    /// The next page to read now, if any. Expands what is in memory on the way. The walk is over
    /// when nothing is wanted and nothing is in flight.
    ///
    /// # Errors
    /// When a record in memory makes no sense.
    pub(crate) fn want(&mut self) -> Result<Option<PageRequest>, PageError> {
        loop {
            if self.in_flight >= self.most_in_flight() {
                return Ok(None);
            }
            if let Some(request) = self.scratch.pages.frontier.pop() {
                self.in_flight += 1;
                return Ok(Some(request));
            }
            if self.phase == Phase::Refine {
                // Where no vector passes by, only now is it known how many lie within the radius.
                if self.in_flight > 0 || !self.widen() {
                    return Ok(None);
                }
                self.phase = Phase::Walk;
            }
            self.choose()?;
            if !self.scratch.pages.frontier.is_empty() {
                continue;
            }
            if self.absorb_next()? {
                continue;
            }
            if self.in_flight > 0 {
                return Ok(None);
            }
            self.work_waits = true;
            if !self.work()? && !self.widen() {
                self.begin_refine();
            }
        }
    }

    /// Reads in flight at most: the beam while what a page says decides what is read next, as many
    /// as the driver takes where everything left to read is known.
    fn most_in_flight(&self) -> usize {
        let execution = &self.parts.execution;
        let is_last = self.phase == Phase::Refine
            || (matches!(self.parts.entry.entry, Entry::Clusters(_))
                && !execution.keeps_pages()
                && !self.pipeline.in_order);
        if is_last { usize::MAX } else { self.query.beam }
    }

    /// Hands over the payload of a page that was wanted.
    ///
    /// # Errors
    /// When the page makes no sense; the walk is over then.
    pub(crate) fn supply(
        &mut self,
        request: PageRequest,
        payload: &[u8],
        origin: Origin,
    ) -> Result<(), PageError> {
        debug_assert!(self.in_flight > 0, "a page was supplied that nobody wanted");
        self.in_flight -= 1;
        let geometry = self.parts.codec.map().geometry;
        match origin {
            Origin::Disk => {
                self.stats.reads += 1;
                self.stats.pages += u64::from(geometry.span());
                self.stats.bytes_read += geometry.unit_bytes() as u64;
            }
            Origin::Cache => self.stats.count_page_hit(),
        }
        let used = self.stats.bytes_used;
        let outcome = self.take(request, payload);
        if origin == Origin::Cache {
            self.stats.bytes_used = used;
        }
        outcome
    }

    fn take(&mut self, request: PageRequest, payload: &[u8]) -> Result<(), PageError> {
        if request.refines {
            return self.refine_page(request.page, payload);
        }
        // What was left for the time of these reads comes first, however fast they were.
        self.work()?;
        if self.pipeline.in_order {
            // Its turn comes in `want`, once the pipeline is full.
            let held = &mut self.scratch.pages.held;
            held.keep(request.slot, request.page, payload);
            return Ok(());
        }
        self.absorb(request, payload)
    }

    /// Uses a page: expands what it was wanted for, then harvests the rest.
    pub(super) fn absorb(&mut self, request: PageRequest, payload: &[u8]) -> Result<(), PageError> {
        let view = self.parts.codec.view(request.page, payload)?;
        let targets = &mut self.scratch.pages.targets;
        let absorbed = &mut self.scratch.pages.absorbed;
        targets.retain(|target| {
            if target.page == request.page {
                absorbed.push(*target);
            }
            target.page != request.page
        });
        let mut at = 0;
        while let Some(target) = self.scratch.pages.absorbed.get(at).copied() {
            self.pipeline
                .note_completion(target.key, &self.scratch.candidates);
            let record = view.record(NodeId(target.key as u32))?;
            self.expand(&record)?;
            self.remember(&record)?;
            at += 1;
        }
        self.harvest(&view, request, payload)
    }

    /// Reads that were handed out and not supplied yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Ends the walk: its scratch (which holds the ranking) and its counters.
    pub(crate) fn finish(self) -> (&'t mut Scratch, QueryStats) {
        (self.scratch, self.stats)
    }

    /// Doubles the candidate list of a range search while that promises more. What is beyond the
    /// radius by more than estimates err leads nowhere from then on.
    fn widen(&mut self) -> bool {
        let Goal::Within { radius } = self.query.goal else {
            return false;
        };
        let size = self.scratch.candidates.capacity();
        let limit = self.scratch.shape.list_limit;
        let found = self.scratch.ranking.len();
        if size >= limit || (found as f32) < RANGE_SHARE * size as f32 {
            return false;
        }
        let farthest = match self.parts.codes.quantizer.metric() {
            Metric::L2 | Metric::Cosine => radius + RANGE_SLACK * radius.abs(),
            // What lies near results need not lie near the radius: the walk passes through it.
            Metric::InnerProduct => f32::INFINITY,
        };
        let candidates = &mut self.scratch.candidates;
        candidates.grow((size * 2).min(limit), farthest);
        true
    }
}
