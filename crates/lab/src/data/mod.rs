//! Data sets by name: where they come from, how they are fetched, cut and given a truth.

use std::path::PathBuf;

use pageway::Metric;
use serde::{Deserialize, Serialize};

/// A part of a data set.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Cut {
    /// First rows; all when absent.
    pub rows: Option<u64>,
    /// First dimensions; all when absent.
    pub dimensions: Option<u32>,
}

/// Files that are ready to be measured with.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    /// Vectors.
    pub base: PathBuf,
    /// Queries, of the same shape.
    pub queries: PathBuf,
    /// Exact neighbours of the queries in `base`, at least 100 each where there are as many.
    pub truth: PathBuf,
    /// Distance.
    pub metric: Metric,
    /// Rows of `base`.
    pub rows: u64,
    /// Dimensions.
    pub dimensions: u32,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
}
