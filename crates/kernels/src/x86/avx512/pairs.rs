//! Products of rows of bytes with numbers in two bytes, 64 at a time (VNNI).
//!
//! `vpdpbusd` multiplies unsigned by signed bytes: those of rows are taken 128 larger, by a flip of
//! their top bit. That is 128 times the sum of the numbers too much, whatever the row.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm256_add_epi32, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm512_add_epi32, _mm512_castsi512_si256, _mm512_dpbusd_epi32,
    _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use crate::pairs::{self, PairProduct, PairSums};

/// Bytes of a register.
const BYTES: usize = 64;

/// Products in registers of 16 sums.
struct Multiplied;

impl PairProduct for Multiplied {
    #[inline(always)]
    unsafe fn excess(halves: [&[u8]; 2]) -> PairSums {
        let mut out = [0_i32; 2];
        for (half, out) in halves.into_iter().zip(&mut out) {
            let sum: i32 = half.iter().map(|byte| i32::from(*byte as i8)).sum();
            *out = sum.wrapping_mul(128);
        }
        out
    }

    #[inline(always)]
    unsafe fn products<const ROWS: usize>(
        halves: [&[u8]; 2],
        rows: [&[u8]; ROWS],
        excess: PairSums,
    ) -> [PairSums; ROWS] {
        let length = halves[0].len();
        // SAFETY: the caller vouches for features and lengths; masked bytes are not read.
        unsafe {
            let flip = _mm512_set1_epi8(i8::MIN);
            let mut sums = [[_mm512_setzero_si512(); 2]; ROWS];
            for offset in (0..length).step_by(BYTES) {
                let left = length - offset;
                let mask = if left < BYTES {
                    (1 << left) - 1
                } else {
                    u64::MAX
                };
                let high = load(halves[0], offset, mask);
                let low = load(halves[1], offset, mask);
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let row = _mm512_xor_si512(load(row, offset, mask), flip);
                    sums[0] = _mm512_dpbusd_epi32(sums[0], row, high);
                    sums[1] = _mm512_dpbusd_epi32(sums[1], row, low);
                }
            }
            let mut out = [[0; 2]; ROWS];
            for (sums, out) in sums.chunks(2).zip(out.chunks_mut(2)) {
                let [a, b] = sums[0];
                let [c, d] = sums[sums.len() - 1];
                let mut four: [PairSums; 2] = [[0; 2]; 2];
                _mm_storeu_si128(four.as_mut_ptr().cast(), totals([a, b, c, d]));
                for (out, sums) in out.iter_mut().zip(four) {
                    *out = [0, 1].map(|half| sums[half].wrapping_sub(excess[half]));
                }
            }
            out
        }
    }
}

/// Bytes of a row, and zero where the mask leaves them out.
///
/// # Safety
/// The CPU has AVX-512 BW; the bytes that the mask names are in the row.
#[inline(always)]
unsafe fn load(row: &[u8], offset: usize, mask: u64) -> __m512i {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let address = row.as_ptr().add(offset);
        if mask == u64::MAX {
            _mm512_loadu_si512(address.cast())
        } else {
            _mm512_maskz_loadu_epi8(mask, address.cast())
        }
    }
}

/// The sums over all lanes of four registers.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn totals([a, b, c, d]: [__m512i; 4]) -> __m128i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        let (lower, upper) = (_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
        let all = _mm512_add_epi32(lower, upper);
        let upper = _mm512_extracti64x4_epi64::<1>(all);
        let half = _mm256_add_epi32(_mm512_castsi512_si256(all), upper);
        let upper = _mm256_extracti128_si256::<1>(half);
        _mm_add_epi32(_mm256_castsi256_si128(half), upper)
    }
}

pub(super) fn pair_products(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn run(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
        // SAFETY: this function has the features.
        unsafe { pairs::pair_products::<Multiplied>(halves, rows, out) }
    }
    // SAFETY: reached through a detected set only.
    unsafe { run(halves, rows, out) }
}
