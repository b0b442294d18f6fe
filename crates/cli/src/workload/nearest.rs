//! A stream of queries through an index: what it found, how well, how fast, and what it cost.
//!
//! Queries, answers and truth are held one chunk at a time and latencies in a histogram, so that
//! the process stays within the memory budget of the index plus a constant, whatever the number of
//! queries.

use pageway::truth::{self, Found, TruthFile};
use pageway::{
    Answers, Index, Progress, Queries, QueryStats, Result, SearchOptions, SearchSettings,
    VectorRead,
};

use crate::latency::{Latencies, LatencyUs};
use crate::progress::Uncounted;
use crate::system;

/// Queries per chunk, unless they are large.
const CHUNK_QUERIES: u64 = 1000;
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
}

/// What a workload found out.
pub(crate) struct Measurement {
    pub(crate) queries: u64,
    /// Mean recall@k where the truth was known.
    pub(crate) recall: Option<f64>,
    /// Wall time of the searches alone.
    pub(crate) seconds: f64,
    pub(crate) latency: LatencyUs,
    /// Sums over all queries.
    pub(crate) totals: QueryStats,
    pub(crate) settings: SearchSettings,
}

impl Measurement {
    pub(crate) fn queries_per_second(&self) -> f64 {
        self.queries as f64 / self.seconds.max(1e-9)
    }

    /// A total as a mean per query.
    pub(crate) fn per_query(&self, total: u64) -> f64 {
        total as f64 / self.queries.max(1) as f64
    }
}

impl Workload<'_> {
    /// Searches all queries in order; `take` sees the answers of each chunk and the number of the
    /// chunk's first query.
    pub(crate) fn run(
        &self,
        progress: &dyn Progress,
        take: &mut dyn FnMut(u64, &Answers) -> Result<()>,
    ) -> Result<Measurement> {
        let count = self.queries.count();
        let row_bytes = self.queries.shape().row_bytes();
        let chunk = self.chunk_queries();
        let mut rows = vec![0; chunk.min(count) as usize * row_bytes];
        let mut sums = Sums::new();
        progress.stage("search", count);
        let mut first = 0;
        while first < count {
            let queries = chunk.min(count - first);
            rows.truncate(queries as usize * row_bytes);
            self.queries.read(first, &mut rows)?;
            let answers = sums.search(self, &rows, progress)?;
            if let Some(truth) = self.truth {
                sums.score(&answers, truth, first, queries)?;
            }
            take(first, &answers)?;
            progress.advance(queries);
            first += queries;
        }
        Ok(sums.finish(count, self.truth.is_some()))
    }

    fn chunk_queries(&self) -> u64 {
        let row_bytes = self.queries.shape().row_bytes();
        let neighbours = (self.options.k as usize).saturating_mul(NEIGHBOUR_BYTES);
        let bytes = row_bytes.saturating_add(neighbours) + size_of::<QueryStats>();
        ((CHUNK_BYTES / bytes) as u64).clamp(1, CHUNK_QUERIES)
    }
}

struct Sums {
    latencies: Latencies,
    totals: QueryStats,
    settings: SearchSettings,
    seconds: f64,
    recall: f64,
}

impl Sums {
    fn new() -> Self {
        Self {
            latencies: Latencies::new(),
            totals: QueryStats::default(),
            settings: SearchSettings::default(),
            seconds: 0.0,
            recall: 0.0,
        }
    }

    fn search(
        &mut self,
        workload: &Workload<'_>,
        rows: &[u8],
        progress: &dyn Progress,
    ) -> Result<Answers> {
        let queries = Queries::new(rows, workload.queries.shape());
        let started = system::now();
        let found = workload
            .index
            .search_with(&queries, &workload.options, &Uncounted(progress));
        self.seconds += started.elapsed().as_secs_f64();
        let answers = found?;
        self.settings = answers.settings;
        for stats in &answers.stats {
            self.latencies.add(stats.latency_ns);
            self.totals.add(stats);
        }
        Ok(answers)
    }

    /// Adds the recall of a chunk that begins at query `first`.
    fn score(
        &mut self,
        answers: &Answers,
        truth: &TruthFile,
        first: u64,
        queries: u64,
    ) -> Result<()> {
        let expected = truth.read(first, queries as usize)?;
        let found = Found {
            ids: &answers.ids,
            distances: &answers.distances,
            width: answers.k,
        };
        self.recall += truth::recall(&found, &expected, answers.k)? * queries as f64;
        Ok(())
    }

    fn finish(self, queries: u64, scored: bool) -> Measurement {
        Measurement {
            queries,
            recall: scored.then(|| self.recall / queries.max(1) as f64),
            seconds: self.seconds,
            latency: self.latencies.summary(),
            totals: self.totals,
            settings: self.settings,
        }
    }
}
