//! What costs over the number of vectors let expect beyond the data.
//!
//! Two laws are fitted to the costs at one recall, each by least squares over the logarithm of the
//! number of vectors: a power of it, and a line over its logarithm (see [`crate::model::Fit`]). The
//! one with the smaller relative error is carried on beyond the data, in a figure of its own.

use crate::model::{Fit, Law};
use crate::record::Record;
use crate::report::document::{Figure, Goodness, Table, TableCell};
use crate::report::figure::{self, FigureRow, Sight, Values};
use crate::report::group::{self, Key};
use crate::report::quantity::Quantity;
use crate::report::{cut, number, table};

const ROWS: &str = "rows";
/// Recall of the comparisons.
const TARGET: f64 = 0.95;
/// Largest number of vectors that is predicted for.
const BILLION: f64 = 1e9;
/// What a law is carried on from: so many numbers of vectors, the most of them so many times the
/// fewest. Costs that fall with the number say nothing but that there is noise.
const LEAST_POINTS: usize = 3;
const LEAST_SPAN: f64 = 10.0;
const NOTE: &str =
    "The law of each design that fits better, over the numbers of vectors measured and on to 10^9.";

/// Both laws, fitted to the costs of a design.
#[derive(Clone, Copy, Debug)]
struct Laws {
    power: Fit,
    logarithm: Fit,
    /// Whether they may be carried on beyond what was measured.
    sure: bool,
}

impl Laws {
    /// Fitted to costs by number of vectors; none of fewer than two numbers.
    fn of(marks: &[(f64, f64)]) -> Option<Self> {
        let ((fewest, first), (most, last)) = (marks.first()?, marks.last()?);
        if fewest == most {
            return None;
        }
        let values: Vec<(u64, f64)> = marks
            .iter()
            .map(|(rows, cost)| (*rows as u64, *cost))
            .collect();
        Some(Self {
            power: Fit::of(Law::Power, &values),
            logarithm: Fit::of(Law::Logarithmic, &values),
            sure: marks.len() >= LEAST_POINTS && most / fewest >= LEAST_SPAN && last > first,
        })
    }

    /// The law with the smaller error.
    fn better(&self) -> &Fit {
        if self.power.residual <= self.logarithm.residual {
            &self.power
        } else {
            &self.logarithm
        }
    }

    /// By how much the cost grows for ten times as many vectors, by the logarithm.
    fn tenfold(&self) -> f64 {
        self.logarithm.slope * std::f64::consts::LN_10
    }
}

/// Cost at the recall by rising number of vectors; bounds are no marks of a law.
fn marks(sight: Sight<'_>, quantity: &Quantity, records: &[&Record]) -> Vec<(f64, f64)> {
    let mark = |(rows, records): (f64, Vec<&Record>)| {
        let found = quantity.look_up(sight.run, &records, TARGET)?;
        (!found.bound).then_some((rows, found.value))
    };
    group::by_axis(records, ROWS)
        .into_iter()
        .filter_map(mark)
        .collect()
}

/// Values of the laws at the numbers measured, and beyond them, where a law is sure enough.
pub(super) fn carried_on(sight: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    let quantity = sight.book.quantity(&row.of);
    let rows = sight.book.setting(ROWS);
    let figure = |(data, records): (String, Vec<&Record>)| {
        let laws = group::named(&records)
            .into_iter()
            .filter_map(|(name, records)| {
                Some((
                    name,
                    Laws::of(&marks(sight, quantity, &records)).filter(|laws| laws.sure)?,
                ))
            });
        let laws: Vec<(String, Laws)> = laws.collect();
        let sizes = sizes(&records);
        let cells = |laws: &Laws| -> Vec<TableCell> {
            let at = |rows: &f64| quantity.cell(Some(laws.better().at(*rows as u64)));
            sizes.iter().map(at).collect()
        };
        let values = Values {
            over: sizes
                .iter()
                .map(|rows| Key::number(number::thousands(*rows), *rows))
                .collect(),
            series: laws
                .iter()
                .map(|(name, laws)| (name.clone(), cells(laws)))
                .collect(),
        };
        let blank = Figure {
            id: format!("{}-{}-{data}", sight.experiment, row.id),
            title: format!("{} at recall {TARGET:.2}, predicted", quantity.heading()),
            data,
            note: NOTE.to_owned(),
            predicted: true,
            x: rows.axis(),
            y: quantity.axis(),
            ..Figure::default()
        };
        let column =
            |key: &Key| table::column(format!("{} {}", rows.name, key.text), quantity.good);
        (!laws.is_empty()).then(|| figure::of_values(&values, ("design", &column), blank))
    };
    cut::by_rows(records)
        .into_iter()
        .filter_map(figure)
        .collect()
}

