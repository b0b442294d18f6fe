//! The centroids that residuals are taken from, and the nearest of them.
//!
//! One centroid is the mean of the sample. Of several the first still is, and the others come from
//! k-means: the residuals are shorter, and so is what estimates of near vectors err by.
//!
//! Distances are the kernels' to 256 centroids at a time, so the nearest is the same on every
//! machine; the lowest number wins ties.

use pageway_kernels::KernelSet;
use pageway_types::{Cancelled, Progress};
use rayon::prelude::*;

use super::rows::{BLOCK_ROWS, Rows};

/// Centroids that a kernel takes at a time.
const BLOCK: usize = 256;

/// Rows of k-means for each centroid.
const ROWS: usize = 32;

/// Rounds of k-means.
const ROUNDS: usize = 6;

/// Centroids one after the other, and once more as kernels take them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Centroids {
    dimension: usize,
    values: Vec<f32>,
    /// A block of 256 columns and a row per component for each 256 centroids, the last one repeated
    /// in what is left over; empty for one centroid.
    blocks: Vec<f32>,
}

impl Centroids {
    /// Centroids of `dimension` values, one at least.
    pub(super) fn new(dimension: usize, values: Vec<f32>) -> Self {
        let mut centroids = Self {
            dimension,
            values,
            blocks: Vec::new(),
        };
        centroids.transpose();
        centroids
    }

    /// Bytes of memory behind `count` centroids.
    pub(super) const fn bytes(dimension: usize, count: usize) -> usize {
        let columns = if count > 1 {
            count.next_multiple_of(BLOCK)
        } else {
            0
        };
        dimension
            .saturating_mul(count.saturating_add(columns))
            .saturating_mul(size_of::<f32>())
    }

    /// Bytes that [`Centroids::learn`] takes beside its outcome.
    pub(super) const fn train_bytes(rows: usize, dimension: usize, count: usize) -> usize {
        if count == 1 {
            return 0;
        }
        let most = count.saturating_mul(ROWS);
        let taken = if rows < most { rows } else { most };
        let sums = count
            .saturating_mul(dimension)
            .saturating_mul(size_of::<f64>());
        let row = dimension
            .saturating_mul(size_of::<f32>())
            .saturating_add(16);
        taken.saturating_mul(row).saturating_add(sums)
    }

    /// The mean, and `count - 1` centroids of k-means, on the current pool.
    pub(super) fn learn(
        rows: Rows<'_>,
        mean: Vec<f32>,
        count: usize,
        kernels: &'static KernelSet,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let dimension = mean.len();
        let mut centroids = Self::new(dimension, mean);
        if count == 1 {
            return Ok(centroids);
        }
        let numbers = rows.spread(count.saturating_mul(ROWS));
        let mut values = Vec::with_capacity(numbers.clone().count() * dimension);
        let mut row = vec![0.0; dimension];
        for number in numbers {
            rows.copy(number, &mut row);
            values.extend(&row);
        }
        let taken = values.len() / dimension;
        centroids.values.reserve_exact((count - 1) * dimension);
        for start in 0..count - 1 {
            let at = (start as u128 * taken as u128 / (count - 1) as u128) as usize;
            centroids
                .values
                .extend(values.iter().skip(at * dimension).take(dimension));
        }
        centroids.transpose();
        for _ in 0..ROUNDS {
            progress.check()?;
            let nearest = |row| centroids.nearest(kernels, row);
            let assigned: Vec<usize> = values
                .par_chunks_exact(dimension)
                .with_min_len(BLOCK_ROWS)
                .map(nearest)
                .collect();
            centroids.move_to_means(&values, &assigned);
        }
        Ok(centroids)
    }

