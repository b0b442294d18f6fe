//! Length of codes: what one costs and saves.

use super::truth;
use crate::record::Record;
use crate::report::case::Case;
use crate::report::figure::Sight;
use crate::report::{group, number};

const LENGTH: &str = "code_bytes";
/// Recall of the comparisons.
const TARGET: f64 = 0.95;
/// How much reads may differ and still be called level.
const LEVEL: f64 = 1.1;
/// From where on reads are called many more.
const BLOWN_UP: f64 = 1.5;

/// How far each data set is compressed, by length of codes.
pub(super) fn compression(_: Sight<'_>, records: &[&Record]) -> Vec<String> {
    let row = |record: &Record| Some(record.axis("raw_bytes")? / record.axis("rows")?);
    let words = |(data, records): (&str, Vec<&Record>)| {
        let row = records.iter().find_map(|record| row(record))?;
        let lengths = group::by_axis(&records, LENGTH).into_iter();
        let ratio = |length: f64| format!("{length} bytes {}", number::times(row / length));
        let ratios: Vec<String> = lengths.map(|(length, _)| ratio(length)).collect();
        (!ratios.is_empty()).then(|| {
            let row = number::thousands(row);
            format!(
                "Compression of the {row} bytes of a vector of {data}: {}.",
                ratios.join(", ")
            )
        })
    };
    group::by_data(records)
        .into_iter()
        .filter_map(words)
        .collect()
}

/// The value of a quantity at the recall, by rising length.
fn curve(sight: Sight<'_>, quantity: &str, records: &[&Record]) -> Vec<(f64, Option<f64>)> {
    let quantity = sight.book.quantity(quantity);
    let value = |records: &[&Record]| quantity.look_up(sight.run, records, TARGET);
    let lengths = group::by_axis(records, LENGTH).into_iter();
    lengths
        .map(|(length, records)| (length, value(&records).map(|found| found.value)))
        .collect()
}

/// Whether the best speed is that of a length between the shortest and the longest.
pub(super) fn best_length(sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
    let case = |(data, design, records): (&str, &str, Vec<&Record>)| {
        let curve = curve(sight, "qps", &records);
        let [(shortest, _), _, .., (longest, _)] = curve.as_slice() else {
            return None;
        };
        let speeds = curve
            .iter()
            .filter_map(|(length, speed)| Some((*length, (*speed)?)));
        let (length, speed) = speeds.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let words = format!(
            "{data}, {design}: fastest ({} a second) with {length} bytes, of {shortest} to {longest}",
            number::plain(speed)
        );
        Some((truth(length > *shortest && length < *longest), words))
    };
    group::by_data_and_design(records)
        .into_iter()
        .filter_map(case)
        .collect()
}

/// Whether the longest two lengths read alike, and the shortest reads many more, or never gets to
/// the recall.
pub(super) fn short_codes(sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
    let case = |(data, design, records): (&str, &str, Vec<&Record>)| {
        let curve = curve(sight, "pages", &records);
        let [
            (shortest, worst),
            ..,
            (middle, shorter),
            (longest, Some(least)),
        ] = curve.as_slice()
        else {
            return None;
        };
        let level = shorter.is_some_and(|pages| pages <= LEVEL * least);
        let blown_up = worst.is_none_or(|pages| pages >= BLOWN_UP * least);
        let pages =
            |pages: &Option<f64>| pages.map_or_else(|| "no such recall".to_owned(), number::plain);
        let words = format!(
            "{data}, {design}: {} pages with {longest} bytes, {} with {middle}, {} with {shortest}",
            number::plain(*least),
            pages(shorter),
            pages(worst)
        );
        Some((truth(level && blown_up), words))
    };
    group::by_data_and_design(records)
        .into_iter()
        .filter_map(case)
        .collect()
}
