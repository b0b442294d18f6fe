//! Digits of codes, 16 at a time: products of bytes, added up in pairs.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddq_s32, vaddvq_s32, vandq_u8, vcombine_u8, vdup_n_u8, vdupq_n_s32,
    vdupq_n_u8, vget_low_s8, vld1q_s8, vld1q_u8, vmlal_high_s8, vmull_s8, vpadalq_s16,
    vreinterpretq_s8_u8, vshlq_n_s32, vshrq_n_u8, vtstq_u8,
};

use pageway_types::Place;

use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum, LINE_BYTES};

/// Bytes of a register.
const BYTES: usize = 16;

/// What each bit of two bytes is tested by.
static BITS: [u8; BYTES] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Digits times weights in registers of 16.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features. A quarter of a line begins within the 64
        // bytes of the padded code.
        unsafe {
            let four = vdupq_n_u8(0xf);
            let mut sums = [vdupq_n_s32(0); 2];
            for (bytes, [lower, upper]) in weights.of_fours() {
                let mut padded = [0; LINE_BYTES];
                padded[..bytes.len()].copy_from_slice(&code[bytes]);
                for offset in (0..LINE_BYTES).step_by(BYTES) {
                    let code = vld1q_u8(padded.as_ptr().add(offset));
                    let digits = vreinterpretq_s8_u8(vandq_u8(code, four));
                    add(lower, offset, digits, &mut sums);
                    let digits = vreinterpretq_s8_u8(vshrq_n_u8::<4>(code));
                    add(upper, offset, digits, &mut sums);
                }
            }
            let bit = vld1q_u8(BITS.as_ptr());
            for (at, step) in weights.of_ones() {
                let word = digits::word(code, at);
                for offset in (0..LINE_BYTES).step_by(BYTES) {
                    let [low, high] = ((word >> offset) as u16).to_le_bytes();
                    let bytes = vcombine_u8(vdup_n_u8(low), vdup_n_u8(high));
                    let digits = vandq_u8(vtstq_u8(bytes, bit), vdupq_n_u8(1));
                    add(step, offset, vreinterpretq_s8_u8(digits), &mut sums);
                }
            }
            let [low, high] = sums;
            vaddvq_s32(vaddq_s32(low, vshlq_n_s32::<8>(high)))
        }
    }
}

/// Adds digits, 15 at most, times a quarter of a line of weights.
///
/// # Safety
/// `offset + 16` is at most the length of a line.
#[inline(always)]
unsafe fn add(step: Step<'_>, offset: usize, digits: int8x16_t, sums: &mut [int32x4_t; 2]) {
    // SAFETY: the caller vouches for the bounds.
    unsafe {
        let low = vld1q_s8(step.low.0.as_ptr().add(offset).cast());
        sums[0] = multiply(sums[0], digits, low);
        if let Some(high) = step.high {
            let high = vld1q_s8(high.0.as_ptr().add(offset).cast());
            sums[1] = multiply(sums[1], digits, high);
        }
    }
}

/// Adds products of bytes. Pairs of them are below 2^12.
///
/// # Safety
/// Advanced SIMD, which every CPU of this architecture has.
#[inline(always)]
unsafe fn multiply(sum: int32x4_t, digits: int8x16_t, weights: int8x16_t) -> int32x4_t {
    // SAFETY: every CPU of this architecture has the features.
    unsafe {
        let products = vmull_s8(vget_low_s8(digits), vget_low_s8(weights));
        let products = vmlal_high_s8(products, digits, weights);
        vpadalq_s16(sum, products)
    }
}

pub(super) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    // SAFETY: every CPU of this architecture has the features.
    unsafe { sums::sums_gather::<Products>(weights, codes, stride, places, out) }
}
