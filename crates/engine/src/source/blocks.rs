//! One pass over a set of vectors, a block of whole rows at a time, through one buffer.

use std::ops::Range;

use pageway_types::VectorRead;

use crate::error::Error;

/// Block size that amortises a system call and stays in the level-2 cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// Cursor over the rows of a set. Holds one buffer of at most `max(block_bytes, one row)`.
pub struct RowBlocks<'v> {
    vectors: &'v dyn VectorRead,
    rows: Range<u64>,
    rows_per_block: u64,
    buffer: Vec<u8>,
}

/// A run of rows.
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'b> {
    /// Number of the first row.
    pub first: u64,
    /// The rows, one after the other.
    pub rows: &'b [u8],
}

impl<'v> RowBlocks<'v> {
    /// A pass over `rows` of `vectors` with a buffer of `block_bytes`.
    pub fn new(vectors: &'v dyn VectorRead, rows: Range<u64>, block_bytes: usize) -> Self {
        let row_bytes = vectors.shape().row_bytes();
        let length = rows.end.saturating_sub(rows.start);
        let rows_per_block = ((block_bytes / row_bytes) as u64).min(length).max(1);
        let buffer = vec![0; rows_per_block as usize * row_bytes];
        Self {
            vectors,
            rows,
            rows_per_block,
            buffer,
        }
    }

    /// The next block, or `None` behind the last row.
    ///
    /// # Errors
    /// What `VectorRead::read` reports.
    pub fn next_block(&mut self) -> Result<Option<RowBlock<'_>>, Error> {
        let first = self.rows.start;
        if first >= self.rows.end {
            return Ok(None);
        }
        let length = (self.rows.end - first).min(self.rows_per_block);
        let bytes = length as usize * self.vectors.shape().row_bytes();
        let (rows, _) = self.buffer.split_at_mut(bytes);
        self.vectors.read(first, rows)?;
        self.rows.start += length;
        Ok(Some(RowBlock { first, rows }))
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, VectorShape};

    use super::super::VectorSlice;
    use super::*;

    #[test]
    fn blocks_cover_the_range_once_in_order() {
        let bytes: Vec<u8> = (0..30).collect();
        let shape = VectorShape {
            dimension: 3,
            element: ElementType::U8,
        };
        let vectors = VectorSlice::new(&bytes, shape).unwrap();
        for block_bytes in [0, 1, 3, 7, 12, 1000] {
            let mut blocks = RowBlocks::new(&vectors, 2..9, block_bytes);
            let mut seen = Vec::new();
            while let Some(block) = blocks.next_block().unwrap() {
                assert_eq!(block.first as usize, 2 + seen.len() / 3);
                assert!(block.rows.len() <= block_bytes.max(3));
                seen.extend_from_slice(block.rows);
            }
            assert_eq!(seen, bytes[6..27]);
        }
    }
}
