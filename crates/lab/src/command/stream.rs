//! `pageway lab stream`: an index lives through a runbook.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::source::{OpenAs, VectorFile};
use pageway::{
    Durability, Error, MemoryWish, Metric, OsVfs, Preset, Result, VectorRead, VectorShape, Vfs,
};
use pageway_lab::stream::{Life, Runbook, Shape, Summary, live_through, runbook};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway lab stream --base mine.fbin --queries q.fbin --metric cosine --shape window --out w
  pageway lab stream --base mine.fbin --queries q.fbin --metric l2 --shape churn-5 --out c5
  pageway lab stream --base ms.fbin --queries q.fbin --metric l2 --runbook final_runbook.yaml \\
    --data-set msturing-30M-clustered --out final

Shapes: window, expiration, replace, churn-1 to churn-50. A runbook is one in the YAML of big-ann's
streaming track; the one that was lived through is kept in --out beside steps.jsonl, which has a
record of every step, and summary.json. Every search is compared with the exact answer among the
rows that are in. docs/lab/streaming.md says what is measured and what the figures mean.";

/// Let an index live through a runbook, and compare every search with the exact answer
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct StreamArguments {
    /// Vectors that come in
    #[arg(long, value_name = "FILE")]
    base: PathBuf,

    /// Queries, all of which are searched for at each search
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Queries of those, the first ones
    #[arg(long, value_name = "N", default_value_t = 1000)]
    most_queries: u64,

    /// Rows of the data, the first ones; all where absent
    #[arg(long, value_name = "N")]
    rows: Option<u64>,

    /// Metric: l2, ip or cosine
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// Runbook by shape
    #[arg(
        long,
        value_name = "SHAPE",
        conflicts_with = "runbook",
        required_unless_present = "runbook"
    )]
    shape: Option<Shape>,

    /// Runbook in a file
    #[arg(long, value_name = "FILE")]
    runbook: Option<PathBuf>,

    /// Which runbook of the file, by its data set
    #[arg(long, value_name = "NAME", requires = "runbook")]
    data_set: Option<String>,

    /// Design
    #[arg(long, value_name = "PRESET", default_value_t)]
    preset: Preset,

    /// Memory of searches in bytes; 64 MB where absent
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,

    /// Memory for updates
    #[arg(long, value_name = "MEMORY")]
    update_memory: Option<MemoryWish>,

    /// Batches count when they are in memory, and not when they are synced
    #[arg(long)]
    deferred: bool,

    /// Neighbours
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// List size of searches
    #[arg(long, value_name = "L", default_value_t = 100)]
    list_size: u32,

    /// Leave out the five fresh builds that are compared
    #[arg(long)]
    no_fresh: bool,

    /// Directory of the index and the records, which does not exist or is empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl StreamArguments {
    /// Lives.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let (rows, shape) = read(&self.base, self.rows)?;
        let (queries, of_queries) = read(&self.queries, Some(self.most_queries))?;
        if shape != of_queries {
            let words = format!("the data are {shape}, the queries {of_queries}");
            return Err(Error::invalid(words));
        }
        let count = (rows.len() / shape.row_bytes()) as u64;
        let runbook = self.find_runbook(count)?;
        OsVfs.create_dir_all(&self.out)?;
        pageway_lab::write_text(&self.out.join("runbook.yaml"), &runbook.to_yaml())?;
        let life = Life {
            rows: &rows,
            queries: &queries,
            shape,
            metric: self.metric,
            preset: self.preset,
            memory: self.memory,
            update_memory: self.update_memory,
            durability: if self.deferred {
                Durability::Deferred
            } else {
                Durability::Synced
            },
            k: self.k,
            list_size: self.list_size,
            dir: self.out.join("index"),
            with_fresh: !self.no_fresh,
        };
        let mut lines = String::new();
        let summary = live_through(&life, &runbook, &session.progress, &mut |record| {
            let line = serde_json::to_string(record);
            lines += &line.map_err(|error| Error::invalid(error.to_string()))?;
            lines.push('\n');
            Ok(())
        });
        // What was lived through so far is kept also where it ended early.
        pageway_lab::write_text(&self.out.join("steps.jsonl"), &lines)?;
        let summary = summary?;
        let json = serde_json::to_string_pretty(&summary);
        let json = json.map_err(|error| Error::invalid(error.to_string()))?;
        pageway_lab::write_text(&self.out.join("summary.json"), &json)?;
        Outcome::new(describe(&summary), &summary)
    }

    fn find_runbook(&self, rows: u64) -> Result<Runbook> {
        match (&self.runbook, self.shape) {
            (Some(path), _) => {
                let text = pageway_lab::read_text(path)?;
                Runbook::parse(&text, self.data_set.as_deref())
                    .map_err(|error| error.within(path.display()))
            }
            (None, Some(shape)) => Ok(runbook(shape, "data", rows)),
            (None, None) => Err(Error::invalid("give --shape or --runbook")),
        }
    }
}

/// The first rows of a file.
fn read(path: &Path, most: Option<u64>) -> Result<(Vec<u8>, VectorShape)> {
    let vfs: std::sync::Arc<dyn Vfs> = std::sync::Arc::new(OsVfs);
    let file = VectorFile::open(&vfs, path, OpenAs::default())?;
    let count = most.unwrap_or(u64::MAX).min(file.count());
    let mut rows = vec![0; count as usize * file.shape().row_bytes()];
    file.read(0, &mut rows)?;
    Ok((rows, file.shape()))
}

/// The whole life for people.
fn describe(summary: &Summary) -> String {
    let figure = |value: f64| text::figure(value);
    let facts = Facts::new()
        .fact("searches", text::count(summary.searches as u64))
        .fact("recall, mean", figure(summary.recall_mean))
        .fact("recall, least", figure(summary.recall_min))
        .fact("recall, 5th percentile", figure(summary.recall_p5))
        .fact(
            "slope in 100 searches",
            format!("{:+.4}", summary.recall_slope_per_100),
        )
        .fact("pages/query", figure(summary.pages))
        .fact("updates/second", figure(summary.updates_per_second))
        .fact("bytes written/byte", figure(summary.bytes_written_per_byte))
        .fact(
            "flushes, merges",
            format!("{}, {}", summary.flushes, summary.merges),
        );
    let facts = match summary.fresh_gap {
        Some(gap) => facts.fact("fresh build over ours", format!("{gap:+.4}")),
        None => facts,
    };
    facts.render()
}
