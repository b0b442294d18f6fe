//! Figures of the table: a quantity over recall, over a setting, or over names.

use serde::Deserialize;

use super::book::{Book, Look};
use super::document::{Axis, AxisPlace, Column, Figure, Goodness, Kind, Mark, Scale, TableCell};
use super::group::Key;
use super::quantity::{At, Quantity, TARGETS};
use super::select::{self, Fix};
use super::{group, number, table};
use crate::record::{Record, Run};

/// A row of the table: one figure for each data set, value of `split` and recall of `at`.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureRow {
    pub(super) id: String,
    /// The quantity.
    #[serde(default)]
    pub(super) of: String,
    /// The setting it is shown over: recall unless said.
    #[serde(default = "recall")]
    over: String,
    #[serde(default)]
    at: Vec<At>,
    split: Option<String>,
    /// The setting with a curve for each value, where not the design.
    series: Option<String>,
    #[serde(default)]
    fix: Fix,
    cut: Option<String>,
    /// Fewest values of the setting that make a figure.
    #[serde(default)]
    least: usize,
    /// The value of the setting whose speed is 1.
    against: Option<f64>,
    /// The function that draws it, see [`super::own`].
    pub(super) named: Option<String>,
    #[serde(default)]
    pub(super) look: Look,
}

impl FigureRow {
    /// Bars over the data at a recall.
    pub(super) fn bars(id: &str, of: &str, recall: f64, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            of: of.to_owned(),
            over: "data".to_owned(),
            at: vec![At::Recall(recall)],
            look: Look {
                title: Some(title.to_owned()),
                kind: Kind::Bar,
                ..Look::default()
            },
            ..Self::default()
        }
    }
}

fn recall() -> String {
    "recall".to_owned()
}

/// What figures are drawn from.
#[derive(Clone, Copy)]
pub(super) struct Sight<'s> {
    pub(super) run: &'s Run,
    pub(super) book: &'s Book,
    /// Name of the experiment: begins the ids of its parts.
    pub(super) experiment: &'s str,
    /// The cuts of data that count as one.
    pub(super) cut: Option<&'s str>,
}

/// Records with a name in the legend.
pub(super) type NamedRecords<'r> = (String, Vec<&'r Record>);

/// Values over a setting: for each series a cell for each value.
pub(super) struct Values {
    pub(super) over: Vec<Key>,
    pub(super) series: Vec<(String, Vec<TableCell>)>,
}

/// The figures of a row.
pub(super) fn figures(sight: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let whole = [At::default()];
    let ats = if row.at.is_empty() {
        &whole
    } else {
        row.at.as_slice()
    };
    let cut = row.cut.as_deref().or(sight.cut);
    let families = match row.over.as_str() {
        "data" => vec![(String::new(), records.to_vec())],
        _ => select::families(records, cut),
    };
    for (data, records) in families {
        for (split, records) in splits(sight.book, row, records) {
            for at in ats {
                let title = title(sight.book, row, split.as_ref(), *at);
                let parts = [sight.experiment, &row.id].map(str::to_owned).into_iter();
                let at_part = (ats.len() > 1).then(|| match at {
                    At::Recall(recall) => format!("{:.0}", recall * 100.0),
                    At::Least { .. } | At::Word(_) | At::Middle => String::new(),
                });
                let split_part = split.as_ref().map(|key| key.text.clone());
                let data_part = Some(data.clone()).filter(|data| !data.is_empty());
                let id = parts.chain(at_part).chain(split_part).chain(data_part);
                let blank = Figure {
                    id: id.collect::<Vec<_>>().join("-"),
                    title,
                    data: data.clone(),
                    note: row.look.note.clone().unwrap_or_default(),
                    predicted: row.look.predicted,
                    kind: row.look.kind,
                    ..Figure::default()
                };
                figures.extend(figure(sight, row, (&records, *at), blank));
            }
        }
    }
    figures
}

/// Records by the setting that a row makes several figures of.
fn splits<'r>(
    book: &Book,
    row: &FigureRow,
    records: Vec<&'r Record>,
) -> Vec<(Option<Key>, Vec<&'r Record>)> {
    let Some(split) = &row.split else {
        return vec![(None, records)];
    };
    let groups = group::by_key(&records, split, book.setting(split).format).into_iter();
    groups.map(|(key, records)| (Some(key), records)).collect()
}

