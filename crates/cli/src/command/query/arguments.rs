//! What can be typed for queries of any kind.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{OpenAs, VectorFile};
use pageway::{ElementType, Result};

use crate::system;

/// What to read and write.
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    /// Directory of the index
    #[arg(long, value_name = "DIR")]
    pub(crate) index: PathBuf,

    /// Query vectors, of the shape of the index
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,

    /// Exact neighbours of the queries (.ibin or .ivecs), to measure recall against
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,

    /// Write ids and distances to this .ibin file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Element type of a .bin file of queries: f32, f16, u8 or i8
    #[arg(long, value_name = "TYPE")]
    pub(crate) element: Option<ElementType>,
}

impl QueryArguments {
    /// Opens the queries.
    pub(super) fn open_queries(&self) -> Result<VectorFile> {
        let how = OpenAs {
            element: self.element,
        };
        system::open_vectors(&self.queries, how)
    }
}
