//! Rows in panels: the form in which a matrix meets another one.
//!
//! ```text
//! panel 0: component 0 of rows 0..32, component 1 of rows 0..32, ...
//! panel 1: component 0 of rows 32..64, ...
//! ```
//! A register then holds one component of neighbouring rows, and a product needs no sum across its
//! lanes. The last panel is filled up with zeros. The width is the same for every instruction set:
//! what was packed once serves all of them.

/// Rows of one panel: two registers of AVX-512, four of AVX2, eight of NEON.
pub const PANEL_ROWS: usize = 32;

/// Values that panels of `rows` rows of `dimension` components take.
pub const fn panel_values(rows: usize, dimension: usize) -> usize {
    rows.div_ceil(PANEL_ROWS) * PANEL_ROWS * dimension
}

/// Packs rows, which lie one after the other, into panels.
///
/// Panics unless `dimension` is above 0, `rows` are whole rows, and `out` holds their
/// [`panel_values`]. Costs a pass over both.
pub fn pack_panels(rows: &[f32], dimension: usize, out: &mut [f32]) {
    assert_eq!(rows.len() % dimension, 0, "whole rows");
    let values = panel_values(rows.len() / dimension, dimension);
    assert_eq!(out.len(), values, "panels for all rows");
    let panels = out.chunks_exact_mut(PANEL_ROWS * dimension);
    for (rows, panel) in rows.chunks(PANEL_ROWS * dimension).zip(panels) {
        if rows.len() < panel.len() {
            panel.fill(0.0);
        }
        for (at, row) in rows.chunks_exact(dimension).enumerate() {
            for (value, lane) in row.iter().zip(panel.chunks_exact_mut(PANEL_ROWS)) {
                lane[at] = *value;
            }
        }
    }
}

/// Bounds every access of a product: rows, and values per row of the outcome.
pub(crate) fn product_shape(
    rows: &[f32],
    panels: &[f32],
    dimension: usize,
    out: &[f32],
) -> (usize, usize) {
    assert!(dimension > 0, "rows of some components");
    assert_eq!(rows.len() % dimension, 0, "whole rows");
    assert_eq!(panels.len() % (PANEL_ROWS * dimension), 0, "whole panels");
    let (count, width) = (rows.len() / dimension, panels.len() / dimension);
    assert_eq!(out.len(), count * width, "a product for every pair");
    (count, width)
}
