//! The k nearest of each query, and the recall against a truth.

use pageway::truth::{self, Found, TruthFile};
use pageway::{Answers, Index, Progress, QueryStats, ReadTrace, Result, SearchOptions, VectorRead};

use super::{Measurement, Sums, chunk_queries, each_chunk};
use crate::progress::Uncounted;

/// Bytes of a chunk: queries, answers, truth and counters.
const CHUNK_BYTES: usize = 2 << 20;
/// Bytes of one neighbour of one query: id and distance of the answer and of the truth.
const NEIGHBOUR_BYTES: usize = 24;

/// Queries against an index.
pub(crate) struct Workload<'w> {
    pub(crate) index: &'w Index,
    pub(crate) queries: &'w dyn VectorRead,
    pub(crate) truth: Option<&'w TruthFile>,
    pub(crate) options: SearchOptions,
    /// First queries whose reads are recorded.
    pub(crate) recorded: u64,
}

/// What a workload found out.
pub(crate) struct Searched {
    /// Mean recall@k where the truth was known.
    pub(crate) recall: Option<f64>,
    pub(crate) run: Measurement,
    /// What the recorded queries did.
    pub(crate) traces: Vec<ReadTrace>,
}

impl Workload<'_> {
    /// Searches all queries in order; `take` sees the answers of each chunk and the number of the
    /// chunk's first query.
    pub(crate) fn run(
        &self,
        progress: &dyn Progress,
        take: &mut dyn FnMut(u64, &Answers) -> Result<()>,
    ) -> Result<Searched> {
        let row_bytes = self.queries.shape().row_bytes();
        let neighbours = (self.options.k as usize).saturating_mul(NEIGHBOUR_BYTES);
        let query_bytes = row_bytes.saturating_add(neighbours) + size_of::<QueryStats>();
        let chunk = chunk_queries(CHUNK_BYTES, query_bytes);
        let (mut sums, mut recall) = (Sums::new(self.index), 0.0);
        let mut traces = Vec::new();
        each_chunk(self.queries, chunk, progress, &mut |first, queries| {
            let uncounted = Uncounted(progress);
            let left = self.recorded.saturating_sub(first) as usize;
            let answers = if left == 0 {
                sums.time(|| self.index.search_with(queries, &self.options, &uncounted))?
            } else {
                let search = || {
                    let (index, options) = (self.index, &self.options);
                    index.search_recorded(queries, options, left, &uncounted)
                };
                let (answers, recorded) = sums.time(search)?;
                traces.extend(recorded);
                answers
            };
            sums.add(&answers.stats, answers.settings);
            if let Some(truth) = self.truth {
                recall += score(&answers, truth, first)?;
            }
            take(first, &answers)
        })?;
        let run = sums.finish(self.queries.count());
        Ok(Searched {
            recall: self.truth.map(|_| recall / run.queries.max(1) as f64),
            run,
            traces,
        })
    }
}

/// The sum of the recalls of a chunk that begins at query `first`.
fn score(answers: &Answers, truth: &TruthFile, first: u64) -> Result<f64> {
    let queries = answers.stats.len();
    let expected = truth.read(first, queries)?;
    let found = Found {
        ids: &answers.ids,
        distances: &answers.distances,
        width: answers.k,
    };
    Ok(truth::recall(&found, &expected, answers.k)? * queries as f64)
}
