//! Memory of the workers of searches, planned by what the caller says about searches to come.

use crate::error::{Error, Result};
use crate::execution::QuerySizes;
use crate::execution::driver::WorkerShape;
use crate::manifest::Manifest;
use crate::options::{Effort, OpenOptions, SearchOptions};
use crate::spec::{IndexSpec, MAX_BEAM};
use crate::threads::thread_count;

/// Most queries in flight on one thread.
pub const MAX_INTERLEAVE: u32 = 64;
/// List size that searches are assumed to use by default: enough for high recall on most data.
const ASSUMED_LIST_SIZE: u32 = 200;
/// Recall that searches are assumed to ask for at most.
const ASSUMED_RECALL: f32 = 0.99;
/// Lists are longer by one in so many places, for dead rows.
const DEAD_PART: u32 = 4;
/// Results per query that memory is set aside for by default.
const ASSUMED_K: u32 = 100;

/// Memory for searches: the least that works, and the wished one.
pub(crate) struct WorkerPlan {
    pub(super) least: WorkerShape,
    /// The same for a range search, which begins with a shorter list.
    growing: WorkerShape,
    /// One query with the list that was calibrated for a high recall.
    calibrated: WorkerShape,
    /// All queries that are to be in flight, with few buffers.
    pub(super) compact: WorkerShape,
    wished: WorkerShape,
    /// A range search with default options.
    range: WorkerShape,
    threads: u64,
}

impl WorkerPlan {
    pub(crate) fn new(
        (spec, nodes): (&IndexSpec, u32),
        options: &OpenOptions,
        (list_size, calibrated): (u32, u32),
    ) -> Result<Self> {
        let own = spec.execution.schedule.beam();
        let beam = options.beam.unwrap_or(own);
        let results = ASSUMED_K.max(options.k);
        let listed = sizes(nodes, (results, list_size, list_size), beam)?;
        let calibrated = sizes(nodes, (results, calibrated, calibrated), beam)?;
        let interleave = options.interleave.clamp(1, MAX_INTERLEAVE) as usize;
        let shorter = shorter_list(list_size.min(nodes), options.k);
        let growing = sizes(nodes, (results, shorter, list_size), beam)?;
        let limit = SearchOptions::RANGE_LIMIT;
        let range = sizes(nodes, (limit, SearchOptions::RANGE_LIST_SIZE, limit), beam)?;
        Ok(Self {
            least: WorkerShape::compact(1, listed),
            growing: WorkerShape::compact(1, growing),
            calibrated: WorkerShape::compact(1, calibrated),
            compact: WorkerShape::compact(interleave, listed),
            wished: WorkerShape::roomy(interleave, listed),
            range: WorkerShape::roomy(1, range),
            threads: thread_count(options.threads) as u64,
        })
    }

    /// The plan for callers that say nothing about searches to come.
    pub(super) fn assumed(subject: (&IndexSpec, u32)) -> Result<Self> {
        let lists = (ASSUMED_LIST_SIZE, ASSUMED_LIST_SIZE);
        Self::new(subject, &OpenOptions::default(), lists)
    }

    /// Memory of one query, of either kind.
    pub(crate) fn least_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        bytes(&self.least).max(bytes(&self.growing))
    }

    /// Memory of one query with the list that was calibrated for a high recall.
    pub(crate) fn calibrated_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        bytes(&self.calibrated)
    }

    /// Memory of all queries that are to be in flight.
    pub(crate) fn wished_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        (bytes(&self.wished) * self.threads).max(bytes(&self.range))
    }
}

/// The list that memory is set aside for.
///
/// # Errors
/// `Unsupported` for a recall out of reach.
pub(crate) fn list_size(manifest: &Manifest, options: &OpenOptions) -> Result<u32> {
    Ok(match options.effort {
        None if options.k > ASSUMED_LIST_SIZE => default_list(manifest, options.k),
        None => ASSUMED_LIST_SIZE,
        // The list holds at least the k nearest.
        Some(Effort::ListSize(size)) => size.max(options.k),
        // The first search measures it.
        Some(Effort::Recall(_)) if manifest.calibration.curves.is_empty() => {
            ASSUMED_LIST_SIZE.max(options.k)
        }
        Some(Effort::Recall(recall)) => {
            let k = most_results(manifest, options.k);
            manifest.calibration.list_size_for(k, recall)?.max(k)
        }
    })
}

/// As many neighbours of `k` as there can be, and at least one.
fn most_results(manifest: &Manifest, k: u32) -> u32 {
    k.clamp(1, manifest.node_count().max(1))
}

/// The list of a search for `k` neighbours with the default effort.
fn default_list(manifest: &Manifest, k: u32) -> u32 {
    let k = most_results(manifest, k);
    let known = match SearchOptions::nearest(k).effort {
        Effort::Recall(recall) => manifest.calibration.list_size_for(k, recall).ok(),
        Effort::ListSize(size) => Some(size),
    };
    known.unwrap_or(k).max(k)
}

/// The list of searches for a high recall, if the caller says nothing about searches to come; at
/// least `list_size`, which memory is set aside for in any case.
pub(crate) fn calibrated_list(manifest: &Manifest, options: &OpenOptions, list_size: u32) -> u32 {
    if options.effort.is_some() {
        return list_size;
    }
    let calibration = &manifest.calibration;
    let k = most_results(manifest, options.k);
    let recall = calibration.best(k).unwrap_or(0.0);
    let known = calibration.list_size_for(k, recall.min(ASSUMED_RECALL));
    known.map_or(list_size, |known| {
        (known + known / DEAD_PART).max(list_size)
    })
}

/// The first list of a search that grows to `longest` for which memory is largest. It is `longest`
/// itself if fewer results than candidates are wanted, because that is no range search.
fn shorter_list(longest: u32, results: u32) -> u32 {
    if results >= longest {
        longest.saturating_sub(1).max(1)
    } else {
        longest
    }
}

/// Sizes of a query: its results, its candidate list, and the list that this may grow to.
///
/// # Errors
/// `InvalidInput` for a beam that cannot be.
pub(crate) fn sizes(
    node_count: u32,
    (results, list_size, list_limit): (u32, u32, u32),
    beam: u32,
) -> Result<QuerySizes> {
    let most = MAX_BEAM;
    if !(1..=most).contains(&beam) {
        return Err(Error::invalid(format!(
            "beam = {beam}: give 1 to {most} reads in flight"
        )));
    }
    Ok(QuerySizes {
        results: results.min(node_count) as usize,
        list_size: list_size.min(node_count) as usize,
        capacity: list_size.min(node_count) as usize,
        list_limit: list_limit.max(list_size).min(node_count) as usize,
        beam: beam as usize,
    })
}
