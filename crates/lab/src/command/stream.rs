//! `pageway lab stream`: an index lives through a runbook.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::source::{VectorFileWriter, bin_extension};
use pageway::{Durability, Error, MemoryWish, OsVfs, Preset, Progress, Result, Vfs};
use pageway_lab::InMemory;
use pageway_lab::stream::{
    Asking, Clustered, Life, Runbook, Shape, Summary, cluster_runbook, clustered, live_through,
    runbook,
};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Facts};

use super::records::Records;
use super::vectors::{Loaded, VectorArguments};

const EXAMPLES: &str = "\
Examples:
  pageway lab stream --base mine.fbin --queries q.fbin --metric cosine --shape window --out w
  pageway lab stream --base mine.fbin --queries q.fbin --metric l2 --shape churn-5 --out c5
  pageway lab stream --base ms.fbin --queries q.fbin --metric l2 --runbook final_runbook.yaml \\
    --data-set msturing-30M-clustered --out final

Shapes: window, expiration, replace, clusters, churn-1 to churn-50. A runbook is one in the YAML of
big-ann's streaming track; the one that was lived through is kept in --out beside steps.jsonl,
which has a record of every step, and summary.json. Every search is compared with the exact answer
among the rows that are in. docs/lab/streaming.md says what is measured and what the figures mean.";

/// Let an index live through a runbook, and compare every search with the exact answer
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct StreamArguments {
    #[command(flatten)]
    data: VectorArguments,

    #[command(flatten)]
    design: DesignArguments,

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

    /// Neighbours
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// List size of searches
    #[arg(long, value_name = "L", default_value_t = 100)]
    list_size: u32,

    /// Recall that each search is asked for too
    #[arg(long, value_name = "RECALL")]
    recall: Option<f32>,

    /// Leave out the five fresh builds that are compared
    #[arg(long)]
    no_fresh: bool,

    /// Let each search wait for the flushes and merges that are due: what a slow stream comes to
    #[arg(long)]
    settled: bool,

    /// Directory of the index and the records, which does not exist or is empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// What is made to live.
#[derive(Debug, Args)]
struct DesignArguments {
    /// Design
    #[arg(long, value_name = "PRESET", default_value_t)]
    preset: Preset,

    /// Memory of searches, in bytes or as a share of the vectors; 64 MB where absent
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory for updates
    #[arg(long, value_name = "MEMORY")]
    update_memory: Option<MemoryWish>,

    /// Batches count when they are in memory, and not when they are synced
    #[arg(long)]
    deferred: bool,
}

impl StreamArguments {
    /// Lives.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let mut loaded = self.data.read()?;
        let mut records = Records::new(&self.out, "steps.jsonl")?;
        let runbook = self.find_runbook(&mut loaded, &session.progress)?;
        pageway_lab::write_text(&self.out.join("runbook.yaml"), &runbook.to_yaml())?;
        let bytes = loaded.data().rows.len() as u64;
        let life = Life {
            data: loaded.data(),
            preset: self.design.preset,
            memory: self.design.memory.map(|wish| wish.resolve(bytes)),
            update_memory: self.design.update_memory,
            durability: if self.design.deferred {
                Durability::Deferred
            } else {
                Durability::Synced
            },
            asking: Asking {
                k: self.k,
                list_size: self.list_size,
                recall: self.recall,
            },
            dir: self.out.join("index"),
            with_fresh: !self.no_fresh,
            settles: self.settled,
        };
        let progress = &session.progress;
        let summary = live_through(&life, &runbook, progress, &mut |step| records.push(step));
        // What was lived through so far is kept also where it ended early.
        records.write()?;
        let summary = summary?;
        records.conclude(describe(&summary), &summary)
    }

    /// The runbook; puts the rows in the order that it wants. In that of clusters they are kept,
    /// for other libraries to live through the same.
    fn find_runbook(&self, loaded: &mut Loaded, progress: &dyn Progress) -> Result<Runbook> {
        match (&self.runbook, self.shape) {
            (Some(path), _) => {
                let text = pageway_lab::read_text(path)?;
                let runbook = Runbook::parse(&text, self.data_set.as_deref());
                runbook.map_err(|error| error.within(path.display()))
            }
            (None, Some(Shape::Clusters)) => {
                let Clustered { rows, bounds } = clustered(loaded.data(), progress)?;
                loaded.rows = rows;
                write(&self.out, loaded.data())?;
                Ok(cluster_runbook(&bounds, "data"))
            }
            (None, Some(by_shape)) => Ok(runbook(by_shape, "data", loaded.data().count())),
            (None, None) => Err(Error::invalid("give --shape or --runbook")),
        }
    }
}

/// Writes the rows to a file `base` in `dir`.
fn write(dir: &Path, data: InMemory<'_>) -> Result<()> {
    let extension = bin_extension(data.shape.element);
    let vfs: std::sync::Arc<dyn Vfs> = std::sync::Arc::new(OsVfs);
    let path = dir.join(format!("base.{extension}"));
    let mut file = VectorFileWriter::create(&vfs, &path, data.shape, data.count())?;
    file.write(data.rows)?;
    file.finish().map(drop)
}

/// The whole life for people.
fn describe(summary: &Summary) -> String {
    let figure = |value: f64| text::figure(value);
    let wished = summary.wished;
    let wished =
        wished.map(|wished| format!("{}, least {}", figure(wished.mean), figure(wished.min)));
    let gap = summary.fresh_gap;
    let gap = gap.map(|gap| format!("{:+.4}, worst {:+.4}", gap.mean, gap.worst));
    Facts::new()
        .fact("searches", text::count(summary.searches as u64))
        .fact("recall, mean", figure(summary.recall.mean))
        .fact("recall, least", figure(summary.recall.min))
        .fact("recall, 5th percentile", figure(summary.recall.p5))
        .fact(
            "slope in 100 searches",
            format!("{:+.4}", summary.recall.slope_per_100),
        )
        .fact("pages/query", figure(summary.pages))
        .fact("updates/second", figure(summary.updates_per_second))
        .fact("bytes written/byte", figure(summary.bytes_written_per_byte))
        .fact("disk/byte that lives", figure(summary.space))
        .fact(
            "flushes, merges",
            format!("{}, {}", summary.flushes, summary.merges),
        )
        .known("recall where one was asked for", wished)
        .known("fresh build over ours at equal pages", gap)
        .render()
}
