//! Everything mutable of one query. Reused from query to query: after the first, the loop allocates
//! nothing.

use pageway_quant::Scorer;
use pageway_types::{NodeId, PageId, Place};

use super::bounds::Bounds;
use super::candidates::CandidateList;
use super::entry::{ClusterMarks, EntryPart, EntryScratch};
use super::held::{HeldPages, Replicas};
use super::ladder::{LadderNote, LadderNotes};
use super::met::MetRows;
use super::probes::ranked_for;
use super::query::{Gathering, Goal, Query, QuerySizes, Siblings};
use super::ranking::Ranking;
use super::traversal::PageRequest;
use super::visited::Visited;
use crate::error::Result;
use crate::layout::{UnfoldedVector, UnpackedList};
use crate::memory::Reservation;

/// Sizes of a scratch: they fix its bytes. Those of a query fix how much of it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScratchShape {
    /// Of the walk over one segment.
    pub(crate) sizes: QuerySizes,
    /// What the segment asks for.
    pub(crate) index: IndexShape,
    /// The segments that the query is over.
    pub(crate) among: Siblings,
}

/// What a scratch must suit of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IndexShape {
    /// Nodes of the segment.
    pub(crate) nodes: usize,
    /// Neighbours that a list may have.
    pub(crate) max_neighbors: usize,
    /// Nodes that a walk starts at, at most.
    pub(crate) seeds: usize,
    /// Lists that are followed per candidate, about.
    pub(crate) lists_per_candidate: usize,
    /// Records that a page gives at most.
    pub(crate) harvested: HarvestShape,
    /// Components per vector.
    pub(crate) dimension: usize,
    /// Bytes of a vector that is folded on its page.
    pub(crate) folded_bytes: usize,
    /// What its codes ask for.
    pub(crate) codes: CodeShape,
    /// Bytes of a page's payload.
    pub(crate) payload_bytes: usize,
    /// Bytes of a copy of a record, where the node cache learns.
    pub(crate) record_bytes: usize,
    /// To find entries with.
    pub(crate) entry: EntryShape,
    /// How pages are kept.
    pub(crate) hold: Hold,
}

/// What the codes of a segment ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CodeShape {
    /// Bytes that score codes of one query.
    pub(crate) scorer_bytes: usize,
    /// Values of a query before and after it is turned, where that is done for several at once.
    pub(crate) turned_values: usize,
    /// Whether error bounds of codes decide what is read at the end.
    pub(crate) bounded: bool,
    /// Whether records hold fine codes in place of vectors.
    pub(crate) coded: bool,
    /// Whether a second code scores candidates again.
    pub(crate) rescored: bool,
}

impl IndexShape {
    /// The same of a segment whose lists are all in memory. A walk whose vectors are read at its
    /// end reads no page before that, and has none to keep.
    pub(crate) const fn with_lists(self) -> Self {
        match self.gathering() {
            Gathering::InMemory => Self {
                hold: Hold::Nothing,
                ..self
            },
            Gathering::Scanning | Gathering::Reading => self,
        }
    }

    /// Whether walks whose vectors are read at the end may read pages for lists before that.
    pub(crate) const fn lacks_lists(&self) -> bool {
        let keeps = !matches!(self.hold, Hold::Nothing);
        keeps && matches!(self.gathering(), Gathering::InMemory)
    }

    /// How candidates are found.
    pub(crate) const fn gathering(&self) -> Gathering {
        match (self.codes.bounded, self.max_neighbors) {
            (true, 0) => Gathering::Scanning,
            (true, _) if !self.codes.coded => Gathering::InMemory,
            _ => Gathering::Reading,
        }
    }
}

/// Records of a page that are used beside those it was read for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HarvestShape {
    /// Of each page.
    pub(crate) nodes: usize,
    /// Whether they wait for the next reads to be in flight.
    pub(crate) waits: bool,
}

