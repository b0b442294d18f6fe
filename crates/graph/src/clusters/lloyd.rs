//! Lloyd's rounds: rows to their nearest centroids, centroids to the means of their rows.

use pageway_types::Progress;
use rayon::prelude::*;

use super::centroids::{Centroids, Sorted};
use super::directory::{BLOCK_ROWS, Directory, Finder, Kernels};
use crate::error::GraphError;
use crate::linking::Workers;

/// Rounds in which groups settle.
const GROUP_ROUNDS: usize = 5;

/// Rows that can be written anywhere.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) count: usize,
    /// Writes a row.
    pub(super) write: &'s (dyn Fn(usize, &mut [f32]) + Sync),
    pub(super) kernels: Kernels,
    pub(super) progress: &'s dyn Progress,
}

impl Source<'_> {
    /// The nearest centroid of each row, in the pool of the caller.
    pub(super) fn nearest(
        self,
        centroids: &Centroids,
        groups: &Sorted,
    ) -> Result<Vec<u32>, GraphError> {
        let directory = Directory::new(centroids, groups, self.kernels)?;
        let workers = Workers::new(|| Finder::new(&directory))?;
        let mut nearest = vec![0; self.count];
        let blocks = nearest.par_chunks_mut(BLOCK_ROWS).enumerate();
        blocks.try_for_each(|(block, out)| {
            self.progress.check()?;
            let first = block * BLOCK_ROWS;
            let write = |at: usize, row: &mut [f32]| (self.write)(first + at, row);
            workers.with(|finder| finder.find(&directory, write, out));
            self.progress.advance(out.len() as u64);
            Ok::<(), GraphError>(())
        })?;
        Ok(nearest)
    }

    /// Moves each centroid to the mean of the rows that are nearest to it; those without rows stay.
    pub(super) fn means(self, nearest: &[u32], centroids: &mut Centroids) {
        let sorted = Sorted::new(nearest, centroids.count());
        let dimension = centroids.dimension;
        let moved = centroids.values.par_chunks_exact_mut(dimension).enumerate();
        moved.for_each(|(at, centroid)| {
            let rows = sorted.of(at);
            if rows.is_empty() {
                return;
            }
            let mut sums = vec![0.0_f64; dimension];
            let mut row = vec![0.0; dimension];
            for number in rows {
                (self.write)(*number as usize, &mut row);
                for (sum, value) in sums.iter_mut().zip(&row) {
                    *sum += f64::from(*value);
                }
            }
            for (value, sum) in centroid.iter_mut().zip(sums) {
                *value = (sum / rows.len() as f64) as f32;
            }
        });
    }
}

/// Sorts centroids into `count` groups, and gives the centroids of the groups.
pub(super) fn group(
    centroids: &Centroids,
    count: usize,
    kernels: Kernels,
    progress: &dyn Progress,
) -> Result<(Sorted, Centroids), GraphError> {
    let write = |at: usize, row: &mut [f32]| row.copy_from_slice(centroids.row(at));
    let source = Source {
        count: centroids.count(),
        write: &write,
        kernels,
        progress,
    };
    let mut tops = centroids.spread(count);
    let flat = Sorted::everything(count);
    for _ in 0..GROUP_ROUNDS {
        let nearest = source.nearest(&tops, &flat)?;
        source.means(&nearest, &mut tops);
    }
    let nearest = source.nearest(&tops, &flat)?;
    source.means(&nearest, &mut tops);
    let groups = Sorted::new(&nearest, count);
    Ok((groups, tops))
}

/// Groups of so many clusters: as many as each then has clusters.
pub(super) fn group_count(clusters: usize) -> usize {
    (clusters as f64).sqrt().ceil().max(1.0) as usize
}
