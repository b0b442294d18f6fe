//! The report of a search. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::{Index, QueryStats, format_bytes};
use serde::Serialize;

use crate::latency::LatencyUs;
use crate::text::{self, Facts};
use crate::workload::Measurement;

/// Everything a search found out, apart from the answers.
#[derive(Serialize)]
pub(crate) struct SearchReport {
    queries: u64,
    k: u32,
    #[serde(flatten)]
    quality: Quality,
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    cost: Cost,
    #[serde(flatten)]
    settings: Settings,
    #[serde(flatten)]
    process: Process,
}

/// How well.
#[derive(Serialize)]
struct Quality {
    /// Mean recall@k against the truth; null without truth.
    recall: Option<f64>,
    /// What the calibration of the index expects at this list size; null beyond its ranks.
    expected_recall: Option<f64>,
}

/// How fast.
#[derive(Serialize)]
struct Speed {
    qps: f64,
    seconds: f64,
    latency_us: LatencyUs,
    /// Share of the latency spent waiting for reads, or for other queries of the same thread.
    wait_share: f64,
    compute_share: f64,
}

/// Means per query.
#[derive(Serialize)]
struct Cost {
    pages_per_query: f64,
    reads_per_query: f64,
    rounds_per_query: f64,
    hops_per_query: f64,
    bytes_per_query: f64,
    /// Bytes used of bytes read.
    io_utilisation: f64,
    exact_distances_per_query: f64,
    approximate_distances_per_query: f64,
    cache_hits_per_query: f64,
    /// Cache hits at expansions 0, 1, 2-3, 4-7, ... of a walk.
    cache_hits_by_hop: Vec<f64>,
}

/// With what settings.
#[derive(Serialize)]
struct Settings {
    list_size: u32,
    beam: u32,
    threads: usize,
    interleave: u32,
    io_backend: &'static str,
    io_reason: String,
}

/// What it took.
#[derive(Serialize)]
struct Process {
    memory_budget_bytes: u64,
    /// Highest resident set of the process; null where the system does not tell.
    peak_memory_bytes: Option<u64>,
    open_ms: f64,
}

impl SearchReport {
    pub(crate) fn new(index: &Index, k: u32, measured: &Measurement, open_ms: f64) -> Self {
        let settings = measured.settings;
        let backend = index.backend();
        let expected = index.calibration().expected_recall(k, settings.list_size);
        let expected_recall = expected.map(|recall| (f64::from(recall) * 1e4).round() / 1e4);
        Self {
            queries: measured.queries,
            k,
            quality: Quality {
                recall: measured.recall,
                expected_recall,
            },
            speed: Speed::new(measured),
            cost: Cost::new(measured),
            settings: Settings {
                list_size: settings.list_size,
                beam: settings.beam,
                threads: settings.threads,
                interleave: settings.interleave,
                io_backend: backend.io_backend,
                io_reason: backend.reason,
            },
            process: Process {
                memory_budget_bytes: index.memory().budget_bytes,
                peak_memory_bytes: pageway::peak_memory_bytes(),
                open_ms,
            },
        }
    }

    /// The report for people: speed never without recall.
    pub(crate) fn describe(&self, index: &Path) -> String {
        let Self {
            speed,
            cost,
            settings,
            process,
            ..
        } = self;
        let facts = Facts::new()
            .fact(format!("recall@{}", self.k), self.describe_recall())
            .fact("queries/second", text::figure(speed.qps))
            .fact("latency", speed.describe_latency())
            .fact("pages/query", cost.describe_pages())
            .fact("distances/query", cost.describe_distances())
            .fact(
                "cache hits",
                format!("{} per query", text::figure(cost.cache_hits_per_query)),
            )
            .fact("settings", settings.describe())
            .fact(
                "reads by",
                format!("{} ({})", settings.io_backend, settings.io_reason),
            )
            .fact("memory", process.describe());
        let queries = text::count(self.queries);
        let seconds = text::seconds(speed.seconds);
        format!(
            "{queries} queries on {} in {seconds}.\n\n{}",
            index.display(),
            facts.render()
        )
    }

    fn describe_recall(&self) -> String {
        match (self.quality.recall, self.quality.expected_recall) {
            (Some(recall), Some(expected)) => {
                format!("{recall:.4} measured against the truth ({expected:.3} calibrated)")
            }
            (Some(recall), None) => format!("{recall:.4} measured against the truth"),
            (None, Some(expected)) => {
                format!("{expected:.3} expected (calibrated); give --truth to measure it")
            }
            (None, None) => "unknown: not calibrated for this k; give --truth".to_owned(),
        }
    }
}

impl Speed {
    fn new(measured: &Measurement) -> Self {
        let QueryStats {
            wait_ns,
            compute_ns,
            latency_ns,
            ..
        } = measured.totals;
        let share = |part: u64| part as f64 / latency_ns.max(1) as f64;
        Self {
            qps: measured.queries_per_second(),
            seconds: measured.seconds,
            latency_us: measured.latency,
            wait_share: share(wait_ns),
            compute_share: share(compute_ns),
        }
    }

    fn describe_latency(&self) -> String {
        let LatencyUs { mean, p50, p99 } = self.latency_us;
        let [mean, p50, p99] = [mean, p50, p99].map(text::figure);
        let waiting = text::percent(self.wait_share);
        format!("mean {mean} us, median {p50} us, 99th percentile {p99} us; {waiting} waiting")
    }
}

impl Cost {
    fn new(measured: &Measurement) -> Self {
        let totals = &measured.totals;
        let hits: u64 = totals.cache_hits.iter().sum();
        Self {
            pages_per_query: measured.per_query(totals.pages),
            reads_per_query: measured.per_query(totals.reads),
            rounds_per_query: measured.per_query(totals.rounds),
            hops_per_query: measured.per_query(totals.hops),
            bytes_per_query: measured.per_query(totals.bytes_read),
            io_utilisation: totals.bytes_used as f64 / totals.bytes_read.max(1) as f64,
            exact_distances_per_query: measured.per_query(totals.exact_distances),
            approximate_distances_per_query: measured.per_query(totals.approximate_distances),
            cache_hits_per_query: measured.per_query(hits),
            cache_hits_by_hop: totals
                .cache_hits
                .map(|hits| measured.per_query(hits))
                .to_vec(),
        }
    }

    fn describe_pages(&self) -> String {
        format!(
            "{} in {} rounds; {} of the {} read are used",
            text::figure(self.pages_per_query),
            text::figure(self.rounds_per_query),
            text::percent(self.io_utilisation),
            format_bytes(self.bytes_per_query as u64)
        )
    }

    fn describe_distances(&self) -> String {
        let exact = text::figure(self.exact_distances_per_query);
        format!(
            "{exact} exact, {} from codes",
            text::figure(self.approximate_distances_per_query)
        )
    }
}

impl Settings {
    fn describe(&self) -> String {
        let Self {
            list_size,
            beam,
            threads,
            interleave,
            ..
        } = self;
        format!("list size {list_size}, beam {beam}, threads {threads}, interleave {interleave}")
    }
}

impl Process {
    fn describe(&self) -> String {
        let budget = format_bytes(self.memory_budget_bytes);
        let peak = self.peak_memory_bytes.map_or(String::new(), |peak| {
            format!("; the whole process peaked at {}", format_bytes(peak))
        });
        format!(
            "budget {budget}{peak}; opened in {}",
            text::seconds(self.open_ms / 1e3)
        )
    }
}
