//! Lloyd's k-means on a sample, seeded by k-means++.
//!
//! Rows are compared in parallel and summed in their order, so centroids do not depend on the
//! number of threads. Runs in the pool of the caller.
#![expect(
    clippy::indexing_slicing,
    reason = "rows and centroids are cut by the dimension they were made with; a slip must stop"
)]

use pageway_types::{Cancelled, Progress, SplitMix64};
use rayon::prelude::*;

use crate::float::squared_l2;

/// Rounds of Lloyd's algorithm. Shards need compact cells, not converged ones.
const ROUNDS: usize = 10;

/// Rows of one task.
const ROWS_PER_TASK: usize = 256;

/// Rows of a sample, or centroids.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'m> {
    pub(crate) values: &'m [f32],
    pub(crate) dimension: usize,
}

impl<'m> Matrix<'m> {
    pub(crate) fn count(self) -> usize {
        self.values.len() / self.dimension
    }

    pub(crate) fn row(self, at: usize) -> &'m [f32] {
        &self.values[at * self.dimension..][..self.dimension]
    }

    pub(crate) fn rows(self) -> impl IndexedParallelIterator<Item = &'m [f32]> {
        self.values
            .par_chunks_exact(self.dimension)
            .with_min_len(ROWS_PER_TASK)
    }
}

/// Finds `count` centroids of a sample that has at least one row.
pub(crate) fn centroids(
    sample: Matrix<'_>,
    count: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<f32>, Cancelled> {
    let mut centroids = spread_seeds(sample, count, seed, progress)?;
    for _ in 0..ROUNDS {
        progress.check()?;
        let current = Matrix {
            values: &centroids,
            dimension: sample.dimension,
        };
        let nearest: Vec<u32> = sample.rows().map(|row| nearest(row, current)).collect();
        let next = means(sample, &nearest, current);
        if next == centroids {
            break;
        }
        centroids = next;
    }
    Ok(centroids)
}

/// k-means++: each seed is a row drawn with the square of its distance to the seeds before it.
fn spread_seeds(
    sample: Matrix<'_>,
    count: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<f32>, Cancelled> {
    let mut random = SplitMix64::new(seed);
    let mut seeds = Vec::with_capacity(count * sample.dimension);
    let mut distances = vec![f32::INFINITY; sample.count()];
    let mut drawn = random.below(sample.count() as u64) as usize;
    for _ in 0..count {
        progress.check()?;
        let newest = sample.row(drawn);
        seeds.extend_from_slice(newest);
        distances
            .par_iter_mut()
            .zip(sample.rows())
            .for_each(|(distance, row)| {
                *distance = distance.min(squared_l2(row, newest));
            });
        drawn = draw(&distances, random.unit());
    }
    Ok(seeds)
}

/// The index at which the running sum of `weights` passes the share `at` of the total.
fn draw(weights: &[f32], at: f64) -> usize {
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut left = at * total;
    for (index, &weight) in weights.iter().enumerate() {
        left -= f64::from(weight);
        if left < 0.0 {
            return index;
        }
    }
    // All weights are 0: the sample has fewer different rows than there are seeds.
    (at * weights.len() as f64) as usize
}

fn nearest(row: &[f32], centroids: Matrix<'_>) -> u32 {
    let distance = |at: usize| squared_l2(row, centroids.row(at));
    let better = |best: (usize, f32), at: usize| {
        let distance = distance(at);
        if distance < best.1 {
            (at, distance)
        } else {
            best
        }
    };
    (0..centroids.count()).fold((0, f32::INFINITY), better).0 as u32
}

/// The mean of the rows of each centroid; a centroid without rows stays where it is.
fn means(sample: Matrix<'_>, nearest: &[u32], current: Matrix<'_>) -> Vec<f32> {
    let dimension = sample.dimension;
    let mut sums = vec![0.0_f64; current.values.len()];
    let mut counts = vec![0_u32; current.count()];
    for (row, &cell) in sample.values.chunks_exact(dimension).zip(nearest) {
        counts[cell as usize] += 1;
        let sum = &mut sums[cell as usize * dimension..][..dimension];
        for (sum, &value) in sum.iter_mut().zip(row) {
            *sum += f64::from(value);
        }
    }
    let mut means = current.values.to_vec();
    let cells = means
        .chunks_exact_mut(dimension)
        .zip(sums.chunks_exact(dimension));
    for ((mean, sum), &count) in cells.zip(&counts).filter(|(_, count)| **count > 0) {
        for (mean, &sum) in mean.iter_mut().zip(sum) {
            *mean = (sum / f64::from(count)) as f32;
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::NoProgress;

    #[test]
    fn finds_separate_groups() {
        let values: Vec<f32> = (0..300)
            .flat_map(|at| [(at % 3) as f32 * 100.0, 1.0])
            .collect();
        let sample = Matrix {
            values: &values,
            dimension: 2,
        };
        let mut found = centroids(sample, 3, 5, &NoProgress).expect("not cancelled");
        found.sort_by(f32::total_cmp);
        assert_eq!(found, [0.0, 1.0, 1.0, 1.0, 100.0, 200.0]);
    }

    #[test]
    fn identical_rows_are_no_trouble() {
        let sample = Matrix {
            values: &[2.0; 30],
            dimension: 3,
        };
        let found = centroids(sample, 4, 5, &NoProgress).expect("not cancelled");
        assert_eq!(found, [2.0; 12]);
    }

    #[test]
    fn draws_follow_the_weights() {
        assert_eq!(draw(&[1.0, 0.0, 3.0], 0.2), 0);
        assert_eq!(draw(&[1.0, 0.0, 3.0], 0.3), 2);
        assert_eq!(draw(&[0.0; 4], 0.6), 2);
    }
}
