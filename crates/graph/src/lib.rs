//! Proximity graphs in memory: Vamana, NSG and HNSW, their parallel build, their repair, and the
//! parts of a build under a memory budget that know about graphs.
//!
//! The graph decides how many pages a query reads, and its construction decides how long a build
//! takes, so everything here is written around two loops: the greedy search that finds the
//! neighbourhood of a new node, and the pruning that thins it out.
//!
//! Invariants:
//! * Same vectors, spec and seed give the same graph on any number of threads.
//! * No file access: vectors come in as rows in memory, or through `VectorRead` for one pass.
//! * A finished graph has no list longer than its max degree, no self-loop, no repeated
//!   neighbour, and reaches every node from its entry.
//! * An adjacency list is in prune order, most valuable neighbour first, so that cutting its tail
//!   is the cheapest way to shorten it.

mod bytes;
mod clusters;
mod delta_prune;
mod error;
mod float;
mod graph;
mod hnsw;
mod linking;
mod matrix;
mod medoid;
mod navigation;
mod nsg;
mod packed;
mod partition;
mod pipnn;
mod placement;
mod prune;
mod rng;
mod routing;
mod search;
#[cfg(test)]
mod testing;
mod vamana;
mod vectors;

pub use clusters::{ClusterCount, ClusterSpec, Clusters, clusters, clusters_bytes, some_clusters};
pub use delta_prune::delta_prune;
pub use error::GraphError;
pub use graph::Graph;
pub use hnsw::{Hnsw, HnswSpec, Layer, hnsw, hnsw_bytes};
pub use linking::repair;
pub use medoid::{Medoid, MedoidSpec, medoid};
pub use navigation::{
    NavigationGraph, NavigationLayer, NavigationScratch, NavigationSpec, SampledVectors,
};
pub use nsg::{NsgSpec, nsg, nsg_bytes};
pub use packed::ListCode;
pub use partition::{
    Assigner, COPIES, Partition, PartitionSpec, divide, merge_lists, plan, shard_max_degree,
};
pub use pipnn::{Joined, PiPnn, PiPnnSpec, pipnn, pipnn_bytes};
pub use placement::{
    Paging, Placement, PlacementSpec, overlap_ratio, place, place_clustered, placement_bytes,
};
pub use prune::{PruneSpec, Pruner};
pub use routing::{HashBuild, HashSpec, HashTable, fixed_entries, fixed_entries_bytes};
pub use search::greedy_search;
pub use vamana::{VamanaSpec, build, build_bytes};
pub use vectors::VectorSet;
