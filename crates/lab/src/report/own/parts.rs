//! Bars of parts on top of each other: stages of builds, and what the time of a query goes to.

use crate::record::Record;
use crate::report::document::{Axis, Figure, Kind};
use crate::report::figure::{self, FigureRow, Sight, Values};
use crate::report::group::{self, Key};
use crate::report::select::{Pick, ValuePlace};
use crate::report::{number, reading, table};

/// A part, and its number in a record.
type PartNumber<'p> = (&'p str, Box<dyn Fn(&Record) -> Option<f64> + 'p>);

/// Seconds of each stage of each design.
pub(super) fn stages(_: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in records.iter().flat_map(|record| reading::stages(record)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let part = |name| -> PartNumber<'_> {
        let of = move |record: &Record| {
            let mut stages = reading::stages(record);
            stages.find_map(|(stage, seconds)| (stage == name).then_some(seconds))
        };
        (name, Box::new(of))
    };
    let parts: Vec<PartNumber<'_>> = names.into_iter().map(part).collect();
    let title = row.look.title.clone().unwrap_or_default();
    let each = group::by_data(records).into_iter();
    each.map(|(data, records)| stacked(("build-stages", data, &title, "seconds"), &records, &parts))
        .collect()
}

/// Time of a query at one list size: waiting and computing.
pub(super) fn time(sight: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    let names = [("waiting for reads", "waiting"), ("computing", "computing")];
    let parts = names.map(|(name, read)| -> PartNumber<'_> {
        (
            name,
            Box::new(move |record| reading::read(sight.run, record, read)),
        )
    });
    let title = row.look.title.clone().unwrap_or_default();
    let mut figures = Vec::new();
    for (data, records) in group::by_data(records) {
        let Some(size) = Pick::Place(ValuePlace::Middle).value(&records, "list_size") else {
            continue;
        };
        let at = group::at_axis(&records, "list_size", size);
        let title = format!("{title}, list size {size}");
        figures.push(stacked(
            ("execution-time", data, &title, "mean latency, us"),
            &at,
            &parts,
        ));
    }
    figures
}

fn stacked(
    (id, data, title, y): (&str, &str, &str, &str),
    records: &[&Record],
    parts: &[PartNumber<'_>],
) -> Figure {
    let designs = group::by_design(records);
    let cells = |part: &PartNumber<'_>| {
        let of = |(_, records): &(&str, Vec<&Record>)| {
            table::number(group::median(records, &part.1), number::plain)
        };
        (part.0.to_owned(), designs.iter().map(of).collect())
    };
    let values = Values {
        over: designs.iter().map(|(name, _)| Key::name(*name)).collect(),
        series: parts.iter().map(cells).collect(),
    };
    let blank = Figure {
        id: format!("{id}-{data}"),
        title: title.to_owned(),
        data: data.to_owned(),
        kind: Kind::Stack,
        y: Axis {
            name: y.to_owned(),
            ..Axis::default()
        },
        ..Figure::default()
    };
    figure::of_values(&values, ("part", &|key| table::neutral(&key.text)), blank)
}
