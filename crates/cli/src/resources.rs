//! What queries may use.

use clap::Args;
use pageway::MemoryWish;

/// Memory, threads, and queries in flight.
#[derive(Debug, Args)]
pub(crate) struct ResourceArguments {
    /// Memory for the index: bytes (200MB) or a share of the raw vectors (20%) [default: what the
    /// index was built for]
    #[arg(long, value_name = "MEMORY")]
    pub(crate) memory: Option<MemoryWish>,

    /// Threads, up to 8 per core or 64; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: usize,

    /// Queries in flight per thread; fewer are used when memory is short
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) interleave: u32,
}
