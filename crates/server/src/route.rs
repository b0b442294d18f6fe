//! `pageway route`: a router before nodes.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

use clap::Parser;
use pageway::{MemoryWish, Result};
use pageway_server::{ClusterMap, Level, NodeClient, RouterApp, RouterOptions};
use pageway_shell::output::Outcome;
use serde_json::json;
use tokio::runtime::Builder;

use crate::listening::{ListenArguments, bytes_of, read_key};

const EXAMPLES: &str = "\
Examples:
  pageway route --map map.toml
  pageway route --map map.toml --listen 0.0.0.0:6333 --api-key-file key.txt --node-key-file node.txt
  pageway route --map map.toml --allow-partial

The map is read again when its file changes; docs/cluster.md shows one.";

/// The least memory that a router is given.
const LEAST_MEMORY: u64 = 16 << 20;

/// Answer for collections whose shards lie on several nodes
#[derive(Debug, Parser)]
#[command(name = "pageway route", version, args_override_self = true, after_long_help = EXAMPLES)]
pub(crate) struct RouteArguments {
    /// File in TOML that says which nodes have which shards; read again when it changes
    #[arg(long, value_name = "FILE")]
    map: PathBuf,
    /// Memory of requests and answers: 64MB, 1GB
    #[arg(long, default_value = "256MB")]
    memory: MemoryWish,
    /// File with the key that nodes want
    #[arg(long, value_name = "FILE")]
    node_key_file: Option<PathBuf>,
    /// Answer without shards that do not answer, and say which, where a request does not say
    #[arg(long)]
    allow_partial: bool,
    #[command(flatten)]
    listening: ListenArguments,
}

impl RouteArguments {
    /// Routes until a signal comes.
    pub(crate) fn run(&self) -> Result<Outcome> {
        pageway::lab::raise_open_files_limit();
        let listening = &self.listening;
        let map = ClusterMap::read(&self.map)?;
        let key = self.node_key_file.as_deref().map(read_key).transpose()?;
        let options = RouterOptions {
            memory: bytes_of(self.memory, LEAST_MEMORY)?,
            allows_part: self.allow_partial,
            slow: listening.slow()?,
            seed: RandomState::new().hash_one(0),
        };
        let log = listening.log();
        let client = NodeClient::new(key.as_deref())?;
        let app = RouterApp::new((map, client), listening.keys()?, options, log);
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let (watched, file) = (app.clone(), self.map.clone());
            tokio::spawn(async move { watched.watch(&file).await });
            let (stopped, more) = (app.clone(), json!({"map": self.map}));
            listening
                .serve(app.router(), move || stopped.stop(), more)
                .await
        })?;
        runtime.shutdown_background();
        log.tell(Level::Info, "stopped", json!({}));
        Outcome::new(String::new(), &())
    }
}
