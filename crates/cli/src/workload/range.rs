//! All vectors within a radius of each query, and the average precision against a truth.

use pageway::truth::{
    RangeFound, RangeScore, RangeTruth, RangeTruthFile, TruthFile, average_precision,
};
use pageway::{Answers, Index, Progress, QueryStats, Result, SearchOptions, VectorRead};

use super::{Measurement, Sums, chunk_queries, each_chunk};
use crate::progress::Uncounted;

/// Bytes of a chunk: queries, answers and counters.
const CHUNK_BYTES: usize = 8 << 20;
/// Bytes of one result of one query: id, row, node and distance.
const RESULT_BYTES: usize = 20;

/// What results are compared with.
pub(crate) enum RangeReference {
    /// Nothing.
    Unknown,
    /// Exact results within the radius, or a larger one.
    Ranges(RangeTruthFile),
    /// Exact neighbours, cut at the radius.
    Nearest(TruthFile),
    /// What a scan of the index found, by node.
    Scanned(RangeTruth),
}

/// Queries against an index.
pub(crate) struct RangeWorkload<'w> {
    pub(crate) index: &'w Index,
    pub(crate) queries: &'w dyn VectorRead,
    pub(crate) reference: &'w RangeReference,
    pub(crate) options: SearchOptions,
}

/// What a workload found out.
pub(crate) struct RangeSearched {
    /// Sums of the precision where the truth was known.
    pub(crate) score: Option<RangeScore>,
    /// Results of all queries.
    pub(crate) results: u64,
    /// Queries with as many results as there was room for.
    pub(crate) truncated: u64,
    pub(crate) run: Measurement,
}

impl RangeWorkload<'_> {
    /// Searches all queries in order; `take` sees the answers of each chunk and the number of the
    /// chunk's first query.
    pub(crate) fn run(
        &self,
        progress: &dyn Progress,
        take: &mut dyn FnMut(u64, &Answers) -> Result<()>,
    ) -> Result<RangeSearched> {
        let chunk = chunk_queries(CHUNK_BYTES, self.query_bytes());
        let mut sums = Sums::new(self.index);
        let (mut score, mut results, mut truncated) = (RangeScore::default(), 0, 0);
        each_chunk(self.queries, chunk, progress, &mut |first, queries| {
            let uncounted = Uncounted(progress);
            let search = || self.index.search_with(queries, &self.options, &uncounted);
            let answers = sums.time(search)?;
            sums.add(&answers.stats, answers.settings);
            results += answers.ids.len() as u64;
            truncated += answers.truncated as u64;
            if let Some(part) = self.score(first, &answers)? {
                score.add(&part);
            }
            take(first, &answers)
        })?;
        let known = !matches!(self.reference, RangeReference::Unknown);
        Ok(RangeSearched {
            score: known.then_some(score),
            results,
            truncated,
            run: sums.finish(self.queries.count()),
        })
    }

    /// Bytes of a query whose results fill the room there is.
    fn query_bytes(&self) -> usize {
        let row_bytes = self.queries.shape().row_bytes();
        let most = u64::from(self.options.k).min(self.index.len()) as usize;
        row_bytes + most.saturating_mul(RESULT_BYTES) + size_of::<QueryStats>()
    }

    /// Compares a chunk with what is known of it.
    fn score(&self, first: u64, answers: &Answers) -> Result<Option<RangeScore>> {
        let radius = self.options.radius.unwrap_or(f32::INFINITY);
        let count = answers.stats.len();
        let truth = match self.reference {
            RangeReference::Unknown => return Ok(None),
            RangeReference::Ranges(file) => file.read(first, count)?.within(radius),
            RangeReference::Nearest(file) => {
                file.read_within(first, count, (radius, self.index.len()))?
            }
            RangeReference::Scanned(truth) => truth.part(first as usize..first as usize + count),
        };
        let mut found = RangeFound {
            lims: &answers.lims,
            ids: &answers.ids,
            distances: &answers.distances,
            radius,
            first,
        };
        let nodes: Vec<u64>;
        if matches!(self.reference, RangeReference::Scanned(_)) {
            // The vectors of an index are numbered by node.
            nodes = answers.nodes.iter().map(|node| u64::from(*node)).collect();
            found.ids = &nodes;
        }
        average_precision(&found, &truth).map(Some)
    }
}
