//! Measures between a sub-vector and the 256 centroids of its sub-space.
//!
//! Registers hold neighbouring centroids, so each centroid is summed exactly as in the scalar
//! twin: component by component, product rounded before it is added. Same bits, any width.

use super::lanes::FloatLanes;

/// Centroids of one sub-space.
const CENTROIDS: usize = 256;

/// The term that one component adds.
///
/// # Safety
/// The CPU has the features of `R`.
pub(crate) trait Term<R: FloatLanes> {
    unsafe fn term(x: R::Register, centroids: R::Register) -> R::Register;
}

/// `(x - c)^2`
pub(crate) struct SquaredDifference;
/// `x * c`
pub(crate) struct Product;

impl<R: FloatLanes> Term<R> for SquaredDifference {
    #[inline(always)]
    unsafe fn term(x: R::Register, centroids: R::Register) -> R::Register {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let difference = R::sub(x, centroids);
            R::mul(difference, difference)
        }
    }
}

impl<R: FloatLanes> Term<R> for Product {
    #[inline(always)]
    unsafe fn term(x: R::Register, centroids: R::Register) -> R::Register {
        // SAFETY: the caller vouches for the features.
        unsafe { R::mul(x, centroids) }
    }
}

/// Fills `out` with a measure of `sub` and every centroid; `BLOCK` registers at a time.
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn measure_256<R: FloatLanes, T: Term<R>, const BLOCK: usize>(
    sub: &[f32],
    centroids: &[f32],
    out: &mut [f32; CENTROIDS],
) {
    check::<R, BLOCK>(sub, centroids);
    for block in 0..CENTROIDS / (BLOCK * R::WIDTH) {
        let first = block * BLOCK * R::WIDTH;
        // SAFETY: the caller vouches for the features; `check` and the range bound all accesses.
        unsafe {
            let sums = sum_block::<R, T, BLOCK>(sub, centroids, first);
            for (index, sum) in sums.into_iter().enumerate() {
                R::store(out.as_mut_ptr().add(first + index * R::WIDTH), sum);
            }
        }
    }
}

/// The nearest centroid and its squared distance; the lowest index wins ties.
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn nearest_of_256<R: FloatLanes, const BLOCK: usize>(
    sub: &[f32],
    centroids: &[f32],
) -> (u8, f32) {
    check::<R, BLOCK>(sub, centroids);
    let mut nearest = (0, f32::INFINITY);
    for block in 0..CENTROIDS / (BLOCK * R::WIDTH) {
        let first = block * BLOCK * R::WIDTH;
        // SAFETY: the caller vouches for the features; `check` and the range bound all accesses.
        unsafe {
            let sums = sum_block::<R, SquaredDifference, BLOCK>(sub, centroids, first);
            let smallest = smallest::<R, BLOCK>(sums);
            if smallest < nearest.1 {
                nearest = (first + first_equal::<R, BLOCK>(sums, smallest), smallest);
            }
        }
    }
    (nearest.0 as u8, nearest.1)
}

/// Bounds every access of the loops above.
#[inline(always)]
fn check<R: FloatLanes, const BLOCK: usize>(sub: &[f32], centroids: &[f32]) {
    const { assert!(CENTROIDS.is_multiple_of(BLOCK * R::WIDTH), "whole blocks") }
    assert_eq!(
        centroids.len(),
        sub.len() * CENTROIDS,
        "one row of centroids per component"
    );
}

/// Sums of the `BLOCK * WIDTH` centroids from `first` on, kept in registers throughout.
///
/// # Safety
/// The CPU has the features of `R`; `check` holds and the block ends within `CENTROIDS`.
#[inline(always)]
unsafe fn sum_block<R: FloatLanes, T: Term<R>, const BLOCK: usize>(
    sub: &[f32],
    centroids: &[f32],
    first: usize,
) -> [R::Register; BLOCK] {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let mut sums = [R::splat(0.0); BLOCK];
        for (component, &x) in sub.iter().enumerate() {
            let x = R::splat(x);
            let row = centroids.as_ptr().add(component * CENTROIDS + first);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = R::add(*sum, T::term(x, R::load(row.add(index * R::WIDTH))));
            }
        }
        sums
    }
}

/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
unsafe fn smallest<R: FloatLanes, const BLOCK: usize>(sums: [R::Register; BLOCK]) -> f32 {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let mut smallest = sums[0];
        for sum in sums {
            smallest = R::min(smallest, sum);
        }
        R::minimum(smallest)
    }
}

/// Position of the first value equal to `wanted`, which is present.
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
unsafe fn first_equal<R: FloatLanes, const BLOCK: usize>(
    sums: [R::Register; BLOCK],
    wanted: f32,
) -> usize {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let wanted = R::splat(wanted);
        for (index, sum) in sums.into_iter().enumerate() {
            let equal = R::equal_lanes(sum, wanted);
            if equal != 0 {
                return index * R::WIDTH + equal.trailing_zeros() as usize;
            }
        }
    }
    0
}
