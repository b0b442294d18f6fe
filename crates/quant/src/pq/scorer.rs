//! Estimates from codes: one table per query, one sum of look-ups per code.

use pageway_kernels::{BLOCK_CODES, KernelSet};
use pageway_types::Guide;

use super::{CENTROIDS, ProductQuantizer};
use crate::{CodeBatch, CodeScorer};

/// Scores codes of one quantizer against one query at a time.
///
/// Owns the query's table of `m` times 256 values; [`PqScorer::prepare`] refills it without
/// allocating. Before the first `prepare` every estimate is 0.
pub struct PqScorer {
    kernels: &'static KernelSet,
    table: Vec<f32>,
    query: Vec<f32>,
}

impl PqScorer {
    /// Bytes of memory a scorer holds for codes of `code_bytes` and vectors of `dimension`.
    pub const fn bytes(code_bytes: usize, dimension: usize) -> usize {
        let values = code_bytes
            .saturating_mul(CENTROIDS)
            .saturating_add(dimension);
        values
            .saturating_mul(size_of::<f32>())
            .saturating_add(size_of::<Self>())
    }

    /// A scorer for codes of `quantizer`.
    pub fn new(quantizer: &ProductQuantizer, kernels: &'static KernelSet) -> Self {
        Self {
            kernels,
            table: vec![0.0; quantizer.code_bytes() * CENTROIDS],
            query: vec![0.0; quantizer.dimension()],
        }
    }

    /// Takes the next query: `dimension` finite values, at any length for cosine.
    ///
    /// Costs `256 * dimension` multiply-adds.
    ///
    /// # Panics
    /// When the query or the quantizer has another shape than the scorer was made for.
    pub fn prepare(&mut self, quantizer: &ProductQuantizer, query: &[f32]) {
        assert_eq!(
            self.table.len(),
            quantizer.code_bytes() * CENTROIDS,
            "code bytes"
        );
        assert_eq!(self.query.len(), quantizer.dimension(), "dimension");
        assert_eq!(query.len(), quantizer.dimension(), "one query");
        quantizer.transform(query, &mut self.query);
        let (measure, factor) = match quantizer.metric() {
            Guide::L2 => (self.kernels.l2_to_256(), 1.0),
            Guide::InnerProduct => (self.kernels.dot_to_256(), -1.0),
            Guide::Cosine => (self.kernels.l2_to_256(), 0.5),
        };
        let mut sorted = self.query.as_slice();
        let (rows, _) = self.table.as_chunks_mut::<CENTROIDS>();
        for ((sub_space, centroids), row) in quantizer.codebooks().zip(rows) {
            let (sub, rest) = sorted.split_at(sub_space.run.len());
            sorted = rest;
            measure(sub, centroids, row);
            for entry in row {
                *entry *= factor;
            }
        }
    }

    /// Takes the query of another scorer of the same quantizer, and the table that it made of it.
    pub fn take_over(&mut self, other: &Self) {
        self.table.clone_from(&other.table);
        self.query.clone_from(&other.query);
    }

    /// Estimates for 32 codes, one after the other. Bit `i` of the answer is set unless
    /// estimate `i` is above `limit`.
    ///
    /// # Panics
    /// With another number of codes.
    pub fn score_block(&self, codes: &[u8], limit: f32, out: &mut [f32; BLOCK_CODES]) -> u32 {
        self.kernels.lookup()(&self.table, codes, out);
        let above = out.iter().map(|estimate| u32::from(*estimate > limit));
        !above.rev().fold(0, |marks, above| marks << 1 | above)
    }

    #[cfg(test)]
    pub(super) fn table(&self) -> &[f32] {
        &self.table
    }
}

impl CodeScorer for PqScorer {
    fn score(&self, batch: CodeBatch<'_>, out: &mut Vec<f32>) {
        out.clear();
        match batch {
            CodeBatch::Gather { codes, places } | CodeBatch::Table { codes, places } => {
                out.resize(places.len(), 0.0);
                self.kernels.lookup_gather()(&self.table, codes, places, out);
            }
            CodeBatch::Inline { codes } => {
                out.resize(codes.len() / self.code_bytes(), 0.0);
                self.kernels.lookup()(&self.table, codes, out);
            }
        }
    }

    fn code_bytes(&self) -> usize {
        self.table.len() / CENTROIDS
    }
}
