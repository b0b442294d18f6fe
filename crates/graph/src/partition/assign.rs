//! Which shards a vector goes to.
//!
//! Distances to the centroids are found in parallel, by products of matrices; the few nearest are
//! then compared one by one, so that the outcome is the same on every machine. Rows choose one
//! after the other, so it depends on the order of the rows only. A full shard is passed over for
//! the next nearest. Two shards always have room, as the plan sees to it: see `fewest_shards`.

use pageway_kernels::{DotPanelsFn, KernelSet, NearFn, panel_values};
use rayon::prelude::*;

use super::plan::Partition;
use crate::error::{GraphError, try_filled};
use crate::float::squared_l2;
use crate::matrix::{NOBODY, Nearest, Rows, Side, insert};

/// Shards of a row that are ranked at first: seldom are so many full.
const RANKED: usize = 8;
/// The same by products, of which those are the first.
const SHORTLISTED: usize = 12;
/// What a distance by products may be wrong by, in shares of the squared norms.
const ROUNDING: f32 = 1e-4;
/// Rows of one product.
const PRODUCT_ROWS: usize = 64;
/// Rows of one task: whole products of them.
const TASK_ROWS: usize = 4 * PRODUCT_ROWS;

/// Distances of a row to shards, nearest first, then by number.
type Ranking = [(f32, u32); RANKED];

/// Hands out the room of the shards, block by block.
pub struct Assigner<'p> {
    partition: &'p Partition,
    loads: Vec<u64>,
    origin: Vec<f32>,
    shards: Side,
    products: DotPanelsFn,
    near: NearFn,
}

/// What one task needs to rank the shards of some rows.
struct Ranker {
    rows: Rows,
    products: Vec<f32>,
    nearest: Nearest,
}

impl<'p> Assigner<'p> {
    pub(super) fn new(partition: &'p Partition, kernels: &KernelSet) -> Result<Self, GraphError> {
        let centroids = partition.centroids();
        let mut all = Rows::new(centroids.count(), centroids.dimension)?;
        all.load_with(0..centroids.count(), |at, row| {
            row.copy_from_slice(centroids.row(at));
        });
        let mut origin = vec![0.0; centroids.dimension];
        all.mean(&mut origin);
        Ok(Self {
            partition,
            loads: vec![0; partition.shards()],
            shards: Side::new(centroids.values, &origin)?,
            origin,
            products: kernels.dot_panels(),
            near: kernels.near(),
        })
    }

    /// Vectors in each shard so far.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// Assigns the next rows, widened and one after the other in `rows`; `out` receives
    /// [`copies`](Partition::copies) different shards per row, the nearest first, appended in the
    /// order of the rows.
    ///
    /// Holds 64 bytes per row, and for each task 64 rows, widened, with their products.
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
        let mut rankings = vec![[NOBODY; RANKED]; rows.len() / dimension];
        pool.install(|| {
            let tasks = rows.par_chunks(TASK_ROWS * dimension);
            let tasks = tasks.zip(rankings.par_chunks_mut(TASK_ROWS));
            tasks.try_for_each(|(rows, rankings)| {
                let mut ranker = self.ranker()?;
                let blocks = rows.chunks(PRODUCT_ROWS * dimension);
                for (rows, rankings) in blocks.zip(rankings.chunks_mut(PRODUCT_ROWS)) {
                    self.rank(&mut ranker, rows, rankings);
                }
                Ok::<_, GraphError>(())
            })
        })?;
        let rows = rows.chunks_exact(dimension);
        rows.zip(&rankings)
            .try_for_each(|(row, ranking)| self.choose(row, ranking, out))
    }

    fn ranker(&self) -> Result<Ranker, GraphError> {
        let products = PRODUCT_ROWS * panel_values(self.shards.rows.count(), 1);
        Ok(Ranker {
            rows: Rows::new(PRODUCT_ROWS, self.origin.len())?,
            products: try_filled(products, 0.0, "products")?,
            nearest: Nearest::new(SHORTLISTED)?,
        })
    }

    /// Ranks the nearest shards of some rows.
    fn rank(&self, ranker: &mut Ranker, rows: &[f32], rankings: &mut [Ranking]) {
        let dimension = self.origin.len();
        let raw = rows.chunks_exact(dimension);
        ranker
            .rows
            .load_with(raw.clone(), |raw, row| row.copy_from_slice(raw));
        ranker.rows.center(&self.origin);
        let count = self.shards.rows.count();
        let width = panel_values(count, 1);
        let Some(products) = ranker.products.get_mut(..rankings.len() * width) else {
            return;
        };
        let panels = self.shards.panels.from(0);
        (self.products)(ranker.rows.values(), panels, dimension, products);
        let products = products.chunks_exact_mut(width);
        let norms = ranker.rows.norms().as_flattened();
        for (((row, norm), products), ranking) in raw.zip(norms).zip(products).zip(rankings) {
            let limit = SHORTLISTED.min(count);
            let of_shards = self.shards.rows.norms();
            let near = ranker.nearest.among(self.near, products, of_shards, limit);
            self.compare(row, near, ranking);
            // What is not in the list is about as far as its last or farther.
            let (Some(last), Some((farthest, _))) = (near.last(), ranking.last()) else {
                continue;
            };
            let beyond = last.0 + norm;
            if limit < count && beyond - farthest <= ROUNDING * (norm + beyond.abs()) {
                self.partition.nearest(row, ranking);
            }
        }
    }

    /// Ranks shards by their distances.
    fn compare(&self, row: &[f32], near: &[(f32, u32)], ranking: &mut Ranking) {
        let mut shards: [u32; SHORTLISTED] = [u32::MAX; SHORTLISTED];
        shards
            .iter_mut()
            .zip(near)
            .for_each(|(shard, own)| *shard = own.1);
        // Of equal distances the smaller number comes first.
        shards.sort_unstable();
        let there = shards.iter().take(near.len());
        for shard in there {
            insert(ranking, self.partition.distance(row, *shard), *shard);
        }
    }

    /// Takes room in the nearest shards that have some.
    fn choose(
        &mut self,
        row: &[f32],
        ranking: &Ranking,
        out: &mut Vec<u32>,
    ) -> Result<(), GraphError> {
        let (start, copies) = (out.len(), self.partition.copies());
        for (_, shard) in ranking {
            self.take(*shard, start + copies, out);
        }
        if out.len() < start + copies {
            for (_, shard) in self.partition.ranking(row) {
                let is_chosen = out.get(start..).is_some_and(|own| own.contains(&shard));
                if !is_chosen {
                    self.take(shard, start + copies, out);
                }
            }
        }
        if out.len() == start + copies {
            return Ok(());
        }
        let limit = self.partition.spec().total_count;
        Err(GraphError::TooMany {
            count: limit.saturating_add(1),
            limit,
        })
    }

    /// Takes room in a shard, where it has some and `out` is not as long as it should be.
    fn take(&mut self, shard: u32, length: usize, out: &mut Vec<u32>) {
        let capacity = self.partition.spec().shard_capacity;
        let load = self.loads.get_mut(shard as usize);
        if let Some(load) = load.filter(|load| **load < capacity && out.len() < length) {
            *load += 1;
            out.push(shard);
        }
    }
}

