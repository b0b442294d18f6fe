//! Products with a matrix in fixed point, half a line at a time.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_load_si128, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_load_si256,
    _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
};

use crate::fixed::{self, FixedMatrix, LINE_COLUMNS, Line, Tile, TileSums};

/// Columns of a register.
const REGISTER_COLUMNS: usize = 8;

/// Lines of a tile that are summed at once: more would not fit the registers.
const MOST_LINES: usize = 4;

/// Two registers of sums for each line of a part of a tile.
struct Registers;

impl Tile for Registers {
    #[inline(always)]
    unsafe fn sums<L: Line, const LINES: usize>(
        lines: &[L],
        pairs: &[[i16; 2]],
    ) -> TileSums<LINES> {
        let mut out = [[0; LINE_COLUMNS]; LINES];
        for (part, out) in out.chunks_mut(MOST_LINES).enumerate() {
            let of_pairs = lines.chunks_exact(LINES);
            let lines = of_pairs.map(|lines| &lines[part * MOST_LINES..]);
            // SAFETY: the caller vouches for the features.
            unsafe {
                match out.len() {
                    MOST_LINES => sum_lines::<L, MOST_LINES>(lines, pairs, out),
                    2 => sum_lines::<L, 2>(lines, pairs, out),
                    _ => sum_lines::<L, 1>(lines, pairs, out),
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
unsafe fn sum_lines<'a, L: Line + 'a, const LINES: usize>(
    lines: impl Iterator<Item = &'a [L]>,
    pairs: &[[i16; 2]],
    out: &mut [[i32; LINE_COLUMNS]],
) {
    // SAFETY: the caller vouches for the features; the sums of a line are two registers.
    unsafe {
        let mut sums = [[_mm256_setzero_si256(); 2]; LINES];
        for (lines, [x, y]) in lines.zip(pairs) {
            let pair = u32::from(x.cast_unsigned()) | u32::from(y.cast_unsigned()) << 16;
            let pair = _mm256_set1_epi32(pair.cast_signed());
            for (sums, line) in sums.iter_mut().zip(lines) {
                for (sum, values) in sums.iter_mut().zip(load(line)) {
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
            [half, half.add(1)].map(|half| _mm256_load_si256(half))
        } else {
            let half = line.cast::<__m128i>();
            [half, half.add(1)].map(|half| _mm256_cvtepi8_epi16(_mm_load_si128(half)))
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
