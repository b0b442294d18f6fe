//! `pageway set` and `pageway unset`: attributes of rows that are there.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{Edit, Error, ErrorKind, FieldPath, Result, read_document};
use serde::Serialize;

use super::chosen::ChosenRows;
use super::writer::Done;
use crate::output::Outcome;
use crate::session::Session;
use crate::text::{self, Facts};

const SET_EXAMPLES: &str = "\
Examples:
  pageway set my.index '{\"year\": 2024}' --ids some.txt
  pageway set my.index '{\"city\": \"Oslo\"}' --at author.home --filter \"name = 'Ada'\"
  pageway set my.index '{\"lang\": \"de\"}' --overwrite --ids some.txt

The fields take the place of those of their names, which go where they are null; others stay, unless
--overwrite. Searches that begin afterwards see the change. A row whose attributes change is put in
anew with its vector, which costs what an upsert does. Ids that no row has are counted, and no
error.";

const UNSET_EXAMPLES: &str = "\
Examples:
  pageway unset my.index year author.home --ids some.txt
  pageway unset my.index --all --filter \"year < 2000\"

Fields that a row does not have, and single elements of lists, are passed over.";

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
    rows: ChosenRows,
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
    rows: ChosenRows,
}

/// What `--json` shows.
#[derive(Serialize)]
struct EditReport {
    changed: u64,
    /// Ids or names that no row had.
    absent: u64,
    /// Whether Ctrl-C ended it before all ids were seen.
    cancelled: bool,
    #[serde(flatten)]
    done: Done,
}

impl SetArguments {
    /// Sets.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let fields = read_document(self.fields.as_bytes()).map_err(|error| {
            Error::invalid(format!("{:?}: {error}: give a JSON object", self.fields))
        })?;
        let edit = if self.overwrite {
            Edit::Overwrite(fields)
        } else {
            let at = self.at.as_deref().map(FieldPath::parse).transpose()?;
            Edit::Set { at, fields }
        };
        run(&self.rows, &self.index, &edit, session)
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
        run(&self.rows, &self.index, &edit, session)
    }
}

/// Changes rows.
fn run(rows: &ChosenRows, index: &Path, edit: &Edit, session: &Session) -> Result<Outcome> {
    let (sum, cancelled, done) = rows.change(index, session, &|writer, which| {
        writer.edit_attributes(which, edit, rows.durability.0)
    })?;
    let report = EditReport {
        changed: sum.changed,
        absent: sum.absent,
        cancelled,
        done,
    };
    let absent = Facts::new().fact("no row had", format!("{} of the ids", report.absent));
    let words = format!(
        "Changed the attributes of {} of {} in {}.\n\n{}",
        text::counted(report.changed, "row"),
        index.display(),
        text::seconds(report.done.seconds),
        report.done.add_to(absent).render()
    );
    Ok(Outcome::new(words, &report)?.failed_if(cancelled, ErrorKind::Cancelled))
}
