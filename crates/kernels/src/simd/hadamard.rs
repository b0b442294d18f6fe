//! The Walsh-Hadamard transform: the first stages within registers, the others between them.
//!
//! Stages follow each other as in the scalar twin, and each of them rounds the same two-term sums:
//! the same bits, any width.

use super::lanes::FloatLanes;
use crate::scalar;

/// See [`crate::HadamardFn`].
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn hadamard<R: FloatLanes>(values: &mut [f32]) {
    let length = values.len();
    if !length.is_power_of_two() || length < R::WIDTH {
        scalar::hadamard(values);
        return;
    }
    let first = values.as_mut_ptr();
    // SAFETY: the caller vouches for the features; the length is a multiple of the width and of
    // twice every distance.
    unsafe {
        for at in (0..length).step_by(R::WIDTH) {
            R::store(first.add(at), R::butterflies(R::load(first.add(at))));
        }
        let mut half = R::WIDTH;
        while half < length {
            for block in (0..length).step_by(2 * half) {
                for at in (block..block + half).step_by(R::WIDTH) {
                    let (a, b) = (R::load(first.add(at)), R::load(first.add(at + half)));
                    R::store(first.add(at), R::add(a, b));
                    R::store(first.add(at + half), R::sub(a, b));
                }
            }
            half *= 2;
        }
    }
}
