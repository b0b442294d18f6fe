//! Requests to a server, repeated where it is busy or does not answer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway::lab::clock;
use pageway::{Error, ErrorKind, Progress, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, http};

use crate::arguments::ServerArguments;
use crate::file::read;
use crate::source::Source;

/// Bytes of an answer at most.
const MAX_BYTES: u64 = 256 << 20;
/// Pause after the first attempt; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// How often is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A collection of a server, to be asked.
pub(crate) struct Client<'p> {
    agent: Agent,
    /// Address of the collection.
    base: String,
    key: Option<String>,
    /// Of a request.
    attempts: u32,
    progress: &'p dyn Progress,
}

/// What an answer came to.
enum Attempt {
    Answered(String),
    /// To be asked again after a pause, if the server named one.
    Again(Error, Option<Duration>),
    Failed(Error),
}

impl<'p> Client<'p> {
    /// A client of the collection that was named.
    ///
    /// # Errors
    /// What is no address; a file of certificates that is none.
    pub(crate) fn new(
        (url, collection): (&str, &str),
        arguments: &ServerArguments,
        progress: &'p dyn Progress,
    ) -> Result<Self> {
        let server = url.trim_end_matches('/');
        if !server.starts_with("http://") && !server.starts_with("https://") {
            let words = format!("--url {server}: write http://HOST:PORT or https://HOST:PORT");
            return Err(Error::invalid(words));
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(arguments.timeout)))
            .http_status_as_error(false)
            // A redirection would take the key to another server.
            .max_redirects(0);
        if let Some(path) = &arguments.ca_cert {
            config = config.tls_config(trusting(path)?);
        }
        let name = utf8_percent_encode(collection, NON_ALPHANUMERIC);
        Ok(Self {
            agent: config.build().new_agent(),
            base: format!("{server}/collections/{name}"),
            key: arguments.key()?,
            attempts: arguments.attempts,
            progress,
        })
    }

    /// Whether a key goes to another machine for everyone to read.
    pub(crate) fn shows_key(&self) -> bool {
        let host = self.base.strip_prefix("http://").unwrap_or_default();
        let is_here = ["localhost", "127.", "[::1]"]
            .iter()
            .any(|own| host.starts_with(own));
        self.key.is_some() && self.base.starts_with("http://") && !is_here
    }

    fn attempt(&self, address: &str, body: Option<&str>) -> Attempt {
        let key = |name: &'static str| self.key.as_ref().map(|key| (name, key));
        let answer = match body {
            None => {
                let mut request = self.agent.get(address);
                if let Some((name, key)) = key("api-key") {
                    request = request.header(name, key);
                }
                request.call()
            }
            Some(body) => {
                let mut request = self.agent.post(address);
                if let Some((name, key)) = key("api-key") {
                    request = request.header(name, key);
                }
                let request = request.header("content-type", "application/json");
                request.send(body)
            }
        };
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => return failed(address, error),
        };
        let (status, wished) = (answer.status().as_u16(), retry_after(&answer));
        let text = match answer
            .body_mut()
            .with_config()
            .limit(MAX_BYTES)
            .read_to_string()
        {
            Ok(text) => text,
            Err(error) => return failed(address, error),
        };
        match status {
            200 => Attempt::Answered(text),
            429 | 500 | 502..=504 => Attempt::Again(refused(address, status, &text), wished),
            _ => Attempt::Failed(refused(address, status, &text)),
        }
    }

    /// Waits, unless the user wants to stop.
    fn rest(&self, time: Duration) -> Result<()> {
        let end = clock::now() + time.min(MAX_PAUSE);
        while clock::now() < end {
            self.progress.check()?;
            std::thread::sleep(LOOK.min(time));
        }
        Ok(())
    }
}

impl Source for Client<'_> {
    /// As a server answers; asked again where it is busy or does not.
    fn answer(&self, path: &str, body: Option<&Value>) -> Result<String> {
        let address = format!("{}{path}", self.base);
        let body = body.map(Value::to_string);
        let mut pause = PAUSE;
        for attempt in 1.. {
            self.progress.check()?;
            match self.attempt(&address, body.as_deref()) {
                Attempt::Answered(text) => return Ok(text),
                Attempt::Failed(error) => return Err(error),
                Attempt::Again(error, _) if attempt == self.attempts => return Err(error),
                Attempt::Again(_, wished) => self.rest(wished.unwrap_or(pause))?,
            }
            pause = (2 * pause).min(MAX_PAUSE);
        }
        Err(Error::new(ErrorKind::Internal, "attempts have no end"))
    }

    fn name(&self) -> String {
        self.base.clone()
    }
}

/// Trust in the certificates of a file.
fn trusting(path: &Path) -> Result<TlsConfig> {
    let text = read(path)?;
    let wrong = |what: String| Error::invalid(format!("{}: {what}", path.display()));
    let mut certificates = Vec::new();
    for item in parse_pem(text.as_bytes()) {
        if let PemItem::Certificate(one) = item.map_err(|error| wrong(error.to_string()))? {
            certificates.push(one);
        }
    }
    if certificates.is_empty() {
        return Err(wrong("no certificate in it".to_owned()));
    }
    let roots = RootCerts::Specific(Arc::new(certificates));
    Ok(TlsConfig::builder().root_certs(roots).build())
}

/// The pause that a server asks for.
fn retry_after(answer: &http::Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?;
    Some(Duration::from_secs(seconds.parse().ok()?))
}

/// A request without an answer.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "errors that another attempt mends are named; the library may add others"
)]
fn failed(address: &str, error: ureq::Error) -> Attempt {
    let words = format!("{address}: {error}");
    match error {
        ureq::Error::Timeout(_) => Attempt::Again(Error::new(ErrorKind::TimedOut, words), None),
        ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => {
            Attempt::Again(Error::new(ErrorKind::Io, words), None)
        }
        ureq::Error::BodyExceedsLimit(_) => Attempt::Failed(Error::invalid(format!(
            "{address}: the answer is longer than 256 MiB: a smaller --batch asks for less"
        ))),
        _ => Attempt::Failed(Error::invalid(words)),
    }
}

/// An answer that is a refusal, in the server's words.
fn refused(address: &str, status: u16, text: &str) -> Error {
    let own = serde_json::from_str::<Value>(text).ok();
    let own = own.and_then(|body| Some(body.pointer("/status/error")?.as_str()?.to_owned()));
    let own = own.unwrap_or_else(|| text.chars().take(200).collect());
    let kind = match status {
        404 => ErrorKind::NotFound,
        429 | 500..=599 => ErrorKind::Io,
        _ => ErrorKind::InvalidInput,
    };
    Error::new(kind, format!("{address}: {status}: {own}"))
}
