//! Memory of the workers of searches, from what a caller says of searches to come.

use crate::error::{Error, Result};
use crate::execution::driver::WorkerShape;
use crate::execution::{IndexShape, ScratchShape};
use crate::options::OpenOptions;
use crate::resolve;
use crate::spec::{IndexSpec, MAX_BEAM};
use crate::threads::thread_count;

/// Most queries in flight on one thread.
pub const MAX_INTERLEAVE: u32 = 64;
/// Candidate list size that a range search begins with, unless it says otherwise.
pub(crate) const RANGE_LIST_SIZE: u32 = 20;
/// Results of a range search at most, unless it says otherwise.
pub(crate) const RANGE_LIMIT: u32 = 10_000;
/// List size that searches are assumed to use when nobody says: enough for high recall on most
/// data.
const ASSUMED_LIST_SIZE: u32 = 200;
/// Results per query that memory is set aside for.
const ASSUMED_K: u32 = 100;

/// Memory for searches: the least that works, and what is wished for.
pub(crate) struct WorkerPlan {
    pub(super) least: WorkerShape,
    /// The same where a range search begins with a shorter list.
    growing: WorkerShape,
    /// All queries in flight that are wished for, with few buffers.
    pub(super) compact: WorkerShape,
    wished: WorkerShape,
    /// A range search as wide as its options are by default.
    range: WorkerShape,
    threads: u64,
}

impl WorkerPlan {
    pub(crate) fn new(
        (spec, node_count): (&IndexSpec, u32),
        options: &OpenOptions,
    ) -> Result<Self> {
        let subject = (resolve::index_shape(spec, node_count)?, node_count);
        let list_size = if options.list_size == 0 {
            ASSUMED_LIST_SIZE
        } else {
            options.list_size
        };
        let beam = options
            .beam
            .unwrap_or_else(|| spec.execution.schedule.beam());
        let results = ASSUMED_K.max(options.k);
        let scratch = scratch_shape(subject, (results, list_size, list_size), beam)?;
        let interleave = options.interleave.clamp(1, MAX_INTERLEAVE) as usize;
        let shorter = shorter_list(list_size.min(node_count), options.k);
        let growing = scratch_shape(subject, (results, shorter, list_size), beam)?;
        let sizes = (RANGE_LIMIT, RANGE_LIST_SIZE, RANGE_LIMIT);
        let range = scratch_shape(subject, sizes, beam)?;
        Ok(Self {
            least: WorkerShape::compact(1, scratch),
            growing: WorkerShape::compact(1, growing),
            compact: WorkerShape::compact(interleave, scratch),
            wished: WorkerShape::roomy(interleave, scratch),
            range: WorkerShape::roomy(1, range),
            threads: thread_count(options.threads) as u64,
        })
    }

    /// Memory of one query, of either kind.
    pub(crate) fn least_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        bytes(&self.least).max(bytes(&self.growing))
    }

    /// Memory of all queries in flight that are wished for.
    pub(crate) fn wished_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        (bytes(&self.wished) * self.threads).max(bytes(&self.range))
    }
}

/// The list that takes most memory of those that a search may begin with and have grown to
/// `longest`. None shorter where fewer results are wanted than candidates: that is no range search.
fn shorter_list(longest: u32, results: u32) -> u32 {
    if results >= longest {
        longest.saturating_sub(1).max(1)
    } else {
        longest
    }
}

/// Sizes of one query's scratch: for so many results, a candidate list of this size, and one that
/// it may grow to.
pub(crate) fn scratch_shape(
    (index, node_count): (IndexShape, u32),
    (results, list_size, list_limit): (u32, u32, u32),
    beam: u32,
) -> Result<ScratchShape> {
    let most = MAX_BEAM;
    if !(1..=most).contains(&beam) {
        return Err(Error::invalid(format!(
            "beam = {beam}: give 1 to {most} reads in flight"
        )));
    }
    Ok(ScratchShape {
        results: results.min(node_count) as usize,
        list_size: list_size.min(node_count) as usize,
        list_limit: list_limit.max(list_size).min(node_count) as usize,
        beam: beam as usize,
        index,
    })
}
