//! Vectors of bits, 256 at a time, counted by looking up half bytes.

use std::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si32, _mm_unpackhi_epi64, _mm256_add_epi64,
    _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_setzero_si256, _mm256_xor_si256,
};

use super::bits::count;
use super::load_end;
use crate::simd::lanes::Lanes;

pub(super) struct Bit;

impl Lanes for Bit {
    type Register = __m256i;
    type Sum = __m256i;
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m256i {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_loadu_si256(address.cast()) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m256i {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { load_end(end, keep) }
    }

    #[inline(always)]
    unsafe fn zero() -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_setzero_si256() }
    }

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_squared_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_add_epi64(sum, count(_mm256_xor_si256(a, b))) }
    }

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_absolute_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { Self::add_squared_difference(sum, a, b) }
    }

    /// Bits that are set in both.
    #[inline(always)]
    unsafe fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_add_epi64(sum, count(_mm256_and_si256(a, b))) }
    }

    #[inline(always)]
    unsafe fn merge(left: __m256i, right: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_add_epi64(left, right) }
    }

    #[inline(always)]
    unsafe fn total(sum: __m256i) -> f64 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let upper = _mm256_extracti128_si256::<1>(sum);
            let two = _mm_add_epi64(_mm256_castsi256_si128(sum), upper);
            let one = _mm_add_epi64(two, _mm_unpackhi_epi64(two, two));
            f64::from(_mm_cvtsi128_si32(one))
        }
    }
}
