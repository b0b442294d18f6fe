//! Parameters of a build, the build, and the memory that it takes.

use pageway_types::{NodeId, Progress};

use super::near::Near;
use super::select::Selection;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, Graph};
use crate::linking::{check_degree, check_entry, check_list, repair_bytes, repair_in_pool};
use crate::prune::PruneSpec;
use crate::vectors::VectorSet;

/// Parameters of an NSG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NsgSpec {
    /// Longest adjacency list, called `R` in the literature. 1 to 4,096; 32 to 96 is usual.
    pub max_degree: u32,
    /// Candidate list of the searches that choose neighbours, called `L`. 1 to 65,536.
    pub build_list: u32,
    /// Nearest nodes that each node is told beforehand, called `k`. 1 to 4,096; one to two times
    /// the max degree is usual.
    pub knn: u32,
    /// Fixes the order in which the coarse graph grows that finds the nearest nodes.
    pub seed: u64,
}

impl NsgSpec {
    fn validate(&self) -> Result<(), GraphError> {
        check_degree("max_degree", self.max_degree)?;
        check_list("build_list", self.build_list)?;
        check_degree("knn", self.knn)
    }

    /// MRNG edges: no occlusion is tolerated.
    pub(super) const fn prune(&self) -> PruneSpec {
        PruneSpec {
            max_degree: self.max_degree,
            alpha: 1.0,
        }
    }
}

/// Builds a navigating spreading-out graph over `vectors` that is searched from `entry`, their
/// medoid.
///
/// Takes [`nsg_bytes`] of memory beside the vectors. Three searches per vector: one to grow the
/// coarse graph, one for the nearest nodes, and one with `build_list` for its list, which scores
/// about `build_list * knn / 2` vectors. The graph is the same for any number of threads in `pool`.
///
/// # Errors
/// When a parameter or the entry is out of range, memory is refused, or `progress` cancels;
/// that is noticed within some milliseconds.
pub fn nsg(
    vectors: &VectorSet<'_>,
    entry: NodeId,
    spec: &NsgSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Graph, GraphError> {
    spec.validate()?;
    let count = vectors.count();
    check_entry(entry, count)?;
    let selection = Selection {
        vectors,
        entry,
        spec,
        progress,
    };
    pool.install(|| {
        let near = Near::new(count, spec).lists(vectors, entry, progress)?;
        let lists = selection.lists(&near)?;
        drop(near);
        let mut graph = Graph::new(lists, entry);
        repair_in_pool(&mut graph, vectors, progress)?;
        Ok(graph)
    })
}

/// Bytes that [`nsg`] holds at its peak beside the rows and what a [`VectorSet`] holds; the
/// finished graph is part of it.
///
/// An upper bound. Counts are those that a build accepts; others saturate.
pub fn nsg_bytes(count: u64, spec: &NsgSpec, threads: usize) -> u64 {
    let near = Near::new(u32::try_from(count).unwrap_or(u32::MAX), spec);
    let repairing = AdjacencyLists::bytes(count, spec.max_degree).saturating_add(repair_bytes(
        count,
        spec.max_degree,
        threads,
    ));
    near.bytes(count, threads)
        .max(Selection::bytes(count, near.degree(), spec, threads))
        .max(repairing)
}
