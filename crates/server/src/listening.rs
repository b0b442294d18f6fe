//! What servers and routers are told of connections, and serving until a signal comes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use clap::Args;
use pageway::{Error, MemoryWish, Result};
use pageway_server::{Keys, Level, Log, Tls, listen, read_file, with_origins};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Bytes of a key at most.
const MAX_KEY_BYTES: u64 = 4096;
/// Part of the time that requests have to end, which changes and logs have after that.
const CLOSE_PART: u32 = 3;

/// Where and to whom to listen.
#[derive(Debug, Args)]
pub(crate) struct ListenArguments {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6333")]
    listen: SocketAddr,
    /// File with the key that may do everything
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// File with the key that may read
    #[arg(long, value_name = "FILE")]
    read_only_api_key_file: Option<PathBuf>,
    /// Listen beyond this machine without a key
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    tls: TlsArguments,
    /// Origin whose pages may ask, such as https://example.org, or * for all; none by default
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    cors_origins: Vec<String>,
    /// File in TOML with any of these options; what is given here counts more
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Seconds that requests have to end after SIGTERM; a third as long again, and the process ends
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    stop_time: f64,
    #[command(flatten)]
    log: LogArguments,
}

/// What is told.
#[derive(Debug, Args)]
struct LogArguments {
    /// What is told of
    #[arg(long, value_enum, default_value = "info")]
    log_level: Level,
    /// Requests that take longer than so many seconds are told of, with what their searches cost
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    slow: f64,
}

/// What encrypted connections need.
#[derive(Debug, Args)]
struct TlsArguments {
    /// File with the chain of certificates of TLS, in PEM; read again on SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File with the key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// The time of an argument of this name.
pub(crate) fn seconds(name: &str, seconds: f64) -> Result<Duration> {
    let time = Duration::try_from_secs_f64(seconds);
    time.map_err(|error| Error::invalid(format!("{name} {seconds}: {error}")))
}

impl ListenArguments {
    /// What is told of.
    pub(crate) fn log(&self) -> Log {
        Log(self.log.log_level)
    }

    /// Time from which on a request is slow.
    pub(crate) fn slow(&self) -> Result<Duration> {
        seconds("--slow", self.log.slow)
    }

    /// The keys, from files or from the environment. Refuses to listen beyond this machine without.
    pub(crate) fn keys(&self) -> Result<Keys> {
        let key = |file: &Option<PathBuf>, variable| match file {
            Some(file) => read_key(file).map(Some),
            None => Ok(std::env::var(variable).ok().filter(|key| !key.is_empty())),
        };
        let all = key(&self.api_key_file, "PAGEWAY_API_KEY")?;
        let read = key(&self.read_only_api_key_file, "PAGEWAY_READ_ONLY_API_KEY")?;
        if all.is_none() && read.is_some() {
            return Err(Error::invalid(
                "a key that may read alone lets nobody write: give another that may",
            ));
        }
        let keys = Keys::new(all.as_deref(), read.as_deref());
        self.check_address(&keys)?;
        Ok(keys)
    }

    fn check_address(&self, keys: &Keys) -> Result<()> {
        if self.listen.ip().is_loopback() || !keys.is_empty() || self.insecure {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{}: anybody who reaches this address could read and change everything: give \
             --api-key-file, or --insecure",
            self.listen
        )))
    }

    fn tls(&self) -> Result<Option<Tls>> {
        match (&self.tls.tls_cert, &self.tls.tls_key) {
            (Some(certificate), Some(key)) => Tls::open(certificate, key).map(Some),
            _ => Ok(None),
        }
    }

    /// Serves until a signal comes. `stop` refuses requests; `more` is told of what is served.
    pub(crate) async fn serve(
        &self,
        router: Router,
        stop: impl FnOnce() + Send + 'static,
        more: Value,
    ) -> Result<()> {
        let (log, stop_time) = (self.log(), seconds("--stop-time", self.stop_time)?);
        let router = with_origins(router, &self.cors_origins)?;
        let tls = self.tls()?.map(Arc::new);
        let listening = listen(self.listen).await;
        let listening = listening
            .map_err(|error| Error::from(error).within(format!("listening at {}", self.listen)))?;
        let mut told = json!({"address": listening.address.to_string()});
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
            told.extend(more);
        }
        log.tell(Level::Info, "listening", told);
        let (own_stop, stops) = oneshot::channel();
        let stop = || {
            stop();
            let _ = own_stop.send(());
        };
        heed_signals((log, stop_time), stop)?;
        if let Some(tls) = &tls {
            tokio::spawn(reload(Arc::clone(tls), signal(SignalKind::hangup())?, log));
        }
        let listening = listening.with_stop_time(stop_time);
        listening.serve(router, tls, stops).await;
        Ok(())
    }
}

/// Has a thread wait for signals for as long as the process lives. At the first it begins to stop;
/// at the second, or when the time for that is up, the process ends: who asks twice does not want
/// to wait, and what is acknowledged is in the logs.
fn heed_signals(
    (log, stop_time): (Log, Duration),
    stop: impl FnOnce() + Send + 'static,
) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    drop(entered);
    let heed = async move {
        first(&mut terminate, &mut interrupt).await;
        log.tell(Level::Info, "stopping", json!({}));
        stop();
        let most = stop_time + stop_time / CLOSE_PART;
        let again = timeout(most, first(&mut terminate, &mut interrupt)).await;
        if again.is_err() {
            log.tell(Level::Warn, "stopped in the midst of changes", json!({}));
        }
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || runtime.block_on(heed))?;
    Ok(())
}

/// Bytes of memory, not fewer than a program takes.
pub(crate) fn bytes_of(memory: MemoryWish, least: u64) -> Result<u64> {
    let MemoryWish::Bytes(bytes) = memory else {
        return Err(Error::invalid("--memory: give bytes, such as 256MB"));
    };
    if bytes < least {
        let words = format!("--memory {bytes}: {least} bytes are the least");
        return Err(Error::invalid(words));
    }
    Ok(bytes)
}

/// The key in a file.
pub(crate) fn read_key(path: &Path) -> Result<String> {
    let bytes = read_file(path, MAX_KEY_BYTES)?;
    let key = String::from_utf8_lossy(&bytes).trim().to_owned();
    if key.is_empty() {
        return Err(Error::invalid(format!("{}: no key", path.display())));
    }
    Ok(key)
}

/// Reads the certificate again at each signal.
async fn reload(tls: Arc<Tls>, mut signals: Signal, log: Log) {
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
async fn first(one: &mut Signal, other: &mut Signal) {
    std::future::poll_fn(|context| {
        let own = one.poll_recv(context).is_ready();
        if own || other.poll_recv(context).is_ready() {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
}
