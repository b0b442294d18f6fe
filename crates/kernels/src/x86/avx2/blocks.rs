//! Sums of 32 codes by look-ups in registers, 64 at a time: half a step in one register, its lanes
//! one for each table.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi16, _mm_cvtsi32_si128, _mm_slli_epi16, _mm_sub_epi16,
    _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_cvtepu16_epi32, _mm256_extracti128_si256, _mm256_load_si256,
    _mm256_loadu_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sll_epi32, _mm256_srli_epi16, _mm256_storeu_si256,
};

use crate::blocks::{self, BLOCK_CODES, BlockSum, BlockWeights};
use crate::sums::Line;

/// Bytes of a register.
const BYTES: usize = 32;

/// Sums looked up in registers of 32 bytes.
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
            let low_bits = _mm256_set1_epi8(0x0f);
            let mut sums = [Sums::new(); 2];
            for (line, place) in lines.iter().zip(places) {
                for offset in [0, BYTES] {
                    let table = _mm256_load_si256(line.0.as_ptr().add(offset).cast());
                    let address = block.as_ptr().add(*place as usize + offset);
                    let bytes = _mm256_loadu_si256(address.cast());
                    let first = _mm256_and_si256(bytes, low_bits);
                    let second = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits);
                    sums[0].add(_mm256_shuffle_epi8(table, first));
                    sums[1].add(_mm256_shuffle_epi8(table, second));
                }
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
    pairs: __m256i,
    /// Of their upper bytes.
    odd: __m256i,
}

impl Sums {
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller vouches for the features.
        let zero = unsafe { _mm256_setzero_si256() };
        Self {
            pairs: zero,
            odd: zero,
        }
    }

    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn add(&mut self, bytes: __m256i) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            self.pairs = _mm256_add_epi16(self.pairs, bytes);
            self.odd = _mm256_add_epi16(self.odd, _mm256_srli_epi16::<8>(bytes));
        }
    }

    /// Adds the sums over both tables of a register, by byte, times `2^shift`.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn add_to(self, shift: u32, out: &mut [i32; 16]) {
        // SAFETY: the caller vouches for the features; two registers are as long as the array.
        unsafe {
            let (pairs, odd) = (half(self.pairs), half(self.odd));
            let even = _mm_sub_epi16(pairs, _mm_slli_epi16::<8>(odd));
            let shift = _mm_cvtsi32_si128(shift.cast_signed());
            let sums = [_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd)];
            for (sums, out) in sums.into_iter().zip(out.as_chunks_mut::<8>().0) {
                let sums = _mm256_sll_epi32(_mm256_cvtepu16_epi32(sums), shift);
                let address: *mut __m256i = out.as_mut_ptr().cast();
                _mm256_storeu_si256(address, _mm256_add_epi32(sums, _mm256_loadu_si256(address)));
            }
        }
    }
}

/// The two lanes of 16 bytes added up.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn half(lanes: __m256i) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let upper = _mm256_extracti128_si256::<1>(lanes);
        _mm_add_epi16(_mm256_castsi256_si128(lanes), upper)
    }
}

pub(super) fn block_sums(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
    #[target_feature(enable = "avx2")]
    fn run(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
        // SAFETY: this function has the features.
        unsafe { blocks::block_sums::<LookedUp>(weights, block, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(weights, block, out) }
}
