//! Sums of 32 codes by look-ups in registers, 16 at a time: a quarter of a step in one register.

use std::arch::aarch64::{
    uint8x16_t, uint16x8_t, vaddq_s32, vaddw_high_u8, vaddw_u8, vandq_u8, vdupq_n_s32, vdupq_n_u8,
    vdupq_n_u16, vget_low_u8, vget_low_u16, vld1q_s32, vld1q_u8, vmovl_high_u16, vmovl_u16,
    vqtbl1q_u8, vreinterpretq_s32_u32, vshlq_u32, vshrq_n_u8, vst1q_s32,
};

use crate::blocks::{self, BLOCK_CODES, BlockSum, BlockWeights, CHOICES};
use crate::sums::Line;

/// Sums looked up in registers of 16 bytes.
struct LookedUp;

impl BlockSum for LookedUp {
    #[inline(always)]
    unsafe fn add_up(
        (lines, places): (&[Line], &[u32]),
        block: &[u8],
        shift: u32,
        out: &mut [i32; BLOCK_CODES],
    ) {
        // SAFETY: the caller vouches for the bounds; the array is as long as eight registers.
        unsafe {
            let low_bits = vdupq_n_u8(0x0f);
            let mut sums = [vdupq_n_u16(0); 4];
            for (line, place) in lines.iter().zip(places) {
                for offset in (0..line.0.len()).step_by(CHOICES) {
                    let table = vld1q_u8(line.0.as_ptr().add(offset));
                    let bytes = vld1q_u8(block.as_ptr().add(*place as usize + offset));
                    let [a, b, c, d] = sums;
                    let [a, b] = add([a, b], vqtbl1q_u8(table, vandq_u8(bytes, low_bits)));
                    let [c, d] = add([c, d], vqtbl1q_u8(table, vshrq_n_u8::<4>(bytes)));
                    sums = [a, b, c, d];
                }
            }
            let shift = vdupq_n_s32(shift.cast_signed());
            let halves = sums.map(|sums| [vmovl_u16(vget_low_u16(sums)), vmovl_high_u16(sums)]);
            for (sums, out) in halves.into_iter().flatten().zip(out.as_chunks_mut::<4>().0) {
                let sums = vreinterpretq_s32_u32(vshlq_u32(sums, shift));
                vst1q_s32(out.as_mut_ptr(), vaddq_s32(sums, vld1q_s32(out.as_ptr())));
            }
        }
    }
}

/// Adds bytes to their sums.
///
/// # Safety
/// None beyond that of the architecture.
#[inline(always)]
unsafe fn add([lower, upper]: [uint16x8_t; 2], bytes: uint8x16_t) -> [uint16x8_t; 2] {
    // SAFETY: every CPU of this architecture has the features.
    unsafe {
        [
            vaddw_u8(lower, vget_low_u8(bytes)),
            vaddw_high_u8(upper, bytes),
        ]
    }
}

pub(super) fn block_sums(weights: &BlockWeights, block: &[u8], out: &mut [i32; BLOCK_CODES]) {
    // SAFETY: every CPU of this architecture has the features.
    unsafe { blocks::block_sums::<LookedUp>(weights, block, out) }
}
