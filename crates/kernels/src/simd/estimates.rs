//! Estimates of a block of codes, and which of them are near.

use super::lanes::FloatLanes;
use crate::blocks::{self, BLOCK_CODES, BlockFactors, Estimator};

/// See [`crate::BlockEstimatesFn`].
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn block_estimates<R: FloatLanes>(
    estimator: &Estimator,
    factors: BlockFactors<'_>,
    sums: &[i32; BLOCK_CODES],
    limit: f32,
    out: &mut [f32; BLOCK_CODES],
) -> u32 {
    const { assert!(BLOCK_CODES.is_multiple_of(R::WIDTH), "whole registers") }
    blocks::block_estimates(estimator, factors, sums, out);
    let mut above = 0;
    // SAFETY: the caller vouches for the features; the array has `BLOCK_CODES` values.
    unsafe {
        let limit = R::splat(limit);
        for lane in (0..BLOCK_CODES).step_by(R::WIDTH) {
            above |= R::less_lanes(limit, R::load(out.as_ptr().add(lane))) << lane;
        }
    }
    !above
}
