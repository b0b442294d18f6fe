//! NSG, the navigating spreading-out graph: every list chosen with the whole set in view.
//!
//! After Fu et al., "Fast Approximate Nearest Neighbor Search With The Navigating Spreading-out
//! Graph", VLDB 2019:
//!
//! ```text
//! near     the nearest nodes of every node, nearly: the kNN graph
//! choose   what a search for the node expands on its way from the entry through the kNN graph,
//!          and the nearest nodes, pruned without tolerance (alpha = 1): the MRNG edges
//! back     every edge back that is missing, pruned again where there is no room
//! fill     lists that are short take the nearest nodes behind their edges
//! repair   nodes that cannot be reached from the entry are linked again
//! ```
//! The entry is the navigating node: the medoid.
//!
//! Where this differs from the paper:
//! * The kNN graph comes from searches, not from NN-descent. A coarse graph is grown first
//!   ([`linking`](crate::linking)), and every node searches it from itself. That takes some
//!   thousand distances per node, where NN-descent compares all pairs of neighbours' neighbours
//!   in every round, tens of thousands; it needs no code of its own; and it does not depend on
//!   threads. On 50,000 vectors of 128 bytes it finds 92 % of the 48 nearest, and a better kNN
//!   graph made no better NSG.
//! * Searches collect what they expand, as Vamana does, not all that they score.
//! * Lists are filled: a record on disk has the room anyway. Without it the lists of 50,000
//!   vectors of 128 bytes hold 19 of 32 neighbours, and a search expands a quarter more nodes for
//!   the same recall. Filling comes after the edges back: full lists would lose long edges to it.
//! * Reachability is repaired edge by edge from near nodes, not by a tree.
//!
//! What a search expands leads away from the entry only as far as the kNN graph does. Where it
//! falls apart into clusters, more `knn` and `build_list` than Vamana needs make up for it.
//!
//! Invariants: those of [`linking`](crate::linking); a list is chosen from the kNN graph alone, so
//! no list depends on another until edges go back.

mod near;
mod select;
mod spec;
#[cfg(test)]
mod tests;

pub use spec::{NsgSpec, nsg, nsg_bytes};
