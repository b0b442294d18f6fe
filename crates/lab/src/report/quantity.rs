//! What is measured, and over what: how a record is read, what it is called, which values are good.

use serde::{Deserialize, Deserializer};

use super::curve::{self, AtRecall, Reading};
use super::document::{Axis, Goodness, Scale, TableCell};
use super::reading::read;
use super::{choice, group, number, table};
use crate::record::{Record, Run};

/// Recalls at which designs are compared.
pub(super) const TARGETS: [f64; 3] = [0.90, 0.95, 0.99];
/// Recall that "nearest" is about.
const NEAREST: f64 = 0.95;

/// A number of a record.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Quantity {
    /// Where, see [`super::reading`].
    pub(super) read: String,
    /// Name and unit, as on an axis.
    pub(super) name: String,
    /// Which values are good. At a recall, the best reading counts of what is good or bad.
    #[serde(default)]
    pub(super) good: Goodness,
    /// How its axis is spaced.
    #[serde(default)]
    pub(super) scale: Scale,
    /// How it is written.
    #[serde(default)]
    pub(super) format: Format,
}

/// Something that varies.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    /// Name and unit, as on an axis.
    pub(super) name: String,
    /// How its axis is spaced.
    #[serde(default)]
    pub(super) scale: Scale,
    /// How it is written.
    #[serde(default = "Format::as_set")]
    pub(super) format: Format,
    /// A value of it in a heading, for `{}`.
    words: Option<String>,
}

/// How numbers are written.
#[derive(Clone, Copy)]
pub(super) struct Format(pub(super) fn(f64) -> String);

/// Which value of several cells is meant.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Default)]
#[serde(untagged)]
pub(super) enum At {
    /// At a recall, along the best cells.
    Recall(f64),
    /// The least with which a recall is reached.
    Least {
        /// The recall.
        least: f64,
    },
    /// By a word.
    Word(Word),
    /// The middle of all.
    #[default]
    Middle,
}

/// Words for [`At`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// The median of the cell that is nearest to recall 0.95.
    Nearest,
    /// The highest of all.
    Highest,
    /// At each of the target recalls; their median where one number is wanted.
    Targets,
    /// At the recall of the table.
    Here,
}

impl Default for Format {
    fn default() -> Self {
        Self(number::plain)
    }
}

impl Format {
    fn as_set() -> Self {
        Self(number::as_set)
    }

    /// A number as people read it.
    pub(super) fn text(self, value: f64) -> String {
        (self.0)(value)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let format = match name.as_str() {
            "recall" => number::recall,
            "percent" => number::percent,
            "times" => number::times,
            "bytes" => number::bytes,
            "thousands" => number::thousands,
            _ => return Err(serde::de::Error::custom(format!("no format {name}"))),
        };
        Ok(Self(format))
    }
}

impl Setting {
    /// A value of it in words.
    pub(super) fn words(&self, value: &str) -> String {
        match &self.words {
            Some(words) => words.replace("{}", value),
            None => format!("{} {value}", self.name),
        }
    }

    /// Its axis.
    pub(super) fn axis(&self) -> Axis {
        Axis {
            name: self.name.clone(),
            scale: self.scale,
        }
    }
}

impl Quantity {
    /// Its value in a record.
    pub(super) fn of(&self, run: &Run, record: &Record) -> Option<f64> {
        read(run, record, &self.read)
    }

    /// The middle value of records.
    pub(super) fn median(&self, run: &Run, records: &[&Record]) -> Option<f64> {
        group::median(records, |record| self.of(run, record))
    }

    /// The value that is meant.
    pub(super) fn at(&self, run: &Run, records: &[&Record], at: At) -> Option<f64> {
        let values = || records.iter().filter_map(|record| self.of(run, record));
        match at {
            At::Recall(recall) => self.look_up(run, records, recall).map(|found| found.value),
            At::Least { least } => {
                let reaching = records
                    .iter()
                    .filter(|record| record.number("recall") >= Some(least));
                let values = reaching.filter_map(|record| self.of(run, record));
                values.min_by(f64::total_cmp)
            }
            At::Word(Word::Nearest) => self.median(run, &choice::reaching(records, NEAREST)),
            At::Word(Word::Highest) => values().max_by(f64::total_cmp),
            At::Word(Word::Targets) => {
                let all = TARGETS.map(|recall| self.at(run, records, At::Recall(recall)));
                Some(curve::median(all.into_iter().flatten().collect())).filter(|x| x.is_finite())
            }
            At::Middle | At::Word(Word::Here) => self.median(run, records),
        }
    }

    /// A cell with the value that is meant; `≥` or `≤` says that it is a bound.
    pub(super) fn cell_at(&self, run: &Run, records: &[&Record], at: At) -> TableCell {
        let mut cell = self.cell(self.at(run, records, at));
        let At::Recall(recall) = at else { return cell };
        let found = self.look_up(run, records, recall);
        if found.is_some_and(|found| found.bound) {
            let sign = match self.good {
                Goodness::Higher => "≥",
                Goodness::Lower => "≤",
                Goodness::Neutral => "≈",
            };
            cell.text = format!("{sign} {}", cell.text);
        }
        cell
    }

    /// A cell with a value.
    pub(super) fn cell(&self, value: Option<f64>) -> TableCell {
        table::number(value, self.format.0)
    }

    /// Its name as a heading, without unit.
    pub(super) fn heading(&self) -> String {
        number::sentence(self.name.split(',').next().unwrap_or_default())
    }

    /// Its axis.
    pub(super) fn axis(&self) -> Axis {
        Axis {
            name: self.name.clone(),
            scale: self.scale,
        }
    }

    /// The value at a recall, and whether it is a bound.
    pub(super) fn look_up(&self, run: &Run, records: &[&Record], recall: f64) -> Option<AtRecall> {
        let readings: Vec<Reading> = curve::readings(records, |record| self.of(run, record));
        match self.good {
            Goodness::Higher => curve::most_at(&readings, recall),
            Goodness::Lower => curve::least_at(&readings, recall),
            Goodness::Neutral => curve::along(&readings, recall),
        }
    }
}
