//! Bits of codes, 64 bytes at a time, counted by the instruction for it where the CPU has one.
//!
//! That instruction (BITALG) came two generations after AVX-512; older CPUs count as AVX2 does. The
//! ones of each byte are multiplied by what their plane counts and added up in one step (VNNI).
//! That factor is a byte, so the upper planes are summed apart, in units of 2^8.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_add_epi32, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm512_add_epi32, _mm512_and_si512, _mm512_castsi512_si256,
    _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_load_si512, _mm512_loadu_si512,
    _mm512_maskz_loadu_epi8, _mm512_popcnt_epi8, _mm512_reduce_add_epi32, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_slli_epi32, _mm512_sub_epi8,
};

use pageway_types::NodeId;

use crate::bits::{self, BitSum, BitWeights, CHUNK_BYTES, GROUP, Line};
use crate::x86::avx2;

/// Planes that are summed in units of one.
const LOWER: usize = 8;

/// Ones counted in registers of 64 bytes.
struct Counted;

impl BitSum for Counted {
    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let [sum] = lane_sums(weights, [code]);
            _mm512_reduce_add_epi32(sum)
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &BitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features; a register holds as many bytes as the array.
        unsafe {
            let [a, b, c, d] = lane_sums(weights, codes);
            let (ab, cd) = (pair(quarter(a), quarter(b)), pair(quarter(c), quarter(d)));
            let sums = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
            let mut out = [0; GROUP];
            _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
            out
        }
    }
}

/// The weights of some codes, which use each line together; lanes are still to be added.
///
/// # Safety
/// The CPU has AVX-512 BW, VNNI and BITALG.
#[inline(always)]
unsafe fn lane_sums<const CODES: usize>(
    weights: &BitWeights,
    codes: [&[u8]; CODES],
) -> [__m512i; CODES] {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let zero = _mm512_setzero_si512();
        let (mut upper, mut lower) = ([zero; CODES], [zero; CODES]);
        let length = weights.code_bytes();
        for (chunk, lines) in weights.lines().enumerate() {
            let bytes = chunk * CHUNK_BYTES..length.min((chunk + 1) * CHUNK_BYTES);
            let mut loaded = [zero; CODES];
            for (loaded, code) in loaded.iter_mut().zip(codes) {
                *loaded = load(&code[bytes.clone()]);
            }
            let (sign, planes) = lines.split_at(1);
            let (high, low) = planes.split_at(planes.len().saturating_sub(LOWER));
            let signs = if planes.len() < LOWER {
                &mut lower
            } else {
                &mut upper
            };
            add::<CODES, true>(sign, planes.len() % LOWER, loaded, signs);
            add::<CODES, false>(high, high.len(), loaded, &mut upper);
            add::<CODES, false>(low, low.len(), loaded, &mut lower);
        }
        for (lower, upper) in lower.iter_mut().zip(upper) {
            *lower = _mm512_add_epi32(_mm512_slli_epi32::<8>(upper), *lower);
        }
        lower
    }
}

/// Adds the ones of some lines, the last of which counts `2^(bits - lines)`; negated on demand.
///
/// # Safety
/// The CPU has AVX-512 BW, VNNI and BITALG.
#[inline(always)]
unsafe fn add<const CODES: usize, const NEGATED: bool>(
    lines: &[Line],
    bits: usize,
    codes: [__m512i; CODES],
    sums: &mut [__m512i; CODES],
) {
    // SAFETY: the caller vouches for the features; a line is 64 aligned bytes.
    unsafe {
        for (plane, line) in lines.iter().enumerate() {
            let bit = if NEGATED { bits } else { bits - 1 - plane };
            let factor = _mm512_set1_epi8((1_u8 << bit).cast_signed());
            let line = _mm512_load_si512(line.0.as_ptr().cast());
            for (code, sum) in codes.iter().zip(&mut *sums) {
                let ones = _mm512_popcnt_epi8(_mm512_and_si512(line, *code));
                let counts = if NEGATED {
                    _mm512_sub_epi8(_mm512_setzero_si512(), ones)
                } else {
                    ones
                };
                *sum = _mm512_dpbusd_epi32(*sum, factor, counts);
            }
        }
    }
}

/// The lanes of a register added up to four.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn quarter(lanes: __m512i) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let upper = _mm512_extracti64x4_epi64::<1>(lanes);
        let eight = _mm256_add_epi32(_mm512_castsi512_si256(lanes), upper);
        let upper = _mm256_extracti128_si256::<1>(eight);
        _mm_add_epi32(_mm256_castsi256_si128(eight), upper)
    }
}

/// Lanes 0 and 2 of each of two registers added, then lanes 1 and 3: `a0 b0 a1 b1`.
///
/// # Safety
/// The CPU has SSE2.
#[inline(always)]
unsafe fn pair(a: __m128i, b: __m128i) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe { _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)) }
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

fn counts_in_registers() -> bool {
    is_x86_feature_detected!("avx512bitalg")
}

pub(super) fn bit_sums(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512bitalg")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
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
    out: &mut [i32],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512bitalg")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, nodes: &[NodeId], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { bits::bit_sums_gather::<Counted>(weights, codes, stride, nodes, out) }
    }
    if !counts_in_registers() {
        return avx2::bit_sums_gather(weights, codes, stride, nodes, out);
    }
    // SAFETY: reached through a detected set only, and the rest was just detected.
    unsafe { run(weights, codes, stride, nodes, out) }
}
