//! The vector nearest to the mean of all: where searches start.
//!
//! Two passes over the vectors, a block at a time: one for the mean, one for the nearest vector.
//! Sums are taken in `f64` over runs of fixed length and added up in their order, so the result
//! does not depend on the number of threads or on the size of a block.
//!
//! Under the cosine every vector counts with length 1. Under the inner product the mean is that of
//! the vectors as they are, and the nearest by L2: a long outlier would be a poor place to start.

use pageway_kernels::{KernelSet, WidenFn};
use pageway_types::{Candidate, Guide, NodeId, Progress, VectorRead};
use rayon::prelude::*;

use crate::error::{GraphError, try_filled};
use crate::float::{normalize, squared_l2};

/// Rows that are summed as one term.
const ROWS_PER_RUN: usize = 256;

/// The vector nearest to the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Medoid {
    /// Its node.
    pub node: NodeId,
    /// The mean, one value per component.
    pub mean: Vec<f32>,
    /// Squared L2 distance between the two; under the cosine, between directions.
    pub distance: f32,
}

/// How to look for the medoid.
#[derive(Clone, Copy)]
pub struct MedoidSpec {
    /// Guide of the index.
    pub metric: Guide,
    /// Kernels that widen rows.
    pub kernels: &'static KernelSet,
    /// Memory for rows; rounded to whole runs of 256 rows, at least one.
    pub block_bytes: usize,
}

/// Finds the medoid of `vectors` in two passes.
///
/// Holds one block of rows, one row of `f64` sums per 256 rows of it, and a widened row per thread.
///
/// # Errors
/// When there are no vectors or too many for a node id, a read fails, memory is refused, or
/// `progress` cancels.
pub fn medoid(
    vectors: &dyn VectorRead,
    spec: &MedoidSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Medoid, GraphError> {
    if vectors.count() == 0 {
        return Err(GraphError::Empty);
    }
    if vectors.count() > u64::from(u32::MAX) {
        let limit = u64::from(u32::MAX);
        return Err(GraphError::TooMany {
            count: vectors.count(),
            limit,
        });
    }
    let row_bytes = vectors.shape().row_bytes();
    let run_bytes = ROWS_PER_RUN * row_bytes;
    let rows = (vectors.count() as usize).min((spec.block_bytes / run_bytes).max(1) * ROWS_PER_RUN);
    let mut pass = Pass {
        vectors,
        widen: spec.kernels.widen(vectors.shape().element),
        normalized: spec.metric == Guide::Cosine,
        block: try_filled(rows.saturating_mul(row_bytes), 0, "block of rows")?,
        progress,
    };
    pool.install(|| {
        let mean = pass.mean()?;
        let nearest = pass.nearest(&mean)?;
        Ok(Medoid {
            node: nearest.node,
            mean,
            distance: nearest.distance,
        })
    })
}

struct Pass<'p> {
    vectors: &'p dyn VectorRead,
    widen: WidenFn,
    normalized: bool,
    block: Vec<u8>,
    progress: &'p dyn Progress,
}

