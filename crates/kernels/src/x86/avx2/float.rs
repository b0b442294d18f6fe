//! `f32`, `f16` and `bf16`, eight components at a time.

use std::arch::x86_64::{
    __m128i, __m256, _CMP_EQ_OQ, _CMP_LT_OQ, _mm_add_ps, _mm_add_ss, _mm_and_si128, _mm_cvtss_f32,
    _mm_loadu_si128, _mm_min_ps, _mm_min_ss, _mm_movehdup_ps, _mm_movehl_ps, _mm256_add_ps,
    _mm256_andnot_ps, _mm256_blend_ps, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_cmp_ps,
    _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_min_ps, _mm256_movemask_ps, _mm256_mul_ps, _mm256_permute_ps,
    _mm256_permute2f128_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_slli_epi32, _mm256_storeu_ps,
    _mm256_sub_ps,
};

use super::{KEEP_END, load_end};
use crate::simd::lanes::{FloatLanes, Lanes};

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct Bf16;

/// Widens eight upper halves.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn widen_upper_halves(halves: __m128i) -> __m256 {
    // SAFETY: the caller vouches for the features.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves))) }
}

/// The last `keep <= 16` bytes before `end`, and zero in front of them.
///
/// # Safety
/// The CPU has AVX2; the 16 bytes before `end` are readable.
#[inline(always)]
unsafe fn load_half_end(end: *const u8, keep: usize) -> __m128i {
    // SAFETY: the caller vouches for features and bounds. The mask window begins sixteen bytes
    // before the ones, plus `keep`, and ends within them.
    unsafe {
        let mask = _mm_loadu_si128(KEEP_END.as_ptr().add(16 + keep).cast());
        _mm_and_si128(_mm_loadu_si128(end.sub(16).cast()), mask)
    }
}

/// Sums are the same for all: components are `f32` once loaded.
macro_rules! float_sums {
    () => {
        type Register = __m256;
        type Sum = __m256;

        #[inline(always)]
        unsafe fn zero() -> __m256 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm256_setzero_ps() }
        }

        #[inline(always)]
        unsafe fn add_squared_difference(sum: __m256, a: __m256, b: __m256) -> __m256 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let difference = _mm256_sub_ps(a, b);
                _mm256_fmadd_ps(difference, difference, sum)
            }
        }

        #[inline(always)]
        unsafe fn add_absolute_difference(sum: __m256, a: __m256, b: __m256) -> __m256 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let difference = _mm256_sub_ps(a, b);
                _mm256_add_ps(sum, _mm256_andnot_ps(_mm256_set1_ps(-0.0), difference))
            }
        }

        #[inline(always)]
        unsafe fn add_product(sum: __m256, a: __m256, b: __m256) -> __m256 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm256_fmadd_ps(a, b, sum) }
        }

        #[inline(always)]
        unsafe fn merge(left: __m256, right: __m256) -> __m256 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm256_add_ps(left, right) }
        }

        #[inline(always)]
        unsafe fn total(sum: __m256) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                f64::from(_mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))))
            }
        }
    };
}

impl Lanes for F32 {
    const BYTES: usize = 32;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_loadu_ps(address.cast()) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_castsi256_ps(load_end(end, keep)) }
    }
}

impl Lanes for F16 {
    const BYTES: usize = 16;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(address.cast())) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_cvtph_ps(load_half_end(end, keep)) }
    }
}

impl Lanes for Bf16 {
    const BYTES: usize = 16;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_upper_halves(_mm_loadu_si128(address.cast())) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_upper_halves(load_half_end(end, keep)) }
    }
}

impl FloatLanes for F32 {
    type Register = __m256;
    const WIDTH: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(address: *const f32) -> __m256 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_loadu_ps(address) }
    }

    #[inline(always)]
    unsafe fn store(address: *mut f32, register: __m256) {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm256_storeu_ps(address, register) }
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn butterflies(register: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let a = register;
            let b = _mm256_permute_ps::<0b10_11_00_01>(a);
            let a = _mm256_blend_ps::<0xaa>(_mm256_add_ps(a, b), _mm256_sub_ps(b, a));
            let b = _mm256_permute_ps::<0b01_00_11_10>(a);
            let a = _mm256_blend_ps::<0xcc>(_mm256_add_ps(a, b), _mm256_sub_ps(b, a));
            let b = _mm256_permute2f128_ps::<1>(a, a);
            _mm256_blend_ps::<0xf0>(_mm256_add_ps(a, b), _mm256_sub_ps(b, a))
        }
    }

    #[inline(always)]
    unsafe fn min(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn minimum(register: __m256) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let upper = _mm256_extractf128_ps::<1>(register);
            let four = _mm_min_ps(_mm256_castps256_ps128(register), upper);
            let two = _mm_min_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    unsafe fn equal_lanes(a: __m256, b: __m256) -> u32 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(a, b)).cast_unsigned() }
    }

    #[inline(always)]
    unsafe fn less_lanes(a: __m256, b: __m256) -> u32 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)).cast_unsigned() }
    }
}
