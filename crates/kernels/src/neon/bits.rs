//! Bits of codes, 16 bytes at a time, counted by the instruction for bytes.

use std::arch::aarch64::{
    uint8x16_t, uint64x2_t, vaddq_u64, vaddvq_u64, vandq_u8, vcntq_u8, vdupq_n_u64, vld1q_u8,
    vpaddlq_u8, vpaddlq_u16, vpaddlq_u32, vsubq_u64,
};

use pageway_types::Place;

use crate::bits::{BitWeights, CHUNK_BYTES};
use crate::sums::{self, CodeSum, Line};

/// Bytes of a register.
const BYTES: usize = 16;

/// Ones counted in registers of two words.
struct Counted;

impl CodeSum for Counted {
    type Weights = BitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features. A quarter of a chunk begins within the 64
        // bytes of a line and of the padded code.
        unsafe {
            let mut total = vdupq_n_u64(0);
            for (lines, code) in weights.chunks(code) {
                let mut padded = [0; CHUNK_BYTES];
                padded[..code.len()].copy_from_slice(code);
                for offset in (0..code.len()).step_by(BYTES) {
                    let code = vld1q_u8(padded.as_ptr().add(offset));
                    total = vaddq_u64(total, quarter_chunk(lines, offset, code));
                }
            }
            vaddvq_u64(total) as i32
        }
    }
}

/// Sums of a quarter of a chunk by word, in numbers that wrap: the sign plane counts against, and
/// each plane doubles the sum.
///
/// # Safety
/// `offset + 16` is at most the length of a line.
#[inline(always)]
unsafe fn quarter_chunk(lines: &[Line], offset: usize, code: uint8x16_t) -> uint64x2_t {
    // SAFETY: the caller vouches for the bounds.
    unsafe {
        let ones = |line: &Line| {
            let bytes = vcntq_u8(vandq_u8(vld1q_u8(line.0.as_ptr().add(offset)), code));
            vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bytes)))
        };
        let zero = vdupq_n_u64(0);
        let Some((sign, planes)) = lines.split_first() else {
            return zero;
        };
        let mut sum = vsubq_u64(zero, ones(sign));
        for line in planes {
            sum = vaddq_u64(vaddq_u64(sum, sum), ones(line));
        }
        sum
    }
}

pub(super) fn bit_sums(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
    // SAFETY: every CPU of this architecture has the features.
    unsafe { sums::sums::<Counted>(weights, codes, stride, out) }
}

pub(super) fn bit_sums_gather(
    weights: &BitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    // SAFETY: every CPU of this architecture has the features.
    unsafe { sums::sums_gather::<Counted>(weights, codes, stride, places, out) }
}
