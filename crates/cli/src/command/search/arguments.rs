//! What a search is asked.

use clap::Args;
use pageway::{Effort, Result, SearchOptions, Tolerance};

use super::trace::TraceArguments;
use crate::command::query::{Call, QueryArguments};
use crate::output::Outcome;
use crate::resources::ResourceArguments;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway search my.index --queries q.fbin -k 10 --recall 0.95
  pageway search --index my.index --queries q.fbin -k 10 --truth gt.ibin --list-size 60 --threads 4
  pageway search --index my.index --queries q.npy -k 3 --show 5
  pageway search my.index --queries q.npy --filter 'year > 2020' --show 5 --with-attributes
  pageway search --index my.index --queries q.parquet -k 10 --out found.csv
  pageway search --index my.index --queries q.fbin -k 10 --truth gt.ibin --json
  pageway search --index my.index --queries q.fbin --threads 1 --interleave 1 --trace q.trace

What the knobs cost:
  --recall, --list-size   page reads grow about in proportion to the list size; recall flattens.
  --memory                more memory caches more nodes, so fewer page reads. At least the codes.
  --threads               speed grows until the disk is busy; each thread holds buffers.
  --interleave            queries in flight per thread: more hides disk waits, so more queries per
                          second, at a longer latency of each. 1 gives the shortest latency.
  --beam                  reads in flight per query: more shortens latency and reads more pages.
  --tolerance             0.01 lets a distance be 1 % off, where that saves the read of a vector.

Without --truth the recall of these queries is unknown: the speed is then shown beside the recall
that the calibration of the index expects. 'pageway ground-truth' computes the truth.";

/// Search an index; measure recall, speed, latency and page reads.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    files: QueryArguments,
    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    resources: ResourceArguments,
    #[command(flatten)]
    trace: TraceArguments,

    /// Print the answers of the first N queries; under --json as "answers"
    #[arg(long, value_name = "N", default_value_t = 0)]
    show: u64,
}

/// How hard to try.
#[derive(Debug, Args)]
struct EffortArguments {
    /// Neighbours per query; the rest stays empty where there are fewer rows
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

    /// How far off a distance may be, as a share of it: 0 is exact, 'any' takes what codes say of
    /// sure answers
    #[arg(long, value_name = "SHARE", default_value_t = Tolerance::EXACT)]
    tolerance: Tolerance,
}

impl EffortArguments {
    fn options(&self) -> SearchOptions {
        let recall = Effort::Recall(self.recall);
        SearchOptions::nearest(self.k)
            .with_effort(self.list_size.map_or(recall, Effort::ListSize))
            .with_beam(self.beam)
            .with_tolerance(self.tolerance)
    }
}

impl SearchArguments {
    /// Searches, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let call = Call {
            files: &self.files,
            resources: &self.resources,
            options: self.effort.options(),
            yields: false,
            scans: false,
            show: self.show,
            recorded: self.trace.queries(),
        };
        let mut answered = call.run(session)?;
        let subject = (&answered.index, self.effort.k);
        self.trace.write(subject, &mut answered.searched)?;
        answered.report(&call)
    }
}
