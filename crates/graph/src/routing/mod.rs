//! Entries of a walk on disk without a graph in memory: a hash table, or a few fixed nodes.
//!
//! * [`HashTable`]: sampled nodes by the sides of hyperplanes on which they lie. A look-up costs
//!   the inner products with some ten planes and gives nodes that are near the query as a rule.
//!   Four bytes per sampled node and eight per key, whatever the dimension.
//! * [`fixed_entries`]: nodes in the middle of the clusters of a set, the same for every query;
//!   the walk begins with the nearest of them.
//!
//! Neither computes a distance to a node at search time: the caller has the codes for that.

mod entries;
mod format;
mod hash;
mod planes;
mod sample;
mod spec;
#[cfg(test)]
mod tests;

pub use entries::{fixed_entries, fixed_entries_bytes};
pub use hash::{HashBuild, HashTable};
pub(crate) use sample::sample_nodes;
pub use spec::HashSpec;