/// Numbers of vectors of a prediction: those measured, and powers of ten beyond.
fn sizes(records: &[&Record]) -> Vec<f64> {
    let measured = group::by_axis(records, ROWS).into_iter();
    let mut sizes: Vec<f64> = measured.map(|(rows, _)| rows).collect();
    let last = sizes.last().copied().unwrap_or(BILLION);
    let powers = (0..=9).map(|power| 10f64.powi(power));
    sizes.extend(powers.filter(|rows| *rows > last));
    sizes
}

/// The laws of each design, with their errors, and what they predict.
pub(super) fn laws(sight: Sight<'_>, records: &[&Record]) -> Table {
    let lower = |name: &str| table::column(name, Goodness::Lower);
    let mut columns = ["data", "cost", "design", "numbers of vectors"]
        .map(table::neutral)
        .to_vec();
    columns.extend([
        lower("exponent of the power"),
        table::neutral("error of the power"),
        lower("more for ten times as many, by the logarithm"),
        table::neutral("error of the logarithm"),
        lower("10^9 vectors, by the power"),
        lower("10^9 vectors, by the logarithm"),
    ]);
    let mut rows = Vec::new();
    for (data, records) in cut::by_rows(records) {
        for quantity in ["pages", "mean"].map(|name| sight.book.quantity(name)) {
            for (design, records) in group::by_design(&records) {
                let mut row = [data.as_str(), &quantity.name, design]
                    .map(table::text)
                    .to_vec();
                row.extend(law_cells(&marks(sight, quantity, &records), quantity));
                rows.push(row);
            }
        }
    }
    let title = format!("Laws of growth at recall {TARGET:.2}; what is said of 10^9 is predicted");
    table::table("growth-laws", title, columns, rows, 2)
}

fn law_cells(marks: &[(f64, f64)], quantity: &Quantity) -> [TableCell; 7] {
    let laws = Laws::of(marks);
    let sure = laws.filter(|laws| laws.sure);
    let share = |value: Option<f64>| table::number(value, number::percent);
    [
        table::text(marks.len().to_string()),
        table::number(laws.map(|laws| laws.power.slope), |slope| {
            format!("{slope:.3}")
        }),
        share(laws.map(|laws| laws.power.residual)),
        quantity.cell(laws.map(|laws| laws.tenfold())),
        share(laws.map(|laws| laws.logarithm.residual)),
        quantity.cell(sure.map(|laws| laws.power.at(BILLION as u64))),
        quantity.cell(sure.map(|laws| laws.logarithm.at(BILLION as u64))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(rows: f64) -> f64 {
        2.0 * rows.powf(0.2)
    }

    fn logarithm(rows: f64) -> f64 {
        5.0 + 3.0 * rows.log10()
    }

    #[test]
    fn laws_are_found_again() {
        let marks = |law: fn(f64) -> f64| [1e4, 1e5, 1e6].map(|rows| (rows, law(rows)));
        let found = Laws::of(&marks(power)).unwrap();
        assert!(found.sure && (found.power.slope - 0.2).abs() < 1e-9);
        assert!((found.better().at(1_000_000_000) / power(1e9) - 1.0).abs() < 1e-6);
        let found = Laws::of(&marks(logarithm)).unwrap();
        assert!((found.tenfold() - 3.0).abs() < 1e-9);
        assert!((found.better().at(1_000_000_000) - 32.0).abs() < 1e-6);
        assert!(Laws::of(&[(1e4, 3.0)]).is_none() && Laws::of(&[]).is_none());
    }

    #[test]
    fn what_is_near_or_falls_is_not_carried_on() {
        let near = [(1e4, 20.0), (2e4, 21.0), (3e4, 22.0)];
        assert!(!Laws::of(&near).unwrap().sure);
        let falling = [(1e4, 20.0), (1e5, 19.0), (1e6, 18.0)];
        assert!(!Laws::of(&falling).unwrap().sure);
    }
}
