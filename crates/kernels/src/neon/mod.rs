//! Advanced SIMD of AArch64: 16 bytes per register, on every CPU of that architecture.

mod binary;
mod bits;
mod blocks;
mod digits;
mod float;
mod integer;
mod pairs;

use std::arch::aarch64::{uint8x16_t, vandq_u8, vld1q_u8};

use crate::isa::Isa;
use crate::scalar as fixed;
use crate::simd::kernel_set;

kernel_set! {
    isa: Isa::Neon, features: "neon", block: 16, rows: 2,
    f32: float::F32, f16: float::F16, bf16: float::Bf16, u8: integer::U8, i8: integer::I8,
    bit: binary::Bit,
}

/// Zeros, then ones: a window into it keeps the end of a register.
static KEEP_END: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes.split_at_mut(16).1.copy_from_slice(&[u8::MAX; 16]);
    bytes
};

/// Loads the last `keep <= 16` bytes before `end`, and zero in front of them.
///
/// # Safety
/// The 16 bytes before `end` are readable.
#[inline(always)]
unsafe fn load_end(end: *const u8, keep: usize) -> uint8x16_t {
    // SAFETY: the caller vouches for the bounds; the mask begins at `keep <= 16` of 32.
    unsafe { vandq_u8(vld1q_u8(end.sub(16)), vld1q_u8(KEEP_END.as_ptr().add(keep))) }
}
