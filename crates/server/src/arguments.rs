//! What the server is told when it starts.

use std::path::PathBuf;

use clap::Parser;
use pageway::{MemoryWish, Result};

use crate::listening::{ListenArguments, bytes_of};

const EXAMPLES: &str = "\
Examples:
  pageway serve --data-dir ./data
  pageway serve --config /etc/pageway.toml
  pageway serve --data-dir ./data --memory 256MB --listen 0.0.0.0:6333 --api-key-file key.txt
  pageway serve --data-dir ./data --node a --listen 127.0.0.1:6401

Keys may also come from the environment: PAGEWAY_API_KEY and PAGEWAY_READ_ONLY_API_KEY.";

/// Searches at a time for each core, where nobody says.
const SEARCHES_EACH: usize = 4;
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
    #[arg(long, default_value_t = 0.95)]
    pub(crate) recall: f32,
    /// Be a node of this name, which a router asks for shards: points do not change then
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    #[command(flatten)]
    pub(crate) listening: ListenArguments,
}

impl Arguments {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> Result<u64> {
        bytes_of(self.memory, LEAST_MEMORY)
    }

    /// Searches at a time.
    pub(crate) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(SEARCHES_EACH * cores).clamp(1, 256)
    }
}
