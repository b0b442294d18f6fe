//! The arguments of `pageway plan`, and its run.

use std::path::PathBuf;

use clap::Args;
use pageway::spec::DEFAULTS;
use pageway::{MemoryWish, Metric, Result};
use pageway_advisor::{Entry, FleetPrices, FleetWish, Goal, UpdatePlan, UpdateWish, Wish};

use super::{PlanFiles, make, pinned};
use crate::design::ChoiceArguments;
use crate::output::Outcome;
use crate::session::Session;
use crate::table::{QueriesColumn, ReadArguments};

const EXAMPLES: &str = "\
Examples:
  pageway plan --data base.fbin --metric l2 --memory 10% --recall 0.95
  pageway plan --data base.u8bin --metric l2 --queries q.u8bin --memory 200MB --goal throughput
  pageway plan --data base.fbin --metric cosine --memory 5% --pin page-size=8192 --pin degree=32
  pageway plan --data base.fbin --metric l2 --memory 10% --placement bnf --explain
  pageway plan --data base.fbin --metric l2 --memory 20% --updates-per-second 500 --deletes 0.1 \
    --reads-per-update 9
  pageway plan --data base.fbin --metric l2 --memory 10% --nodes 8 --replicas 2 \
    --memory-price 2 --disk-price 0.08

Every design that is legal and fits the memory is guessed, some twenty are built over a small sample
and searched, the best of those over a larger one; what they read over all vectors follows from the
growth between both. The answer is a 'pageway build' command. Beside it stands what the decision
tree of the experimental evaluation advises, and which of both was right on the sample.

What can be pinned: preset (several), form, page-size, degree, code-bytes or bits per dimension,
beam; and every choice of 'pageway build'. A larger --sample predicts better and takes longer.";

/// Choose a design for a memory budget and a recall, by trying the best on a sample
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PlanArguments {
    /// Vectors: .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .bin .fvecs .bvecs .npy .parquet, or
    /// .jsonl and .ndjson, also with .gz
    #[arg(long, visible_alias = "base", value_name = "FILE")]
    data: PathBuf,

    /// Queries like those to come [default: rows of the vectors, held out]
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    #[command(flatten)]
    vectors: ReadArguments,

    #[command(flatten)]
    queries_column: QueriesColumn,

    /// Directory on the disk that the index will lie on; samples are built there and removed
    #[arg(long, value_name = "DIR", default_value = ".")]
    scratch: PathBuf,

    #[command(flatten)]
    wish: PlanWishes,

    #[command(flatten)]
    updates: PlannedUpdates,

    #[command(flatten)]
    fleet: PlannedFleet,

    /// Show every design with the reason why it was not chosen
    #[arg(long)]
    explain: bool,

    /// Pin a size: preset, form, page-size, degree, code-bytes, bits or beam
    #[arg(long = "pin", value_name = "KEY=VALUE")]
    pins: Vec<String>,

    #[command(flatten)]
    choices: ChoiceArguments,
}

/// What is wanted.
#[derive(Debug, Args)]
struct PlanWishes {
    /// Distance: l2, ip (inner product), cosine, l1 (Manhattan), or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// Memory of a search: bytes (200MB) or a share of the raw vectors (10%)
    #[arg(long, value_name = "MEMORY")]
    memory: MemoryWish,

    /// Recall@10 to reach
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULTS.recall)]
    recall: f32,

    /// What counts then: latency, throughput or reads
    #[arg(long, value_name = "GOAL", default_value_t = Goal::Latency)]
    goal: Goal,

    /// Searching threads, and those of the builds, up to 8 per core or 64; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Rows of the larger sample, 500 at least; the smaller one is a quarter of it
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 20_000,
        value_parser = clap::value_parser!(u64).range(500..)
    )]
    sample: u64,

    /// Seconds after which nothing more is tried [default: none]
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<f64>,

    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = DEFAULTS.seed)]
    seed: u64,
}

/// How the index will change.
#[derive(Debug, Args)]
struct PlannedUpdates {
    /// Inserts and deletes in a second: predicts what they take, and how they should reach the disk
    #[arg(long, value_name = "N")]
    updates_per_second: Option<f64>,

    /// Share of those that are deletes, 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        requires = "updates_per_second"
    )]
    deletes: f64,

    /// Searches for each insert or delete
    #[arg(
        long,
        value_name = "RATIO",
        default_value_t = 1.0,
        requires = "updates_per_second"
    )]
    reads_per_update: f64,
}