fn title(book: &Book, row: &FigureRow, split: Option<&Key>, at: At) -> String {
    let own = row.look.title.clone();
    let mut title = own.unwrap_or_else(|| match at {
        At::Recall(recall) => format!("{} at recall {recall:.2}", book.quantity(&row.of).heading()),
        At::Least { .. } | At::Word(_) | At::Middle => book.quantity(&row.of).heading(),
    });
    if let (Some(key), Some(split)) = (split, &row.split) {
        title = match split.as_str() {
            "design" => format!("{title}, {}", key.text),
            "interleave" if key.number == Some(1.0) => format!("{title}, one query in flight"),
            split => format!("{title}, {}", book.setting(split).words(&key.text)),
        };
    }
    title
}

/// One figure; none where nothing is to be seen.
fn figure(
    sight: Sight<'_>,
    row: &FigureRow,
    (records, at): (&[&Record], At),
    blank: Figure,
) -> Option<Figure> {
    let quantity = sight.book.quantity(&row.of);
    let groups: Vec<NamedRecords<'_>> = series(sight.book, row, records);
    if row.over == "recall" {
        return Some(over_recall(
            sight.run,
            (quantity, &row.look),
            &groups,
            blank,
        ));
    }
    let values = match row.over.as_str() {
        "recall targets" => at_targets(sight.run, quantity, &groups),
        _ => over_setting(sight, row, at, &groups),
    };
    let axis = sight.book.setting(&row.over);
    let y = match row.against {
        Some(_) => Axis {
            name: blank.title.clone(),
            ..Axis::default()
        },
        None => quantity.axis(),
    };
    let good = row.look.good.unwrap_or(quantity.good);
    (values.over.len() >= row.least).then(|| {
        let blank = Figure {
            x: axis.axis(),
            y,
            ..blank
        };
        let column = |key: &Key| {
            let name = format!("{} {}", axis.name, key.text).trim().to_owned();
            table::column(name, good)
        };
        let first = row.series.as_ref().map_or("design", |_| "list");
        of_values(&values, (first, &column), blank)
    })
}

fn series<'r>(book: &Book, row: &FigureRow, records: &[&'r Record]) -> Vec<NamedRecords<'r>> {
    let groups = match &row.series {
        Some(axis) => {
            let setting = book.setting(axis);
            let groups = group::by_key(records, axis, setting.format).into_iter();
            groups
                .map(|(key, records)| (setting.words(&key.text), records))
                .collect()
        }
        None => group::named(records),
    };
    let fixed = |(name, records): NamedRecords<'r>| (name, select::fixed(&records, &row.fix));
    groups.into_iter().map(fixed).collect()
}

/// The figure of values that are there.
pub(super) fn of_values(
    values: &Values,
    (first, column): (&str, &dyn Fn(&Key) -> Column),
    blank: Figure,
) -> Figure {
    let mut columns = vec![table::neutral(first)];
    columns.extend(values.over.iter().map(column));
    let mut rows = Vec::new();
    let mut marks = Vec::new();
    for (name, cells) in &values.series {
        let mut row = vec![table::text(name)];
        row.extend(cells.iter().cloned());
        rows.push(row);
        for (key, cell) in values.over.iter().zip(cells) {
            marks.extend(cell.number.map(|y| Mark {
                series: name.clone(),
                x: match key.number.filter(|_| blank.kind == Kind::Line) {
                    Some(number) => AxisPlace::Number(number),
                    None => AxisPlace::Name(key.text.clone()),
                },
                y,
                text: cell.text.clone(),
            }));
        }
    }
    Figure {
        table: table::table(&blank.id, "", columns, rows, 0),
        marks,
        ..blank
    }
}

