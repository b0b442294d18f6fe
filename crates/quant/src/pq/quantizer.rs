//! A trained product quantizer: the codebook and what follows from it.
#![expect(
    clippy::indexing_slicing,
    reason = "a code byte indexes a row of 256 centroids"
)]

use std::ops::Range;

use pageway_types::Metric;

use super::CENTROIDS;
use super::sub_spaces::SubSpaces;
use super::unit::normalise;

/// A codebook of `m` sub-spaces with 256 centroids each.
///
/// Immutable once trained or read; share it between threads by reference.
#[derive(Clone, PartialEq, Debug)]
pub struct ProductQuantizer {
    pub(super) metric: Metric,
    pub(super) sub_spaces: SubSpaces,
    /// Mean of the sample, one value per component; zeros for the inner product.
    pub(super) mean: Vec<f32>,
    /// 256 values per component: row `i` holds component `i` of every centroid of its sub-space.
    pub(super) centroids: Vec<f32>,
}

impl ProductQuantizer {
    /// Metric that the codes estimate.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Components of a vector.
    pub fn dimension(&self) -> usize {
        self.sub_spaces.dimension()
    }

    /// Bytes of a code.
    pub fn code_bytes(&self) -> usize {
        self.sub_spaces.count()
    }

    /// Bytes of memory the quantizer holds.
    pub fn resident_bytes(&self) -> usize {
        size_of::<Self>() + (self.mean.capacity() + self.centroids.capacity()) * size_of::<f32>()
    }

    /// Writes the vector that a code stands for: near the original one for L2 and the inner
    /// product, near its unit vector for cosine.
    ///
    /// # Panics
    /// Unless `code` has `code_bytes` bytes and `out` has `dimension` values.
    pub fn decode(&self, code: &[u8], out: &mut [f32]) {
        assert_eq!(code.len(), self.code_bytes(), "one code");
        assert_eq!(out.len(), self.dimension(), "one vector");
        out.copy_from_slice(&self.mean);
        for ((range, centroids), &byte) in self.codebooks().zip(code) {
            let rows = centroids.chunks_exact(CENTROIDS);
            for (value, row) in out[range].iter_mut().zip(rows) {
                *value += row[usize::from(byte)];
            }
        }
    }

    /// Brings a row or query into the space of the centroids, as in the table of the module.
    pub(super) fn transform(&self, row: &mut [f32]) {
        match self.metric {
            Metric::L2 => {}
            Metric::InnerProduct => return,
            Metric::Cosine => normalise(row),
        }
        for (value, mean) in row.iter_mut().zip(&self.mean) {
            *value -= mean;
        }
    }

    /// The sub-spaces: their components, and their centroids as kernels take them.
    pub(super) fn codebooks(&self) -> impl Iterator<Item = (Range<usize>, &[f32])> {
        let mut rest = self.centroids.as_slice();
        self.sub_spaces.ranges().map(move |range| {
            let (own, others) = rest.split_at(range.len() * CENTROIDS);
            rest = others;
            (range, own)
        })
    }
}
