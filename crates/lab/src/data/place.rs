//! Where data sets are kept on this machine, and with what they are made.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directory of the lab's data, the programs that fill it, and their limits.
///
/// ```text
/// fetched/SET/FILE      as published, beside each its checksum    plain/SET/FILE  taken from it
/// ready/SET@ROWSxDIMd/  base, queries and truth of a cut          made/           ranges, segments
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The directory; made when it is needed.
    pub directory: PathBuf,
    /// Program that fetches.
    pub curl: PathBuf,
    /// Interpreter that reads HDF5 and Parquet.
    pub python: PathBuf,
    /// Tries to fetch that may fail one after the other without a byte more.
    pub attempts: u32,
    /// Wait after the first of them; doubled after each.
    pub pause: Duration,
    /// Memory for exact truth, besides the queries.
    pub memory_bytes: u64,
    /// Threads for exact truth; 0 for all cores.
    pub threads: usize,
}

impl Place {
    /// A directory, with the programs of the search path, 1 GiB and all cores.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            curl: PathBuf::from("curl"),
            python: PathBuf::from("python3"),
            attempts: 4,
            pause: Duration::from_secs(1),
            memory_bytes: 1 << 30,
            threads: 0,
        }
    }

    pub(super) fn fetched(&self, set: &str) -> PathBuf {
        self.directory.join("fetched").join(set)
    }

    pub(super) fn plain(&self, set: &str) -> PathBuf {
        self.directory.join("plain").join(set)
    }

    pub(super) fn ready(&self, name: &str) -> PathBuf {
        self.directory.join("ready").join(name)
    }

    pub(super) fn made(&self) -> PathBuf {
        self.directory.join("made")
    }
}
