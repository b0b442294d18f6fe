//! A small graph in memory that finds where a walk on disk starts.
//!
//! A walk that starts at one fixed entry spends its first pages on getting near the query. A
//! navigation graph covers a sample of the nodes, with their full vectors, so a search of it costs
//! no read, and its results are near the query already: Wang et al., "Starling: An I/O-Efficient
//! Disk-Resident Graph Index Framework for High-Dimensional Vector Similarity Search on Data
//! Segment", SIGMOD 2024, section 4.2. The upper layers of an HNSW graph (Malkov and Yashunin,
//! 2018) are the same structure with more than one layer.
//!
//! ```text
//! layer 0   few nodes          greedy: one candidate
//!   ...     more nodes         greedy, from where the layer above ended
//! bottom    all sampled nodes  best-first: `list_size` candidates  ->  entries of the walk
//! ```
//! Inside, nodes are *positions* in the list of sampled nodes; each has its node id in the big
//! graph beside it. So the nodes of the big graph can be renumbered and no list changes.
//!
//! Invariants:
//! * Every position and every neighbour exists, also when the graph was read from bytes.
//! * Each layer is contained in the one below it; the bottom is all of the sample.
//! * Same vectors, spec and seed give the same bytes on any number of threads.

mod build;
mod format;
mod graph;
mod search;
mod spec;
#[cfg(test)]
mod tests;

pub use graph::{NavigationGraph, NavigationLayer, SampledVectors};
pub use search::NavigationScratch;
pub use spec::NavigationSpec;
