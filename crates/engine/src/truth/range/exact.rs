//! Exact range results by brute force, under a memory cap.
//!
//! One pass over the base. How many results there are is known when it ends: results are kept as
//! long as the cap holds them, and only counted beyond, so that a refusal names the memory that
//! would do.

use std::sync::atomic::{AtomicU64, Ordering};

use pageway_types::{Metric, NoProgress, Progress, VectorRead};
use rayon::prelude::*;

use super::table::RangeTruth;
use crate::error::Error;
use crate::source::{BLOCK_BYTES, Inspection, RowBlocks, VectorSlice, inspect_rows};
use crate::truth::TruthError;
use crate::truth::exact::{ExactOptions, check_sets};
use crate::truth::scan::{Keep, Scan};

/// A list of results that grew by doubling, and its place in the answer.
const RESULT_BYTES: u64 = 24;
/// A list, its first few places, and where it begins in the answer.
const QUERY_BYTES: u64 = 64;
/// Block of the base: long enough for groups of a few queries.
const RANGE_BLOCK_BYTES: usize = 4 << 20;

/// Around which vectors, how far, and by what measure.
#[derive(Clone, Copy)]
pub struct RangeQuestion<'a> {
    /// The queries, of the shape of the base.
    pub queries: VectorSlice<'a>,
    /// The metric.
    pub metric: Metric,
    /// Distance within which a row is a result: squared for L2, negated for the inner product.
    pub radius: f32,
}

/// Bytes held by [`exact_range`] for a base of such rows that has so many results.
pub const fn exact_range_bytes(queries: u64, results: u64, row_bytes: usize) -> u64 {
    let block = if row_bytes > RANGE_BLOCK_BYTES {
        row_bytes
    } else {
        RANGE_BLOCK_BYTES
    };
    queries
        .saturating_mul(QUERY_BYTES)
        .saturating_add(results.saturating_mul(RESULT_BYTES))
        .saturating_add(block as u64)
}

/// All rows of `base` within the radius of every query, nearest first, ties by id.
///
/// Reads the base once. Computes `rows * queries` distances with the kernels of this CPU.
///
/// # Errors
/// `InvalidInput` for shapes that differ, no queries, a radius or queries with NaN, and a cap that
/// does not hold the results, with the smallest that does (known when all were counted); what the
/// base reports; `Cancelled`.
pub fn exact_range(
    base: &dyn VectorRead,
    question: &RangeQuestion<'_>,
    options: &ExactOptions<'_>,
    progress: &dyn Progress,
) -> Result<RangeTruth, Error> {
    question.check(base)?;
    let queries = question.queries.count();
    let row_bytes = base.shape().row_bytes();
    let fixed_bytes = exact_range_bytes(queries, 0, row_bytes);
    let room = ResultRoom {
        results: options.memory_bytes.saturating_sub(fixed_bytes) / RESULT_BYTES,
        found: AtomicU64::new(0),
    };
    let mut lists: Vec<Vec<RowInReach>> = Vec::new();
    lists.resize_with(queries as usize, Vec::new);
    let scan = Scan::new(question.queries, question.metric, None, progress)?;
    progress.stage("exact distances", base.count().saturating_mul(queries));
    let mut blocks = RowBlocks::new(base, 0..base.count(), RANGE_BLOCK_BYTES);
    while let Some(block) = blocks.next_block()? {
        let part = (block.first as u32, block.rows);
        let compared = || compare(&scan, part, (question.radius, &room), &mut lists);
        options.pool.install(compared)?;
    }
    let results = room.found.load(Ordering::Relaxed);
    let needed_bytes = exact_range_bytes(queries, results, row_bytes);
    if needed_bytes > options.memory_bytes {
        return Err(question
            .refuse(results, needed_bytes, options.memory_bytes)
            .into());
    }
    Ok(collect(lists, options.pool))
}

impl RangeQuestion<'_> {
    fn check(&self, base: &dyn VectorRead) -> Result<(), Error> {
        check_sets(base, &self.queries)?;
        if self.radius.is_nan() {
            return Err(TruthError::Radius.into());
        }
        let inspection = Inspection {
            vectors: &self.queries,
            name: "queries",
            metric: self.metric,
        };
        inspect_rows(inspection, BLOCK_BYTES, &NoProgress).map(drop)
    }

    fn refuse(&self, results: u64, needed_bytes: u64, memory_bytes: u64) -> TruthError {
        TruthError::RangeMemory {
            queries: self.queries.count() as usize,
            radius: self.radius,
            results,
            needed_bytes,
            memory_bytes,
        }
    }
}

/// A row within the radius.
#[derive(Clone, Copy)]
struct RowInReach {
    distance: f32,
    id: u32,
}

/// Results that memory holds, and those found so far, of all queries.
struct ResultRoom {
    results: u64,
    found: AtomicU64,
}

/// The results of one query.
struct Within<'w> {
    hits: &'w mut Vec<RowInReach>,
    radius: f32,
    room: &'w ResultRoom,
}

impl Keep for Within<'_> {
    fn bound(&self) -> f32 {
        self.radius.next_up()
    }

    fn insert(&mut self, id: u32, distance: f32) {
        if self.room.found.fetch_add(1, Ordering::Relaxed) < self.room.results {
            // Adding zero turns -0.0 into 0.0, so that equal distances are equal bits.
            let distance = distance + 0.0;
            self.hits.push(RowInReach { distance, id });
        }
    }
}

/// Compares all queries with a block of rows, groups of queries in parallel.
fn compare(
    scan: &Scan<'_>,
    (first, rows): (u32, &[u8]),
    (radius, room): (f32, &ResultRoom),
    lists: &mut [Vec<RowInReach>],
) -> Result<(), Error> {
    let group = scan.group_queries();
    lists
        .par_chunks_mut(group)
        .enumerate()
        .try_for_each(|(number, lists)| {
            let kept = lists.iter_mut().map(|hits| Within { hits, radius, room });
            let mut askers = scan.askers(number * group, kept);
            scan.group(first, rows, &mut askers)
        })
}

/// Sorts the lists and puts them one behind the other, freeing each as it goes.
fn collect(mut lists: Vec<Vec<RowInReach>>, pool: &rayon::ThreadPool) -> RangeTruth {
    let sort = |list: &mut Vec<RowInReach>| {
        list.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.id.cmp(&b.id)));
    };
    pool.install(|| lists.par_iter_mut().for_each(sort));
    let results = lists.iter().map(Vec::len).sum();
    let mut truth = RangeTruth::default();
    truth.lims.reserve_exact(lists.len());
    truth.ids.reserve_exact(results);
    truth.distances.reserve_exact(results);
    for list in lists {
        truth.ids.extend(list.iter().map(|hit| hit.id));
        truth.distances.extend(list.iter().map(|hit| hit.distance));
        truth.lims.push(truth.ids.len());
    }
    truth
}
