//! Exact neighbours among rows in memory.

use pageway::source::VectorSlice;
use pageway::truth::{ExactOptions, ExactQuestion, Truth, exact};
use pageway::{Metric, Progress, Result, VectorShape};

/// Memory of a block of rows that are compared.
const BLOCK_BYTES: u64 = 16 << 20;

/// The `k` nearest of `rows` for each query, with all cores. Costs a distance per row and query.
///
/// # Errors
/// As exact truth is.
pub(crate) fn nearest(
    rows: &[u8],
    queries: &[u8],
    (shape, metric): (VectorShape, Metric),
    k: usize,
    progress: &dyn Progress,
) -> Result<Truth> {
    let question = ExactQuestion {
        queries: VectorSlice::new(queries, shape)?,
        metric,
        k,
        exclude: None,
    };
    let count = queries.len() / shape.row_bytes();
    let pool = pageway::lab::thread_pool(0)?;
    let options = ExactOptions {
        memory_bytes: (count * k * 8) as u64 + BLOCK_BYTES,
        pool: &pool,
    };
    let rows = VectorSlice::new(rows, shape)?;
    exact(&rows, &question, &options, progress)
}
