//! Codes in blocks of 32, as scans take them: the same bytes as the codes, in another order.
//!
//! ```text
//! | bits, transposed | 32 times add | 32 times rescale and error | centroids, one code after the |
//! | other            |
//! ```
//!
//! Estimates and their errors are those of single codes, to the last bit. How a query differs from
//! a centre is taken to be spread over the axes as residuals are.

use pageway_kernels::{BLOCK_CODES, BlockFactors, BlockWeights, write_block};

use super::factors::{FactorWidth, Factors};
use super::layout::Layout;
use super::{RaBitQScorer, RaBitQSpec, RaBitQuantizer};
use crate::{Centre, CodeForms};

impl RaBitQuantizer {
    /// Writes up to 32 codes, one after the other, to the block of a scan; those missing are zero.
    ///
    /// # Panics
    /// Unless `block` has the bytes of 32 codes.
    pub fn write_block(&self, codes: &[u8], block: &mut [u8]) {
        let (stride, head) = (self.layout.code_bytes(), self.layout.head_bytes());
        let (bits, heads) = block.split_at_mut(BLOCK_CODES * (stride - head));
        write_block(
            codes.get(head..).unwrap_or(&[]),
            (stride, stride - head),
            bits,
        );
        heads.fill(0);
        for (number, code) in codes.chunks(stride).enumerate() {
            for (range, place) in head_places(&self.layout, number) {
                let part = code.get(range).unwrap_or(&[]);
                let out = heads.get_mut(place..).unwrap_or(&mut []);
                out.iter_mut()
                    .zip(part)
                    .for_each(|(out, byte)| *out = *byte);
            }
        }
    }
}

/// The parts of a code's head, and where each lies behind the bits of its block.
fn head_places(layout: &Layout, number: usize) -> [(std::ops::Range<usize>, usize); 3] {
    let (factors, head) = (layout.factors.bytes(), layout.head_bytes());
    [0..factors / 2, factors / 2..factors, factors..head].map(|range| {
        let place = BLOCK_CODES * range.start + number * range.len();
        (range, place)
    })
}

impl RaBitQScorer {
    /// Bytes that a scorer holds more when blocks are scanned, at most.
    pub fn block_bytes(spec: &RaBitQSpec, dimension: usize) -> usize {
        let (_, bits) = spec.budget(dimension);
        BlockWeights::bytes(bits.div_ceil(8))
    }

    /// Takes the next query, as [`RaBitQScorer::prepare`], to scan blocks with and nothing else.
    /// Allocates the first time; costs a rotation and 1.5 ns per bit of a code.
    ///
    /// # Panics
    /// As [`RaBitQScorer::prepare`].
    pub fn prepare_blocks(&mut self, quantizer: &RaBitQuantizer, query: &[f32]) {
        self.prepare_forms(quantizer, query, CodeForms::Blocks);
    }

    /// Makes the weights of the query that was taken.
    pub(super) fn weigh_blocks(&mut self, quantizer: &RaBitQuantizer, turned: Option<&[f32]>) {
        let factor = self.turn(quantizer, turned);
        self.multiply_by_steps();
        self.weigh(factor);
        let bytes = self.layout.code_bytes() - self.layout.head_bytes();
        let weights = || Box::new(BlockWeights::new(bytes));
        let weights = self.blocks.get_or_insert_with(weights);
        weights.fill(&self.integers);
    }

    /// Estimates for the codes of a block, all around one centre. Bit `i` of the answer is set
    /// unless estimate `i` is above `limit`; none is, and nothing is written, before the first
    /// [`RaBitQScorer::prepare_blocks`].
    ///
    /// # Panics
    /// When the block is not whole.
    pub fn score_block(
        &self,
        centre: Centre,
        block: &[u8],
        limit: f32,
        out: &mut [f32; BLOCK_CODES],
    ) -> u32 {
        let Some(weights) = &self.blocks else {
            return 0;
        };
        // Not the layout's own count, which is a sum over its segments.
        let code_bytes = weights.code_bytes() + self.layout.head_bytes();
        assert_eq!(block.len(), BLOCK_CODES * code_bytes, "a block");
        let mut sums = [0; BLOCK_CODES];
        self.kernels.block_sums()(weights, block, &mut sums);
        let at = BLOCK_CODES * weights.code_bytes();
        let heads = block.get(at..).unwrap_or(&[]);
        let factors = match self.layout.factors {
            FactorWidth::Half => heads.first_chunk().map(BlockFactors::Half),
            FactorWidth::Single => heads.first_chunk().map(BlockFactors::Single),
        };
        let estimator = self.estimator(self.around.meet(centre));
        factors.map_or(0, |factors| {
            self.kernels.block_estimates()(&estimator, factors, &sums, limit, out)
        })
    }

    /// Half the width of the bounds of an estimate that [`RaBitQScorer::score_block`] gave for code
    /// `number` of a block, as [`RaBitQScorer::score_with_errors`] has them. Takes the factors of
    /// the code, but no sum.
    pub fn block_error(&self, centre: Centre, block: &[u8], number: usize, estimate: f32) -> f32 {
        let head = BLOCK_CODES * self.layout.head_bytes();
        let heads = block.get(block.len().saturating_sub(head)..).unwrap_or(&[]);
        let mut factors = [0; FactorWidth::MOST_BYTES];
        for (range, place) in head_places(&self.layout, number).into_iter().take(2) {
            let out = factors.get_mut(range).unwrap_or(&mut []);
            let stored = heads.get(place..).unwrap_or(&[]);
            out.iter_mut()
                .zip(stored)
                .for_each(|(out, byte)| *out = *byte);
        }
        let factors = Factors::read(self.layout.factors, &factors);
        self.error(factors, self.around.meet(centre), estimate)
    }
}
