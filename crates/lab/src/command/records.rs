//! What a suite leaves in its directory: a line for each record, and a summary.

use std::path::Path;

use pageway::{Error, OsVfs, Result, Vfs};
use pageway_lab::write_text;
use pageway_shell::output::Outcome;
use serde::Serialize;

/// The records of a run of a suite.
pub(super) struct Records<'o> {
    out: &'o Path,
    name: &'static str,
    lines: String,
}

impl<'o> Records<'o> {
    /// Records for a file of this name in `out`, which is made if it is missing.
    pub(super) fn new(out: &'o Path, name: &'static str) -> Result<Self> {
        OsVfs.create_dir_all(out)?;
        Ok(Self {
            out,
            name,
            lines: String::new(),
        })
    }

    /// As [`Records::new`], in a directory that does not exist or is empty.
    pub(super) fn alone(out: &'o Path, name: &'static str) -> Result<Self> {
        let records = Self::new(out, name)?;
        if !OsVfs.list(out)?.is_empty() {
            let words = format!("{} is not empty: give another --out", out.display());
            return Err(Error::invalid(words));
        }
        Ok(records)
    }

    /// Takes a record.
    pub(super) fn push(&mut self, record: &impl Serialize) -> Result<()> {
        self.lines += &serde_json::to_string(record).map_err(no_json)?;
        self.lines.push('\n');
        Ok(())
    }

    /// Writes what was taken so far.
    pub(super) fn write(&self) -> Result<()> {
        write_text(&self.out.join(self.name), &self.lines)
    }

    /// Takes a record and writes it: what was measured so far is kept also where it ends early.
    pub(super) fn keep(&mut self, record: &impl Serialize) -> Result<()> {
        self.push(record)?;
        self.write()
    }

    /// Writes the summary, which is also what is printed, as `words` or as JSON.
    pub(super) fn conclude(&self, words: String, summary: &impl Serialize) -> Result<Outcome> {
        let json = serde_json::to_string_pretty(summary).map_err(no_json)?;
        write_text(&self.out.join("summary.json"), &json)?;
        Outcome::new(words, summary)
    }
}

fn no_json(error: serde_json::Error) -> Error {
    Error::invalid(error.to_string())
}
