//! Exact nearest neighbours by brute force, under a memory cap.
//!
//! The base streams through one block of up to 64 MiB; [`Scan`] compares it with all queries.
//!
//! Memory: `exact_bytes` = `8 * queries * k` for the result, which is also where neighbours are
//! kept, and one block; besides, 10 KiB per thread. The cap chooses the block, and whether there
//! is room to leave rows out by products ([`ExactQuestion::screen_bytes`]).

use pageway_types::{Metric, Progress, RowId, VectorRead};
use rayon::prelude::*;

use super::error::TruthError;
use super::nearest::{Nearest, first_unfilled};
use super::scan::{Scan, TILE_BYTES, screen_bytes};
use super::table::Truth;
use crate::error::Error;
use crate::source::{RowBlocks, VectorSlice};

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
    pub exclude: Option<&'a [RowId]>,
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
/// Reads the base once. Computes `rows * queries` distances, or products and fewer distances, with
/// the kernels of this CPU.
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
    let threads = options.pool.current_num_threads();
    let room = room_for_rows(question, options.memory_bytes)?;
    let screens = question.screen_bytes(threads);
    let beside_screens = room.checked_sub(screens);
    let beside_screens = beside_screens.filter(|left| *left >= screens / threads as u64);
    let block_bytes = beside_screens.unwrap_or(room).min(BLOCK_BYTES_MAX);
    let queries = question.queries.count() as usize;
    let (ids, distances) = Nearest::unfilled(queries * question.k);
    let mut truth = Truth {
        k: question.k,
        ids,
        distances,
    };
    let scan = Scan::new(
        question.queries,
        question.metric,
        question.exclude,
        progress,
    )?;
    let scan = match beside_screens {
        Some(_) => scan.screened(),
        None => scan,
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
            .install(|| compare(&scan, first, block.rows, &mut truth))?;
    }
    options.pool.install(|| sort(&mut truth));
    match first_unfilled(&truth.ids) {
        None => Ok(truth),
        Some(place) => {
            let (query, k) = (place / question.k, question.k);
            Err(TruthError::NotFinite { query, k }.into())
        }
    }
}

impl ExactQuestion<'_> {
    /// Bytes by which so many threads leave out rows without a distance of their own, for floats
    /// and L2, cosine or inner product; 0 where that saves nothing. It is done where a cap holds
    /// them and what one thread takes of them for rows, and changes no answer.
    pub fn screen_bytes(&self, threads: usize) -> u64 {
        screen_bytes(&self.queries, self.metric, threads) as u64
    }

    fn check(&self, base: &dyn VectorRead) -> Result<(), TruthError> {
        check_sets(base, &self.queries)?;
        let (count, queries) = (base.count(), self.queries.count());
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

/// Refuses sets that cannot be compared.
pub(super) fn check_sets(
    base: &dyn VectorRead,
    queries: &VectorSlice<'_>,
) -> Result<(), TruthError> {
    if base.shape() != queries.shape() {
        let (base, queries) = (base.shape(), queries.shape());
        return Err(TruthError::Shape { base, queries });
    }
    if queries.count() == 0 {
        return Err(TruthError::NoQueries);
    }
    if base.count() > u32::MAX.into() {
        let count = base.count();
        return Err(TruthError::BaseTooLarge { count });
    }
    Ok(())
}

/// Bytes that the cap leaves beside the result.
fn room_for_rows(question: &ExactQuestion<'_>, memory_bytes: u64) -> Result<u64, TruthError> {
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
    Ok(memory_bytes - exact_bytes(queries, k, 0))
}

/// Compares all queries with a block of rows, groups of queries in parallel.
fn compare(scan: &Scan<'_>, first: u32, rows: &[u8], truth: &mut Truth) -> Result<(), Error> {
    let k = truth.k;
    let group = scan.group_queries();
    truth
        .ids
        .par_chunks_mut(group * k)
        .zip(truth.distances.par_chunks_mut(group * k))
        .enumerate()
        .try_for_each(|(number, (ids, distances))| {
            let places = ids.chunks_mut(k).zip(distances.chunks_mut(k));
            let kept = places.map(|(ids, distances)| Nearest::new(ids, distances));
            let mut askers = scan.askers(number * group, kept);
            scan.group(first, rows, &mut askers)
        })
}

/// Puts the neighbours of each query in order.
fn sort(truth: &mut Truth) {
    let ids = truth.ids.par_chunks_mut(truth.k);
    ids.zip(truth.distances.par_chunks_mut(truth.k))
        .for_each(|(ids, distances)| Nearest::new(ids, distances).sort());
}
