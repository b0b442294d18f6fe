//! Digits of codes, 32 at a time: products of bytes in pairs, then pairs of those.
//!
//! Two codes are summed together, which share the weights: of more the sums would not fit the
//! registers. Four share the adding up of lanes at the end.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_shuffle_epi32,
    _mm_storeu_si128, _mm_unpackhi_epi64, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_min_epu8, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi64x,
    _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use pageway_types::Place;

use crate::digits::{self, BITS_BYTES, DigitWeights, Step};
use crate::sums::{self, CodeSum, GROUP};

/// Bytes of a register.
const BYTES: usize = 32;

/// Steps of digits of one bit between two times that room is made: there is room for 63.
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
            let [a, b, c, d] = codes;
            let ([a, b], [c, d]) = (lanes(weights, [a, b]), lanes(weights, [c, d]));
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
/// The CPU has AVX2; codes are as long as each other.
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
                let bytes = load(&codes, at);
                for (digits, bytes) in digits.iter_mut().zip(bytes) {
                    *digits = _mm256_and_si256(bytes, four);
                }
                sums.add(lower, offset, &digits);
                for (digits, bytes) in digits.iter_mut().zip(bytes) {
                    *digits = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), four);
                }
                sums.add(upper, offset, &digits);
            }
            sums.widen();
        }
        for (number, (at, step)) in weights.of_ones().enumerate() {
            let words = words(&codes, at);
            for half in 0..2 {
                for (digits, words) in digits.iter_mut().zip(words) {
                    *digits = ones(words, half);
                }
                sums.add(step, half as usize * BYTES, &digits);
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

/// The 32 bytes of each code from `at` on, zeros behind its end. What lies behind digits of four
/// bits has no weight.
///
/// # Safety
/// The CPU has AVX2; codes are as long as each other.
#[inline(always)]
unsafe fn load<const N: usize>(codes: &[&[u8]; N], at: usize) -> [__m256i; N] {
    // SAFETY: the caller vouches for the features; 32 bytes are readable from each start on.
    unsafe {
        let mut out = [_mm256_setzero_si256(); N];
        if codes.first().is_some_and(|code| at + BYTES <= code.len()) {
            for (out, code) in out.iter_mut().zip(codes) {
                *out = _mm256_loadu_si256(code.as_ptr().add(at).cast());
            }
        } else {
            for (out, code) in out.iter_mut().zip(codes) {
                let mut padded = [0; BYTES];
                padded[..code.len() - at].copy_from_slice(&code[at..]);
                *out = _mm256_loadu_si256(padded.as_ptr().cast());
            }
        }
        out
    }
}

/// The 64 bits of each code from byte `at` on, zeros behind its end, in each word of a register.
///
/// # Safety
/// The CPU has AVX2; codes are as long as each other.
#[inline(always)]
unsafe fn words<const N: usize>(codes: &[&[u8]; N], at: usize) -> [__m256i; N] {
    // SAFETY: the caller vouches for the features; where words are whole, 8 bytes are readable
    // from each start on.
    unsafe {
        let mut out = [_mm256_setzero_si256(); N];
        let are_whole = codes
            .first()
            .is_some_and(|code| at + BITS_BYTES <= code.len());
        for (out, code) in out.iter_mut().zip(codes) {
            let word = if are_whole {
                code.as_ptr().add(at).cast::<i64>().read_unaligned()
            } else {
                digits::word(code, at).cast_signed()
            };
            *out = _mm256_set1_epi64x(word);
        }
        out
    }
}

/// Each bit of a half of a word that all words of a register are, as a byte.
///
/// # Safety
/// The CPU has AVX2; `half` is 0 or 1.
#[inline(always)]
unsafe fn ones(words: __m256i, half: i64) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let first = 0x0404_0404_0404_0404 * half;
        let byte_of_bit = _mm256_setr_epi64x(
            first,
            first + 0x0101_0101_0101_0101,
            first + 0x0202_0202_0202_0202,
            first + 0x0303_0303_0303_0303,
        );
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let bytes = _mm256_shuffle_epi8(words, byte_of_bit);
        _mm256_min_epu8(_mm256_and_si256(bytes, bit), _mm256_set1_epi8(1))
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
