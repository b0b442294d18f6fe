//! Vectors of bits, 512 at a time, counted by looking up half bytes, as every CPU of this set can.

use std::arch::x86_64::{
    __m512i, _mm_setr_epi8, _mm512_add_epi8, _mm512_add_epi64, _mm512_and_si512,
    _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_reduce_add_epi64,
    _mm512_sad_epu8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_srli_epi16, _mm512_xor_si512,
};

use crate::simd::lanes::Lanes;

pub(super) struct Bit;

/// Ones of each word.
///
/// # Safety
/// The CPU has AVX-512 F and BW.
#[inline(always)]
unsafe fn count(words: __m512i) -> __m512i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let of_half = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
        let of_half = _mm512_broadcast_i32x4(of_half);
        let low_bits = _mm512_set1_epi8(0x0f);
        let low = _mm512_and_si512(words, low_bits);
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(words), low_bits);
        let bytes = _mm512_add_epi8(
            _mm512_shuffle_epi8(of_half, low),
            _mm512_shuffle_epi8(of_half, high),
        );
        _mm512_sad_epu8(bytes, _mm512_setzero_si512())
    }
}

impl Lanes for Bit {
    type Register = __m512i;
    type Sum = __m512i;
    const BYTES: usize = 64;

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m512i {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm512_loadu_si512(address.cast()) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m512i {
        let mask = (1_u64 << keep) - 1;
        // SAFETY: the caller vouches for features and bounds; masked lanes are not read.
        unsafe { _mm512_maskz_loadu_epi8(mask, end.sub(keep).cast()) }
    }

    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_setzero_si512() }
    }

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_squared_difference(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_add_epi64(sum, count(_mm512_xor_si512(a, b))) }
    }

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_absolute_difference(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the features.
        unsafe { Self::add_squared_difference(sum, a, b) }
    }

    /// Bits that are set in both.
    #[inline(always)]
    unsafe fn add_product(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_add_epi64(sum, count(_mm512_and_si512(a, b))) }
    }

    #[inline(always)]
    unsafe fn merge(left: __m512i, right: __m512i) -> __m512i {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_add_epi64(left, right) }
    }

    #[inline(always)]
    unsafe fn total(sum: __m512i) -> f64 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_reduce_add_epi64(sum) as f64 }
    }
}
