//! `pageway search --trace FILE`: what the queries computed and read, to be replayed on another
//! device by `pageway lab predict`.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{Index, Result};
use pageway_shell::trace::{Header, LatencyUs, Measured, Settings, Subject, Trace};

use crate::system;
use crate::workload::Searched;

/// Queries that are recorded unless somebody says how many.
const QUERIES: u64 = 1_000;

/// Whether to record, and how much.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    /// Record what the first queries compute and read, for 'pageway lab predict'; best with
    /// --threads 1
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Queries to record; each takes about 30 bytes per read
    #[arg(long, value_name = "N", default_value_t = QUERIES, requires = "trace")]
    trace_queries: u64,
}

impl TraceArguments {
    /// Queries to record.
    pub(super) fn queries(&self) -> u64 {
        self.trace.as_ref().map_or(0, |_| self.trace_queries)
    }

    /// Where to write them.
    pub(super) fn file(&self) -> Option<&Path> {
        self.trace.as_deref()
    }
}

/// Writes what was recorded, and takes it out of `searched`.
pub(super) fn write(file: &Path, (index, k): (&Index, u32), searched: &mut Searched) -> Result<()> {
    let traces = std::mem::take(&mut searched.traces);
    let trace = Trace::new(header((index, k), searched)?, traces);
    system::write_text(file, &trace.to_text()?)
}

fn header((index, k): (&Index, u32), searched: &Searched) -> Result<Header> {
    let run = &searched.run;
    let (settings, totals) = (run.settings, &run.totals);
    let description = index.description()?;
    let pages_per_read = description.pages_per_read;
    let subject = Subject {
        index: index.path().display().to_string(),
        rows: index.len(),
        dimensions: index.shape().dimension,
        memory_bytes: index.memory().budget_bytes,
        read_bytes: u64::from(description.spec.layout.page_bytes) * u64::from(pages_per_read),
        pages_per_read,
    };
    let used = Settings {
        k,
        list_size: settings.list_size,
        beam: settings.beam,
        threads: settings.threads,
        interleave: settings.interleave,
        io_backend: index.backend().io_backend.to_owned(),
    };
    let calibrated = index.calibration().expected_recall(k, settings.list_size);
    let measured = Measured {
        queries: run.queries,
        qps: run.queries_per_second(),
        latency_us: LatencyUs {
            mean: run.latency.mean,
            p50: run.latency.p50,
            p99: run.latency.p99,
        },
        recall: searched.recall,
        expected_recall: calibrated.map(f64::from),
        reads_per_query: run.per_query(totals.reads),
        compute_us: run.per_query(totals.compute_ns) / 1e3,
    };
    Ok(Header::new(subject, used, measured))
}
