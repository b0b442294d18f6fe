//! `pageway calibrate`: measures recall by list size anew and stores it in the index.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{
    CalibrateOptions, Calibration, Index, MemoryWish, OpenOptions, Queries, Result, VectorRead,
    VectorShape,
};
use serde::Serialize;

use super::inspect::describe_calibration;
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::ReadArguments;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway calibrate my.index --queries real.fbin
  pageway calibrate my.index --queries real.fbin -k 20 -k 50
  pageway calibrate my.index --calibration-queries 2000

--recall is read off a calibration that the build measured on rows of the data, held out. Queries
that are unlike the data miss more: with --queries it is measured on some of them, and the index
promises what they get; some hundred are enough, those of --queries evenly drawn. Recall is
measured for k = 1, 10, 30, 50, 100, 300 and 1000, and for each -k; between these, list sizes are
interpolated. Costs a pass over all vectors and some thousand searches; nothing is rebuilt, and the
manifest changes in one step. Fails where a writer has the index open.";

/// Measure recall by list size anew, and store it in the index.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CalibrateArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Queries to measure with, of the shape of the index; rows of its own, held out, where absent
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Neighbours per query that are measured beside the usual ones; may be repeated
    #[arg(short, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    k: Vec<u32>,

    /// Queries to measure with at most; more are more exact
    #[arg(long, value_name = "N", default_value_t = CalibrateOptions::default().queries)]
    calibration_queries: u32,

    /// Memory for searches: bytes (2GB) or a share of the raw vectors (20%); that of the build
    /// where absent
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryWish>,

    /// Threads, up to 8 per core or 64; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    #[command(flatten)]
    vectors: ReadArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct CalibrateReport {
    seconds: f64,
    calibration: Calibration,
}

impl CalibrateArguments {
    /// Calibrates.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let open = OpenOptions::default()
            .with_memory(self.memory)
            .with_threads(self.threads);
        let index = Index::open(&self.index, &open)?;
        let options = CalibrateOptions::default()
            .with_k(self.k.clone())
            .with_queries(self.calibration_queries);
        let progress = &session.progress;
        let drawn = match &self.queries {
            Some(path) => {
                let among = index.shape().element;
                let wish = self.vectors.wish();
                let vectors = system::open_vectors_among(among, path, &wish, progress)?;
                Some(draw(&vectors, self.calibration_queries)?)
            }
            None => None,
        };
        let queries = drawn.as_ref();
        let queries = queries.map(|(rows, shape)| Queries::new(rows, *shape));
        let started = system::now();
        let calibration = index.calibrate(queries.as_ref(), &options, progress)?;
        let report = CalibrateReport {
            seconds: started.elapsed().as_secs_f64(),
            calibration,
        };
        Outcome::new(report.describe(&self.index), &report)
    }
}

/// At most so many rows, evenly drawn.
pub(super) fn draw(vectors: &dyn VectorRead, most: u32) -> Result<(Vec<u8>, VectorShape)> {
    let (count, shape) = (vectors.count(), vectors.shape());
    let wanted = count.min(most.max(1).into());
    let mut rows = vec![0; wanted as usize * shape.row_bytes()];
    let places = (0..wanted).map(|at| at * count / wanted);
    for (place, row) in places.zip(rows.chunks_exact_mut(shape.row_bytes())) {
        vectors.read(place, row)?;
    }
    Ok((rows, shape))
}

impl CalibrateReport {
    fn describe(&self, index: &Path) -> String {
        let warning = self.calibration.few_warning();
        let warning = warning.map_or_else(String::new, |own| format!("\nWarning: {own}\n"));
        format!(
            "Calibrated {} in {}.\n{warning}\n{}",
            index.display(),
            text::seconds(self.seconds),
            describe_calibration(&self.calibration)
        )
    }
}
