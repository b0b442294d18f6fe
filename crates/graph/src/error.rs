//! What can go wrong while a graph is planned or built.

use std::io;

use pageway_types::{Cancelled, Guide, NodeId};

/// Failure of graph work. Nothing is left behind by any of them.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// There is nothing to build a graph over.
    #[error("no vectors: a graph needs at least one")]
    Empty,

    /// Rows that are not a whole number of vectors.
    #[error("{bytes} bytes of rows are not a whole number of vectors of {row_bytes} bytes")]
    PartialRow {
        /// Bytes given.
        bytes: usize,
        /// Bytes of one vector.
        row_bytes: usize,
    },

    /// More vectors than one graph in memory can address.
    #[error("{count} vectors are more than the {limit} that one graph in memory can hold")]
    TooMany {
        /// Vectors given.
        count: u64,
        /// Vectors that fit.
        limit: u64,
    },

    /// The entry is not a node of the graph.
    #[error("entry node {} is out of range: the graph has {count} nodes", entry.0)]
    EntryOutOfRange {
        /// The entry asked for.
        entry: NodeId,
        /// Number of nodes.
        count: u32,
    },

    /// A parameter outside its range.
    #[error("{name} is {value}: {expected}")]
    Parameter {
        /// Name of the field.
        name: &'static str,
        /// Its value, as text.
        value: String,
        /// What would be accepted.
        expected: &'static str,
    },

    /// A norm that is not finite, or above the largest norm that was declared.
    #[error("vector {row} has norm {norm}: expected a finite norm of at most {limit}")]
    Norm {
        /// Row of the vector.
        row: u64,
        /// Its norm.
        norm: f32,
        /// Largest norm accepted.
        limit: f32,
    },

    /// An option that the metric has no use for.
    #[error("a largest norm was given, but {metric} does not use one")]
    NormUnused {
        /// The metric.
        metric: Guide,
    },

    /// The allocator refused.
    #[error("out of memory: {bytes} bytes for {what}")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// Bytes asked for.
        bytes: u64,
    },

    /// The vectors could not be read.
    #[error("reading rows {first}..{end}")]
    Read {
        /// First row of the block.
        first: u64,
        /// Row behind the block.
        end: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },

    /// Bytes that no structure of this kind was written as.
    #[error("not a sound {kind}: {problem}")]
    Malformed {
        /// What the bytes were read as.
        kind: &'static str,
        /// What is wrong with them.
        problem: &'static str,
    },

    /// Stopped on request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// `vec![fill; length]` that reports a refused allocation instead of aborting.
pub(crate) fn try_filled<T: Clone>(
    length: usize,
    fill: T,
    what: &'static str,
) -> Result<Vec<T>, GraphError> {
    let mut filled = try_reserved(length, what)?;
    filled.resize(length, fill);
    Ok(filled)
}

/// An empty vector with room for `length` values, or a report of the refused allocation.
pub(crate) fn try_reserved<T>(length: usize, what: &'static str) -> Result<Vec<T>, GraphError> {
    let mut reserved = Vec::new();
    match reserved.try_reserve_exact(length) {
        Ok(()) => Ok(reserved),
        Err(_) => Err(GraphError::OutOfMemory {
            what,
            bytes: (length as u64).saturating_mul(size_of::<T>() as u64),
        }),
    }
}
