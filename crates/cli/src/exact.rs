//! Queries of an exact computation: they are held in memory, and its budget pays for them.

use std::path::Path;

use pageway::{Error, Result, VectorRead, format_bytes};
use pageway_formats::Vectors;

/// All queries of a file, and what they leave of a budget.
pub(crate) struct HeldQueries {
    pub(crate) rows: Vec<u8>,
    pub(crate) left_bytes: u64,
}

/// Reads all queries of the file at `path`.
///
/// # Errors
/// `InvalidInput` when they take more than the budget; `Io`.
pub(crate) fn held_queries(
    queries: &Vectors,
    path: &Path,
    budget_bytes: u64,
) -> Result<HeldQueries> {
    let query_bytes = queries.count() * queries.shape().row_bytes() as u64;
    let Some(left_bytes) = budget_bytes.checked_sub(query_bytes) else {
        return Err(Error::invalid(format!(
            "{}: the queries take {}, more than the memory of {}",
            path.display(),
            format_bytes(query_bytes),
            format_bytes(budget_bytes)
        )));
    };
    let mut rows = vec![0; query_bytes as usize];
    queries.read(0, &mut rows)?;
    Ok(HeldQueries { rows, left_bytes })
}
