//! `pageway log`: what is not in files yet.

use std::path::PathBuf;

use clap::Args;
use pageway::{ChangeSummary, ErrorKind, LogSummary, Result, format_bytes};

use crate::output::Outcome;
use crate::text::{self, Facts, Table};

const EXAMPLES: &str = "\
Examples:
  pageway log my.index
  pageway log my.index --json

The log holds the changes that were made since the files of the index were written; they are made
again when the index is opened to be changed. Reads the whole log and changes nothing. Exit code 5:
the log is damaged, the index opens for searches alone, and --salvage of any command that changes it
gives up what stands behind the damage.";

/// Show the log of an index: files, records, damage.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LogArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
}

impl LogArguments {
    /// Describes.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let changes = pageway::describe_changes(&self.index)?;
        let outcome = Outcome::new(self.describe(changes.as_ref()), &changes)?;
        let log = changes.and_then(|changes| changes.log);
        let is_damaged = log.is_some_and(|log| log.damage.is_some());
        Ok(outcome.failed_if(is_damaged, ErrorKind::Corrupt))
    }

    fn describe(&self, changes: Option<&ChangeSummary>) -> String {
        let index = self.index.display();
        let Some((changes, log)) = changes.and_then(|one| Some((one, one.log.as_ref()?))) else {
            return format!("{index} has no log: it was not changed since it was built or copied.");
        };
        let mut table = Table::new(&["file", "records", "groups", "used", "length"]);
        for file in &log.files {
            table.row(vec![
                file.name.clone(),
                text::count(file.records),
                text::count(file.groups),
                text::count(file.used_bytes),
                text::count(file.file_bytes),
            ]);
        }
        let state = describe_state(Facts::new(), changes, log);
        format!("{index}\n{}\n{}", state.render(), table.render())
    }
}

/// Adds the log as a whole.
pub(crate) fn describe_state(facts: Facts, changes: &ChangeSummary, log: &LogSummary) -> Facts {
    let replay = format!(
        "{} records, {}",
        text::count(log.records),
        format_bytes(log.record_bytes)
    );
    let end = if log.closed {
        "closed"
    } else {
        "open: its writer runs, or crashed"
    };
    facts
        .fact("last record", text::count(log.last))
        .fact(
            "in files",
            format!("up to record {}", text::count(changes.floor)),
        )
        .fact("to be replayed", replay)
        .fact("end", end)
        .known("DAMAGED", log.damage.as_deref())
}
