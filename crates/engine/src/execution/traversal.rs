//! The search loop, once, for every design: candidates of one segment as a state machine without
//! I/O.
//!
//! ```text
//!  gather, by a walk:
//!    seed -> choose --> frontier --want()--> reads in flight --supply(bytes)--> absorb: expand
//!              ^                                |                             targets, harvest
//!              |                              work(): what can be done meanwhile   |
//!              +--------------------------------+----------------------------------+
//!  gather, by a scan:  nearest clusters -> candidates, without a read
//!  fine codes:         one batch of reads, where pages hold some and candidates were scanned
//!  refine:             one last batch of reads
//! ```
//!
//! A stage is over when nothing is wanted and nothing is in flight. `Search` moves the traversals
//! of all segments from stage to stage together.
//!
//! `choose` is the schedule, `harvest` decides what a page gives beside its target, `widen` how far
//! a list grows, `refine` what is read at the end; each in its file. Every structure is
//! order-independent and what depends on order follows the order of requests: so the answer does
//! not depend on the order in which reads complete, nor on the driver, unless the schedule is a
//! pipeline told to take pages as they come.
//!
//! Greedy beam search with product codes and exact distances in passing: Subramanya et al., NeurIPS
//! 2019.

use pageway_quant::Scorer;
use pageway_types::{NodeId, PageId};

use super::bounds::Bounds;
use super::candidates::{CandidateList, Horizon};
use super::early::{EarlyReads, Pause};
use super::key::key_node;
use super::pipeline::Pipelining;
use super::scan::ScanState;
use super::{Goal, Parts, Query, QuerySizes, QueryStats, Scratch};
use crate::layout::{PageCodec, PageError, PageView};
use crate::spec::StopSpec;

/// A page that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRequest {
    /// Which segment it is of.
    pub(crate) segment: u16,
    /// The page.
    pub(crate) page: PageId,
    /// Where it is kept, if it is; or `REFINES`.
    pub(super) slot: u16,
}

/// In place of a slot: the page is read for its vectors, at the end.
const REFINES: u16 = u16::MAX;

impl PageRequest {
    /// A page that candidates are gathered from, kept in `slot` if it is.
    pub(super) const fn gathering(segment: u16, page: PageId, slot: u16) -> Self {
        Self {
            segment,
            page,
            slot,
        }
    }

    /// A page that is read for its vectors.
    pub(super) const fn refining(segment: u16, page: PageId) -> Self {
        Self::gathering(segment, page, REFINES)
    }

    /// Whether the page is read at the end, for exact distances alone.
    pub(super) fn refines(self) -> bool {
        self.slot == REFINES
    }
}

/// Where a page came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It was read.
    Disk,
    /// It was in the page cache.
    Cache,
}

/// What a query does in every segment at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Candidates, by a walk or by a scan.
    Gather,
    /// Fine codes of candidates that were scanned.
    FineCodes,
    /// Exact distances of what is left undecided.
    Refine,
}

impl Stage {
    /// The one that follows.
    pub(super) const fn next(self) -> Option<Self> {
        match self {
            Self::Gather => Some(Self::FineCodes),
            Self::FineCodes => Some(Self::Refine),
            Self::Refine => None,
        }
    }
}

/// How a scorer gets the query of a walk.
#[derive(Clone, Copy)]
pub(crate) enum Preparation<'k> {
    /// All of it is done here.
    Whole,
    /// The query was turned to the axes of the codes.
    Turned(&'k [f32]),
    /// A scorer of the same codes has it.
    TakenOver(&'k Scorer),
}

/// One query in one segment.
pub(crate) struct Traversal<'t, C: PageCodec> {
    pub(super) parts: &'t Parts<C>,
    /// Number of the segment.
    pub(super) segment: u16,
    pub(super) query: Query<'t>,
    pub(super) scratch: &'t mut Scratch,
    pub(super) stats: QueryStats,
    pub(super) pipeline: Pipelining,
    pub(super) stage: Stage,
    /// Requests handed out and not supplied yet.
    pub(super) in_flight: usize,
    /// How far clusters were looked into.
    pub(super) scan: ScanState,
    /// Whether there may be work to do while reads are in flight.
    pub(super) work_waits: bool,
    /// Whether the scorer of second codes has the query.
    pub(super) knows_second: bool,
    /// Those that begin while candidates are gathered.
    pub(super) early: EarlyReads,
}

