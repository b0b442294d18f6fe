//! Rows and queries drawn from the vectors, with the exact neighbours of the queries among them.
//!
//! Rows are drawn one per stride, with a seeded start inside each, so that a sorted file is no
//! trap. Queries are those of the user, or rows that are left out of every sample: a held-out row
//! among the rows themselves would be found by its neighbours' lists.

use pageway::lab::SplitMix64;
use pageway::source::VectorSlice;
use pageway::truth::{ExactOptions, ExactQuestion, Truth, exact, exact_bytes_min};
use pageway::{Error, Metric, NoProgress, Queries, Result, VectorRead, VectorShape};

/// Queries of a trial at recall 0.95: enough for the pages there to be good to some percent.
const QUERIES: u64 = 320;
/// The same at any recall, at most.
const QUERIES_MOST: u64 = 1000;
/// Fewest rows that a plan is made of.
const ROWS_MIN: u64 = 500;
/// Neighbours that recall is about.
pub(crate) const K: u32 = 10;
/// Memory for exact neighbours beside the rows.
const TRUTH_BYTES: u64 = 64 << 20;

/// What a sample is drawn by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Draw {
    /// Rows.
    pub rows: u64,
    /// Recall@10 that is to be told: the nearer to 1, the more queries it takes.
    pub recall: f32,
    /// Distance.
    pub metric: Metric,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Draw {
    /// As many as leave the same uncertainty in the share that is missed.
    fn queries(&self) -> u64 {
        let missed = f64::from(1.0 - self.recall).max(1e-6);
        let wished = (QUERIES as f64 * 0.05 / missed) as u64;
        wished.clamp(QUERIES, QUERIES_MOST)
    }
}

/// Rows and queries in memory.
pub struct Sample {
    shape: VectorShape,
    rows: Vec<u8>,
    queries: Vec<u8>,
    truth: Truth,
}

impl Sample {
    /// Draws `rows` of `vectors`, or all but the queries where there are fewer; the queries from
    /// `queries`, or from `vectors`.
    ///
    /// # Errors
    /// `InvalidInput` for too few vectors, or queries of another shape.
    pub fn draw(
        vectors: &dyn VectorRead,
        queries: Option<&dyn VectorRead>,
        draw: Draw,
    ) -> Result<Self> {
        let (rows, asked, seed) = (draw.rows, draw.queries(), draw.seed);
        let shape = vectors.shape();
        let count = vectors.count();
        if count < ROWS_MIN {
            return Err(Error::invalid(format!(
                "{count} vectors are too few to plan for: give at least {ROWS_MIN}, or build \
                 without a plan"
            )));
        }
        if let Some(queries) = queries.filter(|queries| queries.shape() != shape) {
            return Err(Error::invalid(format!(
                "the queries are {}, the vectors {shape}",
                queries.shape()
            )));
        }
        let (rows, queries) = if let Some(from) = queries {
            let drawn = strided(from.count(), asked, !seed);
            (strided(count, rows, seed), gather(from, &drawn)?)
        } else {
            let held_out = strided(count, asked.min(count / 5), !seed);
            let left = strided(count, rows.saturating_add(asked), seed);
            let kept = |row: &u64| held_out.binary_search(row).is_err();
            let mut left: Vec<u64> = left.into_iter().filter(kept).collect();
            thin(&mut left, rows as usize);
            (left, gather(vectors, &held_out)?)
        };
        Self::of((gather(vectors, &rows)?, queries), shape, draw.metric)
    }

    /// All rows, with all queries.
    ///
    /// # Errors
    /// `InvalidInput` for queries of another shape.
    pub fn whole(
        vectors: &dyn VectorRead,
        queries: &dyn VectorRead,
        metric: Metric,
    ) -> Result<Self> {
        let all = |from: &dyn VectorRead| gather(from, &(0..from.count()).collect::<Vec<u64>>());
        Self::of((all(vectors)?, all(queries)?), vectors.shape(), metric)
    }

    /// Every so many rows of this sample, with the same queries.
    ///
    /// # Errors
    /// As the exact search.
    pub fn part(&self, rows: u64, metric: Metric) -> Result<Self> {
        let row_bytes = self.shape.row_bytes();
        let kept = strided(self.rows(), rows, 1);
        let mut bytes = Vec::with_capacity(kept.len() * row_bytes);
        for row in kept {
            let first = row as usize * row_bytes;
            bytes.extend_from_slice(self.rows.get(first..first + row_bytes).unwrap_or(&[]));
        }
        Self::of((bytes, self.queries.clone()), self.shape, metric)
    }

