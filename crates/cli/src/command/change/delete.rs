//! `pageway delete`: rows by their ids.

use std::path::PathBuf;

use clap::Args;
use pageway::source::IdRead;
use pageway::{Acknowledged, Error, Progress, Result, Writer};
use serde::Serialize;

use super::super::query::FilterArguments;
use super::writer::{Done, DurabilityWish, WriterArguments, add, exit_code};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text::{self, Facts};

/// Ids that are deleted by one call.
const BATCH_IDS: u64 = 8192;

const EXAMPLES: &str = "\
Examples:
  pageway delete my.index --ids gone.txt
  pageway delete my.index --ids gone.u64bin --json
  pageway delete my.index --filter \"year < 2000\"

No search that begins after an id was deleted returns it, also not after a crash or a merge. Ids that
no row has are counted, and no error. The room that dead rows take on disk comes back by a merge,
which begins by itself when a quarter of a segment is dead. Works on a full disk.";

/// Delete the rows of some ids, or those that match a filter.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DeleteArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Ids: .u64bin, .ibin, .npy, or text with one number per line
    #[arg(long, value_name = "FILE", required_unless_present_any = ["filter", "filter_json"])]
    ids: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArguments,

    /// When a batch counts as done: synced, batched:10ms or deferred
    #[arg(long, value_name = "LEVEL", default_value = "synced")]
    durability: DurabilityWish,

    #[command(flatten)]
    writer: WriterArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct DeleteReport {
    deleted: u64,
    /// Ids that no row had.
    absent: u64,
    /// Whether Ctrl-C ended it before all ids were seen.
    cancelled: bool,
    #[serde(flatten)]
    done: Done,
}

impl DeleteArguments {
    /// Deletes.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let ids = self.ids.as_deref().map(system::open_ids).transpose()?;
        let filter = self.filter.read()?;
        if ids.is_some() && filter.is_some() {
            return Err(Error::invalid("give --ids or a filter, not both"));
        }
        let writer = self.writer.open(&self.index)?;
        let started = system::now();
        let (sum, wanted) = match (&ids, &filter) {
            (_, Some(filter)) => {
                let sum = writer.delete_matching(filter, self.durability.0)?;
                (sum, sum.deleted)
            }
            (Some(ids), None) => (self.remove(&writer, ids.as_ref(), session)?, ids.count()),
            (None, None) => (Acknowledged::default(), 0),
        };
        let seconds = started.elapsed().as_secs_f64();
        let deleted = DeleteReport {
            deleted: sum.deleted,
            absent: sum.absent,
            cancelled: sum.deleted + sum.absent < wanted,
            done: Done::close(writer, seconds, &session.progress)?,
        };
        let mut outcome = Outcome::new(self.describe(&deleted), &deleted)?;
        outcome.exit_code = exit_code(deleted.cancelled);
        Ok(outcome)
    }

    fn remove(&self, writer: &Writer, ids: &dyn IdRead, session: &Session) -> Result<Acknowledged> {
        let (mut sum, mut batch, mut first) = (Acknowledged::default(), Vec::new(), 0);
        session.progress.stage("delete", ids.count());
        while !session.progress.cancelled() && first < ids.count() {
            let count = BATCH_IDS.min(ids.count() - first);
            batch.resize(count as usize, 0);
            ids.read(first, &mut batch)?;
            add(&mut sum, writer.delete(&batch, self.durability.0)?);
            writer.keep_up()?;
            first += count;
            session.progress.advance(count);
        }
        session.progress.clear();
        Ok(sum)
    }

    fn describe(&self, deleted: &DeleteReport) -> String {
        let stopped = if deleted.cancelled {
            "Stopped on request: deleted"
        } else {
            "Deleted"
        };
        let absent = Facts::new().fact("no row had", format!("{} ids", deleted.absent));
        format!(
            "{stopped} {} rows of {} in {}.\n\n{}",
            text::count(deleted.deleted),
            self.index.display(),
            text::seconds(deleted.done.seconds),
            deleted.done.add_to(absent).render()
        )
    }
}
