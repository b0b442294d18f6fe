//! What queries took: wall time, latencies, and sums of their counters.

use pageway::{Index, QueryStats, Result, SearchSettings};
use pageway_shell::trace::LatencyUs;

use super::Counted;
use crate::latency::Latencies;
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

/// Costs of searches of an index, as they come.
pub(super) struct Sums<'i> {
    index: &'i Index,
    latencies: Latencies,
    totals: QueryStats,
    counted: Counted,
    settings: SearchSettings,
    /// Sum of the list sizes of all queries.
    list_sizes: u64,
    seconds: f64,
}

impl<'i> Sums<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        Self {
            index,
            latencies: Latencies::new(),
            totals: QueryStats::default(),
            counted: Counted::NOTHING,
            settings: SearchSettings::default(),
            list_sizes: 0,
            seconds: 0.0,
        }
    }

    /// Times a search.
    pub(super) fn time<A>(&mut self, search: impl FnOnce() -> Result<A>) -> Result<A> {
        let before = Counted::now(self.index.path());
        let started = system::now();
        let found = search();
        self.seconds += started.elapsed().as_secs_f64();
        self.counted.add_since(&before, self.index.path());
        found
    }

    pub(super) fn add(&mut self, stats: &[QueryStats], settings: SearchSettings) {
        self.settings = settings;
        self.list_sizes += u64::from(settings.list_size) * stats.len() as u64;
        for stats in stats {
            self.latencies.add(stats.latency_ns);
            self.totals.add(stats);
        }
    }

    pub(super) fn finish(self, queries: u64) -> Measurement {
        let mut settings = self.settings;
        settings.list_size = self.list_sizes.div_ceil(queries.max(1)) as u32;
        Measurement {
            queries,
            seconds: self.seconds,
            latency: self.latencies.summary(),
            totals: self.totals,
            counted: self.counted,
            settings,
        }
    }
}
