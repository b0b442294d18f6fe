//! Exact nearest neighbours by brute force, under a memory cap.
//!
//! The base streams through one block. Within a block, tiles of rows that fit the level-1 cache
//! meet groups of queries that fit the level-2 cache: each tile is compared with a whole group
//! before the next one is touched, so the inner loop never waits for memory. Groups run in
//! parallel; each query's result depends on nothing but the order of rows, so any number of threads
//! gives the same bytes.
//!
//! ```text
//!            block of the base (up to 64 MiB)
//!            [tile][tile][tile] ...            tile: 16 KiB of rows
//! group 0    q x t, q x t, ...                 one task
//! group 1    ...                               one task
//! ```
//!
//! Memory: `exact_bytes` = `8 * queries * k` for the result, which is also where neighbours are
//! kept, and one block; besides, 10 KiB per thread. The cap chooses the block.

use pageway_kernels::DistanceFn;
use pageway_types::{Metric, NodeId, Progress, VectorRead};
use rayon::prelude::*;

use super::error::TruthError;
use super::nearest::{Nearest, first_unfilled};
use super::table::Truth;
use crate::error::Error;
use crate::source::{RowBlocks, VectorSlice, kernels};

/// Rows that meet a whole group of queries while they are in the level-1 cache.
const TILE_BYTES: usize = 16 << 10;
/// Queries of a group: as many as half a level-2 cache holds, and few enough to share out.
const GROUP_BYTES: usize = 256 << 10;
const GROUP_QUERIES_MAX: usize = 128;
/// Rows between two looks at cancellation: a few tens of milliseconds with a full group.
const SPAN_BYTES: usize = 512 << 10;
/// A larger block gains nothing: reading is sequential and groups are long by then.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// Whose nearest neighbours, and by what measure.
#[derive(Clone, Copy)]
pub struct ExactQuestion<'a> {
    /// The queries, of the shape of the base.
    pub queries: VectorSlice<'a>,
    /// The metric.
    pub metric: Metric,
    /// Neighbours per query.
    pub k: usize,
    /// One row of the base per query that does not count: the query itself, when it was held out.
    pub exclude: Option<&'a [NodeId]>,
}

/// What the computation may use.
#[derive(Clone, Copy)]
pub struct ExactOptions<'a> {
    /// Memory cap in bytes, for the result and the block of the base; queries are the caller's.
    pub memory_bytes: u64,
    /// Threads that compute.
    pub pool: &'a rayon::ThreadPool,
}

/// Bytes held by [`exact`] with a block of `block_bytes`.
pub const fn exact_bytes(queries: usize, k: usize, block_bytes: u64) -> u64 {
    (queries as u64)
        .saturating_mul(k as u64)
        .saturating_mul(8)
        .saturating_add(block_bytes)
}

/// Smallest memory cap that [`exact`] accepts.
pub fn exact_bytes_min(question: &ExactQuestion<'_>) -> u64 {
    let row_bytes = question.queries.shape().row_bytes();
    exact_bytes(
        question.queries.count() as usize,
        question.k,
        TILE_BYTES.max(row_bytes) as u64,
    )
}

/// The `k` nearest rows of `base` for every query, nearest first, ties by id.
///
/// Reads the base once. Computes `rows * queries` distances with the kernels of this CPU.
///
/// # Errors
/// `InvalidInput` for shapes that differ, `k` of 0 or above the rows that count, an empty question,
/// a cap below [`exact_bytes_min`], and for queries with NaN or infinity; what the base reports;
/// `Cancelled`.
pub fn exact(
    base: &dyn VectorRead,
    question: &ExactQuestion<'_>,
    options: &ExactOptions<'_>,
    progress: &dyn Progress,
) -> Result<Truth, Error> {
    question.check(base)?;
    let block_bytes = plan_block(question, options.memory_bytes)?;
    let queries = question.queries.count() as usize;
    let (ids, distances) = Nearest::unfilled(queries * question.k);
    let mut truth = Truth {
        k: question.k,
        ids,
        distances,
    };
    let scan = Scan {
        question,
        row_bytes: base.shape().row_bytes(),
        distance: kernels()?.distance(base.shape().element, question.metric),
        progress,
    };
    progress.stage(
        "exact distances",
        base.count().saturating_mul(queries as u64),
    );
    let mut blocks = RowBlocks::new(base, 0..base.count(), block_bytes as usize);
    while let Some(block) = blocks.next_block()? {
        let first = block.first as u32;
        options
            .pool
            .install(|| scan.block(first, block.rows, &mut truth))?;
    }
    match first_unfilled(&truth.ids) {
        None => Ok(truth),
        Some(place) => {
            let (query, k) = (place / question.k, question.k);
            Err(TruthError::NotFinite { query, k }.into())
        }
    }
}