/// What finding entries takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EntryShape {
    /// Bytes, whatever the candidate list.
    pub(crate) bytes: usize,
    /// Groups of clusters that are ranked.
    pub(crate) groups: usize,
    /// Clusters that may be.
    pub(crate) clusters: usize,
}

impl EntryShape {
    fn bytes_for(self, list_size: usize) -> usize {
        let ranked = self.groups + self.clusters.min(ranked_for(list_size));
        self.bytes + ranked * size_of::<u64>() + ClusterMarks::bytes(self.clusters)
    }
}

impl HarvestShape {
    /// Lists that may wait for the reads of a beam.
    fn waiting(self, beam: usize) -> usize {
        if self.waits {
            self.nodes.saturating_mul(beam)
        } else {
            0
        }
    }
}

/// How many pages a query keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// None.
    Nothing,
    /// Those of a round, and of the round before that still wait.
    Round,
    /// Those it read, as many as it has candidates, within a bound.
    Walk {
        /// Lists of other nodes packed into a page.
        replicas: usize,
    },
}

impl Hold {
    /// Lists of other nodes packed into a page that is kept.
    fn replicas(self) -> usize {
        match self {
            Self::Nothing | Self::Round => 0,
            Self::Walk { replicas } => replicas,
        }
    }
}

/// Times the list of evenly spread nodes that a search among some of them is likely to grow to.
const LIKELY_GROWTH: f64 = 2.0;

/// Pages that a query keeps at most.
const MAX_HELD: usize = 64;

impl ScratchShape {
    /// The shape of a walk over one of several segments.
    pub(crate) fn of_walk(sizes: QuerySizes, index: IndexShape, among: Siblings) -> Self {
        Self {
            sizes: sizes.of_walk(index.nodes, (index.gathering(), among)),
            index,
            among,
        }
    }

    /// What a query of `sizes` has of them for this segment.
    pub(super) fn own_sizes(&self, query: &Query<'_>, sizes: QuerySizes) -> QuerySizes {
        // What is listed whole is not cut into parts that grow.
        let among = if query.lists_admitted {
            Siblings::alone(self.index.nodes)
        } else {
            self.among
        };
        sizes.of_walk(self.index.nodes, (self.index.gathering(), among))
    }

    /// Bytes of a scratch of this shape.
    pub(crate) fn bytes(&self) -> usize {
        let mut reservation = Reservation::counting();
        reservation.add(self.index.codes.scorer_bytes);
        reservation.add(self.index.entry.bytes_for(self.sizes.list_limit));
        // Only what is taken can be refused.
        let counted = Buffers::lay_out(self, &mut reservation);
        counted.map_or(usize::MAX, |_| reservation.bytes())
    }

    /// Nodes that are ranked: where distances are estimates at first, more than results.
    fn ranked(&self) -> usize {
        if self.index.codes.coded {
            self.sizes.results + self.sizes.list_limit
        } else {
            self.sizes.results
        }
    }

    /// Nodes that may have to be scored exactly at the end.
    fn refined(&self) -> usize {
        self.ranked().max(self.sizes.list_limit)
    }

    /// Nodes that pages are asked for at a time.
    fn targets(&self) -> usize {
        if self.index.codes.coded && self.index.max_neighbors == 0 {
            self.sizes.list_limit.max(self.sizes.beam)
        } else {
            self.sizes.beam
        }
    }

    /// Candidates whose bounds decide.
    fn bounded(&self) -> usize {
        if self.index.codes.bounded {
            self.refined()
        } else {
            0
        }
    }

    /// Neighbours that are scored at a time.
    fn neighbors(&self) -> usize {
        self.index.max_neighbors.max(self.index.seeds)
    }

    /// Codes that are scored at a time.
    fn batch(&self) -> usize {
        if self.index.codes.rescored {
            self.neighbors().max(self.sizes.list_limit)
        } else {
            self.neighbors()
        }
    }

    fn turned_away(&self) -> usize {
        if self.sizes.grows() {
            // What is forgotten was seen, and never comes back.
            self.sizes.list_limit.saturating_mul(2)
        } else {
            0
        }
    }

