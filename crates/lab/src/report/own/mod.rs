//! What is an experiment's own: arithmetic that the table of experiments calls by name.
//!
//! A name that nobody has gives nothing.

mod codes;
mod comparators;
mod crossing;
mod devices;
mod growth;
mod hops;
mod ours;
mod pages;
mod parts;
mod range;

pub(super) use ours::OURS;

use super::case::Case;
use super::document::{Figure, Table};
use super::figure::{FigureRow, Sight};
use crate::record::Record;

/// Records as an experiment looks at them, where that is not as they are.
pub(super) fn prepared(sight: Sight<'_>, name: &str, records: &[&Record]) -> Option<Vec<Record>> {
    match name {
        "range" => Some(range::precision_as_recall(records)),
        "devices" => Some(devices::placed(records)),
        "comparators" => Some(comparators::with_our_searches(sight.run, records)),
        _ => None,
    }
}

/// Sentences that follow from the records.
pub(super) fn words(sight: Sight<'_>, name: &str, records: &[&Record]) -> Vec<String> {
    match name {
        "compression" => codes::compression(sight, records),
        "devices" => devices::words(sight, records),
        "comparators" => comparators::absent(sight.run),
        _ => Vec::new(),
    }
}

/// Figures of a name.
pub(super) fn figures(sight: Sight<'_>, row: &FigureRow, records: &[&Record]) -> Vec<Figure> {
    match row.named.as_deref() {
        Some("ours") => ours::figures(sight, records),
        Some("stages") => parts::stages(sight, row, records),
        Some("time") => parts::time(sight, row, records),
        Some("cache hops") => hops::figures(sight, row, records),
        Some("carried on") => growth::carried_on(sight, row, records),
        _ => Vec::new(),
    }
}

/// Tables of a name.
pub(super) fn tables(sight: Sight<'_>, name: &str, records: &[&Record]) -> Vec<Table> {
    match name {
        "ours" => ours::tables(sight, records),
        "crossing" => vec![crossing::table(sight, records)],
        "laws" => vec![growth::laws(sight, records)],
        "check" => devices::check(sight, records).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Cases of a claim of a name, and what it is about.
pub(super) fn cases(sight: Sight<'_>, (name, of): (&str, &str), records: &[&Record]) -> Vec<Case> {
    match name {
        "ours" => ours::cases(sight, of, records),
        "crossing" => crossing::cases(sight, records),
        "highest utilisation" => pages::highest_utilisation(sight, records),
        "refused with small pages" => pages::refused_when_small(sight, records),
        "best length" => codes::best_length(sight, records),
        "short codes" => codes::short_codes(sight, records),
        _ => Vec::new(),
    }
}

/// 1 for what holds and 0 for what does not: the bound of a claim that is yes or no is `from = 1`.
fn truth(holds: bool) -> Vec<f64> {
    vec![f64::from(u8::from(holds))]
}
