//! Means of bytes, as vectors of bytes have them.

use std::ops::Range;

use pageway_kernels::{DistanceManyFn, KernelSet, WidenFn};
use pageway_types::{ElementType, Place};

use super::TOGETHER;
use super::query::MeanQuery;
use crate::spec::Shape;

/// Rows of means in the element type of the vectors, with their squared norms.
pub(super) struct WholeMeans {
    pub(super) rows: Vec<u8>,
    pub(super) norms: Vec<f32>,
    row_bytes: usize,
    many: DistanceManyFn,
    widen: WidenFn,
}

impl WholeMeans {
    /// Bytes in memory of a mean.
    pub(super) const fn bytes(shape: Shape) -> u64 {
        (shape.vectors().row_bytes() + size_of::<f32>()) as u64
    }

    /// Appends the nearest components that there are.
    pub(super) fn round(mean: &[f32], shape: Shape, rows: &mut Vec<u8>) {
        let rounded = mean.iter().map(|v| v.round());
        if shape.element == ElementType::U8 {
            rows.extend(rounded.map(|v| v as u8));
        } else {
            rows.extend(rounded.map(|v| v as i8 as u8));
        }
    }

    /// `count` means; `None` where the rows are not as many.
    pub(super) fn new(
        rows: Vec<u8>,
        count: usize,
        (shape, kernels): (Shape, &KernelSet),
    ) -> Option<Self> {
        let row_bytes = shape.vectors().row_bytes();
        let norm = kernels.squared_norm(shape.element);
        (rows.len() == count.checked_mul(row_bytes)?).then(|| Self {
            norms: rows.chunks_exact(row_bytes).map(norm).collect(),
            rows,
            row_bytes,
            many: kernels.distance_many(shape.element, shape.metric.guide().metric()),
            widen: kernels.widen(shape.element),
        })
    }

    /// Squared norm of one of them.
    pub(super) fn norm(&self, at: usize) -> f32 {
        self.norms.get(at).copied().unwrap_or(0.0)
    }

    /// Distances of a query to up to [`TOGETHER`] of them, as they are ranked by.
    pub(super) fn compare(&self, query: &MeanQuery, numbers: Range<usize>, out: &mut [f32]) {
        let first = numbers.start as u32;
        let rows: [_; TOGETHER] = std::array::from_fn(|at| Place(first + at as u32));
        let (rows, _) = rows.split_at(numbers.len());
        (self.many)(&query.raw, &self.rows, self.row_bytes, rows, out);
    }

    /// Writes one of them.
    pub(super) fn write(&self, at: usize, out: &mut [f32]) {
        let start = at * self.row_bytes;
        let row = self.rows.get(start..start + self.row_bytes);
        (self.widen)(row.unwrap_or(&[]), out);
    }
}
