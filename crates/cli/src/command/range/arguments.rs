//! What a range search is asked, and the run.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{OpenAs, VectorFile, VectorSlice};
use pageway::truth::RangeQuestion;
use pageway::{
    Answers, Effort, ElementType, Error, ErrorKind, Index, OpenOptions, Result, SearchOptions,
    VectorRead,
};

use super::report::RangeReport;
use crate::exact;
use crate::output::Outcome;
use crate::resources::ResourceArguments;
use crate::results::RangeResultsFile;
use crate::session::Session;
use crate::system;
use crate::workload::{RangeReference, RangeWorkload};

const EXAMPLES: &str = "\
Examples:
  pageway range --index my.index --queries q.fbin --radius 40000
  pageway range --index my.index --queries q.fbin --radius 40000 --truth gt.rangeres --list-size 50
  pageway range --index my.index --queries q.npy --radius 0.35 --exact
  pageway range --index texts.index --queries q.npy --radius -0.7 --out found.rangeres

The radius is in the distances that searches show: squared for l2, negated for ip (a radius of -0.7
keeps inner products of 0.7 and more), one minus the cosine for cosine.

What the knobs cost:
  --list-size   the candidate list to begin with. While half of it lies within the radius it doubles
                and the walk goes on; a longer one to begin with finds more and reads more where
                results are few.
  --limit       results per query at most, and how long the list may grow. Memory is set aside for
                it, per query in flight.

Average precision is the share of the true results that was found, averaged over the queries that
have any. The truth comes from 'pageway ground-truth --radius', from exact neighbours that reach
beyond the radius, or with --exact from a scan of the index, which takes as long as exact truth does
and up to 268 MB beside --memory. Without one the speed is shown beside an unknown precision.";

/// Memory of a scan: the queries, the results and a block of vectors.
const SCAN_BYTES: u64 = 256 << 20;

/// Find all vectors within a radius; measure precision, speed and page reads.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RangeArguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    resources: ResourceArguments,

    /// Print the results of the first N queries
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

    /// Exact results (.rangeres, of this or a larger radius) or exact neighbours with distances
    /// (.ibin), to measure precision against
    #[arg(long, value_name = "FILE", conflicts_with = "exact")]
    truth: Option<PathBuf>,

    /// Measure precision against a scan of all vectors of the index
    #[arg(long)]
    exact: bool,

    /// Write ids and distances to this .rangeres file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Element type of a .bin file of queries: f32, f16, u8 or i8
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,
}

/// How far, and how hard to try.
#[derive(Debug, Args)]
struct EffortArguments {
    /// Distance within which a vector is a result: squared for l2, negated for ip
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    radius: f32,

    /// Candidate list size (L) to begin with
    #[arg(long, value_name = "L", default_value_t = 20)]
    list_size: u32,

    /// Results per query at most, the nearest
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    limit: u32,

    /// Reads in flight per query (W) [default: that of the index]
    #[arg(long, value_name = "W")]
    beam: Option<u32>,
}

impl RangeArguments {
    /// Memory is divided at open: for as many results, and as long a list, as there may be.
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
            effort: Some(Effort::ListSize(effort.limit.max(effort.list_size))),
            beam: effort.beam,
            k: effort.limit,
        };
        Index::open(&files.index, &options).map_err(|error| {
            if error.kind() == ErrorKind::InvalidInput {
                let room = format!("with room for --limit {} per query", effort.limit);
                return error.within(room);
            }
            error
        })
    }

    fn range_options(&self) -> SearchOptions {
        SearchOptions {
            effort: Effort::ListSize(self.effort.list_size),
            k: self.effort.limit,
            beam: self.effort.beam,
            threads: self.resources.threads,
            interleave: self.resources.interleave,
            ..SearchOptions::within(self.effort.radius)
        }
    }

    /// Searches, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let files = &self.files;
        let how = OpenAs {
            element: files.element,
        };
        let queries = system::open_vectors(&files.queries, how)?;
        let started = system::now();
        let index = self.open()?;
        let open_ms = started.elapsed().as_secs_f64() * 1e3;
        let reference = self.reference(&index, &queries, session)?;
        let out = files.out.as_deref();
        let mut out = out
            .map(|path| RangeResultsFile::create(path, queries.count()))
            .transpose()?;
        let workload = RangeWorkload {
            index: &index,
            queries: &queries,
            reference: &reference,
            options: self.range_options(),
        };
        let mut shown = String::new();
        let searched = workload.run(&session.progress, &mut |first, answers| {
            show(&mut shown, self.show, first, answers);
            out.as_mut().map_or(Ok(()), |out| out.put(answers))
        })?;
        if let Some(out) = out {
            out.finish()?;
        }
        let report = RangeReport::new(&index, self.effort.radius, &searched, open_ms);
        Outcome::new(shown + &report.describe(&files.index), &report)
    }

    /// What results are compared with.
    fn reference(
        &self,
        index: &Index,
        queries: &VectorFile,
        session: &Session,
    ) -> Result<RangeReference> {
        if self.files.exact {
            return self.scan(index, queries, session);
        }
        let Some(path) = &self.files.truth else {
            return Ok(RangeReference::Unknown);
        };
        let is_range = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("rangeres"));
        let (reference, found) = if is_range {
            let file = system::open_range_truth(path)?;
            let found = file.query_count();
            (RangeReference::Ranges(file), found)
        } else {
            let file = system::open_truth(path, None)?;
            let found = file.query_count();
            (RangeReference::Nearest(file), found)
        };
        let expected = queries.count();
        if found != expected {
            let place = path.display();
            let words = format!("{place}: truth of {found} queries, but there are {expected}");
            return Err(Error::invalid(words));
        }
        Ok(reference)
    }

    /// Computes the truth from the vectors of the index.
    fn scan(
        &self,
        index: &Index,
        queries: &VectorFile,
        session: &Session,
    ) -> Result<RangeReference> {
        let rows = exact::held_queries(queries, &self.files.queries, SCAN_BYTES)?;
        let question = RangeQuestion {
            queries: VectorSlice::new(&rows.rows, queries.shape())?,
            metric: index.metric(),
            radius: self.effort.radius,
        };
        let threads = self.resources.threads;
        let progress = &session.progress;
        let truth = system::exact_range(index, &question, rows.left_bytes, threads, progress)?;
        Ok(RangeReference::Scanned(truth))
    }
}

/// Adds the results of the first `wanted` queries, a line each.
fn show(shown: &mut String, wanted: u64, first: u64, answers: &Answers) {
    for (query, lims) in (first..wanted).zip(answers.lims.windows(2)) {
        let [begin, end] = lims else { continue };
        let ids = answers.ids.get(*begin..*end).unwrap_or_default();
        let distances = answers.distances.get(*begin..*end).unwrap_or_default();
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
