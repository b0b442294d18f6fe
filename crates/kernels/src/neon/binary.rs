//! Vectors of bits, 128 at a time, counted by the instruction for bytes.

use std::arch::aarch64::{
    uint8x16_t, uint32x4_t, vaddq_u32, vaddvq_u32, vandq_u8, vcntq_u8, vdupq_n_u32, veorq_u8,
    vld1q_u8, vpaddlq_u8, vpaddlq_u16,
};

use super::load_end;
use crate::simd::lanes::Lanes;

pub(super) struct Bit;

impl Lanes for Bit {
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

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_squared_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vaddq_u32(sum, vpaddlq_u16(vpaddlq_u8(vcntq_u8(veorq_u8(a, b))))) }
    }

    /// Bits that differ.
    #[inline(always)]
    unsafe fn add_absolute_difference(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { Self::add_squared_difference(sum, a, b) }
    }

    /// Bits that are set in both.
    #[inline(always)]
    unsafe fn add_product(sum: uint32x4_t, a: uint8x16_t, b: uint8x16_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vaddq_u32(sum, vpaddlq_u16(vpaddlq_u8(vcntq_u8(vandq_u8(a, b))))) }
    }

    #[inline(always)]
    unsafe fn merge(left: uint32x4_t, right: uint32x4_t) -> uint32x4_t {
        // SAFETY: the caller vouches for the features.
        unsafe { vaddq_u32(left, right) }
    }

    #[inline(always)]
    unsafe fn total(sum: uint32x4_t) -> f64 {
        // SAFETY: the caller vouches for the features.
        unsafe { f64::from(vaddvq_u32(sum)) }
    }
}
