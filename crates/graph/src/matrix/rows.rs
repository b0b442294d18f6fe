//! Embedded rows of some nodes, ready for a matrix product.
//!
//! Squared distances come from inner products, `|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b>`, which loses
//! what two long vectors differ by. So rows are moved to an origin amid them first.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut by the dimension they were made with; a slip must stop"
)]

use pageway_kernels::{PANEL_ROWS, pack_panels, panel_values};
use pageway_types::{NodeId, SplitMix64};

use crate::error::{GraphError, try_filled, try_reserved};
use crate::float::{add_scaled, dot};
use crate::vectors::VectorSet;

/// Rows, one after the other, with their squared norms.
pub(crate) struct Rows {
    dimension: usize,
    values: Vec<f32>,
    norms: Vec<f32>,
}

impl Rows {
    /// Room for `count` rows.
    pub(crate) fn new(count: usize, dimension: usize) -> Result<Self, GraphError> {
        Ok(Self {
            dimension,
            values: try_reserved(count * dimension, "rows")?,
            norms: try_reserved(count.next_multiple_of(PANEL_ROWS), "norms")?,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) const fn bytes(count: usize, dimension: usize) -> u64 {
        let norms = count.next_multiple_of(PANEL_ROWS);
        ((count * dimension + norms) * size_of::<f32>()) as u64
    }

    /// Replaces the rows by those of `nodes`, no more than there is room for.
    pub(crate) fn load(
        &mut self,
        vectors: &VectorSet<'_>,
        nodes: impl ExactSizeIterator<Item = NodeId>,
    ) {
        self.load_with(nodes, |node, row| vectors.embed(node, row));
    }

    /// Replaces the rows by what `write` makes of each of `sources`, no more than there is room
    /// for.
    pub(crate) fn load_with<T>(
        &mut self,
        sources: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(T, &mut [f32]),
    ) {
        self.values.resize(sources.len() * self.dimension, 0.0);
        for (source, row) in sources.zip(self.values.chunks_exact_mut(self.dimension)) {
            write(source, row);
        }
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// All rows.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The rows from row `first` to before row `end`.
    pub(crate) fn part(&self, first: usize, end: usize) -> &[f32] {
        &self.values[first * self.dimension..end * self.dimension]
    }

    /// The mean of the rows.
    pub(crate) fn mean(&self, out: &mut [f32]) {
        out.fill(0.0);
        let share = 1.0 / self.count().max(1) as f32;
        for row in self.values.chunks_exact(self.dimension) {
            add_scaled(out, share, row);
        }
    }

    /// Moves all rows so that `origin` becomes zero, and takes their norms.
    pub(crate) fn center(&mut self, origin: &[f32]) {
        self.norms.clear();
        for row in self.values.chunks_exact_mut(self.dimension) {
            add_scaled(row, -1.0, origin);
            self.norms.push(dot(row, row));
        }
        let padded = self.norms.len().next_multiple_of(PANEL_ROWS);
        self.norms.resize(padded, f32::INFINITY);
    }

    /// Squared norms of the centered rows, by panels; infinite where a panel has no row.
    pub(crate) fn norms(&self) -> &[[f32; PANEL_ROWS]] {
        self.norms.as_chunks().0
    }
}

/// Rows in panels, the right side of a product.
pub(crate) struct Panels {
    dimension: usize,
    values: Vec<f32>,
    packed: usize,
}

impl Panels {
    /// Room for `count` rows.
    pub(crate) fn new(count: usize, dimension: usize) -> Result<Self, GraphError> {
        Ok(Self {
            dimension,
            values: try_filled(panel_values(count, dimension), 0.0, "panels")?,
            packed: 0,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) const fn bytes(count: usize, dimension: usize) -> u64 {
        (panel_values(count, dimension) * size_of::<f32>()) as u64
    }

    /// `count` random directions. Sums of uniform numbers favour no axis.
    pub(crate) fn random(
        count: usize,
        dimension: usize,
        mut random: SplitMix64,
    ) -> Result<Self, GraphError> {
        let mut normal = || (0..6).map(|_| random.unit() - 0.5).sum::<f64>() as f32;
        let rows: Vec<f32> = (0..count * dimension).map(|_| normal()).collect();
        let mut panels = Self::new(count, dimension)?;
        panels.pack(&rows);
        Ok(panels)
    }

    /// Replaces the rows, by no more than there is room for.
    pub(crate) fn pack(&mut self, rows: &[f32]) {
        self.packed = panel_values(rows.len() / self.dimension, self.dimension);
        pack_panels(rows, self.dimension, &mut self.values[..self.packed]);
    }

    /// All panels from panel `first` on.
    pub(crate) fn from(&self, first: usize) -> &[f32] {
        &self.values[first * PANEL_ROWS * self.dimension..self.packed]
    }
}
