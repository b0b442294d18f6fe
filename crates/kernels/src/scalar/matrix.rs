//! Inner products of many rows with many others.

use crate::panel::{PANEL_ROWS, product_shape};

/// Sums component by component, each product rounded before it is added.
pub(super) fn dot_panels(rows: &[f32], panels: &[f32], dimension: usize, out: &mut [f32]) {
    let (_, width) = product_shape(rows, panels, dimension, out);
    if width == 0 {
        return;
    }
    for (row, out) in rows
        .chunks_exact(dimension)
        .zip(out.chunks_exact_mut(width))
    {
        let panels = panels.chunks_exact(PANEL_ROWS * dimension);
        for (panel, out) in panels.zip(out.chunks_exact_mut(PANEL_ROWS)) {
            let mut sums = [0.0; PANEL_ROWS];
            for (x, lane) in row.iter().zip(panel.chunks_exact(PANEL_ROWS)) {
                for (sum, y) in sums.iter_mut().zip(lane) {
                    *sum += x * y;
                }
            }
            out.copy_from_slice(&sums);
        }
    }
}

pub(super) fn near(
    products: &mut [f32; PANEL_ROWS],
    (norm, limit): (f32, f32),
    norms: &[f32; PANEL_ROWS],
    limits: &[f32; PANEL_ROWS],
) -> u32 {
    let mut marks = 0;
    for (lane, value) in products.iter_mut().enumerate() {
        *value = (norm + norms[lane]) - 2.0 * *value;
        marks |= u32::from(*value < limit || *value < limits[lane]) << lane;
    }
    marks
}
