//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.
//!
//! Four codes are summed together: they share the weights, and the adding up of lanes at the end.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_shuffle_epi32,
    _mm_storeu_si128, _mm_unpackhi_epi64, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use pageway_types::Place;

use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum, GROUP};

/// Bytes of a register.
const BYTES: usize = 32;

/// Steps of digits of one bit after which lanes of 16 bits may be full.
const STEPS_OF_ONES: usize = 32;

/// Digits times weights in registers of 32.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let [lanes] = lanes(weights, [code]);
            let two = _mm_add_epi32(lanes, _mm_unpackhi_epi64(lanes, lanes));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<1>(two)))
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &DigitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features; a register holds as many bytes as the array.
        unsafe {
            let [a, b, c, d] = lanes(weights, codes);
            let sums = _mm_hadd_epi32(_mm_hadd_epi32(a, b), _mm_hadd_epi32(c, d));
            let mut out = [0; GROUP];
            _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
            out
        }
    }
}

/// The sums of some codes, by lanes.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn lanes<const N: usize>(weights: &DigitWeights, codes: [&[u8]; N]) -> [__m128i; N] {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let four = _mm256_set1_epi8(0xf);
        let mut sums = Sums::new();
        let mut digits = [_mm256_setzero_si256(); N];
        for (bytes, [lower, upper]) in weights.of_fours() {
            for (offset, at) in bytes.step_by(BYTES).enumerate() {
                let offset = offset * BYTES;
                for (digits, code) in digits.iter_mut().zip(codes) {
                    *digits = _mm256_and_si256(load(code, at), four);
                }
                sums.add(lower, offset, &digits);
                for (digits, code) in digits.iter_mut().zip(codes) {
                    *digits = _mm256_and_si256(_mm256_srli_epi16::<4>(load(code, at)), four);
                }
                sums.add(upper, offset, &digits);
            }
            sums.widen();
        }
        for (number, (at, step)) in weights.of_ones().enumerate() {
            for offset in [0, BYTES] {
                for (digits, code) in digits.iter_mut().zip(codes) {
                    *digits = ones((digits::word(code, at) >> offset) as u32);
                }
                sums.add(step, offset, &digits);
            }
            if number % STEPS_OF_ONES == STEPS_OF_ONES - 1 {
                sums.widen();
            }
        }
        sums.widen();
        let mut halves = [_mm256_castsi256_si128(_mm256_setzero_si256()); N];
        for (half, wide) in halves.iter_mut().zip(sums.wide) {
            let upper = _mm256_extracti128_si256::<1>(wide);
            *half = _mm_add_epi32(_mm256_castsi256_si128(wide), upper);
        }
        halves
    }
}

/// Sums of products of some codes by lanes.
struct Sums<const N: usize> {
    /// Those with low bytes of weights and those with high ones, in 16 bits.
    narrow: [[__m256i; N]; 2],
    wide: [__m256i; N],
}

impl<const N: usize> Sums<N> {
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm256_setzero_si256() };
        Self {
            narrow: [[zero; N]; 2],
            wide: [zero; N],
        }
    }

    /// Adds digits, 15 at most, times half a line of weights. A pair of products is below 2^12,
    /// of digits of one bit at most 2^8: there is room for eight, or for 127 of them.
    ///
    /// # Safety
    /// The CPU has AVX2; `offset` is 0 or 32.
    #[inline(always)]
    unsafe fn add(&mut self, step: Step<'_>, offset: usize, digits: &[__m256i; N]) {
        let [low_sums, high_sums] = &mut self.narrow;
        // SAFETY: the caller vouches for features and bounds.
        unsafe {
            let low = _mm256_loadu_si256(step.low.0.as_ptr().add(offset).cast());
            for (sum, digits) in low_sums.iter_mut().zip(digits) {
                *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(*digits, low));
            }
            if let Some(high) = step.high {
                let high = _mm256_loadu_si256(high.0.as_ptr().add(offset).cast());
                for (sum, digits) in high_sums.iter_mut().zip(digits) {
                    *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(*digits, high));
                }
            }
        }
    }

    /// Makes room for as many more.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn widen(&mut self) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            for (narrow, unit) in self.narrow.iter_mut().zip([1, 256]) {
                let unit = _mm256_set1_epi16(unit);
                for (wide, narrow) in self.wide.iter_mut().zip(narrow) {
                    *wide = _mm256_add_epi32(*wide, _mm256_madd_epi16(*narrow, unit));
                    *narrow = _mm256_setzero_si256();
                }
            }
        }
    }
}

/// The 32 bytes of a code from `at` on, zeros behind its end. What lies behind digits of four bits
/// has no weight.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load(code: &[u8], at: usize) -> __m256i {
    let rest = &code[at..];
    let mut padded = [0; BYTES];
    let start = if rest.len() >= BYTES {
        rest.as_ptr()
    } else {
        padded[..rest.len()].copy_from_slice(rest);
        padded.as_ptr()
    };
    // SAFETY: the caller vouches for the features; 32 bytes are readable from `start` on.
    unsafe { _mm256_loadu_si256(start.cast()) }
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
