//! Everything mutable of one query. Reused from query to query: after the first, the loop allocates
//! nothing.

use pageway_quant::PqScorer;
use pageway_types::NodeId;

use super::candidates::CandidateList;
use super::ranking::Ranking;
use super::traversal::PageRequest;
use super::visited::Visited;

/// Sizes of a scratch: they fix its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScratchShape {
    /// Results wanted (k).
    pub(crate) k: usize,
    /// Candidate list size (L).
    pub(crate) list_size: usize,
    /// Reads in flight at most (W).
    pub(crate) beam: usize,
    /// Longest adjacency list (R).
    pub(crate) max_degree: usize,
    /// Components per vector.
    pub(crate) dimension: usize,
    /// Bytes per code.
    pub(crate) code_bytes: usize,
}

impl ScratchShape {
    /// Bytes of a scratch of this shape.
    pub(crate) fn bytes(&self) -> usize {
        CandidateList::bytes(self.list_size)
            + Ranking::bytes(self.k)
            + Visited::bytes(self.visited_slots())
            + self.code_bytes * 256 * size_of::<f32>()
            + self.dimension * size_of::<f32>() * 2
            + self.max_degree * (size_of::<NodeId>() + size_of::<f32>())
            + self.beam * size_of::<PageRequest>()
    }

    fn visited_slots(&self) -> usize {
        Visited::slots_for(self.list_size.saturating_mul(self.max_degree))
    }
}

/// The mutable state of one query.
pub(crate) struct Scratch {
    pub(super) shape: ScratchShape,
    pub(super) candidates: CandidateList,
    pub(super) visited: Visited,
    pub(super) ranking: Ranking,
    pub(super) scorer: PqScorer,
    pub(super) widened: Vec<f32>,
    /// Neighbours of the node being expanded that were not scored yet, and their estimates.
    pub(super) fresh: Vec<NodeId>,
    pub(super) estimates: Vec<f32>,
    /// Reads of this round that were not handed out yet, last first.
    pub(super) frontier: Vec<PageRequest>,
}

impl Scratch {
    /// A scratch of a shape; its buffers grow to it on first use.
    pub(crate) fn new(shape: ScratchShape, scorer: PqScorer) -> Self {
        Self {
            shape,
            candidates: CandidateList::default(),
            visited: Visited::default(),
            ranking: Ranking::default(),
            scorer,
            widened: vec![0.0; shape.dimension],
            fresh: Vec::with_capacity(shape.max_degree),
            estimates: Vec::with_capacity(shape.max_degree),
            frontier: Vec::with_capacity(shape.beam),
        }
    }

    /// Makes ready for the next query.
    pub(super) fn reset(&mut self) {
        self.candidates.reset(self.shape.list_size);
        self.visited.reset(self.shape.visited_slots());
        self.ranking.reset(self.shape.k);
        self.frontier.clear();
    }

    /// What the last query found.
    pub(crate) fn ranking(&self) -> &Ranking {
        &self.ranking
    }
}
