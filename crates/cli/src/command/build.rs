//! `pageway build`: a file of vectors becomes an index.

use std::path::PathBuf;

use clap::Args;
use pageway::source::OpenAs;
use pageway::{
    BuildInput, BuildOptions, BuildReport, ElementType, Index, MemoryWish, Metric, Overrides, Preset,
    Result,
    format_bytes,
};
use serde::Serialize;

use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway build --data base.fbin --out my.index --metric l2
  pageway build --data base.u8bin --out my.index --metric l2 --memory 10% --build-memory 2GB
  pageway build --data texts.npy --out my.index --metric cosine --recall 0.99 --ids ids.txt

What the knobs cost:
  --memory        memory of every later search. Less memory means shorter codes and a smaller cache,
                  so more page reads for the same recall.
  --degree        larger graphs: more recall per hop, bigger index, slower build.
  --build-list    build time grows with it; recall gains flatten beyond 2 to 3 times the degree.
  --build-memory  below about (vectors + graph) the build works in overlapping parts: slower by the
                  number of extra passes, the same recall within about 0.01.

Building over an existing index replaces it in one step at the end: until then, and after a failure
or Ctrl-C, the old index stays whole.";

/// Build an index from a file of vectors.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BuildArguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    wish: WishArguments,
    #[command(flatten)]
    design: DesignArguments,
}

/// What to read and where to write.
#[derive(Debug, Args)]
struct PlaceArguments {
    /// Vectors: .fbin .f16bin .u8bin .i8bin .bin .fvecs .bvecs or .npy
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// Directory of the index; an index that is there already is replaced at the end
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Distance: l2, ip (inner product) or cosine
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// User ids, one per row: .u64bin, .ibin, .npy, or text with one number per line [default: row
    /// numbers]
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// Example queries to calibrate recall with; give them when queries are unlike the data
    /// [default: rows of the data, held out]
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Element type of a .bin file: f32, f16, u8 or i8
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,
}

/// What the user wants: memory, recall, time.
#[derive(Debug, Args)]
struct WishArguments {
    /// Memory of a search over the finished index: bytes (200MB) or a share of the raw vectors
    /// (20%) [default: 20%, and at least 16MB]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory of the build itself [default: half of the machine's]
    #[arg(long, value_name = "MEMORY")]
    build_memory: Option<MemoryWish>,

    /// Recall@10 to be reachable; the build measures it and says so when it is not
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    recall: f32,

    /// Queries to calibrate recall with; more are more exact, fewer build faster
    #[arg(long, value_name = "N", default_value_t = 500)]
    calibration_queries: u32,

    /// Threads; 0 for all cores. The bytes of the index do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Seed of every random choice: same data, options and seed, same bytes
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
}

/// The design, for those who know it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Design")]
struct DesignArguments {
    /// Published design to follow: diskann
    #[arg(long, value_name = "NAME", default_value_t = Preset::DiskAnn)]
    preset: Preset,

    /// Longest adjacency list (R); 24 to 96 are usual
    #[arg(long, value_name = "R", default_value_t = 48)]
    degree: u32,

    /// Candidate list size while building (L); at least the degree
    #[arg(long, value_name = "L", default_value_t = 100)]
    build_list: u32,

    /// Slack of the prune rule; larger keeps more long edges
    #[arg(long, value_name = "A", default_value_t = 1.2)]
    alpha: f32,

    /// Bytes per compressed vector [default: as many as the memory affords]
    #[arg(long, value_name = "N")]
    code_bytes: Option<u32>,

    /// Bytes of a page: 4096 to 65536, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    page_size: u32,

    /// Reads in flight (W) [default: the design's own]
    #[arg(long, value_name = "W")]
    beam: Option<u32>,

    /// Index of the same vector space whose codebook is shared
    #[arg(long, value_name = "DIR")]
    codebook_from: Option<PathBuf>,

    /// Index of the same vectors, built with placement by_id, whose graph is laid out anew
    #[arg(long, value_name = "DIR")]
    graph_from: Option<PathBuf>,
}

/// The engine's report and what the process itself took.
#[derive(Serialize)]
struct BuildOutcome<'r> {
    #[serde(flatten)]
    report: &'r BuildReport,
    metric: Metric,
    total_seconds: f64,
    peak_memory_bytes: Option<u64>,
}

