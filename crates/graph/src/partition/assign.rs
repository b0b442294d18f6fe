//! Which shards a vector goes to.
//!
//! Distances to the centroids are found in parallel; then the rows choose one after the other, so
//! the outcome depends on the order of the rows only. A full shard is passed over for the next
//! nearest. Two shards always have room, as the plan sees to it: see `fewest_shards`.

use std::mem::size_of_val;

use pageway_kernels::{KernelSet, WidenFn};
use pageway_types::{Metric, Progress};
use rayon::prelude::*;

use super::kmeans::Matrix;
use super::plan::{COPIES, PartitionSpec, fewest_shards, plan_centroids};
use crate::error::GraphError;
use crate::float::{normalize, squared_l2};

/// The shards of one vector, nearest first. The second is missing when there is only one shard.
pub type ShardsOfRow = [Option<u32>; COPIES];

/// Where the shards are, and how much of each is taken.
pub struct Partition {
    spec: PartitionSpec,
    centroids: Vec<f32>,
    widen: WidenFn,
    loads: Vec<u32>,
}

impl Partition {
    /// Plans shards from a sample of rows, widened to `f32`, one after the other.
    ///
    /// Costs a few k-means runs of `sample rows * shards * dimension` operations in each of ten
    /// rounds. Holds four bytes per row beside the sample, and a copy of it under the cosine.
    ///
    /// # Errors
    /// When the sample is empty or not whole rows, the capacity is too small for any sensible
    /// number of shards, or `progress` cancels.
    pub fn plan(
        sample: &[f32],
        spec: &PartitionSpec,
        kernels: &'static KernelSet,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Self, GraphError> {
        let dimension = spec.shape.dimension as usize;
        if sample.is_empty() || dimension == 0 || !sample.len().is_multiple_of(dimension) {
            let (bytes, row_bytes) = (size_of_val(sample), dimension * size_of::<f32>());
            return Err(GraphError::PartialRow { bytes, row_bytes });
        }
        let fewest = fewest_shards(spec)?;
        let plan = |values| {
            let sample = Matrix { values, dimension };
            if fewest == 1 {
                return Ok(sample.row(0).to_vec());
            }
            pool.install(|| plan_centroids(sample, spec, fewest, progress))
        };
        let centroids = match spec.metric {
            Metric::L2 | Metric::InnerProduct => plan(sample)?,
            Metric::Cosine => {
                let mut directions = sample.to_vec();
                directions.chunks_exact_mut(dimension).for_each(normalize);
                plan(&directions)?
            }
        };
        let loads = vec![0; centroids.len() / dimension];
        let widen = kernels.widen(spec.shape.element);
        Ok(Self {
            spec: *spec,
            centroids,
            widen,
            loads,
        })
    }

    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.loads.len()
    }

    /// Vectors that each shard has received so far.
    pub fn loads(&self) -> &[u32] {
        &self.loads
    }

    /// Assigns the next rows, raw bytes one after the other; `out` then holds their shards.
    ///
    /// Holds eight bytes per row and shard, so blocks should be some thousand rows.
    ///
    /// # Errors
    /// When `rows` is not whole rows, or more rows arrive than the plan was made for.
    pub fn assign(
        &mut self,
        rows: &[u8],
        pool: &rayon::ThreadPool,
        out: &mut Vec<ShardsOfRow>,
    ) -> Result<(), GraphError> {
        out.clear();
        let row_bytes = self.spec.shape.row_bytes();
        if !rows.len().is_multiple_of(row_bytes) {
            return Err(GraphError::PartialRow {
                bytes: rows.len(),
                row_bytes,
            });
        }
        let rankings: Vec<Ranking> = pool.install(|| {
            let wide = || vec![0.0; self.spec.shape.dimension as usize];
            let rows = rows.par_chunks_exact(row_bytes);
            rows.map_init(wide, |wide, row| self.rank_row(row, wide))
                .collect()
        });
        for ranking in &rankings {
            out.push(self.take_room(ranking)?);
        }
        Ok(())
    }

    fn rank_row(&self, row: &[u8], wide: &mut [f32]) -> Ranking {
        (self.widen)(row, wide);
        if self.spec.metric == Metric::Cosine {
            normalize(wide);
        }
        let mut ranking = Vec::new();
        rank(wide, self.centroids(), &mut ranking);
        ranking
    }

    /// Takes a place in each of the nearest shards that have one.
    fn take_room(&mut self, ranking: &Ranking) -> Result<ShardsOfRow, GraphError> {
        let mut free = |shard: u32| match self.loads.get_mut(shard as usize) {
            Some(load) if *load < self.spec.capacity => {
                *load += 1;
                true
            }
            Some(_) | None => false,
        };
        let shards = nearest_shards(ranking, &mut free);
        if shards.iter().flatten().count() < COPIES.min(self.loads.len()) {
            let limit = u64::from(self.spec.total);
            return Err(GraphError::TooMany {
                count: limit + 1,
                limit,
            });
        }
        Ok(shards)
    }

    pub(super) fn centroids(&self) -> Matrix<'_> {
        let dimension = self.spec.shape.dimension as usize;
        Matrix {
            values: &self.centroids,
            dimension,
        }
    }
}

