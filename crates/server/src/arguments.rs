//! What the server is told when it starts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser};
use pageway::{Error, MemoryWish, Result};
use pageway_server::{Keys, Level, Tls, read_file};

const EXAMPLES: &str = "\
Examples:
  pageway serve --data-dir ./data
  pageway serve --config /etc/pageway.toml
  pageway serve --data-dir ./data --memory 256MB --listen 0.0.0.0:6333 --api-key-file key.txt

Keys may also come from the environment: PAGEWAY_API_KEY and PAGEWAY_READ_ONLY_API_KEY.";

/// Searches at a time for each core, where nobody says.
const SEARCHES_EACH: usize = 4;
/// Bytes of a file of a key at most.
const MAX_KEY_BYTES: u64 = 4096;
/// The least memory that a server is given.
const LEAST_MEMORY: u64 = 32 << 20;

/// Serve collections over HTTP to clients of Qdrant
#[derive(Debug, Parser)]
#[command(name = "pageway serve", version, args_override_self = true, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory of the collections; made where it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6333")]
    pub(crate) listen: SocketAddr,
    /// Memory of all collections together: 256MB, 1GB
    #[arg(long, default_value = "1GB")]
    memory: MemoryWish,
    /// File with the key that may do everything
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// File with the key that may read
    #[arg(long, value_name = "FILE")]
    read_only_api_key_file: Option<PathBuf>,
    /// Listen beyond this machine without a key
    #[arg(long)]
    insecure: bool,
    /// Searches at a time; four for each core by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Recall of queries that ask for none
    #[arg(long, default_value_t = 0.95)]
    pub(crate) recall: f32,
    #[command(flatten)]
    tls: TlsArguments,
    /// Origin whose pages may ask, such as https://example.org, or * for all; none by default
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// File in TOML with any of these options; what is given here counts more
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogArguments,
}

/// What the server tells.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// What is told of
    #[arg(long, value_enum, default_value = "info")]
    pub(crate) log_level: Level,
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

impl Arguments {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> Result<u64> {
        let MemoryWish::Bytes(bytes) = self.memory else {
            return Err(Error::invalid("--memory: give bytes, such as 256MB"));
        };
        if bytes < LEAST_MEMORY {
            let words = format!("--memory {bytes}: a server takes {LEAST_MEMORY} bytes at least");
            return Err(Error::invalid(words));
        }
        Ok(bytes)
    }

    /// Time from which on a request is slow.
    pub(crate) fn slow(&self) -> Result<Duration> {
        let slow = Duration::try_from_secs_f64(self.log.slow);
        slow.map_err(|error| Error::invalid(format!("--slow {}: {error}", self.log.slow)))
    }

    /// Searches at a time.
    pub(crate) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(SEARCHES_EACH * cores).clamp(1, 256)
    }

    /// The keys, from files or from the environment.
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
        Ok(Keys::new(all.as_deref(), read.as_deref()))
    }

    /// The certificate and its key, read.
    pub(crate) fn tls(&self) -> Result<Option<Tls>> {
        match (&self.tls.tls_cert, &self.tls.tls_key) {
            (Some(certificate), Some(key)) => Tls::open(certificate, key).map(Some),
            _ => Ok(None),
        }
    }

    /// Refuses to listen beyond this machine without a key.
    pub(crate) fn check_address(&self, keys: &Keys) -> Result<()> {
        if self.listen.ip().is_loopback() || !keys.is_empty() || self.insecure {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{}: anybody who reaches this address could read and change everything: give \
             --api-key-file, or --insecure",
            self.listen
        )))
    }
}

fn read_key(path: &Path) -> Result<String> {
    let bytes = read_file(path, MAX_KEY_BYTES)?;
    let key = String::from_utf8_lossy(&bytes).trim().to_owned();
    if key.is_empty() {
        return Err(Error::invalid(format!("{}: no key", path.display())));
    }
    Ok(key)
}
