//! Rows to codes, a block at a time.
//!
//! A block of rows is widened once and then passed over by sub-space, so that the centroids of one
//! sub-space stay in the first-level cache while all rows of the block meet them.
#![expect(clippy::indexing_slicing, reason = "lengths are asserted at the door")]

use pageway_kernels::KernelSet;
use pageway_types::ElementType;

use super::ProductQuantizer;

/// Values of a block of rows: 64 KiB, beside the centroids in the second-level cache.
const BLOCK_VALUES: usize = 1 << 14;

/// Encodes rows of one element type. Holds a block of scratch; make one per thread.
pub struct PqEncoder<'q> {
    quantizer: &'q ProductQuantizer,
    kernels: &'static KernelSet,
    element: ElementType,
    values: Vec<f32>,
    /// One row as it is, before it is transformed into the block.
    row: Vec<f32>,
}

impl ProductQuantizer {
    /// An encoder for rows of `element`; allocates [`PqEncoder::resident_bytes`].
    pub fn encoder(&self, element: ElementType, kernels: &'static KernelSet) -> PqEncoder<'_> {
        let block_rows = (BLOCK_VALUES / self.dimension()).max(1);
        let values = vec![0.0; block_rows * self.dimension()];
        PqEncoder {
            quantizer: self,
            kernels,
            element,
            values,
            row: vec![0.0; self.dimension()],
        }
    }
}

impl PqEncoder<'_> {
    /// Encodes a whole number of rows, given as raw element bytes, into as many codes.
    ///
    /// Costs `256 * dimension` multiply-adds per row and allocates nothing. Components must be
    /// finite: the byte of a sub-space that holds NaN or infinity means nothing.
    ///
    /// # Panics
    /// When `rows` is not a whole number of rows or `out` not as many codes.
    pub fn encode(&mut self, rows: &[u8], out: &mut [u8]) {
        let row_bytes = self.element.bytes_of(self.quantizer.dimension());
        let code_bytes = self.quantizer.code_bytes();
        assert_eq!(rows.len() % row_bytes, 0, "whole rows");
        assert_eq!(
            rows.len() / row_bytes * code_bytes,
            out.len(),
            "one code per row"
        );
        let block_rows = self.values.len() / self.quantizer.dimension();
        let blocks = rows.chunks(block_rows * row_bytes);
        for (rows, codes) in blocks.zip(out.chunks_mut(block_rows * code_bytes)) {
            self.encode_block(rows, codes);
        }
    }

    /// Bytes of memory the encoder holds.
    pub fn resident_bytes(&self) -> usize {
        size_of::<Self>() + (self.values.capacity() + self.row.capacity()) * size_of::<f32>()
    }

    fn encode_block(&mut self, rows: &[u8], codes: &mut [u8]) {
        let (quantizer, dimension) = (self.quantizer, self.quantizer.dimension());
        let values = &mut self.values[..self.element.components_in(rows.len())];
        let widen = self.kernels.widen(self.element);
        let rows = rows.chunks_exact(self.element.bytes_of(dimension));
        for (row, out) in rows.zip(values.chunks_exact_mut(dimension)) {
            widen(row, &mut self.row);
            quantizer.transform(&self.row, out);
        }
        let nearest = self.kernels.nearest_of_256();
        for (byte, (sub_space, centroids)) in quantizer.codebooks().enumerate() {
            let codes = codes.chunks_exact_mut(quantizer.code_bytes());
            for (row, code) in values.chunks_exact(dimension).zip(codes) {
                code[byte] = nearest(&row[sub_space.run.clone()], centroids).0;
            }
        }
    }
}
