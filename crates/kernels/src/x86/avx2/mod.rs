//! AVX2 with FMA and F16C: 32 bytes per register.

mod binary;
mod bits;
mod blocks;
mod digits;
mod fixed;
mod float;
mod integer;
mod pairs;

use std::arch::x86_64::{__m256i, _mm256_and_si256, _mm256_loadu_si256};

pub(super) use bits::{bit_sums, bit_sums_gather};

use crate::isa::Isa;
use crate::simd::kernel_set;

kernel_set! {
    isa: Isa::Avx2, features: "avx2,fma,f16c", block: 8, rows: 2,
    f32: float::F32, f16: float::F16, bf16: float::Bf16, u8: integer::U8, i8: integer::I8,
    bit: binary::Bit,
}

/// Zeros, then ones: a window into it keeps the end of a register.
static KEEP_END: [u8; 64] = {
    let mut bytes = [0; 64];
    bytes.split_at_mut(32).1.copy_from_slice(&[u8::MAX; 32]);
    bytes
};

/// Loads the last `keep <= 32` bytes before `end`, and zero in front of them.
///
/// # Safety
/// The CPU has AVX2; the 32 bytes before `end` are readable.
#[inline(always)]
unsafe fn load_end(end: *const u8, keep: usize) -> __m256i {
    // SAFETY: the caller vouches for features and bounds; the mask begins at `keep <= 32` of 64.
    unsafe {
        let mask = _mm256_loadu_si256(KEEP_END.as_ptr().add(keep).cast());
        _mm256_and_si256(_mm256_loadu_si256(end.sub(32).cast()), mask)
    }
}
