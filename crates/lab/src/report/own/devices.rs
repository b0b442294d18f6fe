//! Other disks: all of it is predicted; where the device is this machine's own, what was measured
//! stands beside it.

use serde_json::Value;

use crate::record::{Record, Task};
use crate::report::document::{Table, TableCell};
use crate::report::figure::Sight;
use crate::report::{curve, group, number, table};

/// What a prediction says of itself and a figure is drawn over.
const OWN: [&str; 4] = ["device", "rows", "threads", "interleave"];
/// A predicted quantity, and where its measured value is.
const CHECKED: [(&str, &str); 2] = [
    ("qps", "measured_qps"),
    ("mean", "measured_latency_us/mean"),
];

/// Predictions with what they are for among their settings; those for more vectors that build on
/// reads that do not rise are left out.
pub(super) fn placed(records: &[&Record]) -> Vec<Record> {
    let kept = records
        .iter()
        .filter(|record| !is_extrapolated(record) || rises(record));
    let placed = kept.map(|record| {
        let mut record = (*record).clone();
        for name in OWN {
            if let Some(value) = record.result.get(name).cloned() {
                record.axes.insert(name.to_owned(), value);
            }
        }
        let extrapolated = u8::from(is_extrapolated(&record));
        record
            .axes
            .insert("extrapolated".to_owned(), extrapolated.into());
        record
    });
    placed.collect()
}

fn is_extrapolated(record: &Record) -> bool {
    record.result.get("extrapolated") == Some(&Value::Bool(true))
}

/// Whether the reads that a prediction for more vectors builds on rise with their number.
fn rises(record: &Record) -> bool {
    let slope = record.number("growth/reads/slope");
    slope.is_none_or(|slope| slope > 0.0)
}

/// How well the model does where it can be checked, how it was carried on, and what was left out.
pub(super) fn words(sight: Sight<'_>, records: &[&Record]) -> Vec<String> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut words = vec![accuracy(sight, records)];
    let grown = group::at_axis(records, "extrapolated", 1.0);
    let sizes = group::by_axis(&grown, "rows").into_iter();
    let sizes: Vec<String> = sizes.map(|(rows, _)| number::thousands(rows)).collect();
    if !sizes.is_empty() {
        words.push(format!(
            "Carried on to {} vectors by the logarithm of their number, as fitted to the reads and \
             the computing at the numbers measured; what a power of the number gives stands beside \
             it.",
            sizes.join(" and ")
        ));
    }
    let all = group::measured(sight.run, sight.experiment, Task::Model);
    let left_out = all.len() - records.len();
    if left_out > 0 {
        words.push(format!(
            "Predictions for more vectors that are left out: {left_out}. Reads did not rise with \
             the numbers of vectors measured, which says nothing about more of them."
        ));
    }
    words
}

/// By how much a prediction is wrong, as a share of what was measured.
fn error(sight: Sight<'_>, record: &Record, (quantity, measured): (&str, &str)) -> Option<f64> {
    let predicted = sight.book.quantity(quantity).of(sight.run, record)?;
    Some(predicted / record.number(measured)? - 1.0)
}

/// How far predictions for this machine's own disk are from what was measured, in words.
fn accuracy(sight: Sight<'_>, records: &[&Record]) -> String {
    let told = CHECKED.into_iter().filter_map(|checked| {
        let errors = records
            .iter()
            .filter_map(|record| error(sight, record, checked));
        let errors: Vec<f64> = errors.map(f64::abs).collect();
        let most = errors.iter().copied().max_by(f64::total_cmp)?;
        Some(format!(
            "{} by {} in the median of {} and by {} at most",
            sight.book.quantity(checked.0).name,
            number::percent(curve::median(errors.clone())),
            errors.len(),
            number::percent(most)
        ))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return "This run has no prediction for this machine's own disk beside a measured search: \
                how wrong the model is here, is not known."
            .to_owned();
    }
    format!(
        "Checked against this machine's own disk, the model is wrong in {}.",
        told.join("; in ")
    )
}

/// Predicted and measured on this machine's own disk.
pub(super) fn check(sight: Sight<'_>, records: &[&Record]) -> Option<Table> {
    let mut columns = vec![table::neutral("data"), table::neutral("design")];
    for (quantity, _) in CHECKED {
        let name = &sight.book.quantity(quantity).name;
        let heads = [
            format!("{name}, predicted"),
            format!("{name}, measured"),
            "error".to_owned(),
        ];
        columns.extend(heads.map(table::neutral));
    }
    let checked = |record: &&&Record| {
        CHECKED
            .iter()
            .any(|each| error(sight, record, *each).is_some())
    };
    let row = |record: &&Record| -> Vec<TableCell> {
        let mut row = vec![table::text(&record.data), table::text(&record.design)];
        for (name, measured) in CHECKED {
            let quantity = sight.book.quantity(name);
            row.extend([
                quantity.cell(quantity.of(sight.run, record)),
                quantity.cell(record.number(measured)),
                table::number(error(sight, record, (name, measured)), number::signed),
            ]);
        }
        row
    };
    let rows: Vec<Vec<TableCell>> = records.iter().filter(checked).map(row).collect();
    let title = "Predicted and measured on this machine's own disk";
    (!rows.is_empty()).then(|| table::table("devices-check", title, columns, rows, 0))
}
