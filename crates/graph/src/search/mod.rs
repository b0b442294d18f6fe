//! Greedy search over a graph in memory: how a build finds the neighbourhood of a node.
//!
//! The search keeps the best `list_size` nodes seen so far in a [`CandidateList`], expands the
//! nearest one that is not expanded yet, and stops when all of them are. Nodes are scored once:
//! a [`VisitedSet`] filters neighbours before any distance is computed.

mod candidates;
mod greedy;
mod visited;

pub use greedy::greedy_search;
pub(crate) use greedy::{Bounds, SearchScratch};
