//! One transfer by the program curl: HTTP, HTTPS and FTP with the certificates and proxies of the
//! system (why a program and not a library: `docs/decisions/0011-lab.md`).
//!
//! curl writes to a pipe and we write the file, so that a transfer can be watched, stopped when it
//! has enough, and cancelled. It is killed when this value goes.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use pageway::{Error, ErrorKind, Result};

const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that wait for the disk.
const CHUNKS: usize = 8;
/// How long a look for more takes, so that a wish to stop is heard.
const LOOK: Duration = Duration::from_millis(100);
/// Seconds for a connection, and without a byte, until a transfer counts as failed.
const CONNECT_SECONDS: &str = "30";
const SILENT_SECONDS: &str = "60";

/// A transfer that runs.
pub(super) struct Curl {
    child: Child,
    chunks: Receiver<Vec<u8>>,
    words: Option<ChildStderr>,
}

/// What came.
pub(super) enum Arrival {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nothing for a moment.
    Silence,
    /// No more: curl ended.
    End,
}

/// Why curl failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    /// curl's exit code; 0 when a signal ended it.
    code: i32,
    /// curl's own words.
    pub(super) words: String,
}

impl Curl {
    /// Begins a transfer at a byte of the file.
    pub(super) fn start(program: &Path, address: &str, offset: u64) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["--fail", "--location", "--silent", "--show-error"])
            .args(["--proto", "=http,https,ftp,ftps"])
            .args(["--connect-timeout", CONNECT_SECONDS])
            .args(["--speed-limit", "1", "--speed-time", SILENT_SECONDS])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if offset > 0 {
            command.args(["--continue-at", &offset.to_string()]);
        }
        let mut child = command.arg("--").arg(address).spawn().map_err(|error| {
            let what = format!(
                "{}: {error}; curl fetches data sets: install it, or fetch {address} by other means",
                program.display()
            );
            Error::new(ErrorKind::NotFound, what)
        })?;
        let (sender, chunks) = sync_channel(CHUNKS);
        if let Some(bytes) = child.stdout.take() {
            std::thread::spawn(move || pump(bytes, &sender));
        }
        let words = child.stderr.take();
        Ok(Self {
            child,
            chunks,
            words,
        })
    }

    /// Waits a moment for more.
    pub(super) fn next(&self) -> Arrival {
        match self.chunks.recv_timeout(LOOK) {
            Ok(bytes) => Arrival::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Arrival::Silence,
            Err(RecvTimeoutError::Disconnected) => Arrival::End,
        }
    }

    /// After the end: whether it was a good one.
    pub(super) fn outcome(mut self) -> Result<Option<Failure>> {
        let status = self.child.wait()?;
        if status.success() {
            return Ok(None);
        }
        let mut words = String::new();
        if let Some(mut from) = self.words.take() {
            from.read_to_string(&mut words)?;
        }
        Ok(Some(Failure {
            code: status.code().unwrap_or(0),
            words: words.trim().to_owned(),
        }))
    }
}

impl Drop for Curl {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Carries bytes from curl to us until either ends.
fn pump(mut bytes: ChildStdout, to: &SyncSender<Vec<u8>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match bytes.read(&mut chunk) {
            Ok(read) if read > 0 => {
                chunk.truncate(read);
                if to.send(chunk).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

impl Failure {
    /// The server cannot begin in the middle of a file.
    pub(super) fn no_resume(&self) -> bool {
        [31, 33, 36].contains(&self.code)
    }

    /// Another try may succeed: names and hosts that do not answer, broken transfers, and servers
    /// that are overloaded.
    pub(super) fn passes(&self) -> bool {
        const BROKEN: [i32; 14] = [0, 5, 6, 7, 12, 18, 28, 35, 52, 55, 56, 65, 92, 95];
        let overloaded = self.code == 22
            && ["408", "429", "500", "502", "503", "504"]
                .iter()
                .any(|status| self.words.ends_with(status));
        overloaded || BROKEN.contains(&self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again() {
        let failure = |code, words: &str| Failure {
            code,
            words: words.to_owned(),
        };
        let status = |status: u32| {
            failure(
                22,
                &format!("curl: (22) The requested URL returned error: {status}"),
            )
        };
        assert!(failure(18, "").passes() && status(503).passes());
        assert!(!status(404).passes() && !failure(3, "").passes());
        assert!(failure(33, "").no_resume() && !failure(18, "").no_resume());
    }

    #[test]
    fn a_missing_program_is_named() {
        let Err(error) = Curl::start(Path::new("/no/such/curl"), "http://127.0.0.1:1/a", 0) else {
            panic!("started");
        };
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.context().contains("/no/such/curl"), "{error}");
        assert!(error.context().contains("http://127.0.0.1:1/a"), "{error}");
    }
}
