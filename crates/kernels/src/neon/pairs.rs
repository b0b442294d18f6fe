//! Products of rows of bytes with numbers in two bytes, 16 at a time, multiplied to 16 bits.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddvq_s32, vdupq_n_s32, vget_low_s8, vld1q_s8, vmull_high_s8, vmull_s8,
    vpadalq_s16,
};

use crate::pairs::{self, PairProduct, PairSums};

/// Bytes of a register.
const BYTES: usize = 16;

/// Products in registers of four sums.
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
            let mut sums = [[vdupq_n_s32(0); 2]; ROWS];
            for offset in (0..whole).step_by(BYTES) {
                let high = load(halves[0], offset);
                let low = load(halves[1], offset);
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let row = load(row, offset);
                    sums[0] = add(sums[0], row, high);
                    sums[1] = add(sums[1], row, low);
                }
            }
            let mut out = [[0; 2]; ROWS];
            for (sums, out) in sums.iter().zip(&mut out) {
                *out = [vaddvq_s32(sums[0]), vaddvq_s32(sums[1])];
            }
            pairs::add_rest(halves, rows, whole, &mut out);
            out
        }
    }
}

/// Sixteen bytes of a row.
///
/// # Safety
/// The bytes are in the row.
#[inline(always)]
unsafe fn load(row: &[u8], offset: usize) -> int8x16_t {
    // SAFETY: the caller vouches for the bounds.
    unsafe { vld1q_s8(row.as_ptr().add(offset).cast()) }
}

/// Adds products of bytes, two to each sum.
///
/// # Safety
/// None beyond that of the architecture.
#[inline(always)]
unsafe fn add(sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: every CPU of this architecture has the features.
    unsafe {
        let sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
        vpadalq_s16(sums, vmull_high_s8(a, b))
    }
}

pub(super) fn pair_products(halves: [&[u8]; 2], rows: &[u8], out: &mut [PairSums]) {
    // SAFETY: every CPU of this architecture has the features.
    unsafe { pairs::pair_products::<Multiplied>(halves, rows, out) }
}
