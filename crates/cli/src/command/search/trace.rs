//! `pageway search --trace FILE`: what the queries computed and read, to be replayed on another
//! device by `pageway lab predict`; `--trace-html FILE`: the same as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{Index, Result};
use pageway_shell::trace::{Header, Measured, QueryWork, Settings, Subject, Trace};

use crate::picture;
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

    /// Queries to record for --trace or --trace-html; each takes about 30 bytes per read
    #[arg(long, value_name = "N", default_value_t = QUERIES)]
    trace_queries: u64,

    /// Draw the walks of the first queries on a page that works offline: turns, pages, what decided
    /// (by the program pageway-lab)
    #[arg(long, value_name = "FILE")]
    trace_html: Option<PathBuf>,
}

impl TraceArguments {
    /// Queries to record.
    pub(super) fn queries(&self) -> u64 {
        let wanted = self.trace.is_some() || self.trace_html.is_some();
        if wanted { self.trace_queries } else { 0 }
    }

    /// Writes what was recorded, if it is wanted, and takes it out of `searched`.
    pub(super) fn write(&self, subject: (&Index, u32), searched: &mut Searched) -> Result<()> {
        if self.queries() == 0 {
            return Ok(());
        }
        let traces = std::mem::take(&mut searched.traces);
        let text = Trace::new(header(subject, searched)?, traces).to_text()?;
        if let Some(file) = &self.trace {
            system::write_text(file, &text)?;
        }
        self.trace_html.as_deref().map_or(Ok(()), |page| {
            let partial = beside(page);
            system::write_text(&partial, &text)?;
            let drawn = picture::draw("walk", &partial, page);
            system::remove(&partial)?;
            drawn
        })
    }
}

/// Where the search lies while its page is drawn.
fn beside(page: &Path) -> PathBuf {
    let mut name = page.as_os_str().to_owned();
    name.push(".trace-partial");
    PathBuf::from(name)
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
    let measured = Measured {
        queries: run.queries,
        qps: run.queries_per_second(),
        latency_us: run.latency,
        recall: searched.recall,
        expected_recall: searched.expected_recall,
        reads_per_query: run.per_query(totals.reads),
        compute_us: run.per_query(totals.compute_ns) / 1e3,
    };
    let work = QueryWork {
        rounds: run.per_query(totals.rounds),
        hops: run.per_query(totals.hops),
        refine_reads: run.per_query(totals.refine_reads),
        estimates: run.per_query(totals.approximate_distances),
        exact_distances: run.per_query(totals.exact_distances),
        estimated_answers: run.per_query(totals.estimated),
    };
    Ok(Header::new(subject, used, measured).with_work(work))
}
