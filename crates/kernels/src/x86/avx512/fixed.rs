//! Products with a matrix in fixed point, a line at a time (VNNI).

use std::arch::x86_64::{
    __m512i, _mm256_load_si256, _mm512_cvtepi8_epi16, _mm512_dpwssd_epi32, _mm512_load_si512,
    _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
};

use crate::fixed::{self, FixedMatrix, LINE_COLUMNS, Line, Tile, TileSums};

/// A register of sums for each line of a tile.
struct Registers;

impl Tile for Registers {
    #[inline(always)]
    unsafe fn sums<L: Line, const LINES: usize, const ROWS: usize>(
        lines: &[L],
        pairs: [&[[i16; 2]]; ROWS],
    ) -> [TileSums<LINES>; ROWS] {
        let mut out = [[[0; LINE_COLUMNS]; LINES]; ROWS];
        // SAFETY: the caller vouches for the features; there are as many sums of a line as a
        // register holds.
        unsafe {
            let mut sums = [[_mm512_setzero_si512(); LINES]; ROWS];
            for (at, lines) in lines.chunks_exact(LINES).enumerate() {
                for (number, line) in lines.iter().enumerate() {
                    let line = load(line);
                    for (sums, pairs) in sums.iter_mut().zip(pairs) {
                        let pair = _mm512_set1_epi32(fixed::word(pairs[at]));
                        sums[number] = _mm512_dpwssd_epi32(sums[number], line, pair);
                    }
                }
            }
            for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                _mm512_storeu_si512(out.as_mut_ptr().cast(), *sum);
            }
        }
        out
    }
}

/// A line, widened to 16 bits.
///
/// # Safety
/// The CPU has AVX-512 with bytes and words.
#[inline(always)]
unsafe fn load<L: Line>(line: &L) -> __m512i {
    const { assert!(size_of::<L>() == 64 || size_of::<L>() == 32) };
    let line = std::ptr::from_ref(line);
    // SAFETY: the caller vouches for the features; a line is aligned to its size.
    unsafe {
        if size_of::<L>() == 64 {
            _mm512_load_si512(line.cast())
        } else {
            _mm512_cvtepi8_epi16(_mm256_load_si256(line.cast()))
        }
    }
}

pub(super) fn project_fixed(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn run(matrix: &FixedMatrix, rows: &[f32], out: &mut [f32]) {
        // SAFETY: this function has the features.
        unsafe { fixed::project::<Registers>(matrix, rows, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(matrix, rows, out) }
}
