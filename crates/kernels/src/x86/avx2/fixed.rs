//! Products with a matrix in fixed point, half a line at a time.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_load_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_load_si256,
    _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
};

use crate::fixed::{self, FixedMatrix, LINE_COLUMNS, Line, Tile, TileSums};

/// Columns of a register.
const REGISTER_COLUMNS: usize = 8;

/// Lines of a tile that are summed at once, over all rows: more would not fit the registers.
const MOST_LINES: usize = 4;

/// Two registers of sums for each line of a part of a tile.
struct Registers;

impl Tile for Registers {
    #[inline(always)]
    unsafe fn sums<L: Line, const LINES: usize, const ROWS: usize>(
        lines: &[L],
        pairs: [&[[i16; 2]]; ROWS],
    ) -> [TileSums<LINES>; ROWS] {
        let mut out = [[[0; LINE_COLUMNS]; LINES]; ROWS];
        let most = MOST_LINES / ROWS;
        for first in (0..LINES).step_by(most) {
            // SAFETY: the caller vouches for the features.
            unsafe {
                match most.min(LINES) {
                    4 => sum_lines::<L, LINES, ROWS, 4>((lines, first), pairs, &mut out),
                    2 => sum_lines::<L, LINES, ROWS, 2>((lines, first), pairs, &mut out),
                    _ => sum_lines::<L, LINES, ROWS, 1>((lines, first), pairs, &mut out),
                }
            }
        }
        out
    }
}

/// Sums of `SOME` of the lines of each pair.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn sum_lines<L: Line, const LINES: usize, const ROWS: usize, const SOME: usize>(
    (lines, first): (&[L], usize),
    pairs: [&[[i16; 2]]; ROWS],
    out: &mut [TileSums<LINES>; ROWS],
) {
    // SAFETY: the caller vouches for the features; the sums of a line are two registers.
    unsafe {
        let mut sums = [[[_mm256_setzero_si256(); 2]; SOME]; ROWS];
        for (at, lines) in lines.chunks_exact(LINES).enumerate() {
            for (number, line) in lines[first..first + SOME].iter().enumerate() {
                let halves = load(line);
                for (sums, pairs) in sums.iter_mut().zip(pairs) {
                    let pair = _mm256_set1_epi32(fixed::word(pairs[at]));
                    for (sum, values) in sums[number].iter_mut().zip(halves) {
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(values, pair));
                    }
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (out, sums) in out[first..].iter_mut().zip(sums) {
                let (halves, _) = out.as_chunks_mut::<REGISTER_COLUMNS>();
                for (half, sum) in halves.iter_mut().zip(sums) {
                    _mm256_storeu_si256(half.as_mut_ptr().cast(), sum);
                }
            }
        }
    }
}

/// A line, widened to 16 bits.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load<L: Line>(line: &L) -> [__m256i; 2] {
    const { assert!(size_of::<L>() == 64 || size_of::<L>() == 32) };
    let line = std::ptr::from_ref(line);
    // SAFETY: the caller vouches for the features; a line is two aligned halves.
    unsafe {
        if size_of::<L>() == 64 {
            let half = line.cast::<__m256i>();
            [_mm256_load_si256(half), _mm256_load_si256(half.add(1))]
        } else {
            let half = line.cast::<__m128i>();
            let (low, high) = (_mm_load_si128(half), _mm_load_si128(half.add(1)));
            [_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high)]
        }
    }
}

pub(super) fn project_fixed(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
    #[target_feature(enable = "avx2")]
    fn run(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
        // SAFETY: this function has the features.
        unsafe { fixed::project::<Registers>(matrix, rows, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(matrix, rows, out) }
}
