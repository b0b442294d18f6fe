//! Vamana: a graph that a greedy search crosses in few hops, built in parallel.
//!
//! After Subramanya et al., "DiskANN", NeurIPS 2019, in one pass over a random order. All of the
//! work is that of [`linking`](crate::linking): nodes are inserted in batches, what their searches
//! expanded is pruned with some tolerance (`alpha`), neighbours get edges back, and what cannot be
//! reached in the end is linked again.

mod spec;
#[cfg(test)]
mod tests;

pub use spec::{VamanaSpec, build, build_bytes};
