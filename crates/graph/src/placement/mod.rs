//! Placement: which nodes share a page.
//!
//! A read brings a whole page, so a page should hold nodes that one search wants together. A
//! placement is a permutation: nodes are renumbered by it, and then the page of a node is its id
//! divided by the nodes per page, with no map in memory.
//!
//! ```text
//! order:  [ 7 0 9 | 3 4 1 | 8 2 6 | 5 ]      order[new id] = old id, 3 nodes per page
//! page:       0       1       2     3        only the last page may be short
//! ```
//!
//! How good an order is for a graph is its overlap ratio: the share of a page that a member finds
//! among its own neighbours ([`overlap_ratio`]). BNP, BNF and BNS raise it and look at nothing but
//! edges (Wang et al., "Starling", SIGMOD 2024, section 4). `Grouped` (Kang et al., "PageANN",
//! 2025, Algorithm 1), `Clustered` and `Nearest` put near vectors together and take distances.
//!
//! Invariants:
//! * Every placement is a permutation, and every page but the last is full.
//! * The same graph, vectors and spec give the same order on any number of threads.
//! * All memory that grows with the nodes is taken at the start and counted by
//!   [`placement_bytes`].

mod bisection;
mod frequency;
mod grouping;
mod links;
mod nearest;
mod overlap;
mod packing;
mod padding;
mod pages;
mod paging;
mod place;
mod score;
mod spec;
mod swap;
#[cfg(test)]
mod tests;

pub(crate) use nearest::{arrange, arrange_bytes};
pub use overlap::overlap_ratio;
pub use paging::Paging;
pub use place::{place, place_clustered, placement_bytes};
pub use spec::{Placement, PlacementSpec};
