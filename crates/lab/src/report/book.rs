//! The table of the report, as `assets/report/experiments.toml` has it: quantities, settings, and
//! experiments with their figures, tables and claims.

use std::collections::BTreeMap;

use pageway::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::claim::Claim;
use super::document::{Goodness, Kind};
use super::figure::FigureRow;
use super::grid::TableRow;
use super::quantity::{Quantity, Setting};
use super::select::Fix;
use crate::record::Task;

/// The table.
const TABLE: &str = include_str!("../../assets/report/experiments.toml");

/// All that the report knows of experiments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Book {
    quantity: BTreeMap<String, Quantity>,
    setting: BTreeMap<String, Setting>,
    /// In the order of the report.
    pub(super) experiment: Vec<BookEntry>,
    #[serde(skip)]
    unnamed: (Quantity, Setting),
}

/// One experiment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BookEntry {
    pub(super) id: String,
    /// Whose records it shows, where not those of its own name.
    of: Option<String>,
    pub(super) title: String,
    #[serde(default)]
    pub(super) source: String,
    pub(super) task: Task,
    /// `rows` or `dimensions`: cuts of data that are one data set here.
    pub(super) cut: Option<String>,
    /// What prepares its records and adds to its words, see [`super::own`].
    pub(super) own: Option<String>,
    #[serde(default)]
    pub(super) fix: Fix,
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) figures: Vec<FigureRow>,
    #[serde(default)]
    pub(super) tables: Vec<TableRow>,
    #[serde(default, rename = "claim")]
    pub(super) claims: Vec<Claim>,
}

/// What the table says about the looks of a figure, where that does not follow from the rest.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Look {
    pub(super) title: Option<String>,
    pub(super) note: Option<String>,
    pub(super) x_name: Option<String>,
    pub(super) kind: Kind,
    pub(super) good: Option<Goodness>,
    pub(super) predicted: bool,
}

impl Book {
    /// Reads the table.
    pub(super) fn open() -> Result<Self> {
        toml::from_str(TABLE).map_err(|error| {
            let words = format!("the table of experiments: {error}");
            Error::new(ErrorKind::Internal, words)
        })
    }

    /// A quantity by its name; a blank one where the table has none, which a test rules out.
    pub(super) fn quantity(&self, name: &str) -> &Quantity {
        self.quantity.get(name).unwrap_or(&self.unnamed.0)
    }

    /// A setting by its name, likewise.
    pub(super) fn setting(&self, name: &str) -> &Setting {
        self.setting.get(name).unwrap_or(&self.unnamed.1)
    }
}

impl BookEntry {
    /// The name that its records have.
    pub(super) fn records(&self) -> &str {
        self.of.as_deref().unwrap_or(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word after `key = "` in the table.
    fn words(key: &str) -> Vec<&'static str> {
        let key = format!(" {key} = \"");
        let parts = TABLE.split(key.as_str()).skip(1);
        parts.map(|rest| rest.split_once('"').unwrap().0).collect()
    }

    #[test]
    fn every_name_in_the_table_is_known() {
        let book = Book::open().unwrap();
        for name in words("of") {
            let known =
                book.quantity.contains_key(name) || name == "open" || name.starts_with("qps-");
            assert!(known, "quantity {name}");
        }
        for key in ["over", "split", "series", "each"] {
            for name in words(key) {
                let known = book.setting.contains_key(name) || name == "design";
                assert!(known || name == "recall targets", "{key} {name}");
            }
        }
    }

    #[test]
    fn experiments_and_their_parts_are_told_apart() {
        let book = Book::open().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for experiment in &book.experiment {
            assert!(seen.insert(experiment.id.clone()), "{}", experiment.id);
            for part in experiment.figures.iter().map(|figure| &figure.id) {
                assert!(seen.insert(format!("{}-{part}", experiment.id)), "{part}");
            }
            assert!(!experiment.words.is_empty() && !experiment.title.is_empty());
        }
        assert_eq!(book.experiment.len(), 22);
    }

    #[test]
    fn every_claim_has_a_bound() {
        for experiment in Book::open().unwrap().experiment {
            for claim in experiment.claims {
                assert!(claim.has_bound(), "{}", claim.says);
            }
        }
    }
}
