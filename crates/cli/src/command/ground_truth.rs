//! `pageway ground-truth`: the exact neighbours of queries, by looking at every vector.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{OpenAs, VectorFile, VectorSlice};
use pageway::truth::{ExactQuestion, Truth};
use pageway::{ElementType, Error, MemoryWish, Metric, Result, VectorRead, format_bytes};
use serde::Serialize;

use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway ground-truth --data base.fbin --queries q.fbin --metric l2 --out gt.ibin
  pageway ground-truth --data base.npy --queries q.npy --metric cosine -k 10 --out gt.ibin --memory 500MB

Reads the data once and computes rows x queries distances: a million rows and 10,000 queries of 128
dimensions take about a minute on a few cores. The memory holds the queries, the answers and a block
of the data; more makes it no faster beyond a point. Equal distances are ordered by id, so the
answer does not depend on the threads.";

/// Find the exact neighbours of queries, to measure recall against.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GroundTruthArguments {
    /// Vectors to search
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// Query vectors, of the same shape
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Distance: l2, ip (inner product) or cosine
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// Neighbours per query
    #[arg(short, value_name = "K", default_value_t = 100)]
    k: usize,

    /// File to write (.ibin): ids and distances, nearest first
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Memory to use: bytes (1GB) or a share of the data (20%)
    #[arg(long, value_name = "MEMORY", default_value = "1GB")]
    memory: MemoryWish,

    /// Threads; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Element type of .bin files: f32, f16, u8 or i8
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,
}

#[derive(Serialize)]
struct GroundTruthReport {
    out: PathBuf,
    rows: u64,
    queries: u64,
    k: usize,
    metric: Metric,
    seconds: f64,
    peak_memory_bytes: Option<u64>,
}

impl GroundTruthArguments {
    /// Computes and writes.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let started = system::now();
        let how = OpenAs {
            element: self.element,
        };
        let base = system::open_vectors(&self.data, how)?;
        let queries = system::open_vectors(&self.queries, how)?;
        let truth = self.exact(&base, &queries, session)?;
        system::write_truth(&self.out, &truth)?;
        let report = GroundTruthReport {
            out: self.out.clone(),
            rows: base.count(),
            queries: queries.count(),
            k: self.k,
            metric: self.metric,
            seconds: started.elapsed().as_secs_f64(),
            peak_memory_bytes: pageway::peak_memory_bytes(),
        };
        Outcome::new(report.describe(), &report)
    }

    /// The queries are held in memory, and the budget pays for them.
    fn exact(&self, base: &VectorFile, queries: &VectorFile, session: &Session) -> Result<Truth> {
        let raw = base.count() * base.shape().row_bytes() as u64;
        let budget = self.memory.resolve(raw);
        let query_bytes = queries.count() * queries.shape().row_bytes() as u64;
        let Some(memory_bytes) = budget.checked_sub(query_bytes) else {
            return Err(Error::invalid(format!(
                "{}: the queries take {}, more than the memory of {}",
                self.queries.display(),
                format_bytes(query_bytes),
                format_bytes(budget)
            )));
        };
        let mut rows = vec![0; query_bytes as usize];
        queries.read(0, &mut rows)?;
        let question = ExactQuestion {
            queries: VectorSlice::new(&rows, queries.shape())?,
            metric: self.metric,
            k: self.k,
            exclude: None,
        };
        system::exact(
            base,
            &question,
            memory_bytes,
            self.threads,
            &session.progress,
        )
    }
}

impl GroundTruthReport {
    fn describe(&self) -> String {
        format!(
            "Wrote the {} nearest of {} rows for {} queries to {} in {} ({}, exact).",
            self.k,
            text::count(self.rows),
            text::count(self.queries),
            self.out.display(),
            text::seconds(self.seconds),
            self.metric
        )
    }
}
