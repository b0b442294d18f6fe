//! `pageway ground-truth`: the exact neighbours of queries, by looking at every vector.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{BLOCK_BYTES, Inspection, VectorSlice, inspect_rows};
use pageway::truth::{ExactQuestion, RangeQuestion};
use pageway::{Error, MemoryWish, Metric, Result, VectorRead};
use pageway_formats::Vectors;
use serde::Serialize;

use crate::distinct::check_distinct;
use crate::exact::{self, HeldQueries};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::{QueriesColumn, ReadArguments};
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway ground-truth --data base.fbin --queries q.fbin --metric l2 --out gt.ibin
  pageway ground-truth --data base.npy --queries q.npy --metric cosine -k 10 --out gt.ibin --memory 500MB
  pageway ground-truth --data base.fbin --queries q.fbin --metric l2 --radius 40000 --out gt.rangeres

Reads the data once and computes rows x queries distances: a million rows and 10,000 queries of 128
dimensions take about a minute on a few cores. The memory holds the queries, the answers and a block
of the data; more makes it no faster beyond a point. With --radius nobody knows before how many
answers there are: a memory that does not hold them is refused at the end, with one that does. Equal
distances are ordered by id, so the answer does not depend on the threads.";

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

    /// Distance: l2, ip (inner product), cosine, l1 (Manhattan), or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// Neighbours per query
    #[arg(
        short,
        value_name = "K",
        default_value_t = 100,
        conflicts_with = "radius"
    )]
    k: usize,

    /// Instead of the nearest, all rows within this distance: squared for l2, negated for ip
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    radius: Option<f32>,

    /// File to write: ids and distances, nearest first (.ibin; .rangeres with --radius)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Memory to use: bytes (1GB) or a share of the data (20%)
    #[arg(long, value_name = "MEMORY", default_value = "1GB")]
    memory: MemoryWish,

    /// Threads, up to 8 per core or 64; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    #[command(flatten)]
    vectors: ReadArguments,

    #[command(flatten)]
    queries_column: QueriesColumn,
}

/// The names of its fields are the stable keys of `--json`.
#[derive(Serialize)]
struct GroundTruthReport {
    out: String,
    rows: u64,
    queries: u64,
    /// Null for a range.
    k: Option<usize>,
    /// Null for nearest neighbours.
    radius: Option<f32>,
    /// All that were written.
    results: u64,
    metric: Metric,
    seconds: f64,
    peak_memory_bytes: Option<u64>,
}

impl GroundTruthArguments {
    /// Computes and writes.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let started = system::now();
        self.check_out()?;
        let read = [
            ("--data", self.data.as_path()),
            ("--queries", &self.queries),
        ];
        check_distinct(&[("--out", &self.out)], &read)?;
        let (table, progress) = (&self.vectors, &session.progress);
        let base = system::open_vectors(&self.data, &table.wish(), progress)?;
        let among = base.shape().element;
        let wish = self.queries_column.wish(table.element);
        let queries = system::open_vectors_among(among, &self.queries, &wish, progress)?;
        for vectors in [&base, &queries] {
            let set = Inspection {
                vectors,
                name: vectors.name(),
                metric: self.metric,
            };
            inspect_rows(set, BLOCK_BYTES, &session.progress)?;
        }
        let results = match self.radius {
            None => self.write_nearest(&base, &queries, session)?,
            Some(radius) => self.write_range(&base, &queries, radius, session)?,
        };
        let report = GroundTruthReport {
            out: self.out.display().to_string(),
            rows: base.count(),
            queries: queries.count(),
            k: self.radius.is_none().then_some(self.k),
            radius: self.radius,
            results,
            metric: self.metric,
            seconds: started.elapsed().as_secs_f64(),
            peak_memory_bytes: pageway::lab::peak_memory_bytes(),
        };
        Outcome::new(report.describe(), &report)
    }

    /// Refuses a file name before hours of work.
    fn check_out(&self) -> Result<()> {
        let (format, what) = match self.radius {
            None => ("ibin", "nearest neighbours"),
            Some(_) => ("rangeres", "results within a radius"),
        };
        let extension = self.out.extension();
        if extension.is_some_and(|extension| extension.eq_ignore_ascii_case(format)) {
            return Ok(());
        }
        let out = self.out.display();
        Err(Error::invalid(format!(
            "{out}: {what} are written as .{format} files"
        )))
    }

    fn write_nearest(&self, base: &Vectors, queries: &Vectors, session: &Session) -> Result<u64> {
        let held = self.held_queries(base, queries)?;
        let question = ExactQuestion {
            queries: VectorSlice::new(&held.rows, queries.shape())?,
            metric: self.metric,
            k: self.k,
            exclude: None,
        };
        let progress = &session.progress;
        let truth = system::exact(base, &question, held.left_bytes, self.threads, progress)?;
        system::write_truth(&self.out, &truth)?;
        Ok(truth.ids.len() as u64)
    }

    fn write_range(
        &self,
        base: &Vectors,
        queries: &Vectors,
        radius: f32,
        session: &Session,
    ) -> Result<u64> {
        let held = self.held_queries(base, queries)?;
        let question = RangeQuestion {
            queries: VectorSlice::new(&held.rows, queries.shape())?,
            metric: self.metric,
            radius,
        };
        let progress = &session.progress;
        let truth = system::exact_range(base, &question, held.left_bytes, self.threads, progress)?;
        system::write_range_truth(&self.out, &truth)?;
        Ok(truth.ids.len() as u64)
    }

    fn held_queries(&self, base: &Vectors, queries: &Vectors) -> Result<HeldQueries> {
        let raw = base.count() * base.shape().row_bytes() as u64;
        exact::held_queries(queries, &self.queries, self.memory.resolve(raw))
    }
}

impl GroundTruthReport {
    fn describe(&self) -> String {
        let found = match (self.k, self.radius) {
            (Some(k), _) => format!("the {k} nearest"),
            (None, radius) => format!(
                "the {} within {}",
                text::count(self.results),
                radius.unwrap_or_default()
            ),
        };
        format!(
            "Wrote {found} of {} rows for {} queries to {} in {} ({}, exact).",
            text::count(self.rows),
            text::count(self.queries),
            self.out,
            text::seconds(self.seconds),
            self.metric
        )
    }
}
