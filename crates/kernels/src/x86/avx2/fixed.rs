//! Products with a matrix in fixed point, half a line at a time.

use std::arch::x86_64::{
    _mm256_add_epi32, _mm256_load_si256, _mm256_madd_epi16, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_storeu_si256,
};

use crate::fixed::{self, FixedMatrix, LINE_COLUMNS, PairLine, Tile, TileSums};

/// Columns of a register.
const REGISTER_COLUMNS: usize = 8;

/// Lines of a tile that are summed at once: more would not fit the registers.
const MOST_LINES: usize = 4;

/// Two registers of sums for each line of a part of a tile.
struct Registers;

impl Tile for Registers {
    #[inline(always)]
    unsafe fn sums<const LINES: usize>(lines: &[PairLine], pairs: &[[i16; 2]]) -> TileSums<LINES> {
        let mut out = [[0; LINE_COLUMNS]; LINES];
        for (part, out) in out.chunks_mut(MOST_LINES).enumerate() {
            let of_pairs = lines.chunks_exact(LINES);
            let lines = of_pairs.map(|lines| &lines[part * MOST_LINES..]);
            // SAFETY: the caller vouches for the features.
            unsafe {
                match out.len() {
                    MOST_LINES => sum_lines::<MOST_LINES>(lines, pairs, out),
                    2 => sum_lines::<2>(lines, pairs, out),
                    _ => sum_lines::<1>(lines, pairs, out),
                }
            }
        }
        out
    }
}

/// Sums of the first `LINES` of the lines of each pair.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn sum_lines<'a, const LINES: usize>(
    lines: impl Iterator<Item = &'a [PairLine]>,
    pairs: &[[i16; 2]],
    out: &mut [[i32; LINE_COLUMNS]],
) {
    // SAFETY: the caller vouches for the features; a line is two registers of aligned bytes, and so
    // are its sums, aligned or not.
    unsafe {
        let mut sums = [[_mm256_setzero_si256(); 2]; LINES];
        for (lines, [x, y]) in lines.zip(pairs) {
            let pair = u32::from(x.cast_unsigned()) | u32::from(y.cast_unsigned()) << 16;
            let pair = _mm256_set1_epi32(pair.cast_signed());
            for (sums, line) in sums.iter_mut().zip(lines) {
                let (halves, _) = line.0.as_chunks::<REGISTER_COLUMNS>();
                for (sum, half) in sums.iter_mut().zip(halves) {
                    let values = _mm256_load_si256(half.as_ptr().cast());
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(values, pair));
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            let (halves, _) = out.as_chunks_mut::<REGISTER_COLUMNS>();
            for (half, sum) in halves.iter_mut().zip(sums) {
                _mm256_storeu_si256(half.as_mut_ptr().cast(), sum);
            }
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