    fn visited_slots(&self) -> usize {
        let index = &self.index;
        let lists = self.usual_list().saturating_mul(index.lists_per_candidate);
        // A walk expands somewhat more candidates than its list is long, and a set that is three
        // quarters full forgets.
        let nodes = lists.saturating_mul(index.max_neighbors).saturating_mul(3) / 2;
        Visited::<NodeId>::slots_for(nodes)
    }

    fn page_slots(&self) -> usize {
        Visited::<NodeId>::slots_for(self.usual_list().saturating_mul(2))
    }

    fn scored_slots(&self) -> usize {
        Visited::<NodeId>::slots_for(self.usual_list().saturating_mul(2))
    }

    /// Length that what a query has met is remembered for: of the longest list; over one of several
    /// segments of one that was doubled once, as few grow farther.
    fn usual_list(&self) -> usize {
        if self.among.segments > 1 {
            self.sizes
                .list_limit
                .min(self.sizes.list_size.saturating_mul(2))
        } else {
            self.sizes.list_limit
        }
    }

    /// The same for what a query remembers: of a search among some nodes, whose list may grow far,
    /// what it will meet if those are half as frequent near it as they are everywhere.
    fn remembering(&self, query: &Query<'_>) -> Self {
        let mut own = *self;
        if let Some(among) = query.among {
            let likely = (among.list_size * LIKELY_GROWTH) as usize;
            own.sizes.list_limit = own.sizes.list_limit.min(likely).max(own.sizes.capacity);
        }
        own
    }

    fn held_pages(&self) -> usize {
        match self.index.hold {
            Hold::Nothing => 0,
            Hold::Round => 2 * self.sizes.beam,
            Hold::Walk { .. } => self.sizes.list_size.min(MAX_HELD).max(2 * self.sizes.beam),
        }
    }
}

/// A node that a page was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) page: PageId,
    /// Its candidate: estimate and node.
    pub(crate) key: u64,
}

/// What is left to do while reads are in flight, by the slot of the page that is kept for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deferred {
    /// To score the vectors of the page.
    Page(u16),
    /// To follow the list of one of its nodes.
    Node(u16, NodeId),
}

/// The mutable state of one query.
pub(crate) struct Scratch {
    /// What memory was laid out for; what of it the query at hand uses.
    pub(super) shape: ScratchShape,
    pub(super) candidates: CandidateList,
    pub(super) ranking: Ranking,
    pub(super) seen: Seen,
    pub(super) scoring: Scoring,
    pub(super) pages: PageState,
    pub(super) entry: EntryScratch,
    /// A list of a page or of the node cache, unpacked; or a record, copied.
    pub(super) list: UnpackedList,
    /// Nodes to score exactly at the end, by page.
    pub(super) refine: Vec<NodeId>,
    /// Keys to sort by.
    pub(super) keys: Vec<u64>,
    pub(super) bounds: Bounds,
    pub(super) told: Told,
}

/// What a query tells beside its answers, where somebody wants to know.
#[derive(Default)]
pub(super) struct Told {
    /// Nodes in the order in which they were expanded.
    pub(super) trace: Option<Vec<NodeId>>,
    /// What lists would have found.
    pub(super) ladder: LadderNotes,
    /// Vectors that were compared.
    pub(super) met: Option<MetRows>,
}

/// What a query has met. Filters: they may forget, at the cost of work done twice.
pub(super) struct Seen {
    /// Nodes scored by code.
    pub(super) nodes: Visited<NodeId>,
    /// Pages whose records were all scored.
    pub(super) pages: Visited<PageId>,
    /// Nodes scored exactly.
    pub(super) exact: Visited<NodeId>,
}