/// Cells at each value of a setting, or for each name.
fn over_setting(sight: Sight<'_>, row: &FigureRow, at: At, groups: &[NamedRecords<'_>]) -> Values {
    let quantity = sight.book.quantity(&row.of);
    let all: Vec<&Record> = groups
        .iter()
        .flat_map(|(_, records)| records)
        .copied()
        .collect();
    let format = sight.book.setting(&row.over).format;
    let over: Vec<Key> = group::by_key(&all, &row.over, format)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    let cell = |records: &[&Record], key: &Key| {
        let mut of_key = records.to_vec();
        of_key
            .retain(|record| group::key_text(record, &row.over, format) == Some(key.text.clone()));
        let cell = quantity.cell_at(sight.run, &of_key, at);
        let Some(base) = row.against else { return cell };
        let base = group::at_axis(records, &row.over, base);
        let base = quantity.at(sight.run, &base, at);
        let ratio = cell.number.zip(base).map(|(value, base)| value / base);
        table::number(ratio, number::times)
    };
    let series = groups
        .iter()
        .map(|(name, records)| {
            (
                name.clone(),
                over.iter().map(|key| cell(records, key)).collect(),
            )
        })
        .collect();
    Values { over, series }
}

/// Cells at each of the target recalls.
fn at_targets(run: &Run, quantity: &Quantity, groups: &[NamedRecords<'_>]) -> Values {
    let cells = |records: &[&Record]| {
        let cells = TARGETS.map(|recall| quantity.cell_at(run, records, At::Recall(recall)));
        cells.to_vec()
    };
    Values {
        over: TARGETS
            .map(|recall| Key::name(format!("recall {recall:.2}")))
            .into(),
        series: groups
            .iter()
            .map(|(name, records)| (name.clone(), cells(records)))
            .collect(),
    }
}

/// A quantity over recall: one curve per group, one mark per cell, its median of repetitions; below
/// it the values at the target recalls.
fn over_recall(
    run: &Run,
    (quantity, look): (&Quantity, &Look),
    groups: &[NamedRecords<'_>],
    blank: Figure,
) -> Figure {
    let x_name = look.x_name.clone().unwrap_or_else(recall);
    let mut columns = vec![table::neutral("design")];
    columns.extend(TARGETS.map(|recall| {
        table::column(
            format!("{} at {x_name} {recall:.2}", quantity.name),
            quantity.good,
        )
    }));
    columns.push(table::neutral(format!("highest {x_name}")));
    let mut rows = Vec::new();
    let mut marks = Vec::new();
    for (name, records) in groups {
        let mut row = vec![table::text(name)];
        row.extend(TARGETS.map(|recall| quantity.cell_at(run, records, At::Recall(recall))));
        let recalls = records.iter().filter_map(|record| record.number("recall"));
        row.push(table::number(
            recalls.max_by(f64::total_cmp),
            number::recall,
        ));
        rows.push(row);
        let mut curve: Vec<Mark> = group::by_cell(records)
            .iter()
            .filter_map(|cell| mark(run, quantity, name, cell))
            .collect();
        curve.sort_by(|a, b| a.x.number().total_cmp(&b.x.number()));
        marks.extend(curve);
    }
    let better = match quantity.good {
        Goodness::Higher => "Better is higher, and further to the right.",
        Goodness::Lower => "Better is lower, and further to the right.",
        Goodness::Neutral => "",
    };
    let radius = records_radius(groups).map(|radius| format!("Radius {}.", number::plain(radius)));
    Figure {
        note: radius.unwrap_or_else(|| better.to_owned()),
        table: table::table(&blank.id, "", columns, rows, 0),
        x: Axis {
            name: x_name,
            scale: Scale::Recall,
        },
        y: quantity.axis(),
        marks,
        ..blank
    }
}

fn records_radius(groups: &[NamedRecords<'_>]) -> Option<f64> {
    let mut records = groups.iter().flat_map(|(_, records)| records);
    records.find_map(|record| record.number("radius"))
}

fn mark(run: &Run, quantity: &Quantity, name: &str, cell: &[&Record]) -> Option<Mark> {
    let first = cell.first()?;
    let y = quantity.median(run, cell)?;
    let list = first
        .axis("list_size")
        .map(|list| format!(", list size {list}"));
    Some(Mark {
        series: name.to_owned(),
        x: AxisPlace::Number(first.number("recall")?),
        y,
        text: format!("{}{}", quantity.format.text(y), list.unwrap_or_default()),
    })
}
