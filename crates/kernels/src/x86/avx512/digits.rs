//! Digits of codes, 64 at a time: products of bytes are added up by the instruction for it (VNNI).
//!
//! Four codes are summed together: they share the weights, and the adding up of lanes at the end.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32, _mm512_load_si512,
    _mm512_maskz_mov_epi8, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_slli_epi32, _mm512_srli_epi16,
};

use pageway_types::Place;

use super::bits::{add_up, load};
use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum, GROUP};

/// Digits times weights in registers of 64.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let [lanes] = lanes(weights, [code]);
            _mm512_reduce_add_epi32(lanes)
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &DigitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features.
        unsafe { add_up(lanes(weights, codes)) }
    }
}

/// The sums of some codes, by lanes.
///
/// # Safety
/// The CPU has AVX-512 BW and VNNI.
#[inline(always)]
unsafe fn lanes<const N: usize>(weights: &DigitWeights, codes: [&[u8]; N]) -> [__m512i; N] {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let (four, one) = (_mm512_set1_epi8(0xf), _mm512_set1_epi8(1));
        let mut sums = [[_mm512_setzero_si512(); N]; 2];
        let mut digits = [[_mm512_setzero_si512(); N]; 2];
        for (bytes, [lower, upper]) in weights.of_fours() {
            for at in 0..N {
                let code = load(&codes[at][bytes.clone()]);
                digits[0][at] = _mm512_and_si512(code, four);
                digits[1][at] = _mm512_and_si512(_mm512_srli_epi16::<4>(code), four);
            }
            add(lower, &digits[0], &mut sums);
            add(upper, &digits[1], &mut sums);
        }
        for (start, step) in weights.of_ones() {
            for at in 0..N {
                let bits = digits::word(codes[at], start);
                digits[0][at] = _mm512_maskz_mov_epi8(bits, one);
            }
            add(step, &digits[0], &mut sums);
        }
        let [mut sums, high] = sums;
        for at in 0..N {
            sums[at] = _mm512_add_epi32(sums[at], _mm512_slli_epi32::<8>(high[at]));
        }
        sums
    }
}

/// Adds the digits of a step times their weights, low bytes and high ones apart.
///
/// # Safety
/// The CPU has AVX-512 F and VNNI.
#[inline(always)]
unsafe fn add<const N: usize>(step: Step<'_>, digits: &[__m512i; N], sums: &mut [[__m512i; N]; 2]) {
    // SAFETY: the caller vouches for the features; a line is 64 aligned bytes.
    unsafe {
        let low = _mm512_load_si512(step.low.0.as_ptr().cast());
        for at in 0..N {
            sums[0][at] = _mm512_dpbusd_epi32(sums[0][at], digits[at], low);
        }
        if let Some(high) = step.high {
            let high = _mm512_load_si512(high.0.as_ptr().cast());
            for at in 0..N {
                sums[1][at] = _mm512_dpbusd_epi32(sums[1][at], digits[at], high);
            }
        }
    }
}

pub(super) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn run(weights: &DigitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums_gather::<Products>(weights, codes, stride, places, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
