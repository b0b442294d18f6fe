//! Tables of the table: a row for each group of records, a column for each quantity.

use serde::Deserialize;

use super::document::{Column, Goodness, Table, TableCell};
use super::figure::Sight;
use super::quantity::{At, Quantity, Word};
use super::select::{self, Fix, Pick};
use super::{group, number, storage, table};
use crate::record::{Record, Task};

/// A row of the table of experiments: one table for each recall of `at`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableRow {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    at: Vec<f64>,
    /// What its rows are grouped by: `data`, `design`, settings.
    #[serde(default)]
    by: Vec<String>,
    /// How many of those the rows have in common that compete.
    #[serde(default)]
    compared: usize,
    /// Whether groups that measured nothing have a row.
    #[serde(default)]
    with_failed: bool,
    #[serde(default)]
    columns: Vec<ColumnRow>,
    /// The function that makes it, see [`super::own`].
    pub(super) named: Option<String>,
}

/// A column, or several where `each` says so.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnRow {
    #[serde(default)]
    of: String,
    /// Words in place of a quantity.
    text: Option<String>,
    #[serde(default)]
    at: At,
    #[serde(default)]
    fix: Fix,
    /// The setting with a column for each value.
    each: Option<String>,
    /// From one value of a setting to another: how many times as much.
    gain: Option<[f64; 2]>,
    over: Option<String>,
    good: Option<Goodness>,
    name: Option<String>,
}

/// Records of a row of a table, behind the cells that name them.
type Row<'r> = (Vec<TableCell>, Vec<&'r Record>);

/// The tables of a row.
pub(super) fn tables(sight: Sight<'_>, row: &TableRow, records: &[&Record]) -> Vec<Table> {
    let mut all = records.to_vec();
    if row.with_failed {
        let failed = group::failed(sight.run, sight.experiment).into_iter();
        all.extend(failed.filter(|record| record.task != Task::Build));
    }
    if row.at.is_empty() {
        return vec![grid(sight, row, None, &all)];
    }
    let each = row
        .at
        .iter()
        .map(|recall| grid(sight, row, Some(*recall), &all));
    each.collect()
}

fn grid(sight: Sight<'_>, row: &TableRow, recall: Option<f64>, records: &[&Record]) -> Table {
    let here = |column: &ColumnRow| ColumnRow {
        at: match (column.at, recall) {
            (At::Word(Word::Here), Some(recall)) => At::Recall(recall),
            (at, _) => at,
        },
        ..column.clone()
    };
    let described: Vec<ColumnRow> = row
        .columns
        .iter()
        .flat_map(|column| each(sight, &here(column), records))
        .collect();
    let mut columns: Vec<Column> = row
        .by
        .iter()
        .map(|axis| table::neutral(&sight.book.setting(axis).name))
        .zip(&row.by)
        .map(|(column, axis)| {
            if axis == "design" {
                table::neutral(axis)
            } else {
                column
            }
        })
        .collect();
    columns.extend(described.iter().map(|column| column.head(sight)));
    let rows = grouped(sight, &row.by, records)
        .into_iter()
        .map(|(mut cells, records)| {
            cells.extend(described.iter().map(|column| column.cell(sight, &records)));
            cells
        });
    let text = recall
        .map(|recall| format!("{recall:.2}"))
        .unwrap_or_default();
    let suffix = recall
        .map(|recall| format!("-{:.0}", recall * 100.0))
        .unwrap_or_default();
    let id = format!("{}-{}{suffix}", sight.experiment, row.id);
    table::table(
        id,
        row.title.replace("{}", &text),
        columns,
        rows.collect(),
        row.compared,
    )
}

