//! What all graph builders share: from candidates to the lists of a sound graph.
//!
//! ```text
//! insertion  a graph that grows in batches, each searched on the graph as it was before
//! batch      the lists of the nodes of one batch
//! back_edges an edge (node -> neighbour) asks for (neighbour -> node): appended, or pruned in
//! thinning   candidates are pruned to a list, and its free room may be filled
//! finish     every list down to the max degree and into prune order
//! repair     nodes that cannot be reached from the entry are linked again
//! ```
//! Within a batch:
//!
//! ```text
//! search  every node of the batch, in parallel, on the graph as it was before the batch
//! prune   what it expanded: its list
//! turn    each new edge (node -> neighbour) into a back-edge (neighbour -> node), sort them
//! append  or prune, one task per neighbour
//! ```
//! Invariants:
//! * Tasks read what the step does not change and write what only they own. So there are no
//!   locks, and the graph does not depend on the number of threads or on their timing.
//! * In between lists may grow to 1.3 times the max degree, which makes prunes rarer; `finish`
//!   brings all of them down.
//! * Nodes are known by their distances alone (`Distances`): the same code links a whole set and
//!   a subset of it.

mod back_edges;
mod batch;
mod distances;
mod finish;
mod insertion;
mod limit;
mod repair;
mod row;
#[cfg(test)]
pub(crate) mod testing;
mod thinning;
mod worker;

pub(crate) use back_edges::{BackEdges, Linking};
pub(crate) use distances::Subset;
pub(crate) use finish::finish_lists;
pub(crate) use insertion::{InsertSpec, Insertion};
pub(crate) use limit::{check, check_alpha, check_degree, check_entry, check_list, slack_degree};
pub use repair::repair;
pub(crate) use repair::{repair_bytes, repair_in_pool};
pub(crate) use row::for_each_row;
pub(crate) use thinning::{ListSpec, Thinning};
pub(crate) use worker::{LinkScratch, Workers};
