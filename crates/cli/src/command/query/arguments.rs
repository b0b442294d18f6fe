//! What can be typed for queries of any kind.

use std::iter;
use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{ElementType, Progress, Result, Strategy};
use pageway_formats::Vectors;

use super::FilterArguments;
use crate::distinct::check_distinct;
use crate::place::CacheArguments;
use crate::system;
use crate::table::ReadArguments;

/// What to read and write.
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    index: IndexArguments,

    #[command(flatten)]
    pub(super) cache: CacheArguments,

    /// Query vectors, of the shape of the index
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,

    /// Exact neighbours of the queries (.ibin or .ivecs), to measure recall against
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,

    /// Write ids and distances to this file: .ibin (as ground truth, ids of 31 bits), .npy (ids,
    /// and distances in a file beside it), .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// Search the rows that match in this way, whatever it costs: walk, scan-codes or scan-vectors
    /// [default: the cheapest]
    #[arg(long, value_name = "WAY")]
    pub(crate) filter_strategy: Option<Strategy>,

    /// Show the attributes of what is found, with --show
    #[arg(long, requires = "show")]
    pub(crate) with_attributes: bool,

    #[command(flatten)]
    vectors: ReadArguments,
}

/// The index, in its place or by name.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct IndexArguments {
    /// Directory of the index, or its URL
    #[arg(value_name = "INDEX")]
    place: Option<PathBuf>,

    /// Directory of the index, or its URL, by name
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,
}

impl QueryArguments {
    /// Directory of the index.
    pub(crate) fn index(&self) -> &Path {
        let IndexArguments { place, index } = &self.index;
        let given = place.as_deref().or(index.as_deref());
        given.unwrap_or(Path::new("."))
    }

    /// Refuses results that would be written over what is read.
    pub(super) fn check_out(&self) -> Result<()> {
        let out: Vec<_> = self
            .out
            .iter()
            .map(|path| ("--out", path.as_path()))
            .collect();
        let truth = self.truth.iter().map(|path| ("--truth", path.as_path()));
        let queries = iter::once(("--queries", self.queries.as_path()));
        check_distinct(&out, &queries.chain(truth).collect::<Vec<_>>())
    }

    /// Opens the queries of an index that holds vectors of type `among`.
    pub(super) fn open_queries(
        &self,
        among: ElementType,
        progress: &dyn Progress,
    ) -> Result<Vectors> {
        system::open_vectors_among(among, &self.queries, &self.vectors.wish(), progress)
    }
}