/// Records grouped by settings, one after the other.
fn grouped<'r>(sight: Sight<'_>, by: &[String], records: &[&'r Record]) -> Vec<Row<'r>> {
    let Some((axis, rest)) = by.split_first() else {
        return vec![(Vec::new(), records.to_vec())];
    };
    let groups = group::by_key(records, axis, sight.book.setting(axis).format);
    let mut rows = Vec::new();
    for (key, records) in groups {
        for (cells, records) in grouped(sight, rest, &records) {
            let own = TableCell {
                text: key.text.clone(),
                number: key.number,
                best: false,
            };
            rows.push((std::iter::once(own).chain(cells).collect(), records));
        }
    }
    rows
}

/// A column for each value of the setting of `each`.
fn each(sight: Sight<'_>, column: &ColumnRow, records: &[&Record]) -> Vec<ColumnRow> {
    let Some(axis) = &column.each else {
        return vec![column.clone()];
    };
    let quantity = sight.book.quantity(&column.of);
    let setting = sight.book.setting(axis);
    let of_value = |value: f64| {
        let mut column = column.clone();
        let words = match (axis.as_str(), value) {
            ("interleave", 1.0) => "one query in flight".to_owned(),
            _ => setting.words(&setting.format.text(value)),
        };
        column.name = Some(format!("{}, {words}", quantity.name));
        column.fix.insert(axis.clone(), Pick::Number(value));
        column
    };
    let values = group::by_axis(records, axis).into_iter();
    values.map(|(value, _)| of_value(value)).collect()
}

impl ColumnRow {
    fn head(&self, sight: Sight<'_>) -> Column {
        let quantity = sight.book.quantity(&self.of);
        let name = match (&self.name, &self.text, self.gain, self.at) {
            (Some(name), ..) | (_, Some(name), ..) => name.clone(),
            (_, _, Some([from, to]), _) => {
                let over = &sight
                    .book
                    .setting(self.over.as_deref().unwrap_or_default())
                    .name;
                format!("{over} {from} to {to}")
            }
            (.., At::Least { least }) => format!("{} for recall {least:.2}", quantity.name),
            _ => quantity.name.clone(),
        };
        let neutral = if self.text.is_some() {
            Goodness::Neutral
        } else {
            quantity.good
        };
        table::column(name, self.good.unwrap_or(neutral))
    }

    fn cell(&self, sight: Sight<'_>, records: &[&Record]) -> TableCell {
        if let Some(text) = &self.text {
            return table::text(words(sight, text, records));
        }
        let quantity = sight.book.quantity(&self.of);
        let records = select::fixed(records, &self.fix);
        match self.gain {
            Some(step) => self.gained(sight, quantity, (&records, step)),
            None => quantity.cell_at(sight.run, &records, self.at),
        }
    }

    fn gained(
        &self,
        sight: Sight<'_>,
        quantity: &Quantity,
        (records, [from, to]): (&[&Record], [f64; 2]),
    ) -> TableCell {
        let over = self.over.as_deref().unwrap_or_default();
        let at = |value| quantity.at(sight.run, &group::at_axis(records, over, value), self.at);
        let ratio = at(to).zip(at(from)).map(|(more, less)| more / less);
        table::number(ratio, number::times)
    }
}

/// Words about a group of records.
fn words(sight: Sight<'_>, what: &str, records: &[&Record]) -> String {
    let Some(first) = records.first() else {
        return String::new();
    };
    match what {
        "codes" => match storage::all_on_disk(sight.run, &first.data, &first.design) {
            Some(true) => "on disk".to_owned(),
            Some(false) => "in memory".to_owned(),
            None => "–".to_owned(),
        },
        // A library says it, a design has a budget.
        "memory is" => {
            let mut said = records
                .iter()
                .filter_map(|record| record.result.get("memory_kind")?.as_str());
            said.next().unwrap_or("a budget").to_owned()
        }
        _ => {
            let failed: Vec<&Record> = records
                .iter()
                .copied()
                .filter(|record| !group::succeeded(record))
                .collect();
            let shares = group::by_axis(&failed, "memory_ratio");
            let shares: Vec<String> = shares
                .iter()
                .map(|(share, _)| number::percent(*share))
                .collect();
            if shares.is_empty() {
                "never".to_owned()
            } else {
                format!("at {}", shares.join(", "))
            }
        }
    }
}
