//! Inner products of many rows with many others: a matrix product in registers.
//!
//! A tile of some rows and one panel is summed at a time, all of its sums in registers. Every sum
//! adds the components in their order by fused multiply-add, so its bits depend neither on the
//! place of a row nor on the width of a register, and `<a, b>` has the bits of `<b, a>`.

use super::lanes::FloatLanes;
use crate::panel::{PANEL_ROWS, product_shape};

/// See [`crate::DotPanelsFn`]. Tiles have `ROWS` rows; a panel has `REGISTERS` registers.
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn dot_panels<R: FloatLanes, const ROWS: usize, const REGISTERS: usize>(
    rows: &[f32],
    panels: &[f32],
    dimension: usize,
    out: &mut [f32],
) {
    const { assert!(REGISTERS * R::WIDTH == PANEL_ROWS, "a panel in registers") }
    let (count, width) = product_shape(rows, panels, dimension, out);
    let whole = count - count % ROWS;
    for (at, panel) in panels.chunks_exact(PANEL_ROWS * dimension).enumerate() {
        // SAFETY: the caller vouches for the features; `product_shape` bounds all accesses.
        unsafe {
            for row in (0..whole).step_by(ROWS) {
                let sums = tile::<R, ROWS, REGISTERS>(&rows[row * dimension..], panel, dimension);
                store::<R, ROWS, REGISTERS>(sums, &mut out[row * width + at * PANEL_ROWS..], width);
            }
            for row in whole..count {
                let sums = tile::<R, 1, REGISTERS>(&rows[row * dimension..], panel, dimension);
                store::<R, 1, REGISTERS>(sums, &mut out[row * width + at * PANEL_ROWS..], width);
            }
        }
    }
}

/// Products of the first `ROWS` rows with those of one panel.
///
/// # Safety
/// The CPU has the features of `R`; `rows` holds `ROWS` rows and `panel` a whole panel.
#[inline(always)]
unsafe fn tile<R: FloatLanes, const ROWS: usize, const REGISTERS: usize>(
    rows: &[f32],
    panel: &[f32],
    dimension: usize,
) -> [[R::Register; REGISTERS]; ROWS] {
    // SAFETY: the caller vouches for features and bounds.
    unsafe {
        let mut sums = [[R::splat(0.0); REGISTERS]; ROWS];
        for component in 0..dimension {
            let lane = panel.as_ptr().add(component * PANEL_ROWS);
            let mut others = [R::splat(0.0); REGISTERS];
            for (index, other) in others.iter_mut().enumerate() {
                *other = R::load(lane.add(index * R::WIDTH));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = R::splat(*rows.as_ptr().add(row * dimension + component));
                for (sum, other) in sums.iter_mut().zip(others) {
                    *sum = R::mul_add(x, other, *sum);
                }
            }
        }
        sums
    }
}

/// Writes the sums of a tile, `width` values from one row of them to the next.
///
/// # Safety
/// The CPU has the features of `R`; `out` has room for `ROWS` rows of sums.
#[inline(always)]
unsafe fn store<R: FloatLanes, const ROWS: usize, const REGISTERS: usize>(
    sums: [[R::Register; REGISTERS]; ROWS],
    out: &mut [f32],
    width: usize,
) {
    for (row, sums) in sums.into_iter().enumerate() {
        for (index, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller vouches for features and bounds.
            unsafe { R::store(out.as_mut_ptr().add(row * width + index * R::WIDTH), sum) };
        }
    }
}

/// See [`crate::NearFn`].
///
/// # Safety
/// The CPU has the features of `R`.
#[inline(always)]
pub(crate) unsafe fn near<R: FloatLanes>(
    products: &mut [f32; PANEL_ROWS],
    (norm, limit): (f32, f32),
    norms: &[f32; PANEL_ROWS],
    limits: &[f32; PANEL_ROWS],
) -> u32 {
    const { assert!(PANEL_ROWS.is_multiple_of(R::WIDTH), "whole registers") }
    let mut marks = 0;
    // SAFETY: the caller vouches for the features; every array has `PANEL_ROWS` values.
    unsafe {
        let (norm, limit) = (R::splat(norm), R::splat(limit));
        for lane in (0..PANEL_ROWS).step_by(R::WIDTH) {
            let product = R::load(products.as_ptr().add(lane));
            let sum = R::add(norm, R::load(norms.as_ptr().add(lane)));
            let distance = R::sub(sum, R::add(product, product));
            R::store(products.as_mut_ptr().add(lane), distance);
            let below = R::less_lanes(distance, R::load(limits.as_ptr().add(lane)));
            marks |= (R::less_lanes(distance, limit) | below) << lane;
        }
    }
    marks
}
