//! Bits of codes, 64 bytes at a time, counted by the instruction for it where the CPU has one.
//!
//! That instruction (BITALG) came two generations after AVX-512; older CPUs count as AVX2 does. The
//! ones of each byte are multiplied by what their plane counts and added up in one step (VNNI).
//! That factor is a byte, so the upper planes are summed apart, in units of 2^8.
//!
//! Four codes are summed together: they share the lines, and the adding up of lanes at the end. Of
//! a chunk of up to 32 bytes, all of a short code or the end of a long one, a register holds two.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_load_si256, _mm256_maskz_loadu_epi8,
    _mm256_setzero_si256, _mm512_add_epi32, _mm512_and_si512, _mm512_broadcast_i64x4,
    _mm512_castsi256_si512, _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64,
    _mm512_inserti64x4, _mm512_load_si512, _mm512_loadu_si512, _mm512_maskz_loadu_epi8,
    _mm512_popcnt_epi8, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_slli_epi32, _mm512_sub_epi8,
};

use pageway_types::Place;

use crate::bits::{BitWeights, CHUNK_BYTES};
use crate::sums::{self, CodeSum, GROUP, Line};
use crate::x86::avx2;

/// Bytes of half a register.
const HALF_BYTES: usize = 32;

/// Planes that are summed in units of one.
const LOWER: usize = 8;

/// Ones counted in registers of 64 bytes.
struct Counted;

impl CodeSum for Counted {
    type Weights = BitWeights;

    #[inline(always)]
    unsafe fn sum(weights: &BitWeights, code: &[u8]) -> i32 {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let mut sums = Sums::<1>::new();
            for (lines, code) in weights.chunks(code) {
                sums.add_chunk::<false>(lines, [load(code)]);
            }
            let [sum] = sums.lanes();
            _mm512_reduce_add_epi32(sum)
        }
    }

    #[inline(always)]
    unsafe fn group(weights: &BitWeights, codes: [&[u8]; GROUP]) -> [i32; GROUP] {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let mut wide = Sums::<GROUP>::new();
            let mut narrow = Sums::<{ GROUP / 2 }>::new();
            let mut at = 0;
            for lines in weights.lines() {
                let bytes = at..weights.code_bytes().min(at + CHUNK_BYTES);
                at = bytes.end;
                let [a, b, c, d] = codes.map(|code| &code[bytes.clone()]);
                if bytes.len() <= HALF_BYTES {
                    let codes = [load_two(a, b), load_two(c, d)];
                    narrow.add_chunk::<true>(lines, codes);
                } else {
                    let codes = [load(a), load(b), load(c), load(d)];
                    wide.add_chunk::<false>(lines, codes);
                }
            }
            let ([a, b, c, d], [ab, cd]) = (wide.lanes(), narrow.lanes());
            let (a, b) = (quarter(a, lower(ab)), quarter(b, upper(ab)));
            let (c, d) = (quarter(c, lower(cd)), quarter(d, upper(cd)));
            across([a, b, c, d])
        }
    }
}

/// Weights of some codes, summed up to lanes.
struct Sums<const REGISTERS: usize> {
    upper: [__m512i; REGISTERS],
    lower: [__m512i; REGISTERS],
}

impl<const REGISTERS: usize> Sums<REGISTERS> {
    /// # Safety
    /// The CPU has AVX-512 F.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm512_setzero_si512() };
        Self {
            upper: [zero; REGISTERS],
            lower: [zero; REGISTERS],
        }
    }

    /// Adds one chunk of each code, or of two in halves of a register.
    ///
    /// # Safety
    /// The CPU has AVX-512 BW, VNNI and BITALG.
    #[inline(always)]
    unsafe fn add_chunk<const HALF: bool>(&mut self, lines: &[Line], codes: [__m512i; REGISTERS]) {
        let (sign, planes) = lines.split_at(1);
        let (high, low) = planes.split_at(planes.len().saturating_sub(LOWER));
        // SAFETY: the caller vouches for the features.
        unsafe {
            if planes.len() < LOWER {
                add::<REGISTERS, HALF, true>(sign, planes.len(), codes, &mut self.lower);
            } else {
                add::<REGISTERS, HALF, true>(sign, high.len(), codes, &mut self.upper);
            }
            add::<REGISTERS, HALF, false>(high, high.len(), codes, &mut self.upper);
            add::<REGISTERS, HALF, false>(low, low.len(), codes, &mut self.lower);
        }
    }

    /// The sums of upper and lower planes together.
    ///
    /// # Safety
    /// The CPU has AVX-512 F.
    #[inline(always)]
    unsafe fn lanes(self) -> [__m512i; REGISTERS] {
        let mut lanes = self.lower;
        for (lanes, upper) in lanes.iter_mut().zip(self.upper) {
            // SAFETY: the caller vouches for the features.
            *lanes = unsafe { _mm512_add_epi32(_mm512_slli_epi32::<8>(upper), *lanes) };
        }
        lanes
    }
}

