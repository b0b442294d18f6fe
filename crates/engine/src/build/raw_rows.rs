//! Raw rows of kept segments, wanted in any order and read once each.

use super::rewrite::KeptRows;
use crate::error::Result;

/// Some raw rows, each once.
pub(super) struct RawRows {
    /// Their numbers, ascending.
    rows: Vec<u32>,
    bytes: Vec<u8>,
    row_bytes: usize,
}

impl RawRows {
    /// Reads rows that may be named several times.
    ///
    /// # Errors
    /// As reading them fails.
    pub(super) fn read(kept: &dyn KeptRows, mut rows: Vec<u32>) -> Result<Self> {
        rows.sort_unstable();
        rows.dedup();
        let row_bytes = kept.shape().row_bytes();
        let mut bytes = vec![0; rows.len() * row_bytes];
        kept.gather(&rows, &mut bytes)?;
        Ok(Self {
            rows,
            bytes,
            row_bytes,
        })
    }

    /// A row; `None` if it was not read.
    pub(super) fn get(&self, row: u32) -> Option<&[u8]> {
        let start = self.rows.binary_search(&row).ok()? * self.row_bytes;
        self.bytes.get(start..start + self.row_bytes)
    }
}
