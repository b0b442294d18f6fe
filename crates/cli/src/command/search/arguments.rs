//! `pageway search`: queries through an index, with recall, speed, latency and page reads.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{OpenAs, VectorFile};
use pageway::truth::TruthFile;
use pageway::{
    Answers, Effort, ElementType, Error, Index, OpenOptions, Result, SearchOptions, VectorRead,
};

use super::report::SearchReport;
use super::trace::{self, TraceArguments};
use crate::output::Outcome;
use crate::resources::ResourceArguments;
use crate::results::ResultsFile;
use crate::session::Session;
use crate::system;
use crate::workload::Workload;

const EXAMPLES: &str = "\
Examples:
  pageway search --index my.index --queries q.fbin -k 10 --recall 0.95
  pageway search --index my.index --queries q.fbin -k 10 --truth gt.ibin --list-size 60 --threads 4
  pageway search --index my.index --queries q.npy -k 3 --show 5
  pageway search --index my.index --queries q.fbin -k 10 --truth gt.ibin --json
  pageway search --index my.index --queries q.fbin --threads 1 --interleave 1 --trace q.trace

What the knobs cost:
  --recall, --list-size   page reads grow about in proportion to the list size; recall flattens.
  --memory                more memory caches more nodes, so fewer page reads. At least the codes.
  --threads               speed grows until the disk is busy; each thread holds buffers.
  --interleave            queries in flight per thread: more hides disk waits, so more queries per
                          second, at a longer latency of each. 1 gives the shortest latency.
  --beam                  reads in flight per query: more shortens latency and reads more pages.

Without --truth the recall of these queries is unknown: the speed is then shown beside the recall
that the calibration of the index expects. 'pageway ground-truth' computes the truth.";

/// Search an index; measure recall, speed, latency and page reads.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    resources: ResourceArguments,
    #[command(flatten)]
    trace: TraceArguments,

    /// Print the answers of the first N queries
    #[arg(long, value_name = "N", default_value_t = 0)]
    show: u64,
}

/// What to read and write.
#[derive(Debug, Args)]
struct FileArguments {
    /// Directory of the index
    #[arg(long, value_name = "DIR")]
    index: PathBuf,

    /// Query vectors, of the shape of the index
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Exact neighbours of the queries (.ibin or .ivecs), to measure recall against
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// Write ids and distances to this .ibin file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Element type of a .bin file of queries: f32, f16, u8 or i8
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,
}

/// How hard to try.
#[derive(Debug, Args)]
struct EffortArguments {
    /// Neighbours per query
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// Recall@k to reach on average; the calibration of the index gives the list size
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.95,
        conflicts_with = "list_size"
    )]
    recall: f32,

    /// Candidate list size (L), at least k, instead of a recall
    #[arg(long, value_name = "L")]
    list_size: Option<u32>,

    /// Reads in flight per query (W) [default: that of the index]
    #[arg(long, value_name = "W")]
    beam: Option<u32>,

    /// Every distance exact: read vectors also where codes are sure that they are answers
    #[arg(long)]
    exact: bool,
}

impl SearchArguments {
    fn tries(&self) -> Effort {
        match self.effort.list_size {
            Some(list_size) => Effort::ListSize(list_size),
            None => Effort::Recall(self.effort.recall),
        }
    }

    fn open(&self) -> Result<Index> {
        let Self {
            files,
            effort,
            resources,
            ..
        } = self;
        let options = OpenOptions {
            memory: resources.memory,
            threads: resources.threads,
            interleave: resources.interleave,
            effort: Some(self.tries()),
            beam: effort.beam,
            k: effort.k,
        };
        Index::open(&files.index, &options)
    }

    fn search_options(&self) -> SearchOptions {
        SearchOptions {
            k: self.effort.k,
            effort: self.tries(),
            beam: self.effort.beam,
            threads: self.resources.threads,
            interleave: self.resources.interleave,
            exact: self.effort.exact,
            ..SearchOptions::default()
        }
    }

    /// Searches, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let files = &self.files;
        let queries = system::open_vectors(
            &files.queries,
            OpenAs {
                element: files.element,
            },
        )?;
        let started = system::now();
        let index = self.open()?;
        let open_ms = started.elapsed().as_secs_f64() * 1e3;
        let truth = self.open_truth(&queries)?;
        let out = self.create_results(&queries)?;
        let workload = Workload {
            index: &index,
            queries: &queries,
            truth: truth.as_ref(),
            options: self.search_options(),
            recorded: self.trace.queries(),
        };
        let mut shown = String::new();
        let mut measured = workload.run(&session.progress, &mut |first, answers| {
            show(&mut shown, self.show, first, answers);
            out.as_ref().map_or(Ok(()), |out| out.put(first, answers))
        })?;
        if let Some(out) = out {
            out.finish()?;
        }
        if let Some(file) = self.trace.file() {
            trace::write(file, (&index, self.effort.k), &mut measured)?;
        }
        let report = SearchReport::new(&index, self.effort.k, &measured, open_ms);
        Outcome::new(shown + &report.describe(&files.index), &report)
    }

    fn open_truth(&self, queries: &VectorFile) -> Result<Option<TruthFile>> {
        let Some(path) = &self.files.truth else {
            return Ok(None);
        };
        let truth = system::open_truth(path, None)?;
        let place = path.display();
        if truth.query_count() != queries.count() {
            let (found, expected) = (truth.query_count(), queries.count());
            let words = format!("{place}: truth of {found} queries, but there are {expected}");
            return Err(Error::invalid(words));
        }
        let k = self.effort.k;
        if (truth.k() as u64) < u64::from(k) {
            let words = format!("{place}: {} neighbours per query, but k is {k}", truth.k());
            return Err(Error::invalid(words));
        }
        Ok(Some(truth))
    }

    fn create_results(&self, queries: &VectorFile) -> Result<Option<ResultsFile>> {
        let out = self.files.out.as_deref();
        out.map(|path| ResultsFile::create(path, queries.count(), self.effort.k))
            .transpose()
    }
}

/// Adds the answers of the first `wanted` queries, a line each.
fn show(shown: &mut String, wanted: u64, first: u64, answers: &Answers) {
    let width = answers.k.max(1);
    let rows = answers
        .ids
        .chunks(width)
        .zip(answers.distances.chunks(width));
    for (query, (ids, distances)) in (first..wanted).zip(rows) {
        shown.push_str(&format!("query {query}:"));
        for (id, distance) in ids.iter().zip(distances) {
            shown.push_str(&format!("  {id} ({distance})"));
        }
        shown.push('\n');
    }
    if first == 0 && wanted > 0 {
        shown.push('\n');
    }
}
