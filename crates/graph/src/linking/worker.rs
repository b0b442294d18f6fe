//! Scratch memory of the threads that build.
//!
//! Each thread of the pool owns one scratch and keeps it for the whole build. The lock around it
//! is never contended, since no task hands work to the pool while it holds one; it is there
//! because the compiler cannot know.

use std::sync::{Mutex, PoisonError};

use pageway_types::{Candidate, NodeId};

use super::distances::Distances;
use crate::error::{GraphError, try_filled, try_reserved};
use crate::prune::{PruneSpec, Pruner};
use crate::search::{Bounds, SearchScratch};

/// Candidates that one prune looks at; farther ones are cut off first.
const MAX_CANDIDATES: usize = 750;

/// One scratch per thread of a pool.
pub(crate) struct Workers<S> {
    scratches: Vec<Mutex<S>>,
}

impl<S> Workers<S> {
    /// A scratch for every thread of the current pool.
    pub(crate) fn new(scratch: impl Fn() -> Result<S, GraphError>) -> Result<Self, GraphError> {
        let threads = rayon::current_num_threads().max(1);
        let scratches = (0..threads).map(|_| scratch().map(Mutex::new));
        Ok(Self {
            scratches: scratches.collect::<Result<_, _>>()?,
        })
    }

    /// Bytes of scratches that take `each` on their own.
    pub(crate) fn bytes(threads: usize, each: u64) -> u64 {
        let locked = each.saturating_add(size_of::<Mutex<S>>() as u64);
        locked.saturating_mul(threads.max(1) as u64)
    }

    /// Runs `work` with the scratch of the current thread. `work` must not use the pool.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.scratches.len();
        #[expect(clippy::indexing_slicing, reason = "reduced by the length above")]
        let mut scratch = self.scratches[thread]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(&mut scratch)
    }
}

/// What one thread needs to search and prune.
pub(crate) struct Scratch {
    pub(crate) search: SearchScratch,
    pub(crate) thinning: Thinning,
}

/// What one thread needs to prune any set of nodes.
pub(crate) struct Thinning {
    pub(crate) pruner: Pruner,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) distances: Vec<f32>,
}

impl Scratch {
    /// For searches within `bounds` and prunes of at most `candidates`.
    pub(crate) fn new(bounds: Bounds, candidates: usize) -> Result<Self, GraphError> {
        let thinning = Thinning {
            pruner: Pruner::new(MAX_CANDIDATES.min(candidates))?,
            candidates: try_reserved(candidates, "candidates")?,
            nodes: try_reserved(candidates, "candidates")?,
            distances: try_filled(candidates, 0.0, "candidates")?,
        };
        Ok(Self {
            search: SearchScratch::new(bounds)?,
            thinning,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) fn bytes(bounds: Bounds, candidates: usize) -> u64 {
        const EACH: usize = size_of::<Candidate>() + size_of::<NodeId>() + size_of::<f32>();
        SearchScratch::bytes(bounds)
            + Pruner::bytes(MAX_CANDIDATES.min(candidates) as u64)
            + (candidates * EACH) as u64
    }
}

impl Thinning {
    /// Prunes `self.nodes`, none of which is `node`, to the list of `node`.
    pub(crate) fn thin(
        &mut self,
        vectors: &dyn Distances,
        node: NodeId,
        spec: PruneSpec,
    ) -> &[NodeId] {
        self.candidates.clear();
        self.add_nodes(vectors, node);
        self.thin_candidates(vectors, spec)
    }

    /// Adds `self.nodes` to the candidates for the list of `node`.
    pub(crate) fn add_nodes(&mut self, vectors: &dyn Distances, node: NodeId) {
        #[expect(
            clippy::indexing_slicing,
            reason = "sized for every set; a slip must stop"
        )]
        let distances = &mut self.distances[..self.nodes.len()];
        vectors.distance_many(node, &self.nodes, distances);
        let scored = self.nodes.iter().zip(&*distances);
        self.candidates
            .extend(scored.map(|(&node, &distance)| Candidate::new(node, distance)));
    }

    /// Prunes `self.candidates`, in any order.
    pub(crate) fn thin_candidates(
        &mut self,
        vectors: &dyn Distances,
        spec: PruneSpec,
    ) -> &[NodeId] {
        self.candidates.sort_unstable();
        self.pruner
            .prune(&self.candidates, spec, |node, others, out| {
                vectors.distance_many(node, others, out);
            })
    }
}
