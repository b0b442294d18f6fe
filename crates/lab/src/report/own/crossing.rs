//! Coupled against decoupled storage: at how many dimensions the one passes the other.

use super::truth;
use crate::record::Record;
use crate::report::case::Case;
use crate::report::document::{Table, TableCell};
use crate::report::figure::Sight;
use crate::report::quantity::{At, TARGETS};
use crate::report::{cut, group, number, table};

const DIMENSIONS: &str = "dimensions";
/// Dimensions at which the evaluation finds that the designs cross.
const CROSSING: f64 = 1500.0;
/// Recall of the comparisons.
const TARGET: f64 = 0.95;

/// How many times as fast decoupled is as coupled, by dimensions.
type Ratios = Vec<(f64, f64)>;

fn ratios(sight: Sight<'_>, records: &[&Record], recall: f64) -> Ratios {
    let qps = sight.book.quantity("qps");
    let ratio = |(dimensions, records): (f64, Vec<&Record>)| {
        let of = |design: &str| {
            qps.at(
                sight.run,
                &group::of_design(&records, design),
                At::Recall(recall),
            )
        };
        Some((dimensions, of("decoupled")? / of("coupled")?))
    };
    group::by_axis(records, DIMENSIONS)
        .into_iter()
        .filter_map(ratio)
        .collect()
}

/// Where the ratio passes 1, on a straight line between its neighbours.
fn crossing(ratios: &Ratios) -> Option<f64> {
    ratios.windows(2).find_map(|pair| {
        let [(left, low), (right, high)] = pair else {
            return None;
        };
        (*low < 1.0 && *high >= 1.0).then(|| left + (right - left) * (1.0 - low) / (high - low))
    })
}

/// The ratios at each recall, and where they cross.
pub(super) fn table(sight: Sight<'_>, records: &[&Record]) -> Table {
    let dimensions = group::by_axis(records, DIMENSIONS).into_iter();
    let dimensions: Vec<f64> = dimensions.map(|(value, _)| value).collect();
    let mut columns = vec![table::neutral("data"), table::neutral("recall")];
    columns.extend(
        dimensions
            .iter()
            .map(|value| table::neutral(format!("{value} dimensions"))),
    );
    columns.push(table::neutral("they cross at"));
    let mut rows = Vec::new();
    for (name, records) in cut::by_dimensions(records) {
        for recall in TARGETS {
            let ratios = ratios(sight, &records, recall);
            let cell = |value: &f64| -> TableCell {
                let found = ratios.iter().find(|(at, _)| at == value);
                table::number(found.map(|(_, ratio)| *ratio), number::times)
            };
            let mut row = vec![table::text(&name), table::text(number::recall(recall))];
            row.extend(dimensions.iter().map(cell));
            row.push(table::number(crossing(&ratios), number::thousands));
            rows.push(row);
        }
    }
    let title = "Queries per second of decoupled over those of coupled";
    table::table("dimensions-crossing", title, columns, rows, 0)
}

/// Whether coupled wins below the crossing of the evaluation, and decoupled beyond it.
pub(super) fn cases(sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, records) in cut::by_dimensions(records) {
        for (dimensions, ratio) in ratios(sight, &records, TARGET) {
            let times = number::times(ratio);
            let words = format!(
                "{name}, {dimensions} dimensions, recall {TARGET}: decoupled {times} as fast"
            );
            cases.push((truth((ratio > 1.0) == (dimensions > CROSSING)), words));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_lies_between_the_readings_around_it() {
        assert_eq!(crossing(&vec![(100.0, 0.5), (300.0, 1.5)]), Some(200.0));
        assert_eq!(crossing(&vec![(100.0, 0.5), (300.0, 0.9)]), None);
        assert_eq!(crossing(&vec![(100.0, 1.5)]), None);
    }
}
