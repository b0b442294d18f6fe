//! Plots of records: a quantity over recall, a value per data set.

use super::document::{Axis, Bars, Figure, Goodness, Lines, Mark, Plot, Scale, Series, Table};
use super::group;
use super::quantity::{Quantity, TARGETS};
use super::{number, table};
use crate::record::Record;

/// An axis.
pub(crate) fn axis(name: &str, scale: Scale) -> Axis {
    Axis {
        name: name.to_owned(),
        scale,
    }
}

/// The axis of recall.
pub(crate) fn recall_axis() -> Axis {
    axis("recall", Scale::Recall)
}

/// Records of one group, such as a design, and its name in the legend.
pub(crate) type Named<'r> = (String, Vec<&'r Record>);

/// Records by design, to be curves.
pub(crate) fn designs<'r>(records: &[&'r Record]) -> Vec<Named<'r>> {
    group::by_design(records)
        .into_iter()
        .map(|(design, records)| (design.to_owned(), records))
        .collect()
}

/// A quantity over recall: one curve per group, one mark per cell, its median of repetitions.
pub(crate) fn over_recall(groups: &[Named<'_>], quantity: &Quantity) -> Lines {
    let curve = |records: &[&Record]| {
        let mut marks: Vec<Mark> = group::by_cell(records)
            .iter()
            .filter_map(|cell| mark(cell, quantity))
            .collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        marks
    };
    Lines {
        x: recall_axis(),
        y: quantity.axis(),
        series: series(groups, curve),
    }
}

/// A value per data set (categories) and design (series), side by side.
pub(crate) fn per_data(
    records: &[&Record],
    y: Axis,
    value: impl Fn(&[&Record]) -> Option<f64>,
) -> Bars {
    let data = group::by_data(records);
    let series = group::by_design(records)
        .into_iter()
        .map(|(design, _)| {
            let heights = data
                .iter()
                .map(|(_, of_data)| value(&group::of_design(of_data, design)))
                .collect();
            (design.to_owned(), heights)
        })
        .collect();
    Bars {
        categories: data.iter().map(|(name, _)| (*name).to_owned()).collect(),
        y,
        stacked: false,
        series,
    }
}

/// A quantity over recall with its values at the target recalls below, the best of each marked.
pub(crate) fn recall_figure(
    id: &str,
    title: &str,
    groups: &[Named<'_>],
    quantity: &Quantity,
) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: match quantity.goodness {
            Goodness::Higher => "Better is higher, and further to the right.",
            Goodness::Lower => "Better is lower, and further to the right.",
            Goodness::Neutral => "",
        }
        .to_owned(),
        predicted: false,
        plot: Plot::Lines(over_recall(groups, quantity)),
        table: targets_table(id, groups, quantity),
    }
}

/// Values of a quantity at the target recalls, one row per group, and the best recall it reached.
pub(crate) fn targets_table(id: &str, groups: &[Named<'_>], quantity: &Quantity) -> Table {
    let mut columns = vec![table::neutral("design")];
    columns.extend(TARGETS.map(|recall| quantity.column_at(recall)));
    columns.push(table::neutral("highest recall"));
    let rows = groups
        .iter()
        .map(|(name, records)| {
            let mut row = vec![table::text(name)];
            row.extend(TARGETS.map(|recall| quantity.cell_at(records, recall)));
            row.push(table::number(highest_recall(records), number::recall));
            row
        })
        .collect();
    table::table(id, "", columns, rows, 0)
}

/// The best recall of records.
pub(crate) fn highest_recall(records: &[&Record]) -> Option<f64> {
    records
        .iter()
        .filter_map(|record| record.number("recall"))
        .max_by(f64::total_cmp)
}

/// The heights of bars as a table: one row per series, one column per category.
pub(crate) fn bars_table(id: &str, bars: &Bars, quantity: &Quantity) -> Table {
    let mut columns = vec![table::neutral("design")];
    columns.extend(
        bars.categories
            .iter()
            .map(|name| table::column(name, quantity.goodness)),
    );
    let rows = bars
        .series
        .iter()
        .map(|(name, heights)| {
            let mut row = vec![table::text(name)];
            row.extend(heights.iter().map(|height| quantity.cell(*height)));
            row
        })
        .collect();
    table::table(id, "", columns, rows, 0)
}

fn series(groups: &[Named<'_>], curve: impl Fn(&[&Record]) -> Vec<Mark>) -> Vec<Series> {
    groups
        .iter()
        .map(|(name, records)| Series {
            name: name.clone(),
            marks: curve(records),
        })
        .filter(|series| !series.marks.is_empty())
        .collect()
}

fn mark(cell: &[&Record], quantity: &Quantity) -> Option<Mark> {
    let first = cell.first()?;
    let y = quantity.median(cell)?;
    let mut label = format!("{} {}", (quantity.format)(y), quantity.name);
    if let Some(list_size) = first.axis("list_size") {
        label = format!("list size {list_size}, {label}");
    }
    Some(Mark {
        x: first.number("recall")?,
        y,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::search;
    use crate::report::quantity::{PAGES, QPS};

    fn records() -> Vec<Record> {
        vec![
            search("recall", "a", "diskann", 40, 0.97),
            search("recall", "a", "diskann", 10, 0.92),
            search("recall", "b", "starling", 10, 0.93),
        ]
    }

    #[test]
    fn curves_rise_in_recall_and_their_marks_say_what_was_set() {
        let records = records();
        let records: Vec<&Record> = records.iter().collect();
        let lines = over_recall(&designs(&records), &PAGES);
        assert_eq!(lines.series.len(), 2);
        let recalls: Vec<f64> = lines.series[0].marks.iter().map(|mark| mark.x).collect();
        assert_eq!(recalls, [0.92, 0.97]);
        assert!(lines.series[0].marks[0].label.starts_with("list size 10, "));
    }

    #[test]
    fn bars_leave_out_what_was_not_measured() {
        let records = records();
        let records: Vec<&Record> = records.iter().collect();
        let bars = per_data(&records, QPS.axis(), |records| QPS.median(records));
        assert_eq!(bars.categories, ["a", "b"]);
        assert!(bars.series[0].1[0].is_some() && bars.series[0].1[1].is_none());
        assert_eq!(bars_table("t", &bars, &QPS).rows.len(), 2);
    }

    #[test]
    fn a_figure_has_the_values_at_target_recalls() {
        let records = records();
        let records: Vec<&Record> = records.iter().collect();
        let figure = recall_figure("recall-pages-a", "Pages", &designs(&records), &PAGES);
        assert_eq!(figure.table.columns.len(), 2 + TARGETS.len());
        assert_eq!(figure.table.rows[0][4].number, Some(0.97));
    }
}
