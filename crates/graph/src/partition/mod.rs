//! A build that does not fit its memory budget: overlapping shards, built one by one and merged.
//!
//! ```text
//! plan      k-means on a sample; as many shards as it takes for each to fit
//! assign    every vector to its two nearest shards that have room; the caller spills them
//! build     a Vamana graph per shard, with two thirds of the max degree
//! merge     the lists that a node has in its shards, best ranks first
//! ```
//! The overlap is what joins the shards: a node takes edges from each of its two.
//!
//! This module plans, assigns and merges; it holds neither vectors nor files. Rows come in widened
//! to `f32`, and under the cosine scaled to length 1, by the caller.
//!
//! Invariants: no shard ever receives more than its capacity; every vector goes to exactly two
//! different shards, or to the only one.

mod assign;
mod halves;
pub(crate) mod kmeans;
mod merge;
mod plan;

pub use assign::Assigner;
pub use merge::{merge_lists, shard_max_degree};
pub use plan::{COPIES, Partition, PartitionSpec, divide, plan};
