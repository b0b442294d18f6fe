//! Values over a setting that an experiment varies: the curves, and a table with a column per value
//! of the setting that says which values are bounds.

use super::document::{Axis, Cell, Figure, Lines, Mark, Plot, Scale, Series, Table};
use super::plot::{self, Named};
use super::quantity::Quantity;
use super::{choice, group, number, table};
use crate::record::Record;

/// A number of the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its name among the axes of a record.
    pub(crate) axis: &'static str,
    /// Name and unit, as on an axis.
    pub(crate) name: &'static str,
    /// How its axis is spaced.
    pub(crate) scale: Scale,
    /// How it is written.
    pub(crate) format: fn(f64) -> String,
}

/// What a figure shows.
#[derive(Clone, Debug)]
pub(crate) struct Shown<'q> {
    /// Unique in the report.
    pub(crate) id: String,
    /// Heading.
    pub(crate) title: String,
    /// Over what.
    pub(crate) setting: Setting,
    /// What.
    pub(crate) quantity: &'q Quantity,
}

impl Setting {
    /// Its axis.
    pub(crate) fn axis(&self) -> Axis {
        Axis {
            name: self.name.to_owned(),
            scale: self.scale,
        }
    }

    /// Values that records have, rising.
    pub(crate) fn values(&self, records: &[&Record]) -> Vec<f64> {
        let groups = group::by_axis(records, self.axis);
        groups.into_iter().map(|(value, _)| value).collect()
    }
}

impl Shown<'_> {
    /// The figure of values at a recall.
    pub(crate) fn at_recall(&self, groups: &[Named<'_>], recall: f64) -> Figure {
        self.figure(groups, |records| self.quantity.cell_at(records, recall))
    }

    /// The figure: one curve per group, `cell` of its records at each value of the setting.
    pub(crate) fn figure(&self, groups: &[Named<'_>], cell: impl Fn(&[&Record]) -> Cell) -> Figure {
        let all: Vec<&Record> = groups
            .iter()
            .flat_map(|(_, records)| records)
            .copied()
            .collect();
        let values = self.setting.values(&all);
        let cells: Vec<(&str, Vec<Cell>)> = groups
            .iter()
            .map(|(name, records)| {
                let at = |value: &f64| cell(&group::at_axis(records, self.setting.axis, *value));
                (name.as_str(), values.iter().map(at).collect())
            })
            .collect();
        self.of_cells(&values, &cells)
    }

    /// The figure of cells that are there: for each group one per value of the setting.
    pub(crate) fn of_cells(&self, values: &[f64], cells: &[(&str, Vec<Cell>)]) -> Figure {
        Figure {
            id: self.id.clone(),
            title: self.title.clone(),
            note: String::new(),
            predicted: false,
            plot: Plot::Lines(self.lines(values, cells)),
            table: self.table(values, cells),
        }
    }

    fn lines(&self, values: &[f64], cells: &[(&str, Vec<Cell>)]) -> Lines {
        let series = cells.iter().map(|(name, cells)| Series {
            name: (*name).to_owned(),
            marks: values
                .iter()
                .zip(cells)
                .filter_map(|(value, cell)| self.mark(*value, cell))
                .collect(),
        });
        Lines {
            x: self.setting.axis(),
            y: self.quantity.axis(),
            series: series.filter(|series| !series.marks.is_empty()).collect(),
        }
    }

    fn mark(&self, value: f64, cell: &Cell) -> Option<Mark> {
        let at = (self.setting.format)(value);
        Some(Mark {
            x: value,
            y: cell.number?,
            label: format!(
                "{} {at}: {} {}",
                self.setting.name, cell.text, self.quantity.name
            ),
        })
    }

    fn table(&self, values: &[f64], cells: &[(&str, Vec<Cell>)]) -> Table {
        let mut columns = vec![table::neutral("design")];
        columns.extend(values.iter().map(|value| {
            let name = format!("{} {}", self.setting.name, (self.setting.format)(*value));
            table::column(name, self.quantity.goodness)
        }));
        let rows = cells
            .iter()
            .map(|(name, cells)| {
                let mut row = vec![table::text(*name)];
                row.extend(cells.iter().cloned());
                row
            })
            .collect();
        table::table(&self.id, "", columns, rows, 0)
    }
}

/// Records of a data set, with its name.
pub(crate) type OfData<'r> = (&'r str, &'r [&'r Record]);

/// Figures of quantities over a setting, at each of several recalls; `id` begins their names.
pub(crate) fn at_recalls(
    id: &str,
    setting: Setting,
    quantities: &[(&str, Quantity)],
    recalls: &[f64],
    (data, records): OfData<'_>,
) -> Vec<Figure> {
    let each = recalls
        .iter()
        .flat_map(|recall| quantities.iter().map(move |each| (*recall, each)));
    each.map(|(recall, (name, quantity))| {
        let shown = Shown {
            id: format!("{id}-{name}-{:.0}-{data}", recall * 100.0),
            title: format!("{} at recall {recall:.2}, {data}", quantity.heading()),
            setting,
            quantity,
        };
        shown.at_recall(&plot::designs(records), recall)
    })
    .collect()
}

/// Figures of quantities over a setting, each named and worded, of the cells that stand for a
/// recall.
pub(crate) fn standing_for(
    recall: f64,
    setting: Setting,
    quantities: &[(&str, &str, &Quantity)],
    (data, records): OfData<'_>,
) -> Vec<Figure> {
    let figure = |(name, what, quantity): &(&str, &str, &Quantity)| {
        let axis = setting.axis;
        let shown = Shown {
            id: format!("{axis}-{name}-{data}"),
            title: format!("{what} over {axis}, {data}"),
            setting,
            quantity,
        };
        shown.figure(&plot::designs(records), |records| {
            quantity.cell(quantity.median(&choice::reaching(records, recall)))
        })
    };
    quantities.iter().map(figure).collect()
}

/// A setting whose values are counts.
pub(crate) const fn count(axis: &'static str, name: &'static str, scale: Scale) -> Setting {
    Setting {
        axis,
        name,
        scale,
        format: as_set,
    }
}

/// A number as people set it: no digits that they did not give.
fn as_set(value: f64) -> String {
    if value.abs() < 10_000.0 {
        value.to_string()
    } else {
        number::thousands(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{search, set};
    use crate::report::quantity::PAGES;

    #[test]
    fn bounds_are_told_and_what_is_not_reached_is_absent() {
        let records: Vec<Record> = [(96, 10, 0.97), (384, 10, 0.90), (384, 40, 0.94)]
            .into_iter()
            .map(|(dimensions, list_size, recall)| {
                let record = search("dimensions", "a", "coupled", list_size, recall);
                set(record, "dimensions", dimensions)
            })
            .collect();
        let records: Vec<&Record> = records.iter().collect();
        let shown = Shown {
            id: "f".to_owned(),
            title: "t".to_owned(),
            setting: count("dimensions", "dimensions", Scale::Linear),
            quantity: &PAGES,
        };
        let figure = shown.at_recall(&plot::designs(&records), 0.95);
        let Plot::Lines(lines) = &figure.plot else {
            panic!("no lines")
        };
        assert_eq!(lines.series[0].marks.len(), 1);
        assert_eq!(lines.series[0].marks[0].x, 96.0);
        assert_eq!(figure.table.columns[2].name, "dimensions 384");
        let row: Vec<&str> = figure.table.rows[0]
            .iter()
            .map(|cell| cell.text.as_str())
            .collect();
        assert_eq!(row, ["coupled", "≤ 15.0", "–"]);
    }
}
