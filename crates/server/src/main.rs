//! `pageway-server`: the server as a program, reached as `pageway serve` where it lies beside
//! `pageway`.

mod arguments;
mod config;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use pageway::{Error, ErrorKind, Result};
use pageway_server::{App, Level, Log, Service, ServiceOptions, Tls, listen, with_origins};
use pageway_shell::output::Outcome;
use pageway_shell::program;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::arguments::Arguments;

/// Threads that read requests and write answers.
const NETWORK_THREADS: usize = 2;

fn main() -> ExitCode {
    let words = match config::with_file(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(error) => return program::conclude(Err(error), false),
    };
    match Arguments::try_parse_from(words) {
        Ok(arguments) => program::conclude(serve(&arguments), false),
        Err(usage) => program::explain(usage.render(), usage.use_stderr()),
    }
}

fn serve(arguments: &Arguments) -> Result<Outcome> {
    pageway::lab::bear_file_size_limit();
    pageway::lab::raise_open_files_limit();
    pageway::lab::give_back_freed_memory();
    let keys = arguments.keys()?;
    arguments.check_address(&keys)?;
    let (log, threads) = (Log(arguments.log.log_level), arguments.threads());
    let options = ServiceOptions {
        memory: arguments.memory()?,
        threads,
        recall: arguments.recall,
        slow: arguments.slow()?,
    };
    let service = Service::open(&arguments.data_dir, options);
    let service = Arc::new(service.map_err(|failure| internal(failure.text))?);
    let app = App::new(Arc::clone(&service), keys, (threads, log))?;
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime
        .worker_threads(NETWORK_THREADS)
        .enable_all()
        .build()?;
    runtime.block_on(run(arguments, &app, log))?;
    drop(runtime);
    drop(app);
    service.close().map_err(|failure| internal(failure.text))?;
    log.tell(Level::Info, "stopped", json!({}));
    Outcome::new(String::new(), &())
}

async fn run(arguments: &Arguments, app: &App, log: Log) -> Result<()> {
    let router = with_origins(app.router(), &arguments.cors_origins)?;
    let tls = arguments.tls()?.map(Arc::new);
    let listening = listen(arguments.listen).await;
    let listening = listening
        .map_err(|error| Error::from(error).within(format!("listening at {}", arguments.listen)))?;
    log.tell(
        Level::Info,
        "listening",
        json!({"address": listening.address.to_string(), "data_dir": arguments.data_dir}),
    );
    let (stop, stops) = oneshot::channel();
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let own = app.clone();
    tokio::spawn(async move {
        first(&mut terminate, &mut interrupt).await;
        log.tell(Level::Info, "stopping", json!({}));
        own.stop();
        let _ = stop.send(());
        // Who asks twice does not want to wait: what is acknowledged is in the logs.
        first(&mut terminate, &mut interrupt).await;
        std::process::exit(1);
    });
    if let Some(tls) = &tls {
        tokio::spawn(reload(Arc::clone(tls), signal(SignalKind::hangup())?, log));
    }
    listening.serve(router, tls, stops).await;
    Ok(())
}

/// Reads the certificate again at each signal.
async fn reload(tls: Arc<Tls>, mut signals: tokio::signal::unix::Signal, log: Log) {
    while signals.recv().await.is_some() {
        match tls.reload() {
            Ok(()) => log.tell(Level::Info, "certificate read again", json!({})),
            Err(error) => {
                let more = json!({"error": error.to_string()});
                log.tell(Level::Error, "certificate not read again", more);
            }
        }
    }
}

/// Waits for the first of two signals.
async fn first(one: &mut tokio::signal::unix::Signal, other: &mut tokio::signal::unix::Signal) {
    std::future::poll_fn(|context| {
        let own = one.poll_recv(context).is_ready();
        if own || other.poll_recv(context).is_ready() {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
}

fn internal(words: String) -> Error {
    Error::new(ErrorKind::Internal, words)
}
