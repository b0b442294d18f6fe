//! Rows that others are compared with: the right side of a product.

use super::rows::{Panels, Rows};
use crate::error::GraphError;

/// Rows from an origin, with their norms and in panels.
pub(crate) struct Side {
    pub(crate) rows: Rows,
    pub(crate) panels: Panels,
}

impl Side {
    /// Rows, one after the other in `values`, moved so that `origin` becomes zero.
    pub(crate) fn new(values: &[f32], origin: &[f32]) -> Result<Self, GraphError> {
        let dimension = origin.len().max(1);
        let count = values.len() / dimension;
        let (mut rows, mut panels) = (Rows::new(count, dimension)?, Panels::new(count, dimension)?);
        let values = values.chunks_exact(dimension);
        rows.load_with(values, |value, row| row.copy_from_slice(value));
        rows.center(origin);
        panels.pack(rows.values());
        Ok(Self { rows, panels })
    }

    /// Bytes that `new` takes of so many rows.
    pub(crate) const fn bytes(count: usize, dimension: usize) -> u64 {
        Rows::bytes(count, dimension) + Panels::bytes(count, dimension)
    }
}
