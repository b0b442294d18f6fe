//! How many shards, and where.
//!
//! Capacity is kept by the assignment whatever the data look like; the plan only has to make that
//! cheap in quality. It starts from a number of shards that holds everything with some headroom
//! and adds shards until, on the sample, few vectors would have to leave their nearest two.
//! Skewed data never get there, so the number is bounded too.

use pageway_types::{Metric, Progress, VectorShape};
use rayon::prelude::*;

use super::assign::{nearest_shards, rank};
use super::kmeans::{Matrix, centroids};
use crate::error::GraphError;

/// Shards that every vector goes to.
pub const COPIES: usize = 2;

/// Share of the capacity that the plan fills on average: cells of k-means are uneven.
const FILL: f64 = 0.75;

/// Copies that may miss their nearest shards before the plan tries more shards.
const MAX_OVERFLOW: f64 = 0.02;

/// The plan stops at this multiple of its first number of shards.
const MAX_GROWTH: f64 = 2.0;

/// Growth from one number of shards to the next.
const GROWTH_STEP: f64 = 1.15;

/// Most shards that a plan begins with; above it the budget is too small to be meant.
const MAX_SHARDS: u64 = 1 << 12;

/// What a partition must respect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionSpec {
    /// Shape of the rows to assign.
    pub shape: VectorShape,
    /// Metric of the index.
    pub metric: Metric,
    /// Vectors of the whole set.
    pub total: u32,
    /// Vectors that one shard holds at most.
    pub capacity: u32,
    /// Fixes the choice of centroids.
    pub seed: u64,
}

/// The smallest number of shards that holds every vector twice, in any order of arrival.
///
/// With one shard more than the copies fill, two shards always have room: whatever is free is more
/// than one shard can hold.
pub(super) fn fewest_shards(spec: &PartitionSpec) -> Result<u64, GraphError> {
    if spec.total <= spec.capacity {
        return Ok(1);
    }
    let copies = u64::from(spec.total) * COPIES as u64;
    let full = copies.checked_div(u64::from(spec.capacity));
    match full.map(|full| full + COPIES as u64) {
        Some(fewest) if fewest <= MAX_SHARDS => Ok(fewest),
        Some(_) | None => Err(GraphError::Parameter {
            name: "capacity",
            value: spec.capacity.to_string(),
            expected: "enough vectors per shard for at most 4096 shards",
        }),
    }
}

/// Centroids for as many shards as the plan takes, at least `fewest`, which is above 1.
pub(super) fn plan_centroids(
    sample: Matrix<'_>,
    spec: &PartitionSpec,
    fewest: u64,
    progress: &dyn Progress,
) -> Result<Vec<f32>, GraphError> {
    let copies = f64::from(spec.total) * COPIES as f64;
    let wanted = copies / f64::from(spec.capacity) / FILL;
    let first = fewest.max(wanted.ceil() as u64);
    let last = (first as f64 * MAX_GROWTH) as u64;
    progress.stage("plan shards", last - first + 1);
    let mut shards = first;
    loop {
        let found = centroids(sample, shards as usize, spec.seed, progress)?;
        let next = ((shards as f64 * GROWTH_STEP) as u64).max(shards + 1);
        let cells = Matrix {
            values: &found,
            dimension: sample.dimension,
        };
        if next > last || overflow(sample, cells, spec) <= MAX_OVERFLOW {
            return Ok(found);
        }
        progress.advance(next - shards);
        shards = next;
    }
}

/// Share of the copies that would not fit in their nearest shards, going by the sample.
fn overflow(sample: Matrix<'_>, cells: Matrix<'_>, spec: &PartitionSpec) -> f64 {
    let nearest: Vec<[Option<u32>; COPIES]> = sample
        .rows()
        .map_init(Vec::new, |ranking, row| {
            rank(row, cells, ranking);
            nearest_shards(ranking, |_| true)
        })
        .collect();
    let mut loads = vec![0_u64; cells.count()];
    for &shard in nearest.as_flattened().iter().flatten() {
        if let Some(load) = loads.get_mut(shard as usize) {
            *load += 1;
        }
    }
    let scale = f64::from(spec.total) / sample.count() as f64;
    let excess = |&load: &u64| (load as f64 * scale - f64::from(spec.capacity)).max(0.0);
    loads.iter().map(excess).sum::<f64>() / (f64::from(spec.total) * COPIES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::Partition;
    use crate::testing::{StopAfter, clustered, pool};
    use pageway_kernels::KernelSet;
    use pageway_types::{ElementType, NoProgress};

    fn spec(total: u32, capacity: u32) -> PartitionSpec {
        let shape = VectorShape {
            dimension: 4,
            element: ElementType::F32,
        };
        PartitionSpec {
            shape,
            metric: Metric::L2,
            total,
            capacity,
            seed: 1,
        }
    }

    fn plan(
        sample: &[f32],
        spec: PartitionSpec,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<Partition, GraphError> {
        let kernels = KernelSet::detect().expect("kernels");
        Partition::plan(sample, &spec, kernels, &pool(threads), progress)
    }

    #[test]
    fn fits_the_capacity_with_few_shards() {
        let sample = clustered(2000, 4, 1.0, 1);
        let shards = |total, capacity| {
            plan(&sample, spec(total, capacity), 2, &NoProgress)
                .expect("a plan")
                .shards()
        };
        assert_eq!(shards(1000, 1000), 1);
        assert!((9..=18).contains(&shards(100_000, 30_000)));
        assert!((4..=8).contains(&shards(1001, 1000)));
    }

    #[test]
    fn skewed_samples_do_not_multiply_shards() {
        let plan = plan(&[1.0; 400], spec(1000, 100), 1, &NoProgress).expect("a plan");
        assert!(plan.shards() <= 54, "{}", plan.shards());
    }

    #[test]
    fn threads_change_no_bit() {
        let sample = clustered(3000, 4, 1.0, 2);
        let plan =
            |threads| plan(&sample, spec(50_000, 9_000), threads, &NoProgress).expect("a plan");
        assert_eq!(plan(1).centroids(), plan(2).centroids());
        assert_eq!(plan(1).centroids(), plan(3).centroids());
    }

    #[test]
    fn senseless_plans_are_refused() {
        for sample in [&[][..], &[1.0; 5]] {
            let refused = plan(sample, spec(10, 5), 1, &NoProgress);
            assert!(matches!(refused, Err(GraphError::PartialRow { .. })));
        }
        for capacity in [0, 1] {
            let refused = plan(&[1.0; 4], spec(u32::MAX, capacity), 1, &NoProgress);
            assert!(matches!(refused, Err(GraphError::Parameter { .. })));
        }
        let refused = plan(&[1.0; 400], spec(1000, 100), 1, &StopAfter::new(3));
        assert!(matches!(refused, Err(GraphError::Cancelled(_))));
    }
}