/// All shards with their squared distances, nearest first, then by number.
pub(super) type Ranking = Vec<(f32, u32)>;

/// Ranks the shards for a widened row.
pub(super) fn rank(row: &[f32], cells: Matrix<'_>, ranking: &mut Ranking) {
    let distance = |shard: usize| (squared_l2(row, cells.row(shard)), shard as u32);
    ranking.clear();
    ranking.extend((0..cells.count()).map(distance));
    ranking.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
}

/// The nearest shards that `take` accepts, which is not asked further once there are enough.
pub(super) fn nearest_shards(
    ranking: &[(f32, u32)],
    mut take: impl FnMut(u32) -> bool,
) -> ShardsOfRow {
    let mut taken = ranking
        .iter()
        .map(|&(_, shard)| shard)
        .filter(|&shard| take(shard));
    std::array::from_fn(|_| taken.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rows, clustered, pool};
    use pageway_types::NoProgress;
    use proptest::prelude::*;

    fn plan(rows: &Rows, sample: &[f32], metric: Metric, capacity: u32) -> Partition {
        let total = (rows.bytes.len() / rows.shape.row_bytes()) as u32;
        let spec = PartitionSpec {
            shape: rows.shape,
            metric,
            total,
            capacity,
            seed: 3,
        };
        let kernels = KernelSet::detect().expect("kernels");
        Partition::plan(sample, &spec, kernels, &pool(2), &NoProgress).expect("a plan")
    }

    fn assign(partition: &mut Partition, rows: &Rows, block: usize) -> Vec<ShardsOfRow> {
        let pool = pool(2);
        let (mut all, mut shards) = (Vec::new(), Vec::new());
        for block in rows.bytes.chunks(block * rows.shape.row_bytes()) {
            partition.assign(block, &pool, &mut shards).expect("room");
            all.extend_from_slice(&shards);
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Few different values, so that most rows want the same shards; a sample from the front.
        #[test]
        fn capacity_holds_on_skewed_data(
            values in prop::collection::vec(0_u8..4, 1..200),
            capacity in 2_u32..60,
            sample in 0.0_f64..1.0,
            block in 1_usize..50,
        ) {
            let sample = 1 + ((values.len() - 1) as f64 * sample) as usize;
            let sample: Vec<f32> = values[..sample].iter().copied().map(f32::from).collect();
            let rows = Rows::u8(1, values);
            let mut partition = plan(&rows, &sample, Metric::L2, capacity);
            let shards = assign(&mut partition, &rows, block);
            prop_assert_eq!(shards.len(), rows.bytes.len());
            let copies = partition.shards().min(2);
            let mut loads = vec![0; partition.shards()];
            for pair in &shards {
                prop_assert_eq!(pair.iter().flatten().count(), copies);
                prop_assert!(pair[0] != pair[1]);
                for shard in pair.iter().flatten() {
                    loads[*shard as usize] += 1;
                }
            }
            prop_assert!(loads.iter().all(|&load| load <= capacity));
            prop_assert_eq!(loads, partition.loads());
        }
    }

    #[test]
    fn rows_go_to_their_nearest_shards_while_there_is_room() {
        let values = clustered(3000, 2, 4.0, 4);
        let rows = Rows::f32(2, &values);
        for metric in [Metric::L2, Metric::Cosine] {
            let mut partition = plan(&rows, &values, metric, 900);
            let shards = assign(&mut partition, &rows, 1000);
            let nearest = |row: &[u8]| {
                let ranking = partition.rank_row(row, &mut [0.0; 2]);
                nearest_shards(&ranking, |_| true)
            };
            let pairs = rows.bytes.chunks_exact(8).zip(&shards);
            assert!(
                pairs.filter(|(row, pair)| nearest(row) == **pair).count() > 2800,
                "{metric}"
            );
        }
    }

    #[test]
    fn cosine_shards_are_directions() {
        let values: Vec<f32> = (0..300)
            .flat_map(|at| {
                let length = 1.0 + (at * 7 % 100) as f32;
                [[length, 0.0], [0.0, length], [-length, 0.0], [0.0, -length]][at % 4]
            })
            .collect();
        let rows = Rows::f32(2, &values);
        let mut partition = plan(&rows, &values, Metric::Cosine, 250);
        let shards = assign(&mut partition, &rows, 300);
        for at in 4..100 {
            assert_eq!(shards[at][0], shards[at - 4][0], "row {at}");
        }
    }

    #[test]
    fn bad_rows_are_refused() {
        let rows = Rows::f32(1, &[1.0, 2.0, 3.0, 4.0]);
        let mut partition = plan(&rows, &[1.0, 2.0], Metric::L2, 2);
        let pool = pool(1);
        let refused = partition.assign(&[0; 7], &pool, &mut Vec::new());
        assert!(matches!(
            refused,
            Err(GraphError::PartialRow {
                bytes: 7,
                row_bytes: 4
            })
        ));
        let refused = partition.assign(&[0; 400], &pool, &mut Vec::new());
        assert!(matches!(refused, Err(GraphError::TooMany { limit: 4, .. })));
        assert!(partition.loads().iter().all(|&load| load <= 2));
    }
}
