//! PiPNN: a graph from small overlapping groups, without a single search.
//!
//! After the partition-based builder of that name, whose idea is to compare nodes where a matrix
//! product can do it, side by side, instead of one random row after the other:
//!
//! ```text
//! carve    nodes go to the nearest of some random leaders, each to several, level by level, until
//!          a group is small enough: a leaf (randomised ball carving)
//! compare  all pairs of a leaf by one product of matrices; every node takes its nearest, and is
//!          offered to them
//! keep     of the candidates of a node, the nearest in each direction (HashPrune): in a reservoir
//!          of fixed size whose content does not depend on the order of the offers
//! scaffold a graph over a sixteenth of the nodes, and one of each group of copies, is built by
//!          searches
//! choose   every reservoir, with the edges of the scaffold, is pruned to a list (RobustPrune), and
//!          room that is left is filled with the nearest of the others
//! repair   nodes that cannot be reached from the entry are linked again
//! ```
//! Graphs over parts of the nodes are joined in the same way: what each node has is a candidate.
//!
//! Where this differs from the paper:
//! * Two levels with several groups per node, as many leaders at each as it takes for the mean leaf
//!   to be half full. Leaders are cheap to compare with, and a node whose leaf is cut from an
//!   outgrown group, to which it goes alone, loses its neighbours across the cut.
//! * No edges back: candidates are offered in both directions, and adding edges back and pruning
//!   again changed no recall.
//! * The scaffold: without it tight clusters are joined by repair alone.
//! * Rows that are the same have no direction: each copy counts as one of its own.
//! * Distances are kept with 20 bits, not with the 16 of a `bf16`: a slot has the room.
//!
//! Everything runs on embedded rows (`VectorSet::embed`), where squared L2 orders as the build
//! distance does, so all metrics share one product. What is chosen at the end is measured exactly,
//! by the pruning that all builders share.
//!
//! Invariants:
//! * Every node is in one leaf at least, and in exactly one as its own.
//! * Leaves depend on vectors, spec and seed alone; reservoirs do not depend on the order of
//!   offers. So the graph is the same on any number of threads.

mod carve;
mod groups;
mod leaders;
mod leaf;
mod pairing;
mod reservoir;
mod scaffold;
mod sizes;
mod spec;
mod split;
#[cfg(test)]
mod tests;

pub use spec::{Joined, PiPnn, PiPnnSpec, pipnn, pipnn_bytes};
