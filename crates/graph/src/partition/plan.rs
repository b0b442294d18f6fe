//! How many shards, and where.
//!
//! Capacity is kept by the assignment whatever the data look like; the plan only has to make that
//! cheap in quality. It starts from the smallest number of shards that is sure to hold everything
//! and adds shards until, on the sample, few vectors would have to leave their nearest two.
//! Skewed data never get there, so the number is bounded too.

use pageway_kernels::KernelSet;
use pageway_types::Progress;
use rayon::prelude::*;

use super::assign::Assigner;
use super::kmeans::{Matrix, centroids};
use crate::error::GraphError;
use crate::float::squared_l2;
use crate::matrix::NOBODY;

/// Shards that every vector goes to where their graphs are to be merged.
pub const COPIES: u32 = 2;

/// Share of the capacity that the plan fills on average: cells of k-means are uneven.
const FILL: f64 = 0.75;

/// Copies that may miss their nearest shards before the plan tries more shards.
const MAX_OVERFLOW: f64 = 0.02;

/// The plan stops at this multiple of its first number of shards.
const MAX_GROWTH: f64 = 2.0;

/// Growth from one number of shards to the next.
const GROWTH_STEP: f64 = 1.15;

/// Most shards of a plan; above it the budget is too small to be meant.
const MAX_SHARDS: u64 = 1 << 14;

/// What a partition must respect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionSpec {
    /// Components of a vector.
    pub dimension: usize,
    /// Vectors of the whole set.
    pub total_count: u64,
    /// Vectors that one shard holds at most.
    pub shard_capacity: u64,
    /// Shards that every vector goes to: 1 or [`COPIES`].
    pub copies: u32,
    /// Fixes the choice of centroids.
    pub seed: u64,
}

/// Where the shards are, and how much each holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    centroids: Vec<f32>,
    spec: PartitionSpec,
}

