//! Digits of codes, 16 at a time: products of bytes, added up in pairs.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddq_s32, vaddvq_s32, vandq_u8, vdupq_n_s32, vdupq_n_u8, vget_low_s8,
    vld1q_s8, vld1q_u8, vmlal_high_s8, vmull_s8, vpadalq_s16, vreinterpretq_s8_u8, vshlq_n_s32,
    vshrq_n_u8,
};

use pageway_types::Place;

use crate::digits::{DigitWeights, FOURS, ONES, Section, TWOS};
use crate::sums::{self, CodeSum, LINE_BYTES, Line};

/// Bytes of a register.
const BYTES: usize = 16;

/// Digits times weights in registers of 16.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let mut sums = [vdupq_n_s32(0); 2];
            add_section::<2, 4>(weights, FOURS, code, &mut sums);
            add_section::<4, 2>(weights, TWOS, code, &mut sums);
            add_section::<8, 1>(weights, ONES, code, &mut sums);
            let [low, high] = sums;
            vaddvq_s32(vaddq_s32(low, vshlq_n_s32::<8>(high)))
        }
    }
}

/// Adds the digits of a section, of so many to a byte and so many bits.
///
/// # Safety
/// Advanced SIMD, which every CPU of this architecture has.
#[inline(always)]
unsafe fn add_section<const DIGITS: usize, const BITS: i32>(
    weights: &DigitWeights,
    section: Section<DIGITS>,
    code: &[u8],
    sums: &mut [int32x4_t; 2],
) {
    // SAFETY: every CPU of this architecture has the features. A quarter of a line begins within
    // the 64 bytes of the padded block.
    unsafe {
        let most = vdupq_n_u8(Section::<DIGITS>::MOST);
        let [low, high] = sums;
        for (place, block) in weights.of_section(section) {
            let mut padded = [0; LINE_BYTES];
            padded[..place.len()].copy_from_slice(&code[place.clone()]);
            for offset in (0..place.len()).step_by(BYTES) {
                let mut bytes = vld1q_u8(padded.as_ptr().add(offset));
                for step in block.steps {
                    let digits = vreinterpretq_s8_u8(vandq_u8(bytes, most));
                    *low = multiply(*low, digits, load(&step.low, offset));
                    if block.is_wide {
                        *high = multiply(*high, digits, load(&step.high, offset));
                    }
                    bytes = vshrq_n_u8::<BITS>(bytes);
                }
            }
        }
    }
}

/// A quarter of a line of weights.
///
/// # Safety
/// `offset + 16` is at most the length of a line.
#[inline(always)]
unsafe fn load(weights: &Line, offset: usize) -> int8x16_t {
    // SAFETY: the caller vouches for the bounds.
    unsafe { vld1q_s8(weights.0.as_ptr().add(offset).cast()) }
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
