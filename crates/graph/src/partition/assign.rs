//! Which shards a vector goes to.
//!
//! Distances to the centroids are found in parallel; then the rows choose one after the other, so
//! the outcome depends on the order of the rows only. A full shard is passed over for the next
//! nearest. Two shards always have room, as the plan sees to it: see `fewest_shards`.

use rayon::prelude::*;

use super::plan::Partition;
use crate::error::GraphError;
use crate::float::squared_l2;

/// Hands out the room of the shards, block by block.
pub struct Assigner<'p> {
    partition: &'p Partition,
    loads: Vec<u64>,
}

impl<'p> Assigner<'p> {
    pub(super) fn new(partition: &'p Partition) -> Self {
        Self {
            partition,
            loads: vec![0; partition.shards()],
        }
    }

    /// Vectors in each shard so far.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// Assigns the next rows, widened and one after the other in `rows`; `out` receives
    /// [`copies`](Partition::copies) different shards per row, the nearest first, appended in the
    /// order of the rows.
    ///
    /// Holds eight bytes per row and shard, so blocks should be some thousand rows.
    ///
    /// # Errors
    /// When `rows` is not whole rows, or more rows arrive than the plan was made for.
    pub fn assign(
        &mut self,
        rows: &[f32],
        pool: &rayon::ThreadPool,
        out: &mut Vec<u32>,
    ) -> Result<(), GraphError> {
        let dimension = self.partition.spec().dimension;
        if !rows.len().is_multiple_of(dimension) {
            let (bytes, row_bytes) = (size_of_val(rows), dimension * size_of::<f32>());
            return Err(GraphError::PartialRow { bytes, row_bytes });
        }
        let rankings: Vec<Vec<(f32, u32)>> = pool.install(|| {
            let rows = rows.par_chunks_exact(dimension);
            rows.map(|row| {
                let mut ranking = Vec::new();
                self.partition.rank(row, &mut ranking);
                ranking
            })
            .collect()
        });
        rankings
            .iter()
            .try_for_each(|ranking| self.choose(ranking, out))
    }

    /// Takes room in the nearest shards that have some.
    fn choose(&mut self, ranking: &[(f32, u32)], out: &mut Vec<u32>) -> Result<(), GraphError> {
        let capacity = self.partition.spec().shard_capacity;
        let mut missing = self.partition.copies();
        for &(_, shard) in ranking {
            if missing == 0 {
                break;
            }
            let Some(load) = self.loads.get_mut(shard as usize) else {
                continue;
            };
            if *load < capacity {
                *load += 1;
                missing -= 1;
                out.push(shard);
            }
        }
        if missing > 0 {
            let limit = self.partition.spec().total_count;
            return Err(GraphError::TooMany {
                count: limit.saturating_add(1),
                limit,
            });
        }
        Ok(())
    }
}

impl Partition {
    /// Squared distances to all shards, nearest first, then by number.
    pub(super) fn rank(&self, row: &[f32], ranking: &mut Vec<(f32, u32)>) {
        let centroids = self.centroids();
        let distance = |shard: usize| (squared_l2(row, centroids.row(shard)), shard as u32);
        ranking.clear();
        ranking.extend((0..centroids.count()).map(distance));
        ranking.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PartitionSpec, plan};
    use super::*;
    use crate::testing::{clustered, pool};
    use pageway_types::NoProgress;
    use proptest::prelude::*;

