//! The report of a build.

use pageway_types::{ElementType, VectorShape};
use serde::Serialize;

/// What a build did, and what the index can do.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BuildReport {
    /// Vectors.
    pub nodes: u64,
    /// Dimension and element type.
    pub shape: VectorShape,
    /// Seconds by stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// Partitions the graph was built in; 1 for a graph built whole.
    pub shards: u32,
    /// Nodes that the merge of partitions left unreachable, and that were linked.
    pub relinked_nodes: u64,
    /// Outliers, which codes and clusters treat as shorter; estimated from a sample.
    pub tamed_rows: u64,
    /// Mean length of adjacency lists.
    pub mean_degree: f64,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
    /// Element type that vectors are stored in: f16 where that holds all of f32 vectors exactly.
    pub stored: ElementType,
    /// Bytes on disk.
    pub index_bytes: u64,
    /// The same by kind of file, in order.
    pub file_bytes: Vec<(&'static str, u64)>,
    /// Bytes that were written to temporary files, at most, and removed.
    pub temporary_bytes: u64,
    /// Memory of a search.
    pub memory_bytes: u64,
    /// Memory the build was allowed.
    pub build_memory_bytes: u64,
    /// Best recall@10 of the calibration.
    pub best_recall_at_10: f32,
    /// List size for the recall@10 that was wished for; absent when it is out of reach.
    pub list_size: Option<u32>,
    /// What the user should know.
    pub warnings: Vec<String>,
}
