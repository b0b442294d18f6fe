//! What was typed.

use std::path::PathBuf;

use clap::{Args, Parser, value_parser};
use pageway::{Error, MemoryWish, OpenOptions, Result, UpdateOptions};

use crate::file::read;

const EXAMPLES: &str = "\
Examples:
  pageway import-qdrant --url http://localhost:6333 --collection texts --out texts.index
  pageway import-qdrant --url https://db:6333 --collection texts --out i --api-key-file key --ca-cert ca.pem
  pageway import-qdrant --url http://localhost:6333 --collection pictures --vector clip --out clip.index
  pageway import-qdrant --snapshot texts-2026-11-25.snapshot --out texts.index

Points are read page by page, by scroll. Ids stay, integers as ids and UUIDs as names; payloads become
attributes. A collection with one dense vector becomes the index DIR; one with several becomes an index
of each, DIR/NAME, unless --vector names one. Sparse vectors and vectors of several vectors are left
out, and named.

A run that was stopped, or that lost the server, goes on where it was when it is started again: how far
it got is in DIR.import, which goes away at the end. Then points are counted, and some vectors are
searched for on both sides: the exit code is 1 where they disagree. Points that change meanwhile are
taken as the scroll meets them.

Snapshots of a collection or of a shard are read by Qdrant's own library for Python, in a process that
unpacks them into DIR.unpacked: pip install qdrant-edge-py. A snapshot of one node of several holds
the shards of that node alone.";

/// Import a collection of a Qdrant server, or of a snapshot.
#[derive(Debug, Parser)]
#[command(name = "pageway import-qdrant", version, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) source: SourceArguments,

    #[command(flatten)]
    pub(crate) server: ServerArguments,

    /// Points of a request
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) batch: u32,

    /// Directory of the index, or of an index for each vector; not there yet, or that of a run that
    /// stopped
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Only the vectors of this name, into DIR itself [default: all dense vectors]
    #[arg(long, value_name = "NAME")]
    pub(crate) vector: Option<String>,

    /// Queries to compare at the end, for each index; 0 for none
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u32).range(0..=10_000))]
    pub(crate) compare: u32,

    #[command(flatten)]
    pub(crate) index: IndexArguments,

    /// Show one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What is asked.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// Address of the server: http://HOST:PORT or https://HOST:PORT
    #[arg(long, value_name = "URL", required_unless_present = "snapshot")]
    pub(crate) url: Option<String>,

    /// Collection of the server
    #[arg(long, value_name = "NAME", required_unless_present = "snapshot")]
    pub(crate) collection: Option<String>,

    /// Snapshot of a collection or of a shard, in place of a server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "collection", "api_key_file", "ca_cert"])]
    pub(crate) snapshot: Option<PathBuf>,

    /// Python that has qdrant-edge-py, to read a snapshot by
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "python3",
        requires = "snapshot"
    )]
    pub(crate) python: PathBuf,
}

/// How a server is asked.
#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    /// File with the key of the server [default: the variable QDRANT_API_KEY]
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,

    /// Certificates to trust in place of the known ones, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_cert: Option<PathBuf>,

    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,

    /// Attempts of a request that a server does not answer, or is too busy for
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
}

/// What is made.
#[derive(Debug, Args)]
pub(crate) struct IndexArguments {
    /// Memory of a search, in bytes [default: 64MB, more as vectors come]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory for rows that are not in files yet, and for flushes and merges
    #[arg(long, value_name = "MEMORY", default_value = "256MB")]
    update_memory: MemoryWish,

    /// Threads of flushes and merges
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
}

impl Arguments {
    /// The collection, or the file of the snapshot.
    pub(crate) fn name(&self) -> String {
        let own = &self.source;
        let file = own.snapshot.as_ref().and_then(|path| path.file_name());
        let file = file.map(|file| file.to_string_lossy().into_owned());
        file.or_else(|| own.collection.clone()).unwrap_or_default()
    }
}

impl ServerArguments {
    /// The key of the server, if there is one.
    pub(crate) fn key(&self) -> Result<Option<String>> {
        let key = match &self.api_key_file {
            Some(path) => Some(read(path)?),
            None => std::env::var("QDRANT_API_KEY").ok(),
        };
        let key = key.map(|key| key.trim().to_owned());
        match &key {
            Some(key) if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(Error::invalid("the API key is empty, or no line of ASCII"))
            }
            _ => Ok(key),
        }
    }
}

impl IndexArguments {
    /// The bytes of memory of a search.
    pub(crate) fn memory_bytes(&self) -> Result<Option<u64>> {
        match self.memory {
            None => Ok(None),
            Some(MemoryWish::Bytes(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(Error::invalid(
                "--memory is a share of the vectors, and there are none yet: write bytes, such as \
                 64MB",
            )),
        }
    }

    /// How indexes are opened.
    pub(crate) fn opening(&self) -> (OpenOptions, UpdateOptions) {
        let update = UpdateOptions::default()
            .with_memory(self.update_memory)
            .with_threads(self.threads);
        (OpenOptions::default(), update)
    }
}
