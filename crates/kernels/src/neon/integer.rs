//! `u8` and `i8`, sixteen components at a time, multiplied to 16 bits and added up in 32.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, uint8x16_t, uint32x4_t, vabdq_s8, vabdq_u8, vaddq_u32, vaddvq_u32,
    vdupq_n_u32, vget_low_s8, vget_low_u8, vld1q_u8, vmull_high_s8, vmull_high_u8, vmull_s8,
    vmull_u8, vpadalq_s16, vpadalq_u16, vpaddlq_u8, vreinterpretq_s8_u8, vreinterpretq_s32_u32,
    vreinterpretq_u8_s8, vreinterpretq_u32_s32,
};

use super::load_end;
use crate::simd::lanes::Lanes;

pub(super) struct U8;
pub(super) struct I8;

/// Adds the products of unsigned bytes.
///
/// # Safety
/// The CPU has Advanced SIMD.
#[inline(always)]
unsafe fn add_unsigned(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let sum = vpadalq_u16(sum, vmull_u8(vget_low_u8(a), vget_low_u8(b)));
        vpadalq_u16(sum, vmull_high_u8(a, b))
    }
}

/// Adds the products of signed bytes, to lanes that hold signed numbers.
///
/// # Safety
/// The CPU has Advanced SIMD.
#[inline(always)]
unsafe fn add_signed(sum: uint32x4_t, a: int8x16_t, b: int8x16_t) -> uint32x4_t {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let sum: int32x4_t = vreinterpretq_s32_u32(sum);
        let sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
        vreinterpretq_u32_s32(vpadalq_s16(sum, vmull_high_s8(a, b)))
    }
}

/// Loads and sums that do not depend on the sign. Lanes wrap alike for both.
macro_rules! integer_sums {
    () => {
        type Register = uint8x16_t;
        type Sum = uint32x4_t;
        const BYTES: usize = 16;

        #[inline(always)]
        unsafe fn load(address: *const u8) -> uint8x16_t {
            // SAFETY: the caller vouches for features and bounds.
            unsafe { vld1q_u8(address) }
        }

        #[inline(always)]
        unsafe fn load_end(end: *const u8, keep: usize) -> uint8x16_t {
            // SAFETY: the caller vouches for features and bounds.
            unsafe { load_end(end, keep) }
        }

        #[inline(always)]
        unsafe fn zero() -> uint32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vdupq_n_u32(0) }
        }

        #[inline(always)]
        unsafe fn merge(left: uint32x4_t, right: uint32x4_t) -> uint32x4_t {
            // SAFETY: the caller vouches for the features.
            unsafe { vaddq_u32(left, right) }
        }

        #[inline(always)]
        unsafe fn total(sum: uint32x4_t) -> f64 {
            // SAFETY: the caller vouches for the features.
            unsafe { f64::from(vaddvq_u32(sum).cast_signed()) }
        }
    };
}

impl Lanes for U8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let difference = vabdq_u8(a, b);
            add_unsigned(sum, difference, difference)
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vpadalq_u16(sum, vpaddlq_u8(vabdq_u8(a, b))) }
    }

    #[inline(always)]
    unsafe fn add_product(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { add_unsigned(sum, a, b) }
    }
}

impl Lanes for I8 {
    integer_sums!();

    #[inline(always)]
    unsafe fn add_squared_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features. The difference fits an unsigned byte.
        unsafe {
            let difference = vabdq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
            let difference = vreinterpretq_u8_s8(difference);
            add_unsigned(sum, difference, difference)
        }
    }

    #[inline(always)]
    unsafe fn add_absolute_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let difference = vabdq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
            vpadalq_u16(sum, vpaddlq_u8(vreinterpretq_u8_s8(difference)))
        }
    }

    #[inline(always)]
    unsafe fn add_product(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { add_signed(sum, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)) }
    }
}