/// Machines that rows are to lie on.
#[derive(Debug, Args)]
struct PlannedFleet {
    /// Machines, of which each holds a part of the rows: predicts queries per second, latency, and
    /// memory and disk of each
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,

    /// Machines that hold the same rows
    #[arg(long, value_name = "N", default_value_t = 1, requires = "nodes")]
    replicas: u32,

    /// Microseconds from one machine to another and back
    #[arg(long, value_name = "US", default_value_t = 200.0, requires = "nodes")]
    round_trip_us: f64,

    /// Price of a machine for a month, without what follows; one currency for all prices
    #[arg(long, value_name = "PRICE", requires = "nodes")]
    node_price: Option<f64>,

    /// Price of 10^9 bytes of memory for a month
    #[arg(long, value_name = "PRICE", requires = "nodes")]
    memory_price: Option<f64>,

    /// Price of 10^9 bytes of disk for a month
    #[arg(long, value_name = "PRICE", requires = "nodes")]
    disk_price: Option<f64>,
}

impl PlannedFleet {
    fn wish(&self) -> Option<FleetWish> {
        let given = [self.node_price, self.memory_price, self.disk_price];
        let [node, memory_gb, disk_gb] = given.map(Option::unwrap_or_default);
        let prices = FleetPrices {
            node,
            memory_gb,
            disk_gb,
        };
        Some(FleetWish {
            nodes: self.nodes?,
            replicas: self.replicas,
            round_trip_us: self.round_trip_us,
            prices: given.iter().any(Option::is_some).then_some(prices),
        })
    }
}

impl PlannedUpdates {
    fn wish(&self) -> Option<UpdateWish> {
        let updates_per_second = self.updates_per_second?;
        Some(UpdateWish {
            updates_per_second,
            deletes: self.deletes,
            reads_per_update: self.reads_per_update,
        })
    }
}

impl PlanArguments {
    /// Plans, and shows the plan.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let files = PlanFiles {
            vectors: &self.data,
            queries: self.queries.as_deref(),
            tables: [
                self.vectors.wish(),
                self.queries_column.wish(self.vectors.element),
            ],
            scratch: &self.scratch,
        };
        let plan = make(&files, &self.wish()?, session)?;
        let mut command = self.command(plan.choice()?);
        if let Some(update) = plan.updates.as_ref().and_then(UpdatePlan::argument) {
            command.push_str(&format!(" \\\n    {update}"));
        }
        let mut text = format!("{plan}\nBuild it:\n  {command}");
        if self.explain {
            text.push_str(&format!("\n\nAll of them:\n{}", plan.explained()));
        }
        Outcome::new(text, &plan)
    }

    fn wish(&self) -> Result<Wish> {
        let wish = &self.wish;
        Ok(Wish {
            metric: wish.metric,
            memory: wish.memory,
            recall: wish.recall,
            goal: wish.goal,
            threads: wish.threads,
            sample_rows: wish.sample,
            seconds: wish.time_limit,
            pins: pinned(&self.pins, &self.choices)?,
            seed: wish.seed,
            updates: self.updates.wish(),
            fleet: self.fleet.wish(),
            ..Wish::default()
        })
    }

    /// The command that builds an entry of the plan.
    fn command(&self, entry: &Entry) -> String {
        let wish = &self.wish;
        let memory = wish.memory.typed();
        let mut words = vec![
            format!(
                "pageway build --data {} --out my.index",
                self.data.display()
            ),
            format!(
                "--metric {} --memory {memory} --recall {}",
                wish.metric, wish.recall
            ),
        ];
        let typed = [
            self.queries
                .as_ref()
                .map(|path| format!("--queries {}", path.display())),
            self.vectors
                .element
                .map(|element| format!("--element {element}")),
            self.vectors
                .wish()
                .column
                .map(|name| format!("--column {name}")),
            self.queries_column
                .queries_column
                .as_ref()
                .map(|name| format!("--queries-column {name}")),
            Some(format!("--seed {}", wish.seed)).filter(|_| wish.seed != Wish::default().seed),
        ];
        words.extend(typed.into_iter().flatten());
        words.extend(entry.arguments.iter().cloned());
        words.join(" \\\n    ")
    }
}
