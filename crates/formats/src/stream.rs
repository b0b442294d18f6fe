//! Rows that come in order, a batch at a time.

use pageway::{ElementType, Result};

/// Bytes of a batch, about.
const BATCH_BYTES: usize = 8 << 20;
/// Rows of a batch at most.
const BATCH_ROWS: usize = 8192;

/// Some rows, one after the other, with their ids where the source has some.
#[derive(Default, Debug)]
pub(crate) struct Batch {
    /// Components of each row.
    pub(crate) dimension: u32,
    /// Elements, little-endian.
    pub(crate) rows: Vec<u8>,
    /// An id per row, or none at all.
    pub(crate) ids: Vec<u64>,
}

/// Rows that come in order.
pub(crate) trait RowStream {
    /// Element type of the rows.
    fn element(&self) -> ElementType;

    /// Rows in all, where that is known beforehand.
    fn count(&self) -> Option<u64>;

    /// The next rows, all of one dimension; `None` behind the last.
    ///
    /// # Errors
    /// `InvalidInput` with row or line for what is no vector; `Io`.
    fn next_batch(&mut self) -> Result<Option<Batch>>;
}

/// Rows of `dimension` that make a batch; one while the dimension is not known.
pub(crate) fn rows_per_batch(dimension: Option<u32>) -> usize {
    let row_bytes = dimension.map_or(BATCH_BYTES, |dimension| dimension as usize * 4);
    (BATCH_BYTES / row_bytes.max(1)).clamp(1, BATCH_ROWS)
}
