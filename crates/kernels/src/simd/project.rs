//! Products of a row and a matrix, some columns at a time.
//!
//! Registers hold neighbouring columns, so each column is summed exactly as in the scalar twin:
//! component by component, product rounded before it is added. Same bits, any width.

use super::lanes::FloatLanes;

/// See [`crate::ProjectFn`].
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn project<R: FloatLanes, const BLOCK: usize>(
    row: &[f32],
    matrix: &[f32],
    out: &mut [f32],
) {
    let columns = out.len();
    assert_eq!(
        matrix.len(),
        row.len() * columns,
        "a row of the matrix per component"
    );
    let mut first = 0;
    // SAFETY: the caller vouches for the features; a block begins at `first` and ends within
    // `columns`, which the assertion makes the length of every row of the matrix.
    unsafe {
        while first + BLOCK * R::WIDTH <= columns {
            block::<R, BLOCK>(row, matrix, first, out);
            first += BLOCK * R::WIDTH;
        }
        while first + R::WIDTH <= columns {
            block::<R, 1>(row, matrix, first, out);
            first += R::WIDTH;
        }
    }
    for (column, out) in out.iter_mut().enumerate().skip(first) {
        let components = matrix.iter().skip(column).step_by(columns);
        *out = row
            .iter()
            .zip(components)
            .fold(0.0, |sum, (x, c)| sum + x * c);
    }
}

/// Columns `first..first + BLOCK * WIDTH`, summed in registers.
///
/// # Safety
/// The CPU has the features of `R`; the columns exist, in `out` and in each row of `matrix`.
#[inline(always)]
unsafe fn block<R: FloatLanes, const BLOCK: usize>(
    row: &[f32],
    matrix: &[f32],
    first: usize,
    out: &mut [f32],
) {
    let columns = out.len();
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let mut sums = [R::splat(0.0); BLOCK];
        for (component, &x) in row.iter().enumerate() {
            let x = R::splat(x);
            let values = matrix.as_ptr().add(component * columns + first);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = R::add(*sum, R::mul(x, R::load(values.add(index * R::WIDTH))));
            }
        }
        for (index, sum) in sums.into_iter().enumerate() {
            R::store(out.as_mut_ptr().add(first + index * R::WIDTH), sum);
        }
    }
}