impl Pass<'_> {
    fn mean(&mut self) -> Result<Vec<f32>, GraphError> {
        self.progress.stage("mean of vectors", self.vectors.count());
        let dimension = self.vectors.shape().dimension as usize;
        let mut total = try_filled(dimension, 0.0_f64, "mean")?;
        self.for_each_block(|pass, _, rows| {
            let runs = rows.par_chunks(ROWS_PER_RUN * pass.row_bytes());
            let sums: Vec<Vec<f64>> = runs.map(|run| pass.sum(run)).collect();
            for sum in sums {
                for (total, term) in total.iter_mut().zip(sum) {
                    *total += term;
                }
            }
        })?;
        let count = self.vectors.count() as f64;
        Ok(total.into_iter().map(|sum| (sum / count) as f32).collect())
    }

    fn nearest(&mut self, mean: &[f32]) -> Result<Candidate, GraphError> {
        self.progress.stage("medoid", self.vectors.count());
        let mut target = mean.to_vec();
        if self.normalized {
            normalize(&mut target);
        }
        let mut nearest = Candidate::new(NodeId(u32::MAX), f32::INFINITY);
        self.for_each_block(|pass, first, rows| {
            let runs = rows.par_chunks(ROWS_PER_RUN * pass.row_bytes()).enumerate();
            let found = runs.map(|(run, rows)| {
                pass.nearest_in(rows, first + (run * ROWS_PER_RUN) as u64, &target)
            });
            nearest = found.min().map_or(nearest, |found| found.min(nearest));
        })?;
        Ok(nearest)
    }

    fn row_bytes(&self) -> usize {
        self.vectors.shape().row_bytes()
    }

    /// Reads all rows, block by block, and hands each block over with the number of its first row.
    fn for_each_block(
        &mut self,
        mut visit: impl FnMut(&Self, u64, &[u8]),
    ) -> Result<(), GraphError> {
        let mut block = std::mem::take(&mut self.block);
        let row_bytes = self.row_bytes();
        let (mut first, count) = (0, self.vectors.count());
        while first < count {
            self.progress.check()?;
            let end = count.min(first + (block.len() / row_bytes) as u64);
            block.truncate((end - first) as usize * row_bytes);
            let read = self.vectors.read(first, &mut block);
            read.map_err(|source| GraphError::Read { first, end, source })?;
            visit(self, first, &block);
            self.progress.advance(end - first);
            first = end;
        }
        block.resize(block.capacity() / row_bytes * row_bytes, 0);
        self.block = block;
        Ok(())
    }

    fn sum(&self, rows: &[u8]) -> Vec<f64> {
        let mut sum = vec![0.0; self.vectors.shape().dimension as usize];
        self.for_each_row(rows, |_, row| {
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        });
        sum
    }

    fn nearest_in(&self, rows: &[u8], first: u64, target: &[f32]) -> Candidate {
        let mut nearest = Candidate::new(NodeId(u32::MAX), f32::INFINITY);
        self.for_each_row(rows, |at, row| {
            let node = NodeId((first + at as u64) as u32);
            nearest = nearest.min(Candidate::new(node, squared_l2(row, target)));
        });
        nearest
    }

    fn for_each_row(&self, rows: &[u8], mut visit: impl FnMut(usize, &[f32])) {
        let mut wide = vec![0.0; self.vectors.shape().dimension as usize];
        for (at, row) in rows.chunks_exact(self.row_bytes()).enumerate() {
            (self.widen)(row, &mut wide);
            if self.normalized {
                normalize(&mut wide);
            }
            visit(at, &wide);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rows, pool};
    use pageway_types::{ElementType, NoProgress, SplitMix64, VectorShape};

    fn find(rows: &[f32], metric: Guide, block_bytes: usize, threads: usize) -> Medoid {
        let kernels = KernelSet::detect().expect("kernels");
        let rows = Rows::f32(2, rows);
        let spec = MedoidSpec {
            metric,
            kernels,
            block_bytes,
        };
        medoid(&rows, &spec, &pool(threads), &NoProgress).expect("a medoid")
    }

    #[test]
    fn is_the_vector_nearest_to_the_mean() {
        let rows = [
            0.0, 0.0, 10.0, 0.0, 0.0, 10.0, 4.0, 4.0, 100.0, 1.0, -90.0, 1.0,
        ];
        let found = find(&rows, Guide::L2, 0, 1);
        assert_eq!(found.node, NodeId(3));
        assert_eq!(found.mean, [4.0, 16.0 / 6.0]);
        assert_eq!(found.distance, (4.0_f32 - 16.0 / 6.0).powi(2));
    }

    #[test]
    fn cosine_looks_at_directions_only() {
        let rows = [1.0, 0.0, 0.0, 1.0, 0.02, 0.02, 50.0, 0.0];
        assert_eq!(find(&rows, Guide::Cosine, 0, 1).node, NodeId(2));
        assert_eq!(find(&rows, Guide::L2, 0, 1).node, NodeId(0));
    }

    #[test]
    fn threads_and_blocks_change_no_bit() {
        let mut random = SplitMix64::new(3);
        let rows: Vec<f32> = (0..4000).map(|_| random.unit() as f32 * 1e3).collect();
        let expected = find(&rows, Guide::Cosine, 0, 1);
        for threads in 1..4 {
            for block_bytes in [0, 5000, 1 << 20] {
                assert_eq!(find(&rows, Guide::Cosine, block_bytes, threads), expected);
            }
        }
    }

    #[test]
    fn failures_are_reported() {
        let kernels = KernelSet::detect().expect("kernels");
        let spec = MedoidSpec {
            metric: Guide::L2,
            kernels,
            block_bytes: 0,
        };
        let find = |rows: &Rows, progress: &dyn Progress| medoid(rows, &spec, &pool(1), progress);
        assert!(matches!(
            find(&Rows::f32(2, &[]), &NoProgress),
            Err(GraphError::Empty)
        ));
        let mut rows = Rows::f32(2, &[1.0, 2.0]);
        let stop = crate::testing::StopAfter::new(0);
        assert!(matches!(find(&rows, &stop), Err(GraphError::Cancelled(_))));
        rows.shape = VectorShape {
            dimension: 2,
            element: ElementType::F32,
        };
        rows.broken = true;
        assert!(matches!(
            find(&rows, &NoProgress),
            Err(GraphError::Read { first: 0, .. })
        ));
    }
}
