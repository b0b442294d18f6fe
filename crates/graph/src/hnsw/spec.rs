//! Parameters of a build, and the memory that it takes.

use pageway_types::NodeId;

use super::level::{Levels, layer_rooms};
use crate::error::GraphError;
use crate::graph::AdjacencyLists;
use crate::linking::{InsertSpec, ListSpec, check, check_degree, check_list};
use crate::prune::PruneSpec;

/// Fewest neighbours of the base: below, a layer would be as large as the one under it.
const LEAST_DEGREE: u32 = 4;

/// Parameters of an HNSW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswSpec {
    /// Longest adjacency list of the base, twice the `M` of the literature. 4 to 4,096; 32 to 96
    /// is usual. Layers above have lists of half this, rounded down.
    pub max_degree: u32,
    /// Candidate list of the searches that find neighbours, called `efConstruction`. 1 to 65,536.
    pub build_list: u32,
    /// Fixes the levels and the order of insertion.
    pub seed: u64,
}

impl HnswSpec {
    pub(super) fn validate(&self) -> Result<(), GraphError> {
        check_degree("max_degree", self.max_degree)?;
        let accepted = self.max_degree >= LEAST_DEGREE;
        check(accepted, "max_degree", self.max_degree, "4 to 4096")?;
        check_list("build_list", self.build_list)
    }

    /// The `M` of the literature: the longest list of an upper layer, and how many times smaller
    /// a layer is than the one below.
    pub(super) const fn links(&self) -> u32 {
        self.max_degree / 2
    }

    /// How the base is grown.
    pub(super) const fn base(&self) -> InsertSpec {
        self.insert(self.max_degree)
    }

    /// How an upper layer is grown.
    pub(super) const fn upper(&self) -> InsertSpec {
        self.insert(self.links())
    }

    const fn insert(&self, max_degree: u32) -> InsertSpec {
        let prune = PruneSpec {
            max_degree,
            alpha: 1.0,
        };
        InsertSpec {
            lists: ListSpec {
                prune,
                fill: max_degree,
            },
            first_fill: max_degree / 2,
            build_list: self.build_list,
            seed: self.seed,
        }
    }
}

/// Bytes that [`hnsw`](super::hnsw) holds at its peak beside the rows and what a
/// [`VectorSet`](crate::VectorSet) holds; the finished layers are part of it.
///
/// An upper bound. Counts and parameters are those that a build accepts; others saturate.
pub fn hnsw_bytes(count: u64, spec: &HnswSpec, threads: usize) -> u64 {
    let links = spec.links().max(2);
    let rooms = || layer_rooms(count, links);
    let largest = rooms().next().unwrap_or(0);
    let layer = |nodes: u64| {
        let lists = AdjacencyLists::bytes(nodes, links);
        lists.saturating_add(nodes.saturating_mul(size_of::<NodeId>() as u64))
    };
    let upper = AdjacencyLists::bytes(count, spec.max_degree)
        .saturating_add(rooms().map(layer).fold(0, u64::saturating_add))
        .saturating_add(spec.upper().bytes(largest, threads));
    Levels::bytes(count).saturating_add(spec.base().bytes(count, threads).max(upper))
}
