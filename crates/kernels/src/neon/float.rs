//! `f32`, `f16` and `bf16`, four components at a time.

use std::arch::aarch64::{
    float32x4_t, uint16x4_t, vabdq_f32, vaddq_f32, vaddvq_f32, vaddvq_u32, vand_u8, vandq_u32,
    vbslq_f32, vceqq_f32, vcltq_f32, vdupq_n_f32, vextq_f32, vfmaq_f32, vld1_u8, vld1q_f32,
    vld1q_u8, vld1q_u32, vminq_f32, vminvq_f32, vmulq_f32, vreinterpret_u16_u8,
    vreinterpretq_f32_u8, vreinterpretq_f32_u32, vrev64q_f32, vshll_n_u16, vst1q_f32, vsubq_f32,
};

use super::{KEEP_END, load_end};
use crate::simd::lanes::{FloatLanes, Lanes};

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct Bf16;

/// Widens four halves. The instruction is part of the base set; only its intrinsic is recent.
///
/// # Safety
/// The CPU has Advanced SIMD.
#[inline(always)]
unsafe fn widen_halves(halves: uint16x4_t) -> float32x4_t {
    let wide: float32x4_t;
    // SAFETY: the caller vouches for the features; registers only.
    unsafe {
        std::arch::asm!(
            "fcvtl {wide:v}.4s, {halves:v}.4h",
            wide = lateout(vreg) wide,
            halves = in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    wide
}

/// Widens four upper halves.
///
/// # Safety
/// The CPU has Advanced SIMD.
#[inline(always)]
unsafe fn widen_upper_halves(halves: uint16x4_t) -> float32x4_t {
    // SAFETY: the caller vouches for the features.
    unsafe { vreinterpretq_f32_u32(vshll_n_u16::<16>(halves)) }
}

/// The last `keep <= 8` bytes before `end`, and zero in front of them.
///
/// # Safety
/// The eight bytes before `end` are readable.
#[inline(always)]
unsafe fn load_half_end(end: *const u8, keep: usize) -> uint16x4_t {
    // SAFETY: the caller vouches for features and bounds. The mask window begins eight bytes
    // before the ones, plus `keep`, and ends within them.
    unsafe {
        let mask = vld1_u8(KEEP_END.as_ptr().add(8 + keep));
        vreinterpret_u16_u8(vand_u8(vld1_u8(end.sub(8)), mask))
    }
}

/// Sums are the same for all: components are `f32` once loaded.
macro_rules! float_sums {
    () => {
        type Register = float32x4_t;
        type Sum = float32x4_t;

        #[inline(always)]
        unsafe fn zero() -> float32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vdupq_n_f32(0.0) }
        }

        #[inline(always)]
        unsafe fn add_squared_difference(
            sum: float32x4_t,
            a: float32x4_t,
            b: float32x4_t,
        ) -> float32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe {
                let difference = vsubq_f32(a, b);
                vfmaq_f32(sum, difference, difference)
            }
        }

        #[inline(always)]
        unsafe fn add_absolute_difference(
            sum: float32x4_t,
            a: float32x4_t,
            b: float32x4_t,
        ) -> float32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vaddq_f32(sum, vabdq_f32(a, b)) }
        }

        #[inline(always)]
        unsafe fn add_product(sum: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vfmaq_f32(sum, a, b) }
        }

        #[inline(always)]
        unsafe fn merge(left: float32x4_t, right: float32x4_t) -> float32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vaddq_f32(left, right) }
        }

        #[inline(always)]
        unsafe fn total(sum: float32x4_t) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe { f64::from(vaddvq_f32(sum)) }
        }
    };
}

impl Lanes for F32 {
    const BYTES: usize = 16;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds. Loaded as bytes, as the address
        // of a component need not be a multiple of four.
        unsafe { vreinterpretq_f32_u8(vld1q_u8(address)) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { vreinterpretq_f32_u8(load_end(end, keep)) }
    }
}

impl Lanes for F16 {
    const BYTES: usize = 8;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_halves(vreinterpret_u16_u8(vld1_u8(address))) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_halves(load_half_end(end, keep)) }
    }
}

impl Lanes for Bf16 {
    const BYTES: usize = 8;

    float_sums!();

    #[inline(always)]
    unsafe fn load(address: *const u8) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_upper_halves(vreinterpret_u16_u8(vld1_u8(address))) }
    }

    #[inline(always)]
    unsafe fn load_end(end: *const u8, keep: usize) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { widen_upper_halves(load_half_end(end, keep)) }
    }
}

impl FloatLanes for F32 {
    type Register = float32x4_t;
    const WIDTH: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vdupq_n_f32(value) }
    }

    #[inline(always)]
    unsafe fn load(address: *const f32) -> float32x4_t {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { vld1q_f32(address) }
    }

    #[inline(always)]
    unsafe fn store(address: *mut f32, register: float32x4_t) {
        // SAFETY: the caller vouches for features and bounds.
        unsafe { vst1q_f32(address, register) }
    }

    #[inline(always)]
    unsafe fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vaddq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vsubq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vmulq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vfmaq_f32(c, a, b) }
    }

    #[inline(always)]
    unsafe fn butterflies(register: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features; the arrays have four values.
        unsafe {
            let a = register;
            let b = vrev64q_f32(a);
            let odd = vld1q_u32([0, u32::MAX, 0, u32::MAX].as_ptr());
            let a = vbslq_f32(odd, vsubq_f32(b, a), vaddq_f32(a, b));
            let b = vextq_f32::<2>(a, a);
            let upper = vld1q_u32([0, 0, u32::MAX, u32::MAX].as_ptr());
            vbslq_f32(upper, vsubq_f32(b, a), vaddq_f32(a, b))
        }
    }

    #[inline(always)]
    unsafe fn min(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vminq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn minimum(register: float32x4_t) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { vminvq_f32(register) }
    }

    #[inline(always)]
    unsafe fn equal_lanes(a: float32x4_t, b: float32x4_t) -> u32 {
        // SAFETY: the caller vouches for the features; the array has four values.
        unsafe { vaddvq_u32(vandq_u32(vceqq_f32(a, b), vld1q_u32([1, 2, 4, 8].as_ptr()))) }
    }

    #[inline(always)]
    unsafe fn less_lanes(a: float32x4_t, b: float32x4_t) -> u32 {
        // SAFETY: the caller vouches for the features; the array has four values.
        unsafe { vaddvq_u32(vandq_u32(vcltq_f32(a, b), vld1q_u32([1, 2, 4, 8].as_ptr()))) }
    }
}
