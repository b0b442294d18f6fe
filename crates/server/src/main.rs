//! `pageway-server`: the server as a program, reached as `pageway serve` where it lies beside
//! `pageway`, and as `pageway route` where it is a router.

mod arguments;
mod config;
mod listening;
mod route;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};
use pageway::Result;
use pageway_server::{App, Failure, Level, Service, ServiceOptions};
use pageway_shell::output::Outcome;
use pageway_shell::program;
use serde_json::json;
use tokio::runtime::Builder;

use crate::arguments::Arguments;
use crate::route::RouteArguments;

/// Threads that read requests and write answers.
const NETWORK_THREADS: usize = 2;
/// The first word of a router's command line.
const ROUTE: &str = "route";

fn main() -> ExitCode {
    let mut words: Vec<_> = std::env::args_os().collect();
    let routes = words.get(1).is_some_and(|word| word == ROUTE);
    if routes {
        words.remove(1);
    }
    let command = if routes {
        RouteArguments::command()
    } else {
        Arguments::command()
    };
    let words = match config::with_file(words, &command) {
        Ok(words) => words,
        Err(error) => return program::conclude(Err(error), false),
    };
    let outcome = if routes {
        RouteArguments::try_parse_from(words).map(|own| own.run())
    } else {
        Arguments::try_parse_from(words).map(|own| serve(&own))
    };
    match outcome {
        Ok(outcome) => program::conclude(outcome, false),
        Err(usage) => program::explain(usage.render(), usage.use_stderr()),
    }
}

fn serve(arguments: &Arguments) -> Result<Outcome> {
    pageway::lab::bear_file_size_limit();
    pageway::lab::raise_open_files_limit();
    pageway::lab::give_back_freed_memory();
    let listening = &arguments.listening;
    let keys = listening.keys()?;
    let (log, threads) = (listening.log(), arguments.threads());
    let service = Arc::new(open(arguments, threads)?);
    let app = App::new(Arc::clone(&service), keys, (threads, log))?;
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime
        .worker_threads(NETWORK_THREADS)
        .enable_all()
        .build()?;
    let (own, more) = (app.clone(), json!({"data_dir": arguments.data_dir}));
    let served = listening.serve(app.router(), move || own.stop(), more);
    runtime.block_on(served)?;
    drop(runtime);
    drop(app);
    service.close().map_err(Failure::into_error)?;
    log.tell(Level::Info, "stopped", json!({}));
    Outcome::new(String::new(), &())
}

/// The collections of the directory, and those of object storage.
fn open(arguments: &Arguments, threads: usize) -> Result<Service> {
    let options = ServiceOptions {
        memory: arguments.memory()?,
        threads,
        recall: arguments.recall()?,
        slow: arguments.listening.slow()?,
        latency_target: arguments.latency_target()?,
    };
    let service = Service::open(&arguments.data_dir, options);
    let mut service = service.map_err(Failure::into_error)?;
    if let Some(node) = &arguments.node {
        service = service.as_node(node.clone());
    }
    let (partitions, store, options) = arguments.partitions.all()?;
    for name in partitions {
        let with = service.with_partition(name, (store, options));
        service = with.map_err(Failure::into_error)?;
    }
    for (name, shard) in arguments.partitions.shards()? {
        let with = service.with_shard(name, shard);
        service = with.map_err(Failure::into_error)?;
    }
    let service = service.without_other_shards();
    service.map_err(Failure::into_error)
}
