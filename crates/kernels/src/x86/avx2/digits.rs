//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.

use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm_unpackhi_epi64,
    _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srli_epi16,
};

use pageway_types::Place;

use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum, LINE_BYTES};

/// Bytes of a register.
const BYTES: usize = 32;

/// Digits times weights in registers of 32.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features. Half a line begins within the 64 bytes of
        // the padded code.
        unsafe {
            let four = _mm256_set1_epi8(0xf);
            let mut sums = [_mm256_setzero_si256(); 2];
            for (bytes, [lower, upper]) in weights.of_fours() {
                let mut padded = [0; LINE_BYTES];
                let start = if bytes.len() == LINE_BYTES {
                    code[bytes].as_ptr()
                } else {
                    padded[..bytes.len()].copy_from_slice(&code[bytes]);
                    padded.as_ptr()
                };
                for offset in [0, BYTES] {
                    let code = _mm256_loadu_si256(start.add(offset).cast());
                    add(lower, offset, _mm256_and_si256(code, four), &mut sums);
                    let code = _mm256_srli_epi16::<4>(code);
                    add(upper, offset, _mm256_and_si256(code, four), &mut sums);
                }
            }
            for (at, step) in weights.of_ones() {
                let word = digits::word(code, at);
                add(step, 0, ones(word as u32), &mut sums);
                add(step, BYTES, ones((word >> 32) as u32), &mut sums);
            }
            let [low, high] = sums;
            total(_mm256_add_epi32(low, _mm256_slli_epi32::<8>(high)))
        }
    }
}

/// Adds digits, 15 at most, times half a line of weights. Pairs of products are below 2^12.
///
/// # Safety
/// The CPU has AVX2; `offset` is 0 or 32.
#[inline(always)]
unsafe fn add(step: Step<'_>, offset: usize, digits: __m256i, sums: &mut [__m256i; 2]) {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let one = _mm256_set1_epi16(1);
        let low = _mm256_loadu_si256(step.low.0.as_ptr().add(offset).cast());
        let pairs = _mm256_maddubs_epi16(digits, low);
        sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(pairs, one));
        if let Some(high) = step.high {
            let high = _mm256_loadu_si256(high.0.as_ptr().add(offset).cast());
            let pairs = _mm256_maddubs_epi16(digits, high);
            sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(pairs, one));
        }
    }
}

/// Each bit of a word as a byte.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn ones(word: u32) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let byte_of_bit = _mm256_setr_epi64x(
            0,
            0x0101_0101_0101_0101,
            0x0202_0202_0202_0202,
            0x0303_0303_0303_0303,
        );
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(word.cast_signed()), byte_of_bit);
        let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        _mm256_and_si256(is_set, _mm256_set1_epi8(1))
    }
}

/// All lanes added up.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn total(lanes: __m256i) -> i32 {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let upper = _mm256_extracti128_si256::<1>(lanes);
        let four = _mm_add_epi32(_mm256_castsi256_si128(lanes), upper);
        let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
    }
}

pub(super) fn digit_sums_gather(
    weights: &DigitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx2")]
    fn run(weights: &DigitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums_gather::<Products>(weights, codes, stride, places, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