impl ExactQuestion<'_> {
    fn check(&self, base: &dyn VectorRead) -> Result<(), TruthError> {
        let (count, queries) = (base.count(), self.queries.count());
        if base.shape() != self.queries.shape() {
            let (base, queries) = (base.shape(), self.queries.shape());
            return Err(TruthError::Shape { base, queries });
        }
        if queries == 0 {
            return Err(TruthError::NoQueries);
        }
        if count > u32::MAX.into() {
            return Err(TruthError::BaseTooLarge { count });
        }
        let max = count.saturating_sub(u64::from(self.exclude.is_some()));
        if self.k == 0 || self.k as u64 > max {
            return Err(TruthError::K {
                k: self.k,
                max,
                what: "rows that count",
            });
        }
        match self.exclude {
            Some(exclude) if exclude.len() as u64 != queries => {
                let (what, found) = ("rows to exclude", exclude.len());
                Err(TruthError::Length {
                    what,
                    found,
                    expected: queries as usize,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Bytes of a block under the cap.
fn plan_block(question: &ExactQuestion<'_>, memory_bytes: u64) -> Result<u64, TruthError> {
    let (queries, k) = (question.queries.count() as usize, question.k);
    let needed_bytes = exact_bytes_min(question);
    if memory_bytes < needed_bytes {
        return Err(TruthError::Memory {
            queries,
            k,
            needed_bytes,
            memory_bytes,
        });
    }
    Ok((memory_bytes - exact_bytes(queries, k, 0)).min(BLOCK_BYTES_MAX))
}

/// What stays the same from block to block.
struct Scan<'s> {
    question: &'s ExactQuestion<'s>,
    row_bytes: usize,
    distance: DistanceFn,
    progress: &'s dyn Progress,
}

/// A query with its neighbours so far.
struct Asker<'s> {
    query: &'s [u8],
    /// Row that does not count; `u32::MAX`, which is no row, when all count.
    exclude: u32,
    nearest: Nearest<'s>,
}

impl Scan<'_> {
    /// Compares all queries with a block of rows, groups of queries in parallel.
    fn block(&self, first: u32, rows: &[u8], truth: &mut Truth) -> Result<(), Error> {
        let k = self.question.k;
        let group = self.group_queries();
        truth
            .ids
            .par_chunks_mut(group * k)
            .zip(truth.distances.par_chunks_mut(group * k))
            .enumerate()
            .try_for_each(|(number, (ids, distances))| {
                let askers = self.askers(number * group).zip(ids.chunks_mut(k));
                let mut group: Vec<Asker<'_>> = askers
                    .zip(distances.chunks_mut(k))
                    .map(|(((query, exclude), ids), distances)| Asker {
                        query,
                        exclude,
                        nearest: Nearest::new(ids, distances),
                    })
                    .collect();
                self.group(first, rows, &mut group)
            })
    }

    /// Queries per task: within the cache, and enough tasks for all threads.
    fn group_queries(&self) -> usize {
        let queries = self.question.queries.count() as usize;
        let shared_out = queries.div_ceil(rayon::current_num_threads() * 4);
        (GROUP_BYTES / self.row_bytes)
            .min(GROUP_QUERIES_MAX)
            .min(shared_out)
            .max(1)
    }

    /// The queries from `first` on, each with the row that does not count.
    fn askers(&self, first: usize) -> impl Iterator<Item = (&[u8], u32)> {
        let queries = self
            .question
            .queries
            .bytes()
            .chunks_exact(self.row_bytes)
            .skip(first);
        let exclude = self
            .question
            .exclude
            .unwrap_or(&[])
            .iter()
            .skip(first)
            .map(|node| node.0);
        queries.zip(exclude.chain(std::iter::repeat(u32::MAX)))
    }

    /// Compares one group with a block of rows, tile by tile.
    fn group(&self, first: u32, rows: &[u8], group: &mut [Asker<'_>]) -> Result<(), Error> {
        let whole_rows = |bytes: usize| (bytes / self.row_bytes).max(1) * self.row_bytes;
        let (span_bytes, tile_bytes) = (whole_rows(SPAN_BYTES), whole_rows(TILE_BYTES));
        let mut row = first;
        for span in rows.chunks(span_bytes) {
            self.progress.check()?;
            for tile in span.chunks(tile_bytes) {
                for asker in &mut *group {
                    self.tile(row, tile, asker);
                }
                row = row.saturating_add((tile.len() / self.row_bytes) as u32);
            }
            self.progress
                .advance((span.len() / self.row_bytes * group.len()) as u64);
        }
        Ok(())
    }

    /// The inner loop: one query, one tile.
    fn tile(&self, first: u32, tile: &[u8], asker: &mut Asker<'_>) {
        let mut bound = asker.nearest.bound();
        for (id, row) in (first..).zip(tile.chunks_exact(self.row_bytes)) {
            let distance = (self.distance)(asker.query, row);
            if distance < bound && id != asker.exclude {
                asker.nearest.insert(id, distance);
                bound = asker.nearest.bound();
            }
        }
    }
}