    pub(super) fn count(&self) -> usize {
        self.values.len() / self.dimension
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The centroid of a number; nothing for numbers that no code of ours holds.
    pub(super) fn get(&self, number: usize) -> &[f32] {
        let mut centroids = self.values.chunks_exact(self.dimension);
        centroids.nth(number).unwrap_or(&[])
    }

    /// Number of the nearest centroid.
    pub(super) fn nearest(&self, kernels: &KernelSet, row: &[f32]) -> usize {
        let mut best = (0, f32::INFINITY);
        let blocks = self.blocks.chunks_exact(self.dimension * BLOCK);
        for (block, columns) in blocks.enumerate() {
            let (number, distance) = kernels.nearest_of_256()(row, columns);
            if distance < best.1 {
                best = (block * BLOCK + usize::from(number), distance);
            }
        }
        best.0.min(self.count() - 1)
    }

    /// Takes the nearest centroid from a row; gives its number.
    pub(super) fn take_from(&self, kernels: &KernelSet, row: &mut [f32]) -> usize {
        let number = self.nearest(kernels, row);
        for (value, centroid) in row.iter_mut().zip(self.get(number)) {
            *value -= centroid;
        }
        number
    }

    fn transpose(&mut self) {
        let count = self.count();
        self.blocks.clear();
        if count == 1 {
            return;
        }
        self.blocks
            .reserve_exact(count.next_multiple_of(BLOCK) * self.dimension);
        for first in (0..count).step_by(BLOCK) {
            for component in 0..self.dimension {
                let columns = (first..first + BLOCK).map(|number| number.min(count - 1));
                let values = columns.map(|number| number * self.dimension + component);
                let values = values.map(|at| self.values.get(at).copied().unwrap_or(0.0));
                self.blocks.extend(values);
            }
        }
    }

    /// Moves every centroid but the first to the mean of its rows; one without rows stays.
    fn move_to_means(&mut self, rows: &[f32], assigned: &[usize]) {
        let mut sums = vec![0.0_f64; self.values.len()];
        let mut counts = vec![0_u32; self.count()];
        for (row, number) in rows.chunks_exact(self.dimension).zip(assigned) {
            let sum = sums.iter_mut().skip(number * self.dimension);
            for (sum, value) in sum.zip(row) {
                *sum += f64::from(*value);
            }
            if let Some(count) = counts.get_mut(*number) {
                *count += 1;
            }
        }
        let centroids = self.values.chunks_exact_mut(self.dimension).zip(counts);
        let moved = centroids.zip(sums.chunks_exact(self.dimension)).skip(1);
        for ((centroid, count), sums) in moved.filter(|((_, count), _)| *count > 0) {
            for (value, sum) in centroid.iter_mut().zip(sums) {
                *value = (sum / f64::from(count)) as f32;
            }
        }
        self.transpose();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainingSample;
    use pageway_types::{Guide, NoProgress, SplitMix64};

    #[test]
    fn groups_far_apart_get_centroids_of_their_own() {
        let mut random = SplitMix64::new(1);
        let values: Vec<f32> = (0..2000 * 3)
            .map(|at| (at / 3 % 5 * 100) as f32 + random.unit() as f32)
            .collect();
        let sample = TrainingSample {
            values: &values,
            dimension: 3,
            metric: Guide::L2,
        };
        let kernels = KernelSet::detect().unwrap();
        for count in [41, 300] {
            let rows = Rows::new(&sample).unwrap();
            let mean = rows.mean(&NoProgress).unwrap();
            let centroids = Centroids::learn(rows, mean.clone(), count, kernels, &NoProgress);
            let centroids = centroids.unwrap();
            assert_eq!(
                (centroids.count(), centroids.get(0)),
                (count, mean.as_slice())
            );
            for row in values.chunks_exact(3) {
                let mut residual = row.to_vec();
                let number = centroids.take_from(kernels, &mut residual);
                assert!(residual.iter().all(|r| r.abs() < 1.0), "{residual:?}");
                let distance = |number: usize| -> f32 {
                    let pairs = row.iter().zip(centroids.get(number));
                    pairs.map(|(a, b)| (a - b) * (a - b)).sum()
                };
                assert!((0..count).all(|other| distance(number) <= distance(other) * 1.0001));
            }
        }
    }
}
