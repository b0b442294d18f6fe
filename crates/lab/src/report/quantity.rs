//! What is measured: where a result has it, what it is called, and which values of it are good.

use super::curve::{self, AtRecall, Reading};
use super::document::{Axis, Cell, Column, Goodness, Scale};
use super::{group, number, table};
use crate::record::Record;

/// Recalls at which designs are compared.
pub(crate) const TARGETS: [f64; 3] = [0.90, 0.95, 0.99];

/// A number of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// Where, see [`Record::number`].
    pub(crate) path: &'static str,
    /// Name and unit, as on an axis.
    pub(crate) name: &'static str,
    /// Which values are good. At a recall, the best reading counts of what is good or bad.
    pub(crate) goodness: Goodness,
    /// How its axis is spaced.
    pub(crate) scale: Scale,
    /// How it is written.
    pub(crate) format: fn(f64) -> String,
}

/// Share of the true neighbours found.
pub(crate) const RECALL: Quantity = Quantity {
    path: "recall",
    name: "recall",
    goodness: Goodness::Higher,
    scale: Scale::Linear,
    format: number::recall,
};
/// Speed of a batch of queries.
pub(crate) const QPS: Quantity = Quantity {
    path: "qps",
    name: "queries per second",
    goodness: Goodness::Higher,
    scale: Scale::Log,
    format: number::plain,
};
/// Mean time of a query.
pub(crate) const MEAN_LATENCY: Quantity = Quantity {
    path: "latency_us/mean",
    name: "mean latency, us",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};
/// Time that one query in a hundred exceeds.
pub(crate) const P99_LATENCY: Quantity = Quantity {
    path: "latency_us/p99",
    name: "p99 latency, us",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};
/// Pages that a query reads.
pub(crate) const PAGES: Quantity = Quantity {
    path: "pages_per_query",
    name: "pages read per query",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::plain,
};
/// Bytes that a query reads.
pub(crate) const BYTES: Quantity = Quantity {
    path: "bytes_per_query",
    name: "bytes read per query",
    goodness: Goodness::Lower,
    scale: Scale::Log,
    format: number::bytes,
};

impl Quantity {
    /// The middle value of records.
    pub(crate) fn median(&self, records: &[&Record]) -> Option<f64> {
        group::median(records, |record| record.number(self.path))
    }

    /// The value at a recall, where readings reach it; at the smallest of them when all exceed it.
    pub(crate) fn at(&self, records: &[&Record], recall: f64) -> Option<f64> {
        self.look_up(records, recall).map(|found| found.value)
    }

    /// A cell with the value at a recall; `≥` or `≤` says that it is a bound.
    pub(crate) fn cell_at(&self, records: &[&Record], recall: f64) -> Cell {
        let found = self.look_up(records, recall);
        let mut cell = table::number(found.map(|found| found.value), self.format);
        if found.is_some_and(|found| found.bound) {
            let sign = match self.goodness {
                Goodness::Higher => "≥",
                Goodness::Lower => "≤",
                Goodness::Neutral => "≈",
            };
            cell.text = format!("{sign} {}", cell.text);
        }
        cell
    }

    /// A cell with a value.
    pub(crate) fn cell(&self, value: Option<f64>) -> Cell {
        table::number(value, self.format)
    }

    /// Its name as a heading, without unit.
    pub(crate) fn heading(&self) -> String {
        let name = self.name.split(',').next().unwrap_or(self.name);
        let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
        format!("{}{rest}", first.to_uppercase())
    }

    /// Its axis.
    pub(crate) fn axis(&self) -> Axis {
        Axis {
            name: self.name.to_owned(),
            scale: self.scale,
        }
    }

    /// Its column.
    pub(crate) fn column(&self) -> Column {
        table::column(self.name, self.goodness)
    }

    /// Its column at a recall.
    pub(crate) fn column_at(&self, recall: f64) -> Column {
        table::column(
            format!("{} at recall {recall:.2}", self.name),
            self.goodness,
        )
    }

    /// The value at a recall, and whether it is a bound.
    pub(crate) fn look_up(&self, records: &[&Record], recall: f64) -> Option<AtRecall> {
        let readings: Vec<Reading> = curve::readings(records, self.path);
        match self.goodness {
            Goodness::Higher => curve::most_at(&readings, recall),
            Goodness::Lower => curve::least_at(&readings, recall),
            Goodness::Neutral => curve::along(&readings, recall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::search;

    #[test]
    fn values_at_a_recall_say_when_they_are_bounds() {
        let records = [
            search("recall", "a", "diskann", 10, 0.92),
            search("recall", "a", "diskann", 100, 0.98),
        ];
        let records: Vec<&Record> = records.iter().collect();
        let bound = PAGES.cell_at(&records, 0.90);
        assert_eq!(bound.number, records[0].number("pages_per_query"));
        assert!(bound.text.starts_with("≤ "), "{}", bound.text);
        let between = PAGES.at(&records, 0.95).unwrap();
        let (low, high) = (bound.number.unwrap(), PAGES.median(&records[1..]).unwrap());
        assert!(low < between && between < high, "{between}");
        assert_eq!(PAGES.cell_at(&records, 0.99).text, "–");
        assert_eq!(MEAN_LATENCY.heading(), "Mean latency");
        assert!(QPS.cell_at(&records, 0.90).text.starts_with("≥ "));
    }
}