impl Partition {
    /// Squared distance of a row to a shard.
    fn distance(&self, row: &[f32], shard: u32) -> f32 {
        squared_l2(row, self.centroid(shard))
    }

    /// The nearest shards of a row, nearest first, then by number; as many as `found` has room for.
    pub(super) fn nearest(&self, row: &[f32], found: &mut [(f32, u32)]) {
        found.fill(NOBODY);
        for shard in 0..self.shards() as u32 {
            insert(found, self.distance(row, shard), shard);
        }
    }

    /// Squared distances to all shards, nearest first, then by number.
    fn ranking(&self, row: &[f32]) -> Vec<(f32, u32)> {
        let shards = 0..self.shards() as u32;
        let mut all: Vec<_> = shards
            .map(|shard| (self.distance(row, shard), shard))
            .collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PartitionSpec, plan};
    use super::*;
    use crate::testing::{clustered, kernels, pool};
    use pageway_types::NoProgress;
    use proptest::prelude::*;

    /// The shards of rows of two components, each row compared with all of them.
    fn by_full_rankings(partition: &Partition, rows: &[f32]) -> Vec<u32> {
        let mut loads = vec![0; partition.shards()];
        let mut out = Vec::new();
        for row in rows.chunks_exact(2) {
            let mut has_room =
                |shard: &u32| loads[*shard as usize] < partition.spec().shard_capacity;
            let ranking = partition.ranking(row).into_iter().map(|(_, shard)| shard);
            let chosen: Vec<u32> = ranking
                .filter(&mut has_room)
                .take(partition.copies())
                .collect();
            for shard in &chosen {
                loads[*shard as usize] += 1;
            }
            out.extend(chosen);
        }
        out
    }

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
        let mut assigner = partition.assigner(kernels()).unwrap();
        let mut shards = Vec::new();
        for block in rows.chunks(2 * block) {
            assigner.assign(block, &pool, &mut shards).expect("room");
        }
        let copies = partition.copies();
        prop_assert_eq!(&shards, &by_full_rankings(&partition, rows));
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
            .assigner(kernels())
            .unwrap()
            .assign(&rows[..6000], &pool(3), &mut shards)
            .expect("room");
        let hits = rows
            .chunks_exact(2)
            .zip(shards.chunks_exact(2))
            .filter(|(row, pair)| {
                let ranking = partition.ranking(row);
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
        let mut assigner = partition.assigner(kernels()).unwrap();
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
        let mut assigner = partition.assigner(kernels()).unwrap();
        let mut out = Vec::new();
        assigner.assign(&rows, &pool, &mut out).unwrap();
        assert_eq!(out.len(), 400);
        assert!(assigner.loads().iter().all(|load| *load <= 120));
        assert_eq!(assigner.loads().iter().sum::<u64>(), 400);
        let is_nearest = |(row, shard): &(&[f32], &u32)| partition.ranking(row)[0].1 == **shard;
        let nearest = rows
            .chunks_exact(2)
            .zip(&out)
            .filter(|pair| is_nearest(pair))
            .count();
        assert!(nearest > 380, "{nearest}");
    }
}
