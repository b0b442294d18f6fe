//! A snapshot, read by Qdrant's own library for Python in a process of its own.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pageway::{Error, ErrorKind, Progress, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::source::Source;

/// What answers for the snapshot.
const PROGRAM: &str = include_str!("snapshot.py");

/// A snapshot that is open.
pub(crate) struct Snapshot<'p> {
    name: String,
    process: RefCell<Process>,
    progress: &'p dyn Progress,
}

struct Process {
    child: Child,
    /// None once it has been told to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl<'p> Snapshot<'p> {
    /// Unpacks an archive beside `out`, by a Python that is named.
    ///
    /// # Errors
    /// Where there is no such Python.
    pub(crate) fn open(
        archive: &Path,
        python: &Path,
        out: &Path,
        progress: &'p dyn Progress,
    ) -> Result<Self> {
        progress.stage("unpack the snapshot", 0);
        let mut place = OsString::from(out);
        place.push(".unpacked");
        let child = Command::new(python)
            .args(["-c", PROGRAM])
            .args([archive.as_os_str(), &place])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| {
            let words = format!("--python {}", python.display());
            Error::from(error).within(words)
        })?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, answers) =
            pipes.ok_or_else(|| Error::new(ErrorKind::Internal, "a process without pipes"))?;
        let process = Process {
            child,
            requests: Some(requests),
            answers: BufReader::new(answers),
        };
        Ok(Self {
            name: archive.display().to_string(),
            process: RefCell::new(process),
            progress,
        })
    }
}

impl Source for Snapshot<'_> {
    fn answer(&self, path: &str, body: Option<&Value>) -> Result<String> {
        self.progress.check()?;
        let mut text = String::new();
        let answered = self
            .process
            .borrow_mut()
            .exchange(&json!({"path": path, "body": body}), &mut text);
        // Ctrl-C ends the other process, too.
        self.progress.check()?;
        if let Ok(Refusal { error }) = serde_json::from_str(&text) {
            return Err(Error::invalid(format!("{}: {error}", self.name)));
        }
        match answered {
            Ok(()) if text.ends_with('\n') => Ok(text),
            Ok(()) => Err(Error::new(
                ErrorKind::Io,
                format!("{}: the process that reads it has ended", self.name),
            )),
            Err(error) => Err(Error::from(error).within(&self.name)),
        }
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Process {
    /// Sends a line and reads one, also where the other side no longer listens: its last line says
    /// why.
    fn exchange(&mut self, request: &Value, answer: &mut String) -> std::io::Result<()> {
        let sent = match &mut self.requests {
            Some(requests) => writeln!(requests, "{request}"),
            None => Ok(()),
        };
        self.answers.read_line(answer)?;
        if answer.is_empty() { sent } else { Ok(()) }
    }
}

impl Drop for Process {
    /// Lets it clear up.
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
