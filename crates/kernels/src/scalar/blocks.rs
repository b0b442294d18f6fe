//! Sums of weights by the bits of 32 codes at once: what every instruction set must give.

use crate::blocks::{self, BLOCK_CODES, BlockFactors, BlockSum, BlockWeights, CHOICES, Estimator};
use crate::sums::Line;

/// Sums looked up one by one.
struct Portable;

impl BlockSum for Portable {
    #[inline(always)]
    unsafe fn add_up(
        (lines, places): (&[Line], &[u32]),
        block: &[u8],
        shift: u32,
        out: &mut [i32; BLOCK_CODES],
    ) {
        let mut sums = [0_u16; BLOCK_CODES];
        for (line, place) in lines.iter().zip(places) {
            let step = &block[*place as usize..][..line.0.len()];
            for (table, rows) in line.0.chunks(CHOICES).zip(step.chunks(BLOCK_CODES / 2)) {
                let (first, second) = sums.split_at_mut(BLOCK_CODES / 2);
                for ((first, second), byte) in first.iter_mut().zip(second).zip(rows) {
                    *first += u16::from(table[usize::from(byte & 0xf)]);
                    *second += u16::from(table[usize::from(byte >> 4)]);
                }
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add(i32::from(sum) << shift);
        }
    }
}

pub(crate) fn block_sums(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
    // SAFETY: portable code needs no features.
    unsafe { blocks::block_sums::<Portable>(weights, block, out) }
}

pub(crate) fn block_estimates(
    estimator: &Estimator,
    factors: BlockFactors<'_>,
    sums: &[i32; BLOCK_CODES],
    limit: f32,
    out: &mut [f32; BLOCK_CODES],
) -> u32 {
    blocks::block_estimates(estimator, factors, sums, out);
    let above = out.iter().map(|estimate| u32::from(*estimate > limit));
    !above.rev().fold(0, |marks, above| marks << 1 | above)
}
