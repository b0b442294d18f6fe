//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.

use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm_unpackhi_epi64,
    _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128,
    _mm256_cmpeq_epi8, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_slli_epi32, _mm256_srli_epi16,
};

use pageway_types::Place;

use crate::digits::{self, DigitWeights, Step};
use crate::sums::{self, CodeSum};

/// Bytes of a register.
const BYTES: usize = 32;

/// Digits times weights in registers of 32.
struct Products;

impl CodeSum for Products {
    type Weights = DigitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &DigitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let four = _mm256_set1_epi8(0xf);
            let mut sums = Sums::new();
            for (bytes, [lower, upper]) in weights.of_fours() {
                for (offset, at) in bytes.step_by(BYTES).enumerate() {
                    let code = load(code, at);
                    sums.add(lower, BYTES * offset, _mm256_and_si256(code, four));
                    let code = _mm256_srli_epi16::<4>(code);
                    sums.add(upper, BYTES * offset, _mm256_and_si256(code, four));
                }
                sums.widen();
            }
            for (at, step) in weights.of_ones() {
                let word = digits::word(code, at);
                sums.add(step, 0, ones(word as u32));
                sums.add(step, BYTES, ones((word >> 32) as u32));
                sums.widen();
            }
            let [low, high] = sums.wide;
            total(_mm256_add_epi32(low, _mm256_slli_epi32::<8>(high)))
        }
    }
}

/// Sums of products by lanes, those with low bytes of weights and those with high ones.
struct Sums {
    narrow: [__m256i; 2],
    wide: [__m256i; 2],
}

impl Sums {
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm256_setzero_si256() };
        Self {
            narrow: [zero; 2],
            wide: [zero; 2],
        }
    }

    /// Adds digits, 15 at most, times half a line of weights. A pair of products is below 2^12,
    /// so that there is room for eight of them.
    ///
    /// # Safety
    /// The CPU has AVX2; `offset` is 0 or 32.
    #[inline(always)]
    unsafe fn add(&mut self, step: Step<'_>, offset: usize, digits: __m256i) {
        // SAFETY: the caller vouches for features and bounds.
        unsafe {
            let low = _mm256_loadu_si256(step.low.0.as_ptr().add(offset).cast());
            let pairs = _mm256_maddubs_epi16(digits, low);
            self.narrow[0] = _mm256_add_epi16(self.narrow[0], pairs);
            if let Some(high) = step.high {
                let high = _mm256_loadu_si256(high.0.as_ptr().add(offset).cast());
                let pairs = _mm256_maddubs_epi16(digits, high);
                self.narrow[1] = _mm256_add_epi16(self.narrow[1], pairs);
            }
        }
    }

    /// Makes room for eight more.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn widen(&mut self) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let one = _mm256_set1_epi16(1);
            for at in 0..2 {
                let pairs = _mm256_madd_epi16(self.narrow[at], one);
                self.wide[at] = _mm256_add_epi32(self.wide[at], pairs);
                self.narrow[at] = _mm256_setzero_si256();
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
