//! Lloyd's rounds: assign every row to its nearest centroid, move centroids to their means.
//!
//! Rows are visited in order and summed in `f64` by one thread, so a sub-space gives the same
//! centroids whatever else runs. A centroid left without rows is moved onto one of the rows that
//! fare worst, which is what spreads centroids over rows that the start never saw.
#![expect(
    clippy::indexing_slicing,
    reason = "a centroid is a byte; a slip must stop"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::CENTROIDS;
use super::columns::Columns;
use super::seeding::put;
use super::train::Context;
use crate::QuantError;

/// Relative improvement of the residual below which rounds stop.
const SETTLED: f64 = 1e-5;

/// Rows looked at to find distinct ones for the centroids without rows.
const FARTHEST: usize = 4 * CENTROIDS;

/// Moves `centroids` (`width` rows of 256 values) to a local minimum, in at most `rounds` rounds.
pub(super) fn refine(
    columns: &Columns,
    context: Context<'_>,
    rounds: u32,
    centroids: &mut [f32],
) -> Result<(), QuantError> {
    let mut clusters = Clusters::new(columns);
    let mut previous = f64::INFINITY;
    for round in 0..rounds {
        let residual = clusters.assign(columns, context, centroids)?;
        let moved = clusters.update(columns, centroids);
        context.progress.advance(1);
        let settled = residual == 0.0 || residual >= previous * (1.0 - SETTLED);
        if settled && !moved {
            context.progress.advance(u64::from(rounds - round - 1));
            break;
        }
        previous = residual;
    }
    Ok(())
}

/// Bytes [`refine`] allocates for `rows` rows.
pub(super) fn bytes(rows: usize, width: usize) -> usize {
    let sums = width.saturating_mul(CENTROIDS * size_of::<f64>());
    let worst = FARTHEST * size_of::<Worst>();
    rows.saturating_mul(size_of::<f32>())
        .saturating_add(sums + CENTROIDS * 8 + 2 * worst)
}

/// Distance bits, which order as non-negative floats do, and the row; the smallest is popped first,
/// the later row before the earlier one.
type Worst = Reverse<(u32, Reverse<usize>)>;

/// One round's assignment.
struct Clusters {
    /// Squared distance of each row from its centroid.
    distances: Vec<f32>,
    /// Sums of the rows by centroid: 256 times `width`.
    sums: Vec<f64>,
    /// Rows by centroid.
    counts: [u64; CENTROIDS],
}

impl Clusters {
    fn new(columns: &Columns) -> Self {
        Self {
            distances: Vec::with_capacity(columns.count()),
            sums: vec![0.0; CENTROIDS * columns.width],
            counts: [0; CENTROIDS],
        }
    }

    /// Assigns every row; returns the sum of squared distances.
    fn assign(
        &mut self,
        columns: &Columns,
        context: Context<'_>,
        centroids: &[f32],
    ) -> Result<f64, QuantError> {
        let nearest = context.kernels.nearest_of_256();
        self.distances.clear();
        self.sums.fill(0.0);
        self.counts.fill(0);
        let mut residual = 0.0;
        for block in columns.blocks() {
            context.progress.check()?;
            for row in block.chunks_exact(columns.width) {
                let (code, distance) = nearest(row, centroids);
                residual += f64::from(distance);
                self.distances.push(distance);
                self.add(row, usize::from(code));
            }
        }
        if residual.is_finite() {
            Ok(residual)
        } else {
            Err(QuantError::SampleRange)
        }
    }

    fn add(&mut self, row: &[f32], centroid: usize) {
        self.counts[centroid] += 1;
        for (sum, &value) in self.sums[centroid * row.len()..].iter_mut().zip(row) {
            *sum += f64::from(value);
        }
    }

    /// Moves centroids to their means; true when a centroid without rows was moved onto a row.
    fn update(&self, columns: &Columns, centroids: &mut [f32]) -> bool {
        let empty = self.counts.iter().filter(|&&count| count == 0).count();
        let mut worst = self.worst_rows(columns, empty).into_iter();
        let mut mean = vec![0.0; columns.width];
        let mut moved = false;
        let sums = self.sums.chunks_exact(columns.width);
        for (slot, (sums, &count)) in sums.zip(&self.counts).enumerate() {
            if count > 0 {
                for (mean, sum) in mean.iter_mut().zip(sums) {
                    *mean = (sum / count as f64) as f32;
                }
                put(centroids, slot, &mean);
            } else if let Some(row) = worst.next() {
                put(centroids, slot, columns.row(row));
                moved = true;
            }
        }
        moved
    }

    /// Distinct rows, farthest from their centroid first, `limit` at most; none that lies on its
    /// centroid.
    fn worst_rows(&self, columns: &Columns, limit: usize) -> Vec<usize> {
        if limit == 0 {
            return Vec::new();
        }
        let mut heap: BinaryHeap<Worst> = BinaryHeap::with_capacity(FARTHEST + 1);
        for (row, &distance) in self.distances.iter().enumerate().filter(|(_, d)| **d > 0.0) {
            heap.push(Reverse((distance.to_bits(), Reverse(row))));
            if heap.len() > FARTHEST {
                heap.pop();
            }
        }
        let mut rows: Vec<usize> = Vec::new();
        for Reverse((_, Reverse(row))) in heap.into_sorted_vec() {
            let repeated = rows
                .iter()
                .any(|&other| columns.row(other) == columns.row(row));
            if rows.len() < limit && !repeated {
                rows.push(row);
            }
        }
        rows
    }
}