    fn of((rows, queries): (Vec<u8>, Vec<u8>), shape: VectorShape, metric: Metric) -> Result<Self> {
        let truth = {
            let question = ExactQuestion {
                queries: VectorSlice::new(&queries, shape)?,
                metric,
                k: K as usize,
                exclude: None,
            };
            let pool = pageway::lab::thread_pool(0)?;
            let memory_bytes = exact_bytes_min(&question) + TRUTH_BYTES;
            let options = ExactOptions {
                memory_bytes,
                pool: &pool,
            };
            exact(
                &VectorSlice::new(&rows, shape)?,
                &question,
                &options,
                &NoProgress,
            )?
        };
        Ok(Self {
            shape,
            rows,
            queries,
            truth,
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        (self.rows.len() / self.shape.row_bytes()) as u64
    }

    /// The rows.
    ///
    /// # Errors
    /// None: the shape was checked.
    pub(crate) fn vectors(&self) -> Result<VectorSlice<'_>> {
        VectorSlice::new(&self.rows, self.shape)
    }

    /// The queries.
    pub(crate) fn queries(&self) -> Queries<'_> {
        Queries::new(&self.queries, self.shape)
    }

    /// The exact neighbours of the queries.
    pub(crate) const fn truth(&self) -> &Truth {
        &self.truth
    }
}

/// Row numbers, ascending and distinct: one per stride of `count / size`.
fn strided(count: u64, size: u64, seed: u64) -> Vec<u64> {
    let size = size.min(count).max(1);
    let bound = |at: u64| (u128::from(count) * u128::from(at) / u128::from(size)) as u64;
    let mut random = SplitMix64::new(seed);
    (0..size)
        .map(|at| bound(at) + random.below((bound(at + 1) - bound(at)).max(1)))
        .collect()
}

/// Leaves `size` of the rows, evenly.
fn thin(rows: &mut Vec<u64>, size: usize) {
    let count = rows.len();
    let mut at = 0;
    rows.retain(|_| {
        let kept = (at + 1) * size / count.max(1) > at * size / count.max(1);
        at += 1;
        kept || count <= size
    });
}

fn gather(vectors: &dyn VectorRead, rows: &[u64]) -> Result<Vec<u8>> {
    let row_bytes = vectors.shape().row_bytes();
    let mut bytes = vec![0; rows.len() * row_bytes];
    for (row, out) in rows.iter().zip(bytes.chunks_exact_mut(row_bytes)) {
        vectors.read(*row, out)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use pageway::ElementType;

    use super::*;

    const SHAPE: VectorShape = VectorShape {
        dimension: 2,
        element: ElementType::U8,
    };

    fn wished(rows: u64) -> Draw {
        Draw {
            rows,
            recall: 0.95,
            metric: Metric::L2,
            seed: 7,
        }
    }

    #[test]
    fn more_recall_takes_more_queries() {
        let asked = [0.5, 0.95, 0.97, 0.99, 0.999].map(|recall| {
            Draw {
                recall,
                ..wished(1000)
            }
            .queries()
        });
        assert_eq!(
            (asked[0], asked[1], asked[4]),
            (QUERIES, QUERIES, QUERIES_MOST)
        );
        assert!(
            asked.is_sorted() && (500..550).contains(&asked[2]),
            "{asked:?}"
        );
    }

    /// Rows that are all different.
    fn rows(count: u32) -> Vec<u8> {
        (0..count)
            .flat_map(|row| [(row % 251) as u8, (row / 251) as u8])
            .collect()
    }

    fn contains(bytes: &[u8], row: &[u8]) -> bool {
        bytes.chunks_exact(2).any(|other| other == row)
    }

    #[test]
    fn queries_that_are_rows_are_in_no_sample() {
        let bytes = rows(3000);
        let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
        for size in [400, 2999, 100_000] {
            let sample = Sample::draw(&vectors, None, wished(size)).unwrap();
            assert_eq!(sample.rows(), size.min(3000 - QUERIES), "{size}");
            let shared = sample
                .queries
                .chunks_exact(2)
                .filter(|q| contains(&sample.rows, q));
            assert_eq!(shared.count(), 0);
            let part = sample.part(100, Metric::L2).unwrap();
            assert_eq!(part.rows(), 100);
            assert!(
                part.rows
                    .chunks_exact(2)
                    .all(|row| contains(&sample.rows, row))
            );
            assert_eq!(part.queries, sample.queries);
        }
    }

    #[test]
    fn the_truth_is_that_of_the_sample() {
        let bytes = rows(1000);
        let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
        let queries = VectorSlice::new(&bytes[..20], SHAPE).unwrap();
        let sample = Sample::draw(&vectors, Some(&queries), wished(1000)).unwrap();
        assert_eq!((sample.rows(), sample.truth.query_count()), (1000, 10));
        for query in 0..10 {
            let nearest = sample.truth.ids_of(query)[0] as usize;
            assert_eq!(
                &sample.rows[2 * nearest..2 * nearest + 2],
                &bytes[2 * query..2 * query + 2]
            );
            assert_eq!(sample.truth.distances_of(query)[0], 0.0);
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let bytes = rows(400);
        let few = VectorSlice::new(&bytes, SHAPE).unwrap();
        assert!(Sample::draw(&few, None, wished(100)).is_err());
        let bytes = rows(600);
        let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
        let other = VectorShape {
            dimension: 4,
            ..SHAPE
        };
        let queries = VectorSlice::new(&bytes, other).unwrap();
        assert!(Sample::draw(&vectors, Some(&queries), wished(100)).is_err());
    }
}