/// Plans shards from a sample of widened rows, one after the other in `sample`.
///
/// Costs some ten k-means runs at worst, `sample rows * shards * dimension` operations per round.
///
/// # Errors
/// When the sample is empty or not whole rows, the capacity is too small for any sensible number
/// of shards, or `progress` cancels.
pub fn plan(
    sample: &[f32],
    spec: &PartitionSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Partition, GraphError> {
    let sample = whole_rows(sample, spec.dimension)?;
    let fewest = fewest_shards(spec)?;
    if fewest == 1 {
        return Ok(Partition {
            centroids: sample.row(0).to_vec(),
            spec: *spec,
        });
    }
    pool.install(|| grow(sample, spec, fewest, progress))
}

/// A partition into just so many shards, from a sample as that of [`plan`].
///
/// Costs one k-means run.
///
/// # Errors
/// As [`plan`], and when the shards have no room for all vectors.
pub fn divide(
    sample: &[f32],
    spec: &PartitionSpec,
    shards: u32,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Partition, GraphError> {
    let sample = whole_rows(sample, spec.dimension)?;
    let room = spec.shard_capacity.saturating_mul(shards.into());
    if room < spec.total_count.saturating_mul(spec.copies.into()) {
        return Err(GraphError::Parameter {
            name: "shard_capacity",
            value: spec.shard_capacity.to_string(),
            expected: "room for all vectors",
        });
    }
    let count = shards as usize;
    let centroids = pool.install(|| centroids(sample, count, spec.seed, progress))?;
    Ok(Partition {
        centroids,
        spec: *spec,
    })
}

fn whole_rows(sample: &[f32], dimension: usize) -> Result<Matrix<'_>, GraphError> {
    if sample.is_empty() || dimension == 0 || !sample.len().is_multiple_of(dimension) {
        let (bytes, row_bytes) = (size_of_val(sample), dimension * size_of::<f32>());
        return Err(GraphError::PartialRow { bytes, row_bytes });
    }
    Ok(Matrix {
        values: sample,
        dimension,
    })
}

/// Adds shards until few vectors have to leave their nearest two.
fn grow(
    sample: Matrix<'_>,
    spec: &PartitionSpec,
    fewest: u64,
    progress: &dyn Progress,
) -> Result<Partition, GraphError> {
    let wanted =
        spec.total_count as f64 * f64::from(spec.copies) / spec.shard_capacity as f64 / FILL;
    let first = fewest.max(wanted.ceil() as u64);
    let last = (first as f64 * MAX_GROWTH) as u64;
    progress.stage("plan shards", last - first + 1);
    let mut shards = first;
    loop {
        let centroids = centroids(sample, shards as usize, spec.seed, progress)?;
        let partition = Partition {
            centroids,
            spec: *spec,
        };
        let next = ((shards as f64 * GROWTH_STEP) as u64).max(shards + 1);
        if next > last || partition.overflow(sample) <= MAX_OVERFLOW {
            return Ok(partition);
        }
        progress.advance(next - shards);
        shards = next;
    }
}

/// The smallest number of shards that holds every copy in any order of arrival.
///
/// With one shard more than the copies fill, two shards always have room: whatever is free is more
/// than one shard can hold.
fn fewest_shards(spec: &PartitionSpec) -> Result<u64, GraphError> {
    if spec.total_count <= spec.shard_capacity {
        return Ok(1);
    }
    let copies = spec.total_count.saturating_mul(spec.copies.into());
    let fewest = copies
        .checked_div(spec.shard_capacity)
        .map(|full| full.saturating_add(2));
    match fewest {
        Some(fewest) if fewest <= MAX_SHARDS => Ok(fewest),
        Some(_) | None => Err(GraphError::Parameter {
            name: "shard_capacity",
            value: spec.shard_capacity.to_string(),
            expected: "enough vectors per shard for at most 16384 shards",
        }),
    }
}

impl Partition {
    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.centroids().count()
    }

    /// Shards that every vector goes to: as many as was asked for, or one when there is only one.
    pub fn copies(&self) -> usize {
        self.shards().min(self.spec.copies as usize)
    }

    /// What the partition was planned for.
    pub const fn spec(&self) -> &PartitionSpec {
        &self.spec
    }

    /// All shards, near ones after each other: from the first, always to the nearest that is left.
    ///
    /// Costs a comparison for each pair of shards.
    pub fn walk(&self) -> Vec<u32> {
        let centroids = self.centroids();
        let mut left: Vec<u32> = (0..centroids.count() as u32).collect();
        let mut walk = Vec::with_capacity(left.len());
        let mut next = 0;
        while next < left.len() {
            let here = left.remove(next);
            walk.push(here);
            let distance = |shard: u32| {
                squared_l2(centroids.row(here as usize), centroids.row(shard as usize))
            };
            let distances = left.iter().map(|shard| distance(*shard)).enumerate();
            let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            next = nearest.map_or(0, |(at, _)| at);
        }
        walk
    }

    /// Begins to assign vectors, all shards being empty.
    ///
    /// # Errors
    /// When memory is refused for the shards in the form in which vectors are compared with them.
    pub fn assigner(&self, kernels: &KernelSet) -> Result<Assigner<'_>, GraphError> {
        Assigner::new(self, kernels)
    }

    /// Where a shard is. There is such a shard.
    pub fn centroid(&self, shard: u32) -> &[f32] {
        self.centroids().row(shard as usize)
    }

    pub(super) fn centroids(&self) -> Matrix<'_> {
        Matrix {
            values: &self.centroids,
            dimension: self.spec.dimension,
        }
    }

    /// Share of the copies that would not fit in their nearest shards, going by the sample.
    fn overflow(&self, sample: Matrix<'_>) -> f64 {
        let rows = sample.values.par_chunks_exact(sample.dimension);
        let ranked: Vec<[u32; COPIES as usize]> = rows
            .map(|row| {
                let mut nearest = [NOBODY; COPIES as usize];
                self.nearest(row, &mut nearest);
                nearest.map(|(_, shard)| shard)
            })
            .collect();
        let mut loads = vec![0_u64; self.shards()];
        for &shard in ranked
            .iter()
            .flat_map(|nearest| nearest.iter().take(self.copies()))
        {
            if let Some(load) = loads.get_mut(shard as usize) {
                *load += 1;
            }
        }
        let scale = self.spec.total_count as f64 / sample.count() as f64;
        let capacity = self.spec.shard_capacity as f64;
        let excess = |&load: &u64| (load as f64 * scale - capacity).max(0.0);
        let copies = self.spec.total_count as f64 * f64::from(self.spec.copies);
        loads.iter().map(excess).sum::<f64>() / copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{StopAfter, clustered, pool};
    use pageway_types::NoProgress;

    fn spec(total_count: u64, shard_capacity: u64) -> PartitionSpec {
        PartitionSpec {
            dimension: 4,
            total_count,
            shard_capacity,
            copies: COPIES,
            seed: 1,
        }
    }

    #[test]
    fn fits_the_capacity_with_few_shards() {
        let sample = clustered(2000, 4, 1.0, 1);
        let plan = |spec| plan(&sample, &spec, &pool(2), &NoProgress).expect("a plan");
        assert_eq!(plan(spec(1000, 1000)).shards(), 1);
        assert_eq!(plan(spec(1000, 1000)).copies(), 1);
        let partition = plan(spec(100_000, 30_000));
        assert!(
            (9..=18).contains(&partition.shards()),
            "{}",
            partition.shards()
        );
        assert_eq!(partition.copies(), 2);
        assert!(plan(spec(1001, 1000)).shards() >= 4);
    }

    #[test]
    fn skewed_samples_do_not_multiply_shards() {
        let plan = plan(&[1.0; 400], &spec(1000, 100), &pool(1), &NoProgress).expect("a plan");
        assert!(plan.shards() <= 54, "{}", plan.shards());
    }

    #[test]
    fn threads_change_no_bit() {
        let sample = clustered(3000, 4, 1.0, 2);
        let plan = |threads| {
            plan(&sample, &spec(50_000, 9_000), &pool(threads), &NoProgress).expect("a plan")
        };
        assert_eq!(plan(1), plan(2));
        assert_eq!(plan(1), plan(3));
    }

    #[test]
    fn a_walk_goes_to_the_nearest_that_is_left() {
        let partition = Partition {
            centroids: vec![3.0, 9.0, 4.0, 0.0, 8.5],
            spec: PartitionSpec {
                dimension: 1,
                ..spec(10, 5)
            },
        };
        assert_eq!(partition.walk(), [0, 2, 3, 4, 1]);
    }

    #[test]
    fn senseless_plans_are_refused() {
        let plan =
            |sample: &[f32], spec, progress: &dyn Progress| plan(sample, &spec, &pool(1), progress);
        let refused = plan(&[], spec(10, 5), &NoProgress);
        assert!(matches!(refused, Err(GraphError::PartialRow { .. })));
        let refused = plan(&[1.0; 5], spec(10, 5), &NoProgress);
        assert!(matches!(refused, Err(GraphError::PartialRow { .. })));
        for capacity in [0, 1] {
            let refused = plan(&[1.0; 4], spec(1 << 40, capacity), &NoProgress);
            assert!(matches!(refused, Err(GraphError::Parameter { .. })));
        }
        let refused = plan(&[1.0; 400], spec(1000, 100), &StopAfter::new(3));
        assert!(matches!(refused, Err(GraphError::Cancelled(_))));
    }
}
