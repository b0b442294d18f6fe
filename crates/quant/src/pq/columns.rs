//! The rows of one sub-space, copied out of the sample for k-means.
//!
//! The copy makes the rows contiguous, and is where rows are brought to unit length (cosine) and
//! centred on their mean (L2, cosine). One copy exists per training thread.
#![expect(
    clippy::indexing_slicing,
    reason = "a row lies within its columns; a slip must stop"
)]

use pageway_types::{Cancelled, Progress};

use super::sub_spaces::Components;
use super::train::TrainingSample;
use super::unit::scaled;

/// Values in one block of rows: the work between two looks at `cancelled`, times 256 centroids.
const BLOCK_VALUES: usize = 1 << 15;

/// Rows copied or shifted between two looks at `cancelled`.
const COPY_ROWS: usize = 4096;

/// A positive number of contiguous rows of `width` values each.
pub(super) struct Columns {
    pub(super) values: Vec<f32>,
    pub(super) width: usize,
}

impl Columns {
    /// Copies some components of every row; `factors` scale the rows, unless empty.
    pub(super) fn copy(
        sample: &TrainingSample<'_>,
        components: &Components,
        factors: &[f64],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let width = components.len();
        let mut values = Vec::with_capacity(sample.count() * width);
        for (row, all) in sample.values.chunks_exact(sample.dimension).enumerate() {
            if row % COPY_ROWS == 0 {
                progress.check()?;
            }
            let own = components.clone().map(|component| all[component]);
            match factors.get(row) {
                Some(&factor) => values.extend(own.map(|value| scaled(value, factor))),
                None => values.extend(own),
            }
        }
        Ok(Self { values, width })
    }

    pub(super) fn count(&self) -> usize {
        self.values.len() / self.width
    }

    pub(super) fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..][..self.width]
    }

    /// Rows in blocks of the same, fixed size; the last may be shorter.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[f32]> {
        let rows = (BLOCK_VALUES / self.width).max(1);
        self.values.chunks(rows * self.width)
    }

    /// Subtracts the mean of the rows from each of them and writes it to `mean`.
    pub(super) fn centre(
        &mut self,
        mean: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let mut sums = vec![0.0f64; self.width];
        for block in self.blocks() {
            progress.check()?;
            for row in block.chunks_exact(self.width) {
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += f64::from(value);
                }
            }
        }
        let count = self.count() as f64;
        for (mean, sum) in mean.iter_mut().zip(sums) {
            *mean = (sum / count) as f32;
        }
        for (index, row) in self.values.chunks_exact_mut(self.width).enumerate() {
            if index % COPY_ROWS == 0 {
                progress.check()?;
            }
            for (value, mean) in row.iter_mut().zip(&*mean) {
                *value -= mean;
            }
        }
        Ok(())
    }
}