/// Batches on their way through the scorers.
pub(super) struct Scoring {
    pub(super) scorer: Scorer,
    pub(super) second: Option<Scorer>,
    pub(super) widened: Vec<f32>,
    /// A vector that is folded on its page.
    pub(super) unfolded: UnfoldedVector,
    /// Neighbours to score by the code table.
    pub(super) fresh: Vec<NodeId>,
    /// Neighbours to score by codes that came with them, and where those are.
    pub(super) coded: Vec<NodeId>,
    pub(super) places: Vec<Place>,
    pub(super) estimates: Vec<f32>,
    /// Estimate and error of one fine code.
    pub(super) fine: (Vec<f32>, Vec<f32>),
}

/// Pages asked for and pages kept.
pub(super) struct PageState {
    /// Reads that were chosen and not handed out yet, last first.
    pub(super) frontier: Vec<PageRequest>,
    /// What the pages asked for are wanted for.
    pub(super) targets: Vec<Target>,
    /// Those of the page at hand.
    pub(super) absorbed: Vec<Target>,
    /// What to work on while reads are in flight.
    pub(super) deferred: Vec<Deferred>,
    /// Slots of pages that came, whose packed lists are not noted yet.
    pub(super) arrived: Vec<u16>,
    /// Pages asked for that are taken in order: slot, and page once it is there.
    pub(super) queue: Vec<PageRequest>,
    pub(super) held: HeldPages,
    /// Lists packed into those kept.
    pub(super) replicas: Replicas,
}

/// All of a scratch that its shape alone makes.
struct Buffers {
    candidates: CandidateList,
    ranking: Ranking,
    seen: Seen,
    batches: Batches,
    pages: PageState,
    list: UnpackedList,
    refine: Vec<NodeId>,
    keys: Vec<u64>,
    bounds: Bounds,
}

/// Those of the scorers.
struct Batches {
    widened: Vec<f32>,
    unfolded: UnfoldedVector,
    fresh: Vec<NodeId>,
    coded: Vec<NodeId>,
    places: Vec<Place>,
    estimates: Vec<f32>,
    fine: (Vec<f32>, Vec<f32>),
}

impl Buffers {
    /// Takes or counts every buffer of a query.
    fn lay_out(shape: &ScratchShape, reservation: &mut Reservation) -> Result<Self> {
        let (index, sizes) = (&shape.index, shape.sizes);
        let listed = (sizes.list_limit, shape.turned_away());
        Ok(Self {
            candidates: CandidateList::lay_out(listed, reservation)?,
            ranking: Ranking::lay_out(shape.ranked(), reservation)?,
            seen: Seen {
                nodes: Visited::lay_out(shape.visited_slots(), reservation)?,
                pages: Visited::lay_out(shape.page_slots(), reservation)?,
                exact: Visited::lay_out(shape.scored_slots(), reservation)?,
            },
            batches: Batches::lay_out(shape, reservation)?,
            pages: PageState::lay_out(shape, reservation)?,
            list: reservation.room((index.record_bytes / 4).max(shape.neighbors()))?,
            refine: reservation.room(shape.refined())?,
            keys: reservation.room(shape.refined().max(index.harvested.nodes))?,
            bounds: Bounds::lay_out(shape.bounded(), reservation)?,
        })
    }
}

impl Batches {
    fn lay_out(shape: &ScratchShape, reservation: &mut Reservation) -> Result<Self> {
        Ok(Self {
            widened: reservation.filled(shape.index.dimension, 0.0)?,
            unfolded: reservation.room(shape.index.folded_bytes)?,
            fresh: reservation.room(shape.batch())?,
            coded: reservation.room(shape.neighbors())?,
            places: reservation.room(shape.neighbors())?,
            estimates: reservation.room(shape.batch())?,
            fine: (reservation.room(1)?, reservation.room(1)?),
        })
    }
}