impl<'t, C: PageCodec> Traversal<'t, C> {
    /// Prepares segment number `segment`: the table of the query, and the entry nodes as first
    /// candidates.
    pub(crate) fn new(
        parts: &'t Parts<C>,
        query: Query<'t>,
        (segment, scratch): (usize, &'t mut Scratch),
        preparation: Preparation<'_>,
    ) -> Self {
        let sizes = scratch.shape.own_sizes(&query, query.sizes);
        scratch.reset(&query, sizes);
        let scoring = &mut scratch.scoring;
        (parts.widen)(query.vector, &mut scoring.widened);
        let (scorer, quantizer) = (&mut scoring.scorer, &parts.codes.quantizer);
        let forms = parts.code_forms();
        match preparation {
            Preparation::TakenOver(other) => scorer.take_over(other),
            Preparation::Turned(values) => {
                scorer.prepare_turned(quantizer, (&scoring.widened, Some(values)), forms);
            }
            Preparation::Whole => scorer.prepare(quantizer, &scoring.widened, forms),
        }
        let mut traversal = Self {
            parts,
            segment: segment as u16,
            query,
            scratch,
            stats: QueryStats::default(),
            pipeline: Pipelining::new(parts.execution.schedule, query.sizes.beam),
            stage: Stage::Gather,
            in_flight: 0,
            scan: ScanState::default(),
            work_waits: false,
            knows_second: false,
            early: EarlyReads::default(),
        };
        let noted = query.ladder.and_then(|own| own.ladder.sizes.first());
        let first = query.rule.map(|rule| rule.begins_with());
        let first = first.or(noted.map(|size| *size as usize));
        traversal.walk_to(first.map_or(query.sizes, |size| query.sizes.with_list(size)));
        if query.lists_admitted && parts.scans_codes() && parts.entry.clusters().is_none() {
            traversal.list_admitted();
        } else {
            traversal.seed();
        }
        traversal
    }

    /// Takes candidates off so many places as a walk of `sizes` does, and within its horizon.
    pub(super) fn walk_to(&mut self, sizes: QuerySizes) {
        let own = self.own_sizes(sizes);
        let candidates = &mut self.scratch.candidates;
        candidates.take_off(own.list_size);
        // A horizon is measured by answers: where candidates may be none, there is no horizon.
        if self.query.goal == Goal::Nearest && self.query.admission.is_open() {
            let (size, k) = (sizes.list_size, sizes.results);
            candidates.look_to(Horizon {
                place: StopSpec::measured_by(k) - 1,
                slack: self.parts.execution.stop.slack(size, k),
            });
        }
    }

    /// Those of `sizes` that are of this segment.
    fn own_sizes(&self, sizes: QuerySizes) -> QuerySizes {
        self.scratch.shape.own_sizes(&self.query, sizes)
    }

    /// Goes on with a list of `sizes`, which are no more than those that it began with.
    pub(super) fn settle(&mut self, sizes: QuerySizes) {
        let own = self.own_sizes(sizes);
        self.query.sizes = sizes;
        self.early.begin();
        self.scratch.shape.sizes = own;
        self.scratch.candidates.settle(own.capacity, own.list_size);
        self.walk_to(sizes);
        self.stage = Stage::Gather;
    }

    /// Hands the query to the scorer of second codes: while reads are in flight, if there are any
    /// before it is needed.
    pub(super) fn prepare_second(&mut self) {
        if std::mem::replace(&mut self.knows_second, true) {
            return;
        }
        let scoring = &mut self.scratch.scoring;
        if let (Some(second), Some(part)) = (&mut scoring.second, &self.parts.second) {
            let forms = part.table.forms();
            second.prepare(&part.quantizer, &scoring.widened, forms);
        }
    }

    /// The next page to read now, if any. Expands what is in memory on the way. The stage is over
    /// when nothing is wanted and nothing is in flight, nor to be read early.
    ///
    /// # Errors
    /// When a record in memory makes no sense.
    pub(crate) fn want(&mut self) -> Result<Option<PageRequest>, PageError> {
        loop {
            if self.early.chosen || self.in_flight >= self.most_in_flight() {
                return Ok(None);
            }
            if let Some(request) = self.scratch.pages.frontier.pop() {
                self.in_flight += 1;
                return Ok(Some(request));
            }
            match self.stage {
                Stage::Gather => self.gather()?,
                Stage::FineCodes => {}
                Stage::Refine => return Ok(None),
            }
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
            if !self.work()? && !self.look_further() {
                return Ok(None);
            }
        }
    }

    /// Moves the horizon behind as many candidates that may be answers as it is measured by, where
    /// some died; whether that lets more of them be taken.
    fn look_further(&mut self) -> bool {
        let admission = self.query.admission;
        if !admission.has_dead() || self.stage != Stage::Gather {
            return false;
        }
        let answers = StopSpec::measured_by(self.query.sizes.results);
        let candidates = &mut self.scratch.candidates;
        let keys = candidates.keys().iter().enumerate();
        let mut admitted = keys.filter(|(_, key)| admission.admits(key_node(**key)));
        let place = admitted.nth(answers - 1);
        let place = place.map_or(candidates.keys().len(), |(place, _)| place);
        candidates.measure_by(place)
    }

    /// Finds more candidates, or the reads that lead to them.
    fn gather(&mut self) -> Result<(), PageError> {
        if self.early.paused == Some(Pause::Working) {
            return Ok(());
        }
        if !self.early.resumes(Pause::Choosing) {
            self.look_further();
        }
        let parts = self.parts;
        match parts.entry.clusters() {
            Some(table) => {
                self.scan(table);
                Ok(())
            }
            None => self.choose(),
        }
    }

    /// Reads in flight at most: the beam while what a page says decides what is read next, as many
    /// as the driver takes where everything left to read is known.
    fn most_in_flight(&self) -> usize {
        let is_known = match self.stage {
            Stage::Gather => false,
            Stage::FineCodes => !self.parts.execution.keeps_pages() && !self.pipeline.in_order,
            Stage::Refine => true,
        };
        if is_known {
            usize::MAX
        } else {
            self.query.sizes.beam
        }
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
            Origin::Disk => self.stats.count_read(geometry),
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
        if request.refines() {
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

    /// Ends the query in this segment: its scratch (which holds the ranking) and its counters.
    pub(crate) fn finish(self) -> (&'t mut Scratch, QueryStats) {
        (self.scratch, self.stats)
    }

    /// What scores codes of this query.
    pub(super) fn scorer(&self) -> &Scorer {
        &self.scratch.scoring.scorer
    }

    /// The candidates.
    pub(super) fn candidates(&self) -> &CandidateList {
        &self.scratch.candidates
    }

    /// What is known of those that a stage may read.
    pub(super) fn bounds(&self) -> &Bounds {
        &self.scratch.bounds
    }

    /// The same, to lend room.
    pub(super) fn bounds_mut(&mut self) -> &mut Bounds {
        &mut self.scratch.bounds
    }
}