/// Adds the ones of some lines; they count `2^bits` as a sign, and fall from `2^(bits - 1)` else.
///
/// # Safety
/// The CPU has AVX-512 BW, VNNI and BITALG.
#[inline(always)]
unsafe fn add<const REGISTERS: usize, const HALF: bool, const SIGN: bool>(
    lines: &[Line],
    bits: usize,
    codes: [__m512i; REGISTERS],
    sums: &mut [__m512i; REGISTERS],
) {
    // SAFETY: the caller vouches for the features; a line is 64 aligned bytes.
    unsafe {
        for (plane, line) in lines.iter().enumerate() {
            let bit = if SIGN { bits } else { bits - 1 - plane };
            let factor = _mm512_set1_epi8((1_u8 << bit).cast_signed());
            let line = if HALF {
                _mm512_broadcast_i64x4(_mm256_load_si256(line.0.as_ptr().cast()))
            } else {
                _mm512_load_si512(line.0.as_ptr().cast())
            };
            for (code, sum) in codes.iter().zip(&mut *sums) {
                let ones = _mm512_popcnt_epi8(_mm512_and_si512(line, *code));
                let counts = if SIGN {
                    _mm512_sub_epi8(_mm512_setzero_si512(), ones)
                } else {
                    ones
                };
                *sum = _mm512_dpbusd_epi32(*sum, factor, counts);
            }
        }
    }
}

/// The lower half of a register.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn lower(lanes: __m512i) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe { _mm512_castsi512_si256(lanes) }
}

/// The upper half of a register.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn upper(lanes: __m512i) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe { _mm512_extracti64x4_epi64::<1>(lanes) }
}

/// The lanes of a register and of half of one, added up to four.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn quarter(lanes: __m512i, half: __m256i) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let both = _mm256_add_epi32(lower(lanes), upper(lanes));
        let eight = _mm256_add_epi32(both, half);
        let upper = _mm256_extracti128_si256::<1>(eight);
        _mm_add_epi32(_mm256_castsi256_si128(eight), upper)
    }
}

/// All lanes of each of four registers added up.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
pub(super) unsafe fn add_up(lanes: [__m512i; GROUP]) -> [i32; GROUP] {
    let [a, b, c, d] = lanes;
    // SAFETY: the caller vouches for the features.
    unsafe {
        let none = _mm256_setzero_si256();
        across([
            quarter(a, none),
            quarter(b, none),
            quarter(c, none),
            quarter(d, none),
        ])
    }
}

/// The lanes of each of four registers of four lanes added up.
///
/// # Safety
/// The CPU has SSE2.
#[inline(always)]
unsafe fn across([a, b, c, d]: [__m128i; GROUP]) -> [i32; GROUP] {
    // SAFETY: the caller vouches for the features; a register holds as many bytes as the array.
    unsafe {
        let (ab, cd) = (pair(a, b), pair(c, d));
        let sums = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
        let mut out = [0; GROUP];
        _mm_storeu_si128(out.as_mut_ptr().cast(), sums);
        out
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

/// Loads up to 32 bytes of each of two codes, and zero behind them.
///
/// # Safety
/// The CPU has AVX-512 BW and VL.
#[inline(always)]
unsafe fn load_two(a: &[u8], b: &[u8]) -> __m512i {
    let mask = |code: &[u8]| ((1_u64 << code.len()) - 1) as u32;
    // SAFETY: the caller vouches for the features; masked lanes are not read.
    unsafe {
        let lower = _mm256_maskz_loadu_epi8(mask(a), a.as_ptr().cast());
        let upper = _mm256_maskz_loadu_epi8(mask(b), b.as_ptr().cast());
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(lower), upper)
    }
}

/// Loads up to 64 bytes, and zero behind them.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
pub(super) unsafe fn load(code: &[u8]) -> __m512i {
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
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx512bitalg")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums::<Counted>(weights, codes, stride, out) }
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
    places: &[Place],
    out: &mut [i32],
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx512bitalg")]
    fn run(weights: &BitWeights, codes: &[u8], stride: usize, places: &[Place], out: &mut [i32]) {
        // SAFETY: this function has the features.
        unsafe { sums::sums_gather::<Counted>(weights, codes, stride, places, out) }
    }
    if !counts_in_registers() {
        return avx2::bit_sums_gather(weights, codes, stride, places, out);
    }
    // SAFETY: reached through a detected set only, and the rest was just detected.
    unsafe { run(weights, codes, stride, places, out) }
}
