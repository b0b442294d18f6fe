//! Bits of codes, 64 bytes at a time, counted by the instruction for it where the CPU has one.
//!
//! That instruction (VPOPCNTDQ) came two generations after AVX-512; older CPUs count as AVX2 does.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_load_si512, _mm512_loadu_si512,
    _mm512_maskz_loadu_epi8, _mm512_popcnt_epi64, _mm512_reduce_add_epi64, _mm512_setzero_si512,
    _mm512_sub_epi64,
};

use pageway_types::NodeId;

use crate::bits::{self, BitSum, BitWeights, CHUNK_BYTES, Line};
use crate::x86::avx2;

/// Ones counted in registers of eight words.
struct Counted;

impl BitSum for Counted {
    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i64 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let mut total = _mm512_setzero_si512();
            for (lines, code) in weights.chunks(code) {
                total = _mm512_add_epi64(total, chunk(lines, load(code)));
            }
            _mm512_reduce_add_epi64(total)
        }
    }
}

/// Loads up to 64 bytes, and zero behind them.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
unsafe fn load(code: &[u8]) -> __m512i {
    // SAFETY: the caller vouches for the features; masked lanes are not read.
    unsafe {
        if code.len() == CHUNK_BYTES {
            return _mm512_loadu_si512(code.as_ptr().cast());
        }
        let mask = (1_u64 << code.len()) - 1;
        _mm512_maskz_loadu_epi8(mask, code.as_ptr().cast())
    }
}

/// Sums of one chunk by word: the sign plane counts against, and each plane doubles the sum.
///
/// # Safety
/// The CPU has AVX-512 VPOPCNTDQ.
#[inline(always)]
unsafe fn chunk(lines: &[Line], code: __m512i) -> __m512i {
    // SAFETY: the caller vouches for the features; a line is 64 aligned bytes.
    unsafe {
        let ones = |line: &Line| {
            let line = _mm512_load_si512(line.0.as_ptr().cast());
            _mm512_popcnt_epi64(_mm512_and_si512(line, code))
        };
        let zero = _mm512_setzero_si512();
        let Some((sign, planes)) = lines.split_first() else {
            return zero;
        };
        let mut sum = _mm512_sub_epi64(zero, ones(sign));
        for line in planes {
            sum = _mm512_add_epi64(_mm512_add_epi64(sum, sum), ones(line));
        }
        sum
    }
}

fn counts_in_registers() -> bool {
    is_x86_feature_detected!("avx512vpopcntdq")
}

pub(super) fn bit_sums(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [f32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [f32]) {
        // SAFETY: this function has the features.
        unsafe { bits::bit_sums::<Counted>(weights, codes, stride, out) }
    }
    if !counts_in_registers() {
        return avx2::bit_sums(weights, codes, stride, out);
    }
    // SAFETY: reached through a detected set only, and the rest was just detected.
    unsafe { run(weights, codes, stride, out) }
}

pub(super) fn bit_sums_gather(
    weights: &BitWeights,
    codes: &[u8],
    stride: usize,
    nodes: &[NodeId],
    out: &mut [f32],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, nodes: &[NodeId], out: &mut [f32]) {
        // SAFETY: this function has the features.
        unsafe { bits::bit_sums_gather::<Counted>(weights, codes, stride, nodes, out) }
    }
    if !counts_in_registers() {
        return avx2::bit_sums_gather(weights, codes, stride, nodes, out);
    }
    // SAFETY: reached through a detected set only, and the rest was just detected.
    unsafe { run(weights, codes, stride, nodes, out) }
}
