//! `pageway recall`: the recall of an index as it is now, against the exact answer.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{
    Effort, Index, MemoryWish, OpenOptions, Queries, RecallReport, Result, SearchOptions,
};
use serde::Serialize;

use super::calibrate::draw;
use super::query::FilterArguments;
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::ReadArguments;
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway recall my.index
  pageway recall my.index --queries real.fbin -k 20 --recall 0.99
  pageway recall my.index --queries real.fbin --filter \"lang = 'de'\"

Searches, finds the exact neighbours by a scan of all vectors, and compares: no file of truth is
needed, and rows that came or went since the build count. Without queries, rows of the index stand
for them, each of which does not find itself. Costs a pass over all vectors within the memory of
searches. Nothing changes; where recall is not what was asked for, 'pageway calibrate' mends that.";

/// Measure the recall of an index as it is now.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RecallArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Queries to measure with, of the shape of the index; rows of its own where absent
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Queries or rows to measure with at most, evenly drawn; more are more exact
    #[arg(long, value_name = "N", default_value_t = 200)]
    most_queries: u32,

    /// Neighbours per query
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// Recall that searches ask for
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.95,
        conflicts_with = "list_size"
    )]
    recall: f32,

    /// Candidate list size in place of a recall
    #[arg(long, value_name = "L")]
    list_size: Option<u32>,

    #[command(flatten)]
    filter: FilterArguments,

    /// Memory for searches: bytes (2GB) or a share of the raw vectors (20%); that of the build
    /// where absent
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryWish>,

    #[command(flatten)]
    vectors: ReadArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct MeasuredRecall {
    rows: u64,
    /// Absent where a list size was given.
    asked: Option<f32>,
    #[serde(flatten)]
    measured: RecallReport,
    seconds: f64,
}

impl RecallArguments {
    /// Measures.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let open = OpenOptions::default().with_memory(self.memory);
        let (index, progress) = (Index::open(&self.index, &open)?, &session.progress);
        let effort = self
            .list_size
            .map_or(Effort::Recall(self.recall), Effort::ListSize);
        let options = SearchOptions::nearest(self.k).with_effort(effort);
        let filter = self.filter.read()?;
        let started = system::now();
        let measured = if let Some(path) = &self.queries {
            let among = index.shape().element;
            let wish = self.vectors.wish();
            let vectors = system::open_vectors_among(among, path, &wish, progress)?;
            let (rows, shape) = draw(&vectors, self.most_queries)?;
            let queries = Queries::new(&rows, shape).with_filter(filter.as_ref());
            index.measure_recall(&queries, &options, progress)?
        } else {
            let rows = index.held_out_rows(self.most_queries, 1)?;
            let queries = rows.queries().with_filter(filter.as_ref());
            index.measure_recall(&queries, &options, progress)?
        };
        let report = MeasuredRecall {
            rows: index.len(),
            asked: self.list_size.is_none().then_some(self.recall),
            measured,
            seconds: started.elapsed().as_secs_f64(),
        };
        Outcome::new(report.describe(&self.index), &report)
    }
}

impl MeasuredRecall {
    fn describe(&self, index: &Path) -> String {
        let RecallReport {
            recall,
            recall_p5,
            k,
            list_size,
            queries,
            pages_per_query,
            ..
        } = self.measured;
        let asked = self
            .asked
            .map_or(String::new(), |asked| format!(" of {asked} asked"));
        let by = text::count(queries as u64);
        let facts = Facts::new()
            .fact(format!("recall@{k}"), format!("{recall:.4}{asked}"))
            .fact("one in 20 below", format!("{recall_p5:.3}"))
            .fact("list size", list_size.to_string())
            .fact("pages/query", format!("{pages_per_query:.1}"))
            .fact(
                "measured with",
                format!("{by} queries in {}", text::seconds(self.seconds)),
            );
        let rows = text::count(self.rows);
        format!(
            "{}, {rows} rows, against a scan of all:\n{}",
            index.display(),
            facts.render()
        )
    }
}
