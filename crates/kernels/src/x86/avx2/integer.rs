//! `u8` and `i8`, 32 components at a time, widened to 16 bits and multiplied in pairs.

use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_max_epi8, _mm256_max_epu8, _mm256_min_epi8, _mm256_min_epu8,
    _mm256_sad_epu8, _mm256_setzero_si256, _mm256_sub_epi8, _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi8,
};

use super::load_end;
use crate::simd::lanes::Lanes;

pub(super) struct U8;
pub(super) struct I8;

/// The bytes of both halves as 16-bit numbers. The order of lanes is lost, as sums allow.
type Halves = (__m256i, __m256i);

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn widen_unsigned(bytes: __m256i) -> Halves {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let zero = _mm256_setzero_si256();
        (
            _mm256_unpacklo_epi8(bytes, zero),
            _mm256_unpackhi_epi8(bytes, zero),
        )
    }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn widen_signed(bytes: __m256i) -> Halves {
    // SAFETY: the caller vouches for the features.
    unsafe {
        (
            _mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes)),
            _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(bytes)),
        )
    }
}

/// Adds the products of 16-bit numbers; two of them stay below `2^18`.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn add_products(sum: __m256i, a: Halves, b: Halves) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let products = _mm256_add_epi32(_mm256_madd_epi16(a.0, b.0), _mm256_madd_epi16(a.1, b.1));
        _mm256_add_epi32(sum, products)
    }
}

/// Loads and sums that do not depend on the sign.
macro_rules! integer_sums {
    () => {
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

        #[inline(always)]
        unsafe fn merge(left: __m256i, right: __m256i) -> __m256i {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm256_add_epi32(left, right) }
        }

        #[inline(always)]
        unsafe fn total(sum: __m256i) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let upper = _mm256_extracti128_si256::<1>(sum);
                let four = _mm_add_epi32(_mm256_castsi256_si128(sum), upper);
                let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
                let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
                f64::from(_mm_cvtsi128_si32(one))
            }
        }
    };
}

impl Lanes for U8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let difference = _mm256_sub_epi8(_mm256_max_epu8(a, b), _mm256_min_epu8(a, b));
            let halves = widen_unsigned(difference);
            add_products(sum, halves, halves)
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_add_epi32(sum, _mm256_sad_epu8(a, b)) }
    }

    #[inline(always)]
    unsafe fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { add_products(sum, widen_unsigned(a), widen_unsigned(b)) }
    }
}

impl Lanes for I8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features. The difference fits an unsigned byte.
        unsafe {
            let difference = _mm256_sub_epi8(_mm256_max_epi8(a, b), _mm256_min_epi8(a, b));
            let halves = widen_unsigned(difference);
            add_products(sum, halves, halves)
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let difference = _mm256_sub_epi8(_mm256_max_epi8(a, b), _mm256_min_epi8(a, b));
            _mm256_add_epi32(sum, _mm256_sad_epu8(difference, _mm256_setzero_si256()))
        }
    }

    #[inline(always)]
    unsafe fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller vouches for the features.
        unsafe { add_products(sum, widen_signed(a), widen_signed(b)) }
    }
}