    fn check(
        rows: &[f32],
        capacity: u64,
        sample: usize,
        block: usize,
    ) -> Result<(), TestCaseError> {
        let total_count = (rows.len() / 2) as u64;
        let spec = PartitionSpec {
            dimension: 2,
            total_count,
            shard_capacity: capacity,
            copies: 2,
            seed: 3,
        };
        let pool = pool(2);
        let partition = plan(&rows[..2 * sample], &spec, &pool, &NoProgress).expect("a plan");
        let mut assigner = partition.assigner();
        let mut shards = Vec::new();
        for block in rows.chunks(2 * block) {
            assigner.assign(block, &pool, &mut shards).expect("room");
        }
        let copies = partition.copies();
        prop_assert_eq!(shards.len(), rows.len() / 2 * copies);
        for pair in shards.chunks_exact(copies) {
            prop_assert!(copies == 1 || pair[0] != pair[1]);
        }
        let mut loads = vec![0; partition.shards()];
        for shard in shards {
            loads[shard as usize] += 1;
        }
        prop_assert!(loads.iter().all(|&load| load <= capacity));
        prop_assert_eq!(loads, assigner.loads());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Few different values, so that most rows want the same shards; a sample from the front.
        #[test]
        fn capacity_holds_on_skewed_data(
            values in prop::collection::vec(0_u8..4, 2..400),
            capacity in 2_u64..60,
            sample in 0.0_f64..1.0,
            block in 1_usize..50,
        ) {
            let mut rows: Vec<f32> = values.iter().copied().map(f32::from).collect();
            rows.truncate(rows.len() / 2 * 2);
            let sample = 1 + ((rows.len() / 2 - 1) as f64 * sample) as usize;
            check(&rows, capacity, sample, block)?;
        }
    }

    #[test]
    fn rows_go_to_their_nearest_shards_while_there_is_room() {
        let rows = clustered(6000, 2, 1.0, 4);
        let spec = PartitionSpec {
            dimension: 2,
            total_count: 3000,
            shard_capacity: 900,
            copies: 2,
            seed: 3,
        };
        let partition = plan(&rows, &spec, &pool(1), &NoProgress).expect("a plan");
        let mut shards = Vec::new();
        partition
            .assigner()
            .assign(&rows[..6000], &pool(3), &mut shards)
            .expect("room");
        let mut ranking = Vec::new();
        let hits = rows
            .chunks_exact(2)
            .zip(shards.chunks_exact(2))
            .filter(|(row, pair)| {
                partition.rank(row, &mut ranking);
                **pair == [ranking[0].1, ranking[1].1]
            });
        assert!(hits.count() > 2800);
    }

    #[test]
    fn more_rows_than_planned_are_refused() {
        let spec = PartitionSpec {
            dimension: 1,
            total_count: 4,
            shard_capacity: 2,
            copies: 2,
            seed: 0,
        };
        let partition = plan(&[1.0, 2.0], &spec, &pool(1), &NoProgress).expect("a plan");
        let mut assigner = partition.assigner();
        let refused = assigner.assign(&[1.0; 200], &pool(1), &mut Vec::new());
        assert!(matches!(refused, Err(GraphError::TooMany { limit: 4, .. })));
        assert!(assigner.loads().iter().all(|&load| load <= 2));
    }

    #[test]
    fn one_copy_goes_to_the_nearest_shard_that_has_room() {
        let rows = clustered(400, 2, 1.0, 9);
        let spec = PartitionSpec {
            dimension: 2,
            total_count: 400,
            shard_capacity: 120,
            copies: 1,
            seed: 3,
        };
        let pool = pool(2);
        let partition = plan(&rows, &spec, &pool, &NoProgress).unwrap();
        let mut assigner = partition.assigner();
        let mut out = Vec::new();
        assigner.assign(&rows, &pool, &mut out).unwrap();
        assert_eq!(out.len(), 400);
        assert!(assigner.loads().iter().all(|load| *load <= 120));
        assert_eq!(assigner.loads().iter().sum::<u64>(), 400);
        let mut ranking = Vec::new();
        let mut is_nearest = |(row, shard): &(&[f32], &u32)| {
            partition.rank(row, &mut ranking);
            ranking.first().is_some_and(|first| first.1 == **shard)
        };
        let nearest = rows
            .chunks_exact(2)
            .zip(&out)
            .filter(|pair| is_nearest(pair))
            .count();
        assert!(nearest > 380, "{nearest}");
    }
}
