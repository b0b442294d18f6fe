//! Vamana: a graph that a greedy search crosses in few hops, built in parallel.
//!
//! Nodes are inserted in a random order fixed by the seed, in batches that double until they
//! reach a small share of the set. Within a batch:
//!
//! ```text
//! search  every node of the batch, in parallel, on the graph as it was before the batch
//! prune   what it expanded down to max degree: its list
//! turn    each new edge (node -> neighbour) into a back-edge (neighbour -> node), sort them
//! append  or prune, one task per neighbour
//! ```
//! Tasks read what the batch does not change and write what only they own. So there are no locks,
//! and the graph does not depend on the number of threads or on their timing.
//!
//! In between lists may grow to 1.3 times the max degree, which makes prunes rarer; the last pass
//! brings all of them down and puts them in prune order. Then nodes that cannot be reached from
//! the entry are linked again.

mod back_edges;
mod batch;
mod builder;
mod finish;
mod repair;
mod spec;
#[cfg(test)]
mod tests;
mod worker;

pub use builder::build;
pub use repair::repair;
pub use spec::{VamanaSpec, build_bytes};
