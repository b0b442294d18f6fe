//! What is to be opened, and the run.

use std::path::PathBuf;

use clap::Args;
use pageway::{Effort, OpenOptions, Result, SearchOptions, VectorRead};

use super::report::OpenReport;
use super::rounds::Subject;
use crate::output::Outcome;
use crate::resources::ResourceArguments;
use crate::session::Session;
use crate::system;
use crate::table::ReadArguments;

const EXAMPLES: &str = "\
Examples:
  pageway open my.index
  pageway open my.index --memory 10MB --queries q.fbin -k 10
  pageway open a.index --switch-to b.index --repeats 1000 --json

Opening reads the manifest, the codebook and what the design holds in memory. A design that holds no
codes there (--preset aisaq) opens as fast however many vectors there are. After the first opening
the page cache of the system has these files: 'first opening' may wait for the disk, the others tell
what is left when it does not. What fills the caches of a design (records, lists, pages; as far as
--memory goes) is read from the disk each time, past the page cache.

Switching opens the other index while the first one stays open, and does not load what both share:
the codebook, where one was built with --codebook-from the other. Both are held meanwhile, and the
peak memory is that of both.

With --queries each opening is followed by one search, and the time to the first answer is shown.";

/// Measure opening an index and switching to another: time, bytes, memory.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct OpenArguments {
    /// Directory of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Directory of an index to switch to from the open one
    #[arg(long, value_name = "DIR")]
    switch_to: Option<PathBuf>,

    /// Times to open
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    repeats: u32,

    #[command(flatten)]
    first: FirstSearchArguments,
    #[command(flatten)]
    resources: ResourceArguments,
}

/// The search that follows an opening, and that memory is set aside for.
#[derive(Debug, Args)]
struct FirstSearchArguments {
    /// Query vectors, of the shape of the index: each opening searches one of them
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    #[command(flatten)]
    vectors: ReadArguments,

    /// Neighbours per query
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// Candidate list size (L), at least k
    #[arg(long, value_name = "L", default_value_t = 100)]
    list_size: u32,
}

impl OpenArguments {
    fn open_options(&self) -> OpenOptions {
        OpenOptions::default()
            .with_memory(self.resources.memory)
            .with_threads(self.resources.threads)
            .with_interleave(self.resources.interleave)
            .with_effort(Effort::ListSize(self.first.list_size))
            .with_k(self.first.k)
    }

    fn search_options(&self) -> SearchOptions {
        SearchOptions::nearest(self.first.k)
            .with_effort(Effort::ListSize(self.first.list_size))
            .with_threads(self.resources.threads)
            .with_interleave(self.resources.interleave)
    }

    /// Opens again and again, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let among = pageway::describe(&self.index)?.spec.shape.element;
        let (wish, progress) = (self.first.vectors.wish(), &session.progress);
        let open = |path| system::open_vectors_among(among, path, &wish, progress);
        let queries = self.first.queries.as_deref().map(open).transpose()?;
        let subject = Subject {
            index: &self.index,
            other: self.switch_to.as_deref(),
            queries: queries.as_ref().map(|queries| queries as &dyn VectorRead),
            open: self.open_options(),
            search: self.search_options(),
        };
        let (rounds, index) = subject.run(self.repeats, &session.progress)?;
        let report = OpenReport::new(&index, rounds);
        Outcome::new(report.describe(&self.index), &report)
    }
}
