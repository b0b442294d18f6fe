//! `pageway set` and `pageway unset`: attributes of rows that are there.

use std::path::PathBuf;

use clap::Args;
use pageway::source::IdRead;
use pageway::{Acknowledged, Document, Edit, Error, FieldPath, Progress, Result, Which, Writer};
use serde::Serialize;

use super::super::query::FilterArguments;
use super::writer::{Done, DurabilityWish, WriterArguments, add, exit_code};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text::{self, Facts};

/// Ids that are changed by one call.
const BATCH_IDS: u64 = 8192;

const SET_EXAMPLES: &str = "\
Examples:
  pageway set my.index '{\"year\": 2024}' --ids some.txt
  pageway set my.index '{\"city\": \"Oslo\"}' --at author.home --filter \"name = 'Ada'\"
  pageway set my.index '{\"lang\": \"de\"}' --overwrite --ids some.txt

The fields take the place of those of their names; others stay, unless --overwrite. Searches that
begin afterwards see the change. A row whose attributes change is put in anew with its vector, which
costs what an upsert does. Ids that no row has are counted, and no error.";

const UNSET_EXAMPLES: &str = "\
Examples:
  pageway unset my.index year author.home --ids some.txt
  pageway unset my.index --all --filter \"year < 2000\"

Fields that a row does not have are passed over.";

/// Which rows, and how they are changed.
#[derive(Debug, Args)]
struct EditedRows {
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

/// Set attributes of rows.
#[derive(Debug, Args)]
#[command(after_long_help = SET_EXAMPLES)]
pub(crate) struct SetArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// The fields: a JSON object
    #[arg(value_name = "FIELDS")]
    fields: String,

    /// Set them in the object at this path
    #[arg(long, value_name = "PATH", conflicts_with = "overwrite")]
    at: Option<String>,

    /// Let no other attributes stay
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    rows: EditedRows,
}

/// Take attributes from rows.
#[derive(Debug, Args)]
#[command(after_long_help = UNSET_EXAMPLES)]
pub(crate) struct UnsetArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Paths of what goes
    #[arg(
        value_name = "PATH",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    paths: Vec<String>,

    /// Take all attributes
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    rows: EditedRows,
}

/// What `--json` shows.
#[derive(Serialize)]
struct EditReport {
    changed: u64,
    /// Ids that no row had.
    absent: u64,
    /// Whether Ctrl-C ended it before all ids were seen.
    cancelled: bool,
    #[serde(flatten)]
    done: Done,
}

impl SetArguments {
    /// Sets.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let parsed = serde_json::from_str::<Document>(&self.fields);
        let fields = parsed.map_err(|error| {
            Error::invalid(format!("{:?}: {error}: give a JSON object", self.fields))
        })?;
        let edit = if self.overwrite {
            Edit::Overwrite(fields)
        } else {
            let at = self.at.as_deref().map(FieldPath::parse).transpose()?;
            Edit::Set { at, fields }
        };
        self.rows.run(&self.index, &edit, session)
    }
}

impl UnsetArguments {
    /// Unsets.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let paths = self.paths.iter().map(|path| Ok(FieldPath::parse(path)?));
        let edit = if self.all {
            Edit::Clear
        } else {
            Edit::Remove(paths.collect::<Result<_>>()?)
        };
        self.rows.run(&self.index, &edit, session)
    }
}

impl EditedRows {
    fn run(&self, index: &std::path::Path, edit: &Edit, session: &Session) -> Result<Outcome> {
        let ids = self.ids.as_deref().map(system::open_ids).transpose()?;
        let filter = self.filter.read()?;
        if ids.is_some() && filter.is_some() {
            return Err(Error::invalid("give --ids or a filter, not both"));
        }
        let writer = self.writer.open(index)?;
        let started = system::now();
        let (sum, cancelled) = match (&ids, &filter) {
            (_, Some(filter)) => {
                let which = Which::Matching(filter);
                (
                    writer.edit_attributes(which, edit, self.durability.0)?,
                    false,
                )
            }
            (Some(ids), None) => self.edit_ids(&writer, (ids.as_ref(), edit), session)?,
            (None, None) => (Acknowledged::default(), false),
        };
        let seconds = started.elapsed().as_secs_f64();
        let report = EditReport {
            changed: sum.changed,
            absent: sum.absent,
            cancelled,
            done: Done::close(writer, seconds, &session.progress)?,
        };
        let absent = Facts::new().fact("no row had", format!("{} ids", report.absent));
        let words = format!(
            "Changed the attributes of {} rows of {} in {}.\n\n{}",
            text::count(report.changed),
            index.display(),
            text::seconds(seconds),
            report.done.add_to(absent).render()
        );
        let mut outcome = Outcome::new(words, &report)?;
        outcome.exit_code = exit_code(cancelled);
        Ok(outcome)
    }

    /// Changes the rows of all ids, or of those before the wish to stop.
    fn edit_ids(
        &self,
        writer: &Writer,
        (ids, edit): (&dyn IdRead, &Edit),
        session: &Session,
    ) -> Result<(Acknowledged, bool)> {
        let (mut sum, mut batch, mut first) = (Acknowledged::default(), Vec::new(), 0);
        session.progress.stage("set", ids.count());
        while !session.progress.cancelled() && first < ids.count() {
            let count = BATCH_IDS.min(ids.count() - first);
            batch.resize(count as usize, 0);
            ids.read(first, &mut batch)?;
            let which = Which::Ids(&batch);
            add(
                &mut sum,
                writer.edit_attributes(which, edit, self.durability.0)?,
            );
            writer.keep_up()?;
            first += count;
            session.progress.advance(count);
        }
        session.progress.clear();
        Ok((sum, first < ids.count()))
    }
}