impl PageState {
    fn lay_out(shape: &ScratchShape, reservation: &mut Reservation) -> Result<Self> {
        let (index, beam) = (&shape.index, shape.sizes.beam);
        let held = shape.held_pages();
        let replicas = held.saturating_mul(index.hold.replicas());
        Ok(Self {
            frontier: reservation.room(shape.refined().max(beam))?,
            targets: reservation.room(shape.targets())?,
            absorbed: reservation.room(shape.targets())?,
            deferred: reservation.room(index.harvested.waiting(beam))?,
            arrived: reservation.room(beam)?,
            queue: reservation.room(beam)?,
            held: HeldPages::lay_out((held, index.payload_bytes), reservation)?,
            replicas: Replicas::lay_out(replicas, reservation)?,
        })
    }
}

impl Scratch {
    /// A scratch of a shape: all that a query of its sizes takes.
    ///
    /// # Errors
    /// When memory is refused.
    pub(crate) fn new(
        shape: ScratchShape,
        (scorer, second): (Scorer, Option<Scorer>),
        entry: &EntryPart,
    ) -> Result<Self> {
        let buffers = Buffers::lay_out(&shape, &mut Reservation::taking())?;
        let batches = buffers.batches;
        Ok(Self {
            shape,
            candidates: buffers.candidates,
            ranking: buffers.ranking,
            seen: buffers.seen,
            scoring: Scoring {
                scorer,
                second,
                widened: batches.widened,
                unfolded: batches.unfolded,
                fresh: batches.fresh,
                coded: batches.coded,
                places: batches.places,
                estimates: batches.estimates,
                fine: batches.fine,
            },
            pages: buffers.pages,
            entry: EntryScratch::new(entry)?,
            list: buffers.list,
            refine: buffers.refine,
            keys: buffers.keys,
            bounds: buffers.bounds,
            told: Told::default(),
        })
    }

    /// Starts to note which nodes are expanded.
    pub(crate) fn record_trace(&mut self) {
        self.told.trace = Some(Vec::new());
    }

    /// Whether that is noted.
    pub(crate) fn is_traced(&self) -> bool {
        self.told.trace.is_some()
    }

    /// Starts to keep vectors that are compared.
    pub(crate) fn record_met(&mut self, met: MetRows) {
        self.told.met = Some(met);
    }

    /// Ends that; what was kept.
    pub(crate) fn take_met(&mut self) -> Option<MetRows> {
        self.told.met.take()
    }

    /// Makes ready for the next query, of `sizes` that the capacity of this scratch covers.
    pub(super) fn reset(&mut self, query: &Query<'_>, sizes: QuerySizes) {
        self.shape.sizes = sizes;
        let shape = &self.shape;
        let radius = match query.goal {
            Goal::Nearest => f32::INFINITY,
            Goal::Within { radius } => radius,
        };
        self.candidates.reset(sizes.capacity, shape.turned_away());
        self.candidates.take_off(sizes.list_size);
        self.ranking.reset((shape.ranked(), sizes.results), radius);
        let remembered = shape.remembering(query);
        self.seen.nodes.reset(remembered.visited_slots());
        self.seen.pages.reset(remembered.page_slots());
        self.seen.exact.reset(remembered.scored_slots());
        self.pages.frontier.clear();
        self.pages.targets.clear();
        self.pages.absorbed.clear();
        self.pages.deferred.clear();
        self.pages.arrived.clear();
        self.pages.queue.clear();
        // A list that is not cut into the parts of segments may be longer than this one's.
        let held = shape.held_pages().min(self.pages.held.room());
        self.pages.held.reset(held);
        self.pages
            .replicas
            .reset(held * shape.index.hold.replicas());
        self.refine.clear();
        self.bounds.forget();
        self.told.ladder.reset(query.ladder);
        if let Some(trace) = &mut self.told.trace {
            trace.clear();
        }
        if let Some(met) = &mut self.told.met {
            met.clear();
        }
    }

    /// What the last query found.
    pub(crate) fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// What lists of the last query would have found, where it noted that.
    pub(crate) fn notes(&self) -> &[LadderNote] {
        &self.told.ladder.notes
    }

    /// Nodes that the last query expanded, in order; empty unless that is recorded.
    pub(crate) fn trace(&self) -> &[NodeId] {
        self.told.trace.as_deref().unwrap_or_default()
    }
}