impl BuildArguments {
    fn options(&self) -> BuildOptions {
        let Self {
            place,
            wish,
            design,
        } = self;
        BuildOptions {
            metric: place.metric,
            preset: design.preset,
            memory: wish.memory,
            build_memory: wish.build_memory,
            recall: wish.recall,
            threads: wish.threads,
            degree: design.degree,
            build_list: design.build_list,
            alpha: design.alpha,
            code_bytes: design.code_bytes,
            page_bytes: design.page_size,
            beam: design.beam,
            overrides: Overrides::default(),
            disk: None,
            codebook_from: design.codebook_from.clone(),
            graph_from: design.graph_from.clone(),
            calibration_queries: wish.calibration_queries,
            seed: wish.seed,
        }
    }

    /// Builds, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let started = system::now();
        let place = &self.place;
        let how = OpenAs {
            element: place.element,
        };
        let vectors = system::open_vectors(&place.data, how)?;
        let ids = place.ids.as_deref().map(system::open_ids).transpose()?;
        let queries = place.queries.as_deref();
        let queries = queries
            .map(|path| system::open_vectors(path, how))
            .transpose()?;
        let queries = queries.as_ref().map(|queries| queries as _);
        let input = BuildInput {
            vectors: &vectors,
            name: vectors.name(),
            ids: ids.as_deref(),
            queries,
        };
        let report = Index::build(&place.out, &input, &self.options(), &session.progress)?;
        let outcome = BuildOutcome {
            report: &report,
            metric: place.metric,
            total_seconds: started.elapsed().as_secs_f64(),
            peak_memory_bytes: pageway::peak_memory_bytes(),
        };
        Outcome::new(self.describe(&outcome), &outcome)
    }

    fn describe(&self, outcome: &BuildOutcome<'_>) -> String {
        let report = outcome.report;
        let out = self.place.out.display();
        let facts = Facts::new()
            .fact("vectors", describe_vectors(report, outcome.metric))
            .fact("graph", describe_graph(report))
            .fact("codes", format!("{} bytes per vector", report.code_bytes))
            .fact(
                "index",
                format!("{} on disk", format_bytes(report.index_bytes)),
            )
            .fact("search memory", describe_memory(report))
            .fact(
                "build memory",
                describe_build_memory(report, outcome.peak_memory_bytes),
            )
            .fact("recall@10", self.describe_recall(report))
            .fact("time", describe_stages(report));
        let mut lines = format!(
            "Built {out} in {}.\n\n{}",
            text::seconds(outcome.total_seconds),
            facts.render()
        );
        for warning in &report.warnings {
            lines.push_str(&format!("\nWarning: {warning}\n"));
        }
        lines.push_str(&format!(
            "\nNext: pageway search --index {out} --queries QUERIES -k 10 --recall {}",
            self.wish.recall
        ));
        lines
    }

    fn describe_recall(&self, report: &BuildReport) -> String {
        let wished = self.wish.recall;
        let best = report.best_recall_at_10;
        match report.list_size {
            Some(list_size) => {
                format!("{wished} at list size {list_size}; up to {best:.3} is reachable")
            }
            None => format!("{wished} is out of reach: the calibration found {best:.3} at most"),
        }
    }
}

fn describe_vectors(report: &BuildReport, metric: Metric) -> String {
    let (nodes, shape) = (text::count(report.nodes), report.shape);
    format!(
        "{nodes} of {shape}, {metric}, {} raw",
        format_bytes(report.raw_bytes)
    )
}

fn describe_graph(report: &BuildReport) -> String {
    let parts = match report.shards {
        0 | 1 => String::new(),
        shards => format!(", built in {shards} parts"),
    };
    format!("mean degree {:.1}{parts}", report.mean_degree)
}

fn describe_memory(report: &BuildReport) -> String {
    let share = text::percent(report.memory_bytes as f64 / report.raw_bytes.max(1) as f64);
    format!(
        "{}, {share} of the raw vectors",
        format_bytes(report.memory_bytes)
    )
}

fn describe_build_memory(report: &BuildReport, peak: Option<u64>) -> String {
    let budget = format_bytes(report.build_memory_bytes);
    match peak {
        Some(peak) => format!("peak {} of a budget of {budget}", format_bytes(peak)),
        None => format!("budget {budget}"),
    }
}

fn describe_stages(report: &BuildReport) -> String {
    let stages = report
        .seconds
        .iter()
        .filter(|(_, seconds)| *seconds >= 0.0005);
    let words = stages.map(|(stage, seconds)| format!("{stage} {}", text::seconds(*seconds)));
    words.collect::<Vec<_>>().join(", ")
}
