//! `pageway range`: all vectors within a radius of each query.

use clap::Args;
use pageway::{Effort, Result, SearchOptions, Tolerance};

use super::query::{Call, QueryArguments};
use crate::output::Outcome;
use crate::resources::ResourceArguments;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway range my.index --queries q.fbin --radius 40000
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
                it, per query in flight. Where that has no room for the default, the limit is half
                of it, or half of that, and the report says so.

Average precision is the share of the true results that was found, averaged over the queries that
have any. The truth comes from 'pageway ground-truth --radius', from exact neighbours that reach
beyond the radius, or with --exact from a scan of the index, which takes as long as exact truth does
and up to 268 MB beside --memory. Without one the speed is shown beside an unknown precision.";

/// Find all vectors within a radius; measure precision, speed and page reads.
#[derive(Debug, Args)]
#[command(
    after_long_help = EXAMPLES,
    mut_arg("truth", |truth| truth.help(
        "Exact results (.rangeres, of this or a larger radius) or exact neighbours with distances \
         (.ibin), to measure precision against"
    )),
    mut_arg("out", |out| out.help("Write ids and distances to this .rangeres file"))
)]
pub(crate) struct RangeArguments {
    #[command(flatten)]
    files: QueryArguments,

    /// Measure precision against a scan of all vectors of the index
    // Shown behind --truth, the third.
    #[arg(long, conflicts_with = "truth", display_order = 3)]
    exact: bool,

    #[command(flatten)]
    effort: EffortArguments,
    #[command(flatten)]
    resources: ResourceArguments,

    /// Print the results of the first N queries
    #[arg(long, value_name = "N", default_value_t = 0)]
    show: u64,
}

/// How far, and how hard to try.
#[derive(Debug, Args)]
struct EffortArguments {
    /// Distance within which a vector is a result: squared for l2, negated for ip
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    radius: f32,

    /// Candidate list size (L) to begin with
    #[arg(long, value_name = "L", default_value_t = SearchOptions::RANGE_LIST_SIZE)]
    list_size: u32,

    /// Results per query at most, the nearest [default: 10000, or what memory has room for]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// Reads in flight per query (W) [default: that of the index]
    #[arg(long, value_name = "W")]
    beam: Option<u32>,

    /// How far off a distance may be, as a share of it: 0 is exact, 'any' takes what codes say of
    /// sure results
    #[arg(long, value_name = "SHARE", default_value_t = Tolerance::EXACT)]
    tolerance: Tolerance,
}

impl RangeArguments {
    /// Searches, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let effort = &self.effort;
        let call = Call {
            files: &self.files,
            resources: &self.resources,
            options: SearchOptions::within(effort.radius)
                .with_k(effort.limit.unwrap_or(SearchOptions::RANGE_LIMIT))
                .with_effort(Effort::ListSize(effort.list_size))
                .with_beam(effort.beam)
                .with_tolerance(effort.tolerance),
            yields: effort.limit.is_none(),
            scans: self.exact,
            show: self.show,
            recorded: 0,
        };
        call.run(session)?.report(&call)
    }
}
