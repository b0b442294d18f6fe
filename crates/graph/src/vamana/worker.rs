//! Scratch memory of the threads that build.
//!
//! Each thread of the pool owns one scratch and keeps it for the whole build. The lock around it
//! is never contended, since no task hands work to the pool while it holds one; it is there
//! because the compiler cannot know.

use std::sync::{Mutex, PoisonError};

use pageway_types::{Candidate, NodeId};

use super::spec::{MAX_CANDIDATES, VamanaSpec};
use crate::error::{GraphError, try_filled, try_reserved};
use crate::prune::Pruner;
use crate::search::{Bounds, SearchScratch};

/// One scratch per thread of a pool.
pub(super) struct Workers<S> {
    scratches: Vec<Mutex<S>>,
}

impl<S> Workers<S> {
    pub(super) fn new(
        threads: usize,
        scratch: impl Fn() -> Result<S, GraphError>,
    ) -> Result<Self, GraphError> {
        let scratches = (0..threads.max(1)).map(|_| scratch().map(Mutex::new));
        Ok(Self {
            scratches: scratches.collect::<Result<_, _>>()?,
        })
    }

    /// Runs `work` with the scratch of the current thread. `work` must not use the pool.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.scratches.len();
        #[expect(clippy::indexing_slicing, reason = "reduced by the length above")]
        let mut scratch = self.scratches[thread]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(&mut scratch)
    }
}

/// What one thread needs to search and prune.
pub(super) struct Scratch {
    pub(super) search: SearchScratch,
    pub(super) thinning: Thinning,
}

/// What one thread needs to prune any set of nodes.
pub(super) struct Thinning {
    pub(super) pruner: Pruner,
    pub(super) candidates: Vec<Candidate>,
    pub(super) nodes: Vec<NodeId>,
    pub(super) distances: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(count: u32, spec: &VamanaSpec) -> Result<Self, GraphError> {
        let candidates = max_candidates(count, spec);
        let thinning = Thinning {
            pruner: Pruner::new(MAX_CANDIDATES.min(candidates))?,
            candidates: try_reserved(candidates, "candidates")?,
            nodes: try_reserved(candidates, "candidates")?,
            distances: try_filled(candidates, 0.0, "candidates")?,
        };
        Ok(Self {
            search: SearchScratch::new(bounds(count, spec))?,
            thinning,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(super) fn bytes(count: u32, spec: &VamanaSpec) -> u64 {
        const EACH: usize = size_of::<Candidate>() + size_of::<NodeId>() + size_of::<f32>();
        let candidates = max_candidates(count, spec);
        SearchScratch::bytes(bounds(count, spec))
            + Pruner::bytes(MAX_CANDIDATES.min(candidates) as u64)
            + (candidates * EACH + size_of::<Mutex<Self>>()) as u64
    }
}

fn bounds(count: u32, spec: &VamanaSpec) -> Bounds {
    Bounds {
        count,
        max_degree: spec.slack_degree(),
        list_size: spec.build_list,
    }
}

/// A list at its longest, and a back-edge from every node of a batch; or all that a search expands.
fn max_candidates(count: u32, spec: &VamanaSpec) -> usize {
    let back_edges = spec.slack_degree() as usize + VamanaSpec::max_batch(count) as usize;
    back_edges.max(bounds(count, spec).expansions())
}
