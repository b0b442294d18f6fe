//! `u8` and `i8`, 64 components at a time, with the dot product instructions of VNNI.
//!
//! `vpdpbusd` multiplies unsigned by signed bytes and adds four products to each 32-bit lane.
//! To multiply two unsigned bytes `x` and `y`, take `y - 128` as the signed one: flipping the top
//! bit does that. `x * (y - 128) = x * y - 128 * x`, so a second sum collects the correction
//! (`-x` for each lane), and the total is `main - 128 * correction`. All sums are exact: true
//! totals fit 31 bits for 16,384 components, and what wraps on the way wraps back.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_maskz_loadu_epi8,
    _mm512_max_epi8, _mm512_max_epu8, _mm512_min_epi8, _mm512_min_epu8, _mm512_reduce_add_epi32,
    _mm512_sad_epu8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_slli_epi32, _mm512_sub_epi8,
    _mm512_sub_epi32, _mm512_xor_si512,
};

use crate::simd::lanes::Lanes;

pub(super) struct U8;
pub(super) struct I8;

/// Sum of products, and of the corrections to them.
#[derive(Clone, Copy)]
pub(super) struct Corrected {
    main: __m512i,
    correction: __m512i,
}

/// Adds `difference^2` of unsigned bytes.
///
/// # Safety
/// The CPU has AVX-512 BW and VNNI.
#[inline(always)]
unsafe fn add_square(sum: Corrected, difference: __m512i) -> Corrected {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let signed = _mm512_xor_si512(difference, _mm512_set1_epi8(i8::MIN));
        Corrected {
            main: _mm512_dpbusd_epi32(sum.main, difference, signed),
            correction: _mm512_dpbusd_epi32(sum.correction, difference, _mm512_set1_epi8(-1)),
        }
    }
}

/// Adds unsigned bytes; eight of them fill a lane of 64 bits with less than `2^11`.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
unsafe fn add_bytes(sum: Corrected, bytes: __m512i) -> Corrected {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let sums = _mm512_sad_epu8(bytes, _mm512_setzero_si512());
        Corrected {
            main: _mm512_add_epi32(sum.main, sums),
            correction: sum.correction,
        }
    }
}

/// Loads and sums that do not depend on the sign.
macro_rules! integer_sums {
    () => {
        type Register = __m512i;
        type Sum = Corrected;
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
        unsafe fn zero() -> Corrected {
            // SAFETY: the caller vouches for the features.
            let zero = unsafe { _mm512_setzero_si512() };
            Corrected {
                main: zero,
                correction: zero,
            }
        }

        #[inline(always)]
        unsafe fn merge(left: Corrected, right: Corrected) -> Corrected {
            // SAFETY: the caller vouches for the features.
            unsafe {
                Corrected {
                    main: _mm512_add_epi32(left.main, right.main),
                    correction: _mm512_add_epi32(left.correction, right.correction),
                }
            }
        }

        #[inline(always)]
        unsafe fn total(sum: Corrected) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let correction = _mm512_slli_epi32::<7>(sum.correction);
                f64::from(_mm512_reduce_add_epi32(_mm512_sub_epi32(
                    sum.main, correction,
                )))
            }
        }
    };
}

impl Lanes for U8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features.
        unsafe {
            add_square(
                sum,
                _mm512_sub_epi8(_mm512_max_epu8(a, b), _mm512_min_epu8(a, b)),
            )
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features.
        unsafe {
            add_bytes(
                sum,
                _mm512_sub_epi8(_mm512_max_epu8(a, b), _mm512_min_epu8(a, b)),
            )
        }
    }

    #[inline(always)]
    unsafe fn add_product(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let signed = _mm512_xor_si512(b, _mm512_set1_epi8(i8::MIN));
            Corrected {
                main: _mm512_dpbusd_epi32(sum.main, a, signed),
                correction: _mm512_dpbusd_epi32(sum.correction, a, _mm512_set1_epi8(-1)),
            }
        }
    }
}

impl Lanes for I8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features. The difference fits an unsigned byte.
        unsafe {
            add_square(
                sum,
                _mm512_sub_epi8(_mm512_max_epi8(a, b), _mm512_min_epi8(a, b)),
            )
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features.
        unsafe {
            add_bytes(
                sum,
                _mm512_sub_epi8(_mm512_max_epi8(a, b), _mm512_min_epi8(a, b)),
            )
        }
    }

    #[inline(always)]
    unsafe fn add_product(sum: Corrected, a: __m512i, b: __m512i) -> Corrected {
        // SAFETY: the caller vouches for the features. Here the unsigned factor is `a + 128`,
        // hence the correction is `+b`.
        unsafe {
            let unsigned = _mm512_xor_si512(a, _mm512_set1_epi8(i8::MIN));
            Corrected {
                main: _mm512_dpbusd_epi32(sum.main, unsigned, b),
                correction: _mm512_dpbusd_epi32(sum.correction, _mm512_set1_epi8(1), b),
            }
        }
    }
}
