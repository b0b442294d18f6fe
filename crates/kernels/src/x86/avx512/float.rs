//! `f32`, `f16` and `bf16`, sixteen components at a time.

use std::arch::x86_64::{
    __m256i, __m512, _CMP_EQ_OQ, _CMP_LT_OQ, _mm256_loadu_si256, _mm256_maskz_loadu_epi16,
    _mm512_abs_ps, _mm512_add_ps, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepu16_epi32,
    _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_sub_ps, _mm512_maskz_loadu_ps,
    _mm512_min_ps, _mm512_mul_ps, _mm512_permute_ps, _mm512_reduce_add_ps, _mm512_reduce_min_ps,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_shuffle_f32x4, _mm512_slli_epi32, _mm512_storeu_ps,
    _mm512_sub_ps,
};

use crate::simd::lanes::{FloatLanes, Lanes};

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct Bf16;

/// Widens sixteen upper halves.
///
/// # Safety
/// The CPU has AVX-512F.
#[inline(always)]
unsafe fn widen_upper_halves(halves: __m256i) -> __m512 {
    // SAFETY: the caller vouches for the features.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves))) }
}

/// Sums are the same for all: components are `f32` once loaded.
macro_rules! float_sums {
    () => {
        type Register = __m512;
        type Sum = __m512;

        #[inline(always)]
        unsafe fn zero() -> __m512 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm512_setzero_ps() }
        }

        #[inline(always)]
        unsafe fn add_squared_difference(sum: __m512, a: __m512, b: __m512) -> __m512 {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let difference = _mm512_sub_ps(a, b);
                _mm512_fmadd_ps(difference, difference, sum)
            }
        }

        #[inline(always)]
        unsafe fn add_absolute_difference(sum: __m512, a: __m512, b: __m512) -> __m512 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm512_add_ps(sum, _mm512_abs_ps(_mm512_sub_ps(a, b))) }
        }

        #[inline(always)]
        unsafe fn add_product(sum: __m512, a: __m512, b: __m512) -> __m512 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm512_fmadd_ps(a, b, sum) }
        }

        #[inline(always)]
        unsafe fn merge(left: __m512, right: __m512) -> __m512 {
            // SAFETY: the caller vouches for the features.
            unsafe { _mm512_add_ps(left, right) }
        }

        #[inline(always)]
        unsafe fn total(sum: __m512) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe { f64::from(_mm512_reduce_add_ps(sum)) }
        }
    };
}

impl Lanes for F32 {
    const BYTES: usize = 64;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m512 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm512_loadu_ps(address.cast()) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m512 {
        let mask = (1_u16 << (keep / 4)) - 1;
        // SAFETY: the caller vouches for features and bounds; masked lanes are not read.
        unsafe { _mm512_maskz_loadu_ps(mask, end.sub(keep).cast()) }
    }
}

impl Lanes for F16 {
    const BYTES: usize = 32;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m512 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(address.cast())) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m512 {
        let mask = (1_u16 << (keep / 2)) - 1;
        // SAFETY: the caller vouches for features and bounds; masked lanes are not read.
        unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, end.sub(keep).cast())) }
    }
}

impl Lanes for Bf16 {
    const BYTES: usize = 32;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> __m512 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_upper_halves(_mm256_loadu_si256(address.cast())) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> __m512 {
        let mask = (1_u16 << (keep / 2)) - 1;
        // SAFETY: the caller vouches for features and bounds; masked lanes are not read.
        unsafe { widen_upper_halves(_mm256_maskz_loadu_epi16(mask, end.sub(keep).cast())) }
    }
}

impl FloatLanes for F32 {
    type Register = __m512;
    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(address: *const f32) -> __m512 {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm512_loadu_ps(address) }
    }

    #[inline(always)]
    unsafe fn store(address: *mut f32, register: __m512) {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { _mm512_storeu_ps(address, register) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn butterflies(register: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let a = register;
            let b = _mm512_permute_ps::<0b10_11_00_01>(a);
            let a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xaaaa, b, a);
            let b = _mm512_permute_ps::<0b01_00_11_10>(a);
            let a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xcccc, b, a);
            let b = _mm512_shuffle_f32x4::<0b10_11_00_01>(a, a);
            let a = _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xf0f0, b, a);
            let b = _mm512_shuffle_f32x4::<0b01_00_11_10>(a, a);
            _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0xff00, b, a)
        }
    }

    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn minimum(register: __m512) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_reduce_min_ps(register) }
    }

    #[inline(always)]
    unsafe fn equal_lanes(a: __m512, b: __m512) -> u32 {
        // SAFETY: the caller vouches for the features.
        unsafe { u32::from(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b)) }
    }

    #[inline(always)]
    unsafe fn less_lanes(a: __m512, b: __m512) -> u32 {
        // SAFETY: the caller vouches for the features.
        unsafe { u32::from(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b)) }
    }
}
