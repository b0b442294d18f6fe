//! HDF5 and Parquet, by a short Python program in a process of its own: their libraries are large,
//! and are asked for only by who uses such files.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pageway::{Error, ErrorKind, Progress, Result};

use super::entry::Container;
use crate::files;

const PROGRAM: &str = include_str!("../../data/import_vectors.py");
/// Exit code of the program when a package is missing.
const NO_PACKAGE: i32 = 3;

/// Files of one format, and what to take from them.
pub(super) struct Import<'a> {
    pub(super) python: &'a Path,
    pub(super) container: Container,
    /// Data set of HDF5, column of Parquet.
    pub(super) member: &'a str,
    pub(super) files: &'a [PathBuf],
}

impl Import<'_> {
    /// Rows of all files.
    ///
    /// # Errors
    /// As [`Import::write`].
    pub(super) fn rows(&self) -> Result<u64> {
        let mut running = self.start("rows", &[])?;
        let mut text = String::new();
        running.output.read_to_string(&mut text)?;
        running.finish()?;
        let wrong = |_| Error::invalid(format!("{}: printed '{text}'", self.python.display()));
        text.trim().parse().map_err(wrong)
    }

    /// Writes the rows, or the first of them, to `to`: `.fbin` gets vectors, `.ibin` ids.
    ///
    /// # Errors
    /// `NotFound` without the interpreter; `Unsupported` without its packages, with the command
    /// that installs them; `InvalidInput` for files that are not as the entry says; `Cancelled`.
    pub(super) fn write(
        &self,
        to: &Path,
        rows: Option<u64>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let what = if files::has_extension(to, "ibin") {
            "ids"
        } else {
            "vectors"
        };
        let partial = files::with_suffix(to, ".partial");
        let limit = rows.unwrap_or(0);
        let (out, limit_text) = (partial.display().to_string(), limit.to_string());
        progress.stage("import rows", limit);
        let mut running = self.start(what, &[&out, &limit_text])?;
        let mut done = 0;
        let mut line = String::new();
        while running.output.read_line(&mut line)? > 0 {
            progress.check()?;
            let rows: u64 = line.trim().parse().unwrap_or(done);
            progress.advance(rows - done);
            done = rows;
            line.clear();
        }
        running.finish()?;
        files::publish(&partial, to)
    }

    fn start(&self, what: &str, more: &[&str]) -> Result<Importer> {
        let kind = if self.container == Container::Hdf5 {
            "hdf5"
        } else {
            "parquet"
        };
        let mut command = Command::new(self.python);
        command.args(["-", what, kind, self.member]).args(more);
        command.args(self.files);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.no_python(&error))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::new(ErrorKind::Internal, "pipes were asked for"));
        };
        input.write_all(PROGRAM.as_bytes())?;
        Ok(Importer {
            child,
            output: BufReader::new(output),
        })
    }

    fn no_python(&self, error: &std::io::Error) -> Error {
        let file = self.files.first().map(|file| file.display().to_string());
        let what = format!(
            "{}: {error}; {} is read with Python: install it, or say which one to use",
            self.python.display(),
            file.unwrap_or_default()
        );
        Error::new(ErrorKind::NotFound, what)
    }
}

/// The program while it runs; killed when this value goes.
struct Importer {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Importer {
    fn finish(mut self) -> Result<()> {
        let mut words = String::new();
        if let Some(mut from) = self.child.stderr.take() {
            from.read_to_string(&mut words)?;
        }
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        let kind = if status.code() == Some(NO_PACKAGE) {
            ErrorKind::Unsupported
        } else {
            ErrorKind::InvalidInput
        };
        Err(Error::new(kind, words.trim().to_owned()))
    }
}

impl Drop for Importer {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody to tell.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
