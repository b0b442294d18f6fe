//! Shards in an order in which those that follow each other lie near each other, so that a cut
//! anywhere leaves compact runs.
//!
//! ```text
//! all shards -> two centres -> sorted along the line between them -> cut where half of the load
//! is -> each half again
//! ```

use pageway_types::{NoProgress, Progress};

use super::kmeans::{Matrix, centroids};
use super::plan::Partition;
use crate::error::GraphError;
use crate::float::dot_from;

impl Partition {
    /// All shards, near ones together, by halves of equal load: two halves, in each of them two
    /// halves, and so on.
    ///
    /// `loads` are the vectors in each shard. Costs some twenty comparisons of each shard for every
    /// halving.
    ///
    /// # Errors
    /// When `progress` cancels.
    pub fn by_halves(
        &self,
        loads: &[u64],
        progress: &dyn Progress,
    ) -> Result<Vec<u32>, GraphError> {
        let mut order: Vec<u32> = (0..self.shards() as u32).collect();
        let whole = 0..order.len();
        let mut open = vec![whole];
        while let Some(range) = open.pop() {
            progress.check()?;
            let Some(shards) = order.get_mut(range.clone()).filter(|own| own.len() > 1) else {
                continue;
            };
            let middle = range.start + self.halve(shards, loads)?;
            open.push(range.start..middle);
            open.push(middle..range.end);
        }
        Ok(order)
    }

    /// Sorts some shards along the line between their two centres; where the second half begins.
    fn halve(&self, shards: &mut [u32], loads: &[u64]) -> Result<usize, GraphError> {
        let (all, dimension) = (self.centroids(), self.spec().dimension);
        let rows = shards.iter().flat_map(|shard| all.row(*shard as usize));
        let own: Vec<f32> = rows.copied().collect();
        let own = Matrix {
            values: &own,
            dimension,
        };
        let centres = centroids(own, 2, self.spec().seed, &NoProgress)?;
        let (one, other) = centres.split_at(dimension);
        let direction: Vec<f32> = other.iter().zip(one).map(|(to, from)| to - from).collect();
        let along = |shard: &u32| dot_from(one, all.row(*shard as usize), &direction);
        shards.sort_by(|a, b| along(a).total_cmp(&along(b)).then(a.cmp(b)));
        let load = |shard: &u32| loads.get(*shard as usize).copied().unwrap_or(0);
        let half = shards.iter().map(load).sum::<u64>().div_ceil(2);
        let mut before = 0;
        let light = shards.iter().take_while(|shard| {
            before += load(shard);
            before <= half
        });
        Ok(light.count().clamp(1, shards.len() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PartitionSpec, divide};
    use crate::testing::{clustered, kernels, pool};
    use pageway_types::NoProgress;

    #[test]
    fn a_half_is_one_side_of_the_whole() {
        let rows: Vec<f32> = (0..4000).map(|at| (at * 37 % 4000) as f32).collect();
        let spec = PartitionSpec {
            dimension: 1,
            total_count: 4000,
            shard_capacity: 500,
            copies: 1,
            seed: 5,
        };
        let partition = divide(&rows, &spec, 16, &pool(2), &NoProgress).unwrap();
        assert_eq!((partition.shards(), partition.copies()), (16, 1));
        let mut assigned = Vec::new();
        let mut assigner = partition.assigner(kernels()).unwrap();
        assigner.assign(&rows, &pool(2), &mut assigned).unwrap();
        let order = partition.by_halves(assigner.loads(), &NoProgress).unwrap();
        let centre = |shard: &u32| partition.centroid(*shard)[0];
        for length in [8, 4] {
            for run in order.chunks(length) {
                let (low, high) = run
                    .iter()
                    .map(centre)
                    .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), own| {
                        (low.min(own), high.max(own))
                    });
                let within = (0..16).filter(|own| (low..=high).contains(&centre(own)));
                assert_eq!(within.count(), length, "{order:?}");
            }
        }
    }

    #[test]
    fn every_shard_is_named_once_whatever_the_loads() {
        let rows = clustered(600, 8, 1.0, 3);
        let spec = PartitionSpec {
            dimension: 8,
            total_count: 600,
            shard_capacity: 600,
            copies: 1,
            seed: 5,
        };
        let partition = divide(&rows, &spec, 13, &pool(2), &NoProgress).unwrap();
        let mut skewed = [0; 13];
        skewed[4] = 1_000_000;
        for loads in [[0; 13], [7; 13], skewed] {
            let mut order = partition.by_halves(&loads, &NoProgress).unwrap();
            order.sort_unstable();
            assert_eq!(order, (0..13).collect::<Vec<u32>>());
        }
    }
}
