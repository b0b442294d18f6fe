//! A trained product quantizer: the codebook and what follows from it.
#![expect(
    clippy::indexing_slicing,
    reason = "a code byte indexes a row of 256 centroids"
)]

use pageway_types::Guide;

use super::CENTROIDS;
use super::sub_spaces::{ComponentOrder, SubSpace, SubSpaces};
use super::unit::{inverse_norm, scale};

/// A codebook of `m` sub-spaces with 256 centroids each.
///
/// Immutable once trained or read; share it between threads by reference.
#[derive(Clone, PartialEq, Debug)]
pub struct ProductQuantizer {
    pub(super) metric: Guide,
    pub(super) sub_spaces: SubSpaces,
    /// Mean of the sample, a sorted row; zeros for the inner product.
    pub(super) mean: Vec<f32>,
    /// 256 values per component, in the order of a sorted row: a row of the matrix holds one
    /// component of every centroid of its sub-space.
    pub(super) centroids: Vec<f32>,
}

impl ProductQuantizer {
    /// Guide that the codes estimate.
    pub fn metric(&self) -> Guide {
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

    /// Which components share a byte of a code.
    pub fn order(&self) -> ComponentOrder {
        self.sub_spaces.order()
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
        for ((sub_space, centroids), &byte) in self.codebooks().zip(code) {
            let rows = centroids.chunks_exact(CENTROIDS);
            let values = self.mean[sub_space.run].iter().zip(rows);
            for (component, (mean, row)) in sub_space.components.zip(values) {
                out[component] = mean + row[usize::from(byte)];
            }
        }
    }

    /// Sorts a row or query by sub-space and brings it into the space of the centroids, as in the
    /// table of the module.
    pub(super) fn transform(&self, row: &[f32], out: &mut [f32]) {
        self.sub_spaces.sort(row, out);
        match self.metric {
            Guide::L2 => {}
            Guide::InnerProduct => return,
            // The norm of the row as it is: sums in another order round otherwise.
            Guide::Cosine => scale(out, inverse_norm(row)),
        }
        for (value, mean) in out.iter_mut().zip(&self.mean) {
            *value -= mean;
        }
    }

    /// The sub-spaces, and their centroids as kernels take them.
    pub(super) fn codebooks(&self) -> impl Iterator<Item = (SubSpace, &[f32])> {
        let mut rest = self.centroids.as_slice();
        self.sub_spaces.iter().map(move |sub_space| {
            let (own, others) = rest.split_at(sub_space.run.len() * CENTROIDS);
            rest = others;
            (sub_space, own)
        })
    }
}
