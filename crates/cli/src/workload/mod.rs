//! A stream of queries through an index: what it found, how well, how fast, and what it cost.
//!
//! ```text
//! nearest   the k nearest, and recall             range     all within a radius, and precision
//! counted   what the operating system counted meanwhile
//! ```
//!
//! Queries, answers and truth are held one chunk at a time and latencies in a histogram, so that
//! the process stays within the memory budget of the index plus a constant, whatever the number of
//! queries.

mod counted;
mod nearest;
mod range;

use pageway::{Index, Progress, Queries, QueryStats, Result, SearchSettings, VectorRead};

pub(crate) use counted::Counted;
pub(crate) use nearest::{Searched, Workload};
pub(crate) use range::{RangeReference, RangeSearched, RangeWorkload};

use crate::latency::{Latencies, LatencyUs};
use crate::system;

/// What a workload took.
pub(crate) struct Measurement {
    pub(crate) queries: u64,
    /// Wall time of the searches alone.
    pub(crate) seconds: f64,
    pub(crate) latency: LatencyUs,
    /// Sums over all queries.
    pub(crate) totals: QueryStats,
    /// What the operating system counted during the searches.
    pub(crate) counted: Counted,
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

/// Queries per chunk, unless they or their answers are large.
const CHUNK_QUERIES: u64 = 1000;

/// Queries per chunk where one takes `query_bytes`, of `chunk_bytes`.
fn chunk_queries(chunk_bytes: usize, query_bytes: usize) -> u64 {
    ((chunk_bytes / query_bytes.max(1)) as u64).clamp(1, CHUNK_QUERIES)
}

/// Shows the queries to `search`, a chunk at a time, each with the number of its first query.
fn each_chunk(
    queries: &dyn VectorRead,
    chunk: u64,
    progress: &dyn Progress,
    search: &mut dyn FnMut(u64, &Queries<'_>) -> Result<()>,
) -> Result<()> {
    let (count, shape) = (queries.count(), queries.shape());
    let mut rows = vec![0; chunk.min(count) as usize * shape.row_bytes()];
    progress.stage("search", count);
    let mut first = 0;
    while first < count {
        let length = chunk.min(count - first);
        rows.truncate(length as usize * shape.row_bytes());
        queries.read(first, &mut rows)?;
        search(first, &Queries::new(&rows, shape))?;
        progress.advance(length);
        first += length;
    }
    Ok(())
}

/// Costs of searches of an index, as they come.
struct Sums<'i> {
    index: &'i Index,
    latencies: Latencies,
    totals: QueryStats,
    counted: Counted,
    settings: SearchSettings,
    seconds: f64,
}

impl<'i> Sums<'i> {
    fn new(index: &'i Index) -> Self {
        Self {
            index,
            latencies: Latencies::new(),
            totals: QueryStats::default(),
            counted: Counted::NOTHING,
            settings: SearchSettings::default(),
            seconds: 0.0,
        }
    }

    /// Times a search.
    fn time<A>(&mut self, search: impl FnOnce() -> Result<A>) -> Result<A> {
        let before = Counted::now(self.index.path());
        let started = system::now();
        let found = search();
        self.seconds += started.elapsed().as_secs_f64();
        self.counted.add_since(&before, self.index.path());
        found
    }

    fn add(&mut self, stats: &[QueryStats], settings: SearchSettings) {
        self.settings = settings;
        for stats in stats {
            self.latencies.add(stats.latency_ns);
            self.totals.add(stats);
        }
    }

    fn finish(self, queries: u64) -> Measurement {
        Measurement {
            queries,
            seconds: self.seconds,
            latency: self.latencies.summary(),
            totals: self.totals,
            counted: self.counted,
            settings: self.settings,
        }
    }
}
