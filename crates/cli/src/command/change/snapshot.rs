//! `pageway snapshot`: a copy of an index as of now.

use std::path::PathBuf;

use clap::Args;
use pageway::Result;
use serde::Serialize;

use super::writer::{Done, WriterArguments};
use crate::distinct::check_outside;
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway snapshot my.index --out backup.index

The copy is an index of its own, which can be opened, verified and changed. Files that do not change
are hard links where the file system has them, and take no room. What is in the log is flushed first.
A program that has the index open to change it makes snapshots itself, while changes go on.";

/// Copy an index as it is now.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SnapshotArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Directory of the copy, which is not there yet or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    writer: WriterArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct Snapshot {
    out: String,
    #[serde(flatten)]
    done: Done,
}

impl SnapshotArguments {
    /// Copies.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        check_outside(&self.index, &self.out)?;
        let writer = self.writer.open(&self.index)?;
        let started = system::now();
        writer.snapshot(&self.out, &session.progress)?;
        let snapshot = Snapshot {
            out: self.out.display().to_string(),
            done: Done::close(writer, started.elapsed().as_secs_f64(), &session.progress)?,
        };
        let text = format!(
            "Copied {} to {} in {}.\n\n{}",
            self.index.display(),
            snapshot.out,
            text::seconds(snapshot.done.seconds),
            snapshot.done.add_to(Facts::new()).render()
        );
        Outcome::new(text, &snapshot)
    }
}
