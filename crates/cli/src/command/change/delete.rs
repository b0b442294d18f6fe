//! `pageway delete`: rows by their ids or names, or by what they are.

use std::path::PathBuf;

use clap::Args;
use pageway::{ErrorKind, Result};
use serde::Serialize;

use super::chosen::ChosenRows;
use super::writer::Done;
use crate::output::Outcome;
use crate::session::Session;
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway delete my.index --ids gone.txt
  pageway delete my.index --ids gone.u64bin --json
  pageway delete my.index --filter \"year < 2000\"

No search that begins after an id was deleted returns it, also not after a crash or a merge. Ids that
no row has are counted, and no error. The room that dead rows take on disk comes back by a merge,
which begins by itself when a quarter of a segment is dead. Needs 16 MiB of disk for its log.";

/// Delete the rows of some ids or names, or those that match a filter.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DeleteArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    #[command(flatten)]
    rows: ChosenRows,
}

/// What `--json` shows.
#[derive(Serialize)]
struct DeleteReport {
    deleted: u64,
    /// Ids or names that no row had.
    absent: u64,
    /// Whether Ctrl-C ended it before all ids were seen.
    cancelled: bool,
    #[serde(flatten)]
    done: Done,
}

impl DeleteArguments {
    /// Deletes.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let (sum, cancelled, done) = self.rows.change(&self.index, session, &|writer, which| {
            writer.delete_rows(which, self.rows.durability.0)
        })?;
        let deleted = DeleteReport {
            deleted: sum.deleted,
            absent: sum.absent,
            cancelled,
            done,
        };
        let outcome = Outcome::new(self.describe(&deleted), &deleted)?;
        Ok(outcome.failed_if(cancelled, ErrorKind::Cancelled))
    }

    fn describe(&self, deleted: &DeleteReport) -> String {
        let stopped = if deleted.cancelled {
            "Stopped on request: deleted"
        } else {
            "Deleted"
        };
        let absent = Facts::new().fact("no row had", format!("{} of the ids", deleted.absent));
        format!(
            "{stopped} {} of {} in {}.\n\n{}",
            text::counted(deleted.deleted, "row"),
            self.index.display(),
            text::seconds(deleted.done.seconds),
            deleted.done.add_to(absent).render()
        )
    }
}
