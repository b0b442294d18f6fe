//! What every report of queries says beside how well they were answered: speed, costs, settings and
//! the process. The names of the fields are stable keys of `--json`.

use pageway::{Index, QueryStats, format_bytes};
use serde::Serialize;

use crate::opened::Opened;
use crate::text::{self, Facts};
use crate::workload::Measurement;
use pageway_shell::trace::LatencyUs;

/// All of it.
#[derive(Serialize)]
pub(crate) struct Costs {
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    means: Means,
    #[serde(flatten)]
    system: System,
    #[serde(flatten)]
    settings: Settings,
    #[serde(flatten)]
    opened: Opened,
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
struct Means {
    pages_per_query: f64,
    reads_per_query: f64,
    /// Reads at the end, for exact distances alone.
    refine_reads_per_query: f64,
    /// Those of them that began while candidates were gathered.
    early_reads_per_query: f64,
    rounds_per_query: f64,
    hops_per_query: f64,
    bytes_per_query: f64,
    /// Bytes used of bytes read.
    io_utilisation: f64,
    #[serde(flatten)]
    distances: Distances,
    /// Nodes and pages that a cache had.
    cache_hits_per_query: f64,
    /// Cache hits at expansions 0, 1, 2-3, 4-7, ... of a walk.
    cache_hits_by_hop: Vec<f64>,
    /// Pages that the page cache had.
    page_hits_per_query: f64,
}

/// Distances computed per query.
#[derive(Serialize)]
struct Distances {
    #[serde(rename = "exact_distances_per_query")]
    exact: f64,
    #[serde(rename = "approximate_distances_per_query")]
    approximate: f64,
    /// Answers whose distance is an estimate.
    #[serde(rename = "estimated_per_query")]
    estimated: f64,
}

/// Means per query as the operating system counted them, of the searches alone.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "keys of --json say what they are per"
)]
struct System {
    /// Bytes that the process had read from storage; null where the system does not tell.
    os_bytes_per_query: Option<f64>,
    /// Reads of the block device of the index, completed or merged, whoever asked for them; null
    /// where the system does not tell.
    os_reads_per_query: Option<f64>,
    /// Processor time of the process, user and system.
    cpu_us_per_query: f64,
}

/// With what settings.
#[derive(Serialize)]
struct Settings {
    list_size: u32,
    beam: u32,
    threads: usize,
    interleave: u32,
    open_ms: f64,
}

impl Costs {
    /// Of queries that ran on an index which was opened in `open_ms`.
    pub(crate) fn new(index: &Index, run: &Measurement, open_ms: f64) -> Self {
        let settings = run.settings;
        Self {
            speed: Speed::new(run),
            means: Means::new(run),
            system: System::new(run),
            settings: Settings {
                list_size: settings.list_size,
                beam: settings.beam,
                threads: settings.threads,
                interleave: settings.interleave,
                open_ms,
            },
            opened: Opened::new(index),
        }
    }

    pub(crate) const fn seconds(&self) -> f64 {
        self.speed.seconds
    }

    /// Adds the costs, for people, behind how well the queries were answered.
    pub(crate) fn add_to(&self, facts: Facts) -> Facts {
        let Self {
            speed,
            means,
            system,
            settings,
            opened,
        } = self;
        let facts = facts
            .fact("queries/second", text::figure(speed.qps))
            .fact("latency", speed.describe_latency())
            .fact("pages/query", means.describe_pages())
            .fact("distances/query", means.describe_distances())
            .fact("cache hits", means.describe_hits())
            .fact("system counted", system.describe());
        let facts = facts.fact("settings", settings.describe());
        let open_seconds = text::seconds(settings.open_ms / 1e3);
        opened.add_to(facts, &format!("; opened in {open_seconds}"))
    }
}

impl Speed {
    fn new(run: &Measurement) -> Self {
        let QueryStats {
            wait_ns,
            compute_ns,
            latency_ns,
            ..
        } = run.totals;
        let share = |part: u64| part as f64 / latency_ns.max(1) as f64;
        Self {
            qps: run.queries_per_second(),
            seconds: run.seconds,
            latency_us: run.latency,
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

impl Means {
    fn new(run: &Measurement) -> Self {
        let totals = &run.totals;
        let hits: u64 = totals.cache_hits.iter().sum();
        Self {
            pages_per_query: run.per_query(totals.pages),
            reads_per_query: run.per_query(totals.reads),
            refine_reads_per_query: run.per_query(totals.refine_reads),
            early_reads_per_query: run.per_query(totals.early_reads),
            rounds_per_query: run.per_query(totals.rounds),
            hops_per_query: run.per_query(totals.hops),
            bytes_per_query: run.per_query(totals.bytes_read),
            io_utilisation: totals.bytes_used as f64 / totals.bytes_read.max(1) as f64,
            distances: Distances {
                exact: run.per_query(totals.exact_distances),
                approximate: run.per_query(totals.approximate_distances),
                estimated: run.per_query(totals.estimated),
            },
            cache_hits_per_query: run.per_query(hits),
            cache_hits_by_hop: totals.cache_hits.map(|hits| run.per_query(hits)).to_vec(),
            page_hits_per_query: run.per_query(totals.page_hits),
        }
    }

    fn describe_pages(&self) -> String {
        let refine = match self.refine_reads_per_query {
            0.0 => String::new(),
            reads => format!(", {} of them to refine", text::figure(reads)),
        };
        format!(
            "{} in {} rounds{refine}; {} of the {} read are used",
            text::figure(self.pages_per_query),
            text::figure(self.rounds_per_query),
            text::percent(self.io_utilisation),
            format_bytes(self.bytes_per_query as u64)
        )
    }

    fn describe_distances(&self) -> String {
        let exact = text::figure(self.distances.exact);
        let answers = match self.distances.estimated {
            0.0 => String::new(),
            count => format!("; {} answers come with an estimate", text::figure(count)),
        };
        format!(
            "{exact} exact, {} from codes{answers}",
            text::figure(self.distances.approximate)
        )
    }

    fn describe_hits(&self) -> String {
        let pages = match self.page_hits_per_query {
            0.0 => String::new(),
            pages => format!(", {} of them pages", text::figure(pages)),
        };
        format!(
            "{} per query{pages}",
            text::figure(self.cache_hits_per_query)
        )
    }
}

impl System {
    fn new(run: &Measurement) -> Self {
        let counted = &run.counted;
        Self {
            os_bytes_per_query: counted.read_bytes.map(|bytes| run.per_query(bytes)),
            os_reads_per_query: counted.device_reads.map(|reads| run.per_query(reads)),
            cpu_us_per_query: counted.cpu.as_secs_f64() * 1e6 / run.queries.max(1) as f64,
        }
    }

    fn describe(&self) -> String {
        let reads = self.os_reads_per_query.map_or(String::new(), |reads| {
            // The device counts no processes.
            let reads = text::figure(reads);
            format!("{reads} reads of the device by all who use it, ")
        });
        let bytes = self.os_bytes_per_query.map_or(String::new(), |bytes| {
            format!("{} read, ", format_bytes(bytes as u64))
        });
        let cpu = text::figure(self.cpu_us_per_query);
        format!("{reads}{bytes}{cpu} us of processor time per query")
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
