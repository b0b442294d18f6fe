//! Vectors and queries out of files, as far as they are wanted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use pageway::source::{OpenAs, VectorFile};
use pageway::{Error, Metric, OsVfs, Result, VectorRead, VectorShape, Vfs};
use pageway_lab::InMemory;

/// What is measured on.
#[derive(Debug, Args)]
pub(super) struct VectorArguments {
    /// Vectors
    #[arg(long, value_name = "FILE")]
    base: PathBuf,

    /// Queries, all of which may be searched for
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Queries of those, the first ones
    #[arg(long, value_name = "N", default_value_t = 1000)]
    most_queries: u64,

    /// Rows of the data, the first ones; all where absent
    #[arg(long, value_name = "N")]
    rows: Option<u64>,

    /// Metric: l2, ip, cosine, l1, or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC")]
    metric: Metric,
}

/// What was read of the files.
pub(super) struct Loaded {
    pub(super) rows: Vec<u8>,
    queries: Vec<u8>,
    shape: VectorShape,
    metric: Metric,
}

impl Loaded {
    pub(super) fn data(&self) -> InMemory<'_> {
        InMemory {
            rows: &self.rows,
            queries: &self.queries,
            shape: self.shape,
            metric: self.metric,
        }
    }
}

impl VectorArguments {
    /// Rows and queries.
    ///
    /// # Errors
    /// `InvalidInput` where the shapes differ; as of files.
    pub(super) fn read(&self) -> Result<Loaded> {
        let (rows, shape) = read(&self.base, self.rows)?;
        let (queries, of_queries) = read(&self.queries, Some(self.most_queries))?;
        if shape != of_queries {
            let words = format!("the data are {shape}, the queries {of_queries}");
            return Err(Error::invalid(words));
        }
        Ok(Loaded {
            rows,
            queries,
            shape,
            metric: self.metric,
        })
    }
}

/// The first rows of a file.
fn read(path: &Path, most: Option<u64>) -> Result<(Vec<u8>, VectorShape)> {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let file = VectorFile::open(&vfs, path, OpenAs::default())?;
    let count = most.unwrap_or(u64::MAX).min(file.count());
    let mut rows = vec![0; count as usize * file.shape().row_bytes()];
    file.read(0, &mut rows)?;
    Ok((rows, file.shape()))
}
