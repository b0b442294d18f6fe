//! `pageway count`: how many rows match a filter, and what there is to filter by.

use std::path::PathBuf;

use clap::Args;
use pageway::{Field, Index, OpenOptions, Result};
use serde::Serialize;

use super::query::FilterArguments;
use crate::output::Outcome;
use crate::text::{self, Table};

const EXAMPLES: &str = "\
Examples:
  pageway count my.index
  pageway count my.index --filter \"lex = 'noun.food' and length < 80\"
  pageway count my.index --filter-json '{\"must\": {\"key\": \"open\", \"match\": {\"value\": true}}}'
  pageway count my.index --filter-json filter.json --json

Counts exactly, without any search. Without a filter it counts all rows, and lists the fields that
their attributes have. Expressions: = != < <= > >= in, between, is null, is empty, contains, starts
with, exists(), any(), has_id(), and, or, not: docs/filters.md.";

/// Count the rows that match a filter; list the fields there are
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CountArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    #[command(flatten)]
    filter: FilterArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct CountReport {
    rows: u64,
    matches: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldRow>,
}

/// A field.
#[derive(Serialize)]
pub(super) struct FieldRow {
    path: String,
    kinds: Vec<&'static str>,
    values: u64,
}

impl FieldRow {
    /// The fields of an index.
    pub(super) fn of(index: &Index) -> Result<Vec<Self>> {
        Ok(index.fields()?.into_iter().map(Self::from).collect())
    }

    /// Fields for people.
    pub(super) fn table(fields: &[Self]) -> String {
        let mut table = Table::left(&["field", "kinds", "different values"]);
        for field in fields {
            let values = text::count(field.values);
            table.row(vec![field.path.clone(), field.kinds.join(", "), values]);
        }
        table.render()
    }
}

impl From<Field> for FieldRow {
    fn from(field: Field) -> Self {
        Self {
            path: field.path,
            kinds: field.kinds,
            values: field.values,
        }
    }
}

impl CountArguments {
    /// Counts.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let index = Index::open(&self.index, &OpenOptions::default())?;
        let filter = self.filter.read()?;
        let (matches, fields) = match &filter {
            Some(filter) => (index.count(filter)?, Vec::new()),
            None => (index.len(), FieldRow::of(&index)?),
        };
        let report = CountReport {
            rows: index.len(),
            matches,
            fields,
        };
        Outcome::new(self.describe(&report, filter.is_some()), &report)
    }

    fn describe(&self, report: &CountReport, filtered: bool) -> String {
        let (rows, place) = (text::count(report.rows), self.index.display());
        if filtered {
            let matches = text::count(report.matches);
            return format!("{matches} of {rows} rows of {place} match.");
        }
        if report.fields.is_empty() {
            return format!("{rows} rows in {place}, without attributes.");
        }
        let fields = FieldRow::table(&report.fields);
        format!("{rows} rows in {place}.\n\n{fields}")
    }
}
