//! Products of rows of bytes with numbers in two bytes, 16 at a time, widened to 16 bits.

use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_loadu_si128, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256, _mm256_hadd_epi32,
    _mm256_madd_epi16, _mm256_setzero_si256,
};

use crate::pairs::{self, PairProduct, PairSums};

/// Bytes that fill a register once they are widened.
const BYTES: usize = 16;

/// Products in registers of 8 sums.
struct Multiplied;

impl PairProduct for Multiplied {
    #[inline(always)]
    unsafe fn excess(_halves: [&[u8]; 2]) -> PairSums {
        [0; 2]
    }

    #[inline(always)]
    unsafe fn products<const ROWS: usize>(
        halves: [&[u8]; 2],
        rows: [&[u8]; ROWS],
        _excess: PairSums,
    ) -> [PairSums; ROWS] {
        let whole = halves[0].len() / BYTES * BYTES;
        // SAFETY: the caller vouches for features and lengths.
        unsafe {
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for offset in (0..whole).step_by(BYTES) {
                let high = load(halves[0], offset);
                let low = load(halves[1], offset);
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let row = load(row, offset);
                    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(row, high));
                    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(row, low));
                }
            }
            let mut out = [[0; 2]; ROWS];
            for (sums, out) in sums.chunks(2).zip(out.chunks_mut(2)) {
                let [a, b] = sums[0];
                let [c, d] = sums[sums.len() - 1];
                let all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
                let upper = _mm256_extracti128_si256::<1>(all);
                let mut four = [[0; 2]; 2];
                let totals = _mm_add_epi32(_mm256_castsi256_si128(all), upper);
                _mm_storeu_si128(four.as_mut_ptr().cast(), totals);
                for (out, four) in out.iter_mut().zip(four) {
                    *out = four;
                }
            }
            pairs::add_rest(halves, rows, whole, &mut out);
            out
        }
    }
}

/// Sixteen bytes of a row as numbers of 16 bits.
///
/// # Safety
/// The CPU has AVX2; the bytes are in the row.
#[inline(always)]
unsafe fn load(row: &[u8], offset: usize) -> __m256i {
    // SAFETY: the caller vouches for features and bounds.
    unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(row.as_ptr().add(offset).cast())) }
}

pub(super) fn pair_products(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
    #[target_feature(enable = "avx2")]
    fn run(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
        // SAFETY: this function has the features.
        unsafe { pairs::pair_products::<Multiplied>(halves, rows, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(halves, rows, out) }
}
