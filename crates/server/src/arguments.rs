//! What the server is told when it starts.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};
use pageway::{Error, MemoryWish, Result};
use pageway_object::CacheMode;
use pageway_server::{RemoteShard, ReplicaOptions};

use crate::listening::{ListenArguments, bytes_of, seconds};

const EXAMPLES: &str = "\
Examples:
  pageway serve --data-dir ./data
  pageway serve --config /etc/pageway.toml
  pageway serve --data-dir ./data --memory 256MB --listen 0.0.0.0:6333 --api-key-file key.txt
  pageway serve --data-dir ./data --node a --listen 127.0.0.1:6401
  pageway serve --data-dir ./data --node a --store s3://bucket/logs --partition texts-0

Keys may also come from the environment: PAGEWAY_API_KEY and PAGEWAY_READ_ONLY_API_KEY.";

/// Searches at a time for each core, where nobody says.
const SEARCHES_EACH: usize = 4;
/// Seconds that a lease may last.
const LEASE_SECONDS: RangeInclusive<f64> = 0.5..=600.0;
/// The least memory that a server is given.
const LEAST_MEMORY: u64 = 32 << 20;

/// Serve collections over HTTP to clients of Qdrant
#[derive(Debug, Parser)]
#[command(name = "pageway serve", version, args_override_self = true, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory of the collections; made where it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Memory of all collections together: 256MB, 1GB
    #[arg(long, default_value = "1GB")]
    memory: MemoryWish,
    /// Searches at a time; four for each core by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Recall of queries that ask for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    recall: f32,
    /// Seconds that 99 of 100 searches of a collection are to stay within while it changes, which
    /// merges and inserts make way for
    #[arg(long, value_name = "SECONDS")]
    latency_target: Option<f64>,
    /// Be a node of this name, which a router asks for shards: points do not change then, but those
    /// of partitions
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    #[command(flatten)]
    pub(crate) partitions: PartitionArguments,
    #[command(flatten)]
    pub(crate) listening: ListenArguments,
}

/// What is said of collections in an object store: of those whose history several nodes share, and
/// of those that are indexes there.
#[derive(Debug, Args)]
pub(crate) struct PartitionArguments {
    /// Place of the logs of partitions: s3://, gs://, az:// or file://
    #[arg(long, value_name = "URL", requires = "node")]
    store: Option<String>,
    /// Collection whose changes are in a log of the store, which one of its nodes leads at a time;
    /// may be given several times
    #[arg(long = "partition", value_name = "NAME", requires = "store")]
    names: Vec<String>,
    /// Collection that is an index in object storage, and where: texts-0=s3://bucket/texts-0; may
    /// be given several times
    #[arg(long = "shard", value_name = "NAME=URL", requires = "cache")]
    shards: Vec<String>,
    /// Directory on local disk that keeps blocks of such indexes
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Most bytes of that directory, in equal parts for each
    #[arg(long, value_name = "BYTES", default_value = "1GB", requires = "cache")]
    cache_bytes: MemoryWish,
    /// What starting brings there: lazy (nothing), codes (all but the records), all
    #[arg(long, value_name = "MODE", default_value = "codes", requires = "cache")]
    cache_mode: CacheMode,
    /// Time for which a node leads a partition when it is not heard of any more
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    lease: f64,
    /// Records of a partition's log from one snapshot in the store to the next, with which a node
    /// begins that has less than the log does
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    snapshot_each: u64,
    /// Age of a snapshot at which records that it holds are removed when the next is made
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    snapshot_grace: u64,
}

impl PartitionArguments {
    /// The names of partitions, the place of their logs, and how this node has them.
    pub(crate) fn all(&self) -> Result<(&[String], &str, ReplicaOptions)> {
        if !LEASE_SECONDS.contains(&self.lease) {
            let (least, most) = (LEASE_SECONDS.start(), LEASE_SECONDS.end());
            let words = format!("--lease: {least} to {most} seconds are possible");
            return Err(Error::invalid(words));
        }
        let store = self.store.as_deref().unwrap_or_default();
        let options = ReplicaOptions {
            term: Duration::from_secs_f64(self.lease),
            snapshot_each: self.snapshot_each,
            grace: Duration::from_secs(self.snapshot_grace),
        };
        Ok((&self.names, store, options))
    }

    /// Collections that are indexes in object storage, by name.
    pub(crate) fn shards(&self) -> Result<Vec<(&str, RemoteShard)>> {
        let MemoryWish::Bytes(bytes) = self.cache_bytes else {
            return Err(Error::invalid("--cache-bytes: give bytes, such as 2GB"));
        };
        let each = bytes / (self.shards.len() as u64).max(1);
        let cache = self.cache.as_deref().unwrap_or(Path::new(""));
        let mut all = Vec::new();
        for text in &self.shards {
            let wrong = || Error::invalid(format!("--shard {text}: NAME=URL is expected"));
            let (name, url) = text.split_once('=').ok_or_else(wrong)?;
            let shard = RemoteShard::open((name, url), (cache, each), self.cache_mode);
            all.push((name, shard.map_err(|failure| Error::invalid(failure.text))?));
        }
        Ok(all)
    }
}

impl Arguments {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> Result<u64> {
        bytes_of(self.memory, LEAST_MEMORY)
    }

    /// Recall of queries that ask for none.
    pub(crate) fn recall(&self) -> Result<f32> {
        if (0.0..1.0).contains(&self.recall) {
            return Ok(self.recall);
        }
        let words = format!("--recall {}: give 0 to below 1", self.recall);
        Err(Error::invalid(words))
    }

    /// What searches are to stay within.
    pub(crate) fn latency_target(&self) -> Result<Option<Duration>> {
        let target = self.latency_target;
        if target == Some(0.0) {
            return Err(Error::invalid("--latency-target 0: give more than 0"));
        }
        let target = target.map(|target| seconds("--latency-target", target));
        target.transpose()
    }

    /// Searches at a time.
    pub(crate) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(SEARCHES_EACH * cores).clamp(1, 256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recall_is_a_share() {
        let given = |recall: &str| {
            let words = ["pageway serve", "--data-dir", "d", "--recall", recall];
            Arguments::try_parse_from(words).unwrap().recall()
        };
        assert!((given("0.9").unwrap() - 0.9).abs() < 1e-6);
        for recall in ["95", "1", "nan"] {
            let error = given(recall).unwrap_err();
            assert!(error.to_string().contains("give 0 to below 1"), "{error}");
        }
    }
}
