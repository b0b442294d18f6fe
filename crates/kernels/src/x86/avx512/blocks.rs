//! Sums of 32 codes by look-ups in registers, 128 at a time: a step in one register, its lanes one
//! for each table.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi16, _mm_cvtsi32_si128, _mm_slli_epi16, _mm_sub_epi16,
    _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_add_epi16, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_set_m128i, _mm512_add_epi16, _mm512_add_epi32,
    _mm512_and_si512, _mm512_castsi512_si256, _mm512_cvtepu16_epi32, _mm512_extracti64x4_epi64,
    _mm512_load_si512, _mm512_loadu_si512, _mm512_set1_epi8, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_sll_epi32, _mm512_srli_epi16, _mm512_storeu_si512,
};

use crate::blocks::{self, BLOCK_CODES, BlockSum, BlockWeights};
use crate::sums::Line;

/// Sums looked up in registers of 64 bytes.
struct LookedUp;

impl BlockSum for LookedUp {
    #[inline(always)]
    unsafe fn add_up(
        (lines, places): (&[Line], &[u32]),
        block: &[u8],
        shift: u32,
        out: &mut [i32; BLOCK_CODES],
    ) {
        // SAFETY: the caller vouches for features and bounds; a line is 64 aligned bytes.
        unsafe {
            let low_bits = _mm512_set1_epi8(0x0f);
            let mut sums = [Sums::new(); 2];
            for (line, place) in lines.iter().zip(places) {
                let table = _mm512_load_si512(line.0.as_ptr().cast());
                let bytes = _mm512_loadu_si512(block.as_ptr().add(*place as usize).cast());
                let first = _mm512_and_si512(bytes, low_bits);
                let second = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low_bits);
                sums[0].add(_mm512_shuffle_epi8(table, first));
                sums[1].add(_mm512_shuffle_epi8(table, second));
            }
            for (sums, out) in sums.into_iter().zip(out.as_chunks_mut::<16>().0) {
                sums.add_to(shift, out);
            }
        }
    }
}

/// Sums of bytes, modulo 2^16, in lanes of two bytes.
#[derive(Clone, Copy)]
struct Sums {
    /// Of pairs of bytes as numbers of 16 bits.
    pairs: __m512i,
    /// Of their upper bytes.
    odd: __m512i,
}

impl Sums {
    /// # Safety
    /// The CPU has AVX-512 F.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm512_setzero_si512() };
        Self {
            pairs: zero,
            odd: zero,
        }
    }

    /// # Safety
    /// The CPU has AVX-512 BW.
    #[inline(always)]
    unsafe fn add(&mut self, bytes: __m512i) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            self.pairs = _mm512_add_epi16(self.pairs, bytes);
            self.odd = _mm512_add_epi16(self.odd, _mm512_srli_epi16::<8>(bytes));
        }
    }

    /// Adds the sums over all tables, by byte, times `2^shift`.
    ///
    /// # Safety
    /// The CPU has AVX-512 F.
    #[inline(always)]
    unsafe fn add_to(self, shift: u32, out: &mut [i32; 16]) {
        // SAFETY: the caller vouches for the features; a register is as long as the array.
        unsafe {
            let (pairs, odd) = (quarter(self.pairs), quarter(self.odd));
            let even = _mm_sub_epi16(pairs, _mm_slli_epi16::<8>(odd));
            let (lower, upper) = (_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd));
            let sums = _mm512_cvtepu16_epi32(_mm256_set_m128i(upper, lower));
            let sums = _mm512_sll_epi32(sums, _mm_cvtsi32_si128(shift.cast_signed()));
            let address: *mut __m512i = out.as_mut_ptr().cast();
            _mm512_storeu_si512(address, _mm512_add_epi32(sums, _mm512_loadu_si512(address)));
        }
    }
}

/// The four lanes of 16 bytes added up.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn quarter(lanes: __m512i) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let upper: __m256i = _mm512_extracti64x4_epi64::<1>(lanes);
        let half = _mm256_add_epi16(_mm512_castsi512_si256(lanes), upper);
        let upper = _mm256_extracti128_si256::<1>(half);
        _mm_add_epi16(_mm256_castsi256_si128(half), upper)
    }
}

pub(super) fn block_sums(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn run(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
        // SAFETY: this function has the features.
        unsafe { blocks::block_sums::<LookedUp>(weights, block, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, block, out) }
}
