//! Bits of codes, 32 bytes at a time, counted by looking up half bytes.

use std::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si32, _mm_unpackhi_epi64, _mm256_add_epi8,
    _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi64,
};

use pageway_types::Place;

use crate::bits::{BitWeights, CHUNK_BYTES};
use crate::sums::{self, CodeSum, Line};

/// Bytes of a register.
const BYTES: usize = 32;

/// Ones counted in registers of four words.
struct Counted;

impl CodeSum for Counted {
    type Weights = BitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features. Half a chunk begins within the 64 bytes of a
        // line and of the padded code.
        unsafe {
            let mut total = _mm256_setzero_si256();
            for (lines, code) in weights.chunks(code) {
                let mut padded = [0; CHUNK_BYTES];
                let bytes = if code.len() == CHUNK_BYTES {
                    code.as_ptr()
                } else {
                    padded[..code.len()].copy_from_slice(code);
                    padded.as_ptr()
                };
                for offset in (0..code.len()).step_by(BYTES) {
                    let code = _mm256_loadu_si256(bytes.add(offset).cast());
                    total = _mm256_add_epi64(total, half_chunk(lines, offset, code));
                }
            }
            let upper = _mm256_extracti128_si256::<1>(total);
            let two = _mm_add_epi64(_mm256_castsi256_si128(total), upper);
            _mm_cvtsi128_si32(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)))
        }
    }
}

/// Sums of half a chunk by word: the sign plane counts against, and each plane doubles the sum.
///
/// # Safety
/// The CPU has AVX2; `offset + 32` is at most the length of a line.
#[inline(always)]
unsafe fn half_chunk(lines: &[Line], offset: usize, code: __m256i) -> __m256i {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let zero = _mm256_setzero_si256();
        let Some((sign, planes)) = lines.split_first() else {
            return zero;
        };
        let mut sum = _mm256_sub_epi64(zero, ones(sign, offset, code));
        for line in planes {
            sum = _mm256_add_epi64(_mm256_add_epi64(sum, sum), ones(line, offset, code));
        }
        sum
    }
}

/// Ones of each word that a line and a code share.
///
/// # Safety
/// The CPU has AVX2; `offset + 32` is at most the length of a line.
#[inline(always)]
unsafe fn ones(line: &Line, offset: usize, code: __m256i) -> __m256i {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let line = _mm256_loadu_si256(line.0.as_ptr().add(offset).cast());
        count(_mm256_and_si256(line, code))
    }
}

/// Ones of each word.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn count(words: __m256i) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let of_half = _mm256_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, //
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        );
        let low_bits = _mm256_set1_epi8(0x0f);
        let low = _mm256_and_si256(words, low_bits);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(words), low_bits);
        let bytes = _mm256_add_epi8(
            _mm256_shuffle_epi8(of_half, low),
            _mm256_shuffle_epi8(of_half, high),
        );
        _mm256_sad_epu8(bytes, _mm256_setzero_si256())
    }
}

pub(in crate::x86) fn bit_sums(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
    #[target_feature(enable = "avx2")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums::<Counted>(weights, codes, stride, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, out) }
}

pub(in crate::x86) fn bit_sums_gather(
    weights: &BitWeights,
    codes: &[u8],
    stride: usize,
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx2")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums_gather::<Counted>(weights, codes, stride, places, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, codes, stride, places, out) }
}
