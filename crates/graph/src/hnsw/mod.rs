//! HNSW: a graph over all nodes, and above it smaller and smaller graphs that lead a search to it.
//!
//! After Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
//! Hierarchical Navigable Small World graphs", TPAMI 2018 (first published 2016). Every node draws
//! a level, geometrically; layer 0 holds all nodes and goes to disk, the layers above hold the
//! nodes of their level or a higher one and stay in memory:
//!
//! ```text
//! layer 2      o                     a share 1/M of the layer below, lists of M
//! layer 1   o  o     o               a share 1/M of all nodes, lists of M
//! base      o oo oo oo o o           all nodes, lists of R = 2 M, entered at a node of all layers
//! ```
//! Neighbours are chosen by the heuristic of the paper with pruned candidates kept: the strict
//! prune (`alpha` = 1), then the nearest of the rest; up to `M` for a new node, up to the longest
//! list when edges back have overfilled one.
//!
//! Where this differs from the paper:
//! * Each layer is grown on its own ([`linking`](crate::linking)), over its nodes alone. In the
//!   paper an insertion walks down the layers, but what it links in one layer comes from a search
//!   of that layer; the layers above only save it a few hops of a hundred. So every layer is a
//!   sound graph by itself, and there is no second way to build one.
//! * A new node of the base may choose more than `M` neighbours, up to `R`, when none of them
//!   occludes another: on 50,000 vectors of 128 bytes, half a percent of recall. Filling it up to
//!   `R` too would gain another half there, but loses 4 % under the inner product where lengths
//!   differ threefold: full lists are pruned all the time, and near copies crowd out long edges.
//! * Layers above `log_M` of the number of nodes are not drawn, and a layer of one node is left
//!   out: it says no more than the entry.
//!
//! Invariants: each layer keeps those of [`linking`](crate::linking) and reaches all of its nodes
//! from the entry of the base, which is in all of them; every node of a layer is in the layers
//! below.

mod build;
mod level;
mod spec;
#[cfg(test)]
mod tests;

pub use build::{Hnsw, Layer, hnsw};
pub use spec::{HnswSpec, hnsw_bytes};
