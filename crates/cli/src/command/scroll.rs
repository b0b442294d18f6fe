//! `pageway scroll`: rows in the order of their ids, with what is stored of them.

use std::path::PathBuf;

use clap::Args;
use pageway::source::TextRead;
use pageway::{Index, OpenOptions, Result, RowPage, RowParts, StoredRow};
use serde::Serialize;

use super::change::read_names;
use super::query::FilterArguments;
use crate::output::Outcome;
use crate::system;

/// Rows that are shown where nobody says how many.
const ROWS: usize = 10;

const EXAMPLES: &str = "\
Examples:
  pageway scroll my.index --limit 100
  pageway scroll my.index --filter \"lex = 'noun.food'\" --from 5000 --json
  pageway scroll my.index --ids some.txt

Shows rows with their attributes, by ascending ids. Where rows follow, it says from which id on. Costs
a pass over ids from there on, as far as it takes; over all of them in an index with ids of its own
that was never opened to be changed.";

/// Show rows in the order of their ids
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ScrollArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    #[command(flatten)]
    filter: FilterArguments,

    /// Rows at most
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    limit: usize,

    /// The least id
    #[arg(long, value_name = "ID", default_value_t = 0)]
    from: u64,

    /// Show the rows of these ids instead: .u64bin, .ibin, .npy, or text with one number per line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filter", "filter_json", "from"])]
    ids: Option<PathBuf>,

    /// Show the rows of these names instead: text, one per line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ids", "filter", "filter_json", "from"])]
    names: Option<PathBuf>,
}

/// What `--json` shows.
#[derive(Serialize)]
struct ScrollReport {
    rows: Vec<ScrolledRow>,
    /// The id of the next row; null where there is none.
    next: Option<u64>,
}

#[derive(Serialize)]
struct ScrolledRow {
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    attributes: Option<serde_json::Value>,
}

impl From<StoredRow> for ScrolledRow {
    fn from(row: StoredRow) -> Self {
        let json = row.attributes.as_deref();
        Self {
            id: row.id,
            name: row.name,
            attributes: json.and_then(|json| serde_json::from_str(json).ok()),
        }
    }
}

impl ScrollArguments {
    /// Shows rows.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let index = Index::open(&self.index, &OpenOptions::default())?;
        let parts = RowParts {
            vectors: false,
            attributes: true,
        };
        let page = if let Some(path) = &self.ids {
            let ids = system::open_ids(path)?;
            let mut wanted = vec![0; ids.count() as usize];
            ids.read(0, &mut wanted)?;
            RowPage::from(index.rows(&wanted, parts)?)
        } else if let Some(path) = &self.names {
            let names = system::open_names(path)?;
            let wanted = read_names(&names, (0, names.count()))?;
            RowPage::from(index.rows_named(&wanted, parts)?)
        } else {
            let filter = self.filter.read()?;
            index.scroll(filter.as_ref(), (self.from, self.limit), parts)?
        };
        let report = ScrollReport {
            rows: page.rows.into_iter().map(ScrolledRow::from).collect(),
            next: page.next,
        };
        Outcome::new(report.describe(), &report)
    }
}

impl ScrollReport {
    fn describe(&self) -> String {
        let line = |row: &ScrolledRow| {
            let known_as = row.name.clone().unwrap_or_else(|| row.id.to_string());
            match &row.attributes {
                Some(own) => format!("{known_as}: {own}\n"),
                None => format!("{known_as}\n"),
            }
        };
        let mut words: String = self.rows.iter().map(line).collect();
        match self.next {
            Some(next) => words.push_str(&format!("\nMore rows follow: --from {next}")),
            None if self.rows.is_empty() => words.push_str("No rows."),
            None => {}
        }
        words.trim_end().to_owned()
    }
}
