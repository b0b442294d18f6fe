//! How an experiment was measured, in words that follow from its records.

use std::collections::BTreeSet;

use super::{group, number};
use crate::record::Record;

/// Settings that are part of the data or told with it.
const OF_DATA: [&str; 5] = ["rows", "dimensions", "raw_bytes", "queries", "metric"];
/// Settings that say the same as another, and that other.
const TWICE: [(&str, &str); 2] = [
    ("memory_ratio", "memory"),
    ("built_for_ratio", "memory_ratio"),
];
/// Most values of a setting that are named.
const NAMED_VALUES: usize = 16;

/// Sentences about the data, the designs, what varies, what is fixed, and repetitions.
pub(crate) fn settings(records: &[&Record]) -> Vec<String> {
    let mut sentences = vec![
        format!("Data: {}.", data(records).join("; ")),
        format!("Designs: {}.", group::designs(records).join(", ")),
    ];
    let names: BTreeSet<&str> = records
        .iter()
        .flat_map(|record| record.axes.keys().map(String::as_str))
        .filter(|name| !OF_DATA.contains(name) && !is_told_twice(records, name))
        .collect();
    let (mut varied, mut fixed) = (Vec::new(), Vec::new());
    for name in names {
        let values = values(records, name);
        let words = format!("{} {}", name.replace('_', " "), values.join(", "));
        match values.len() {
            1 => fixed.push(words),
            _ => varied.push(words),
        }
    }
    if !varied.is_empty() {
        sentences.push(format!("Varied: {}.", varied.join("; ")));
    }
    if !fixed.is_empty() {
        sentences.push(format!("Fixed: {}.", fixed.join("; ")));
    }
    sentences.push(repetitions(records));
    sentences
}

/// Each data set with its shape.
pub(crate) fn data(records: &[&Record]) -> Vec<String> {
    group::by_data(records)
        .into_iter()
        .map(|(name, records)| {
            let most = |axis: &str| {
                let values = records.iter().filter_map(|record| record.axis(axis));
                values.max_by(f64::total_cmp)
            };
            let mut parts = Vec::new();
            if let (Some(rows), Some(dimensions)) = (most("rows"), most("dimensions")) {
                parts.push(format!("{} x {dimensions}", number::thousands(rows)));
            }
            parts.extend(records.iter().find_map(|record| record.axis_text("metric")));
            let queries = most("queries").map(number::thousands);
            parts.extend(queries.map(|queries| format!("{queries} queries")));
            if parts.is_empty() {
                name.to_owned()
            } else {
                format!("{name} ({})", parts.join(", "))
            }
        })
        .collect()
}

/// Whether a setting says nothing that another does not. The share that an index was built for does
/// when it is searched with another.
fn is_told_twice(records: &[&Record], name: &str) -> bool {
    let twin = TWICE.iter().find(|(twice, _)| *twice == name);
    twin.is_some_and(|(_, other)| {
        records.iter().all(|record| {
            let (own, told) = (record.axis(name), record.axis(other));
            own.is_none() || told.is_none() || own == told
        })
    })
}

/// Dimensions of the vectors.
pub(crate) fn dimensions(records: &[&Record]) -> Option<f64> {
    records.iter().find_map(|record| record.axis("dimensions"))
}

/// Values of a setting, rising.
fn values(records: &[&Record], name: &str) -> Vec<String> {
    let mut values: Vec<(f64, String)> = Vec::new();
    for record in records {
        let Some(text) = record.axis_text(name) else {
            continue;
        };
        if values.iter().all(|(_, known)| *known != text) {
            let leading = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
            values.push((leading.parse().unwrap_or(f64::INFINITY), text));
        }
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let more = values.len().saturating_sub(NAMED_VALUES);
    let mut texts: Vec<String> = values
        .into_iter()
        .map(|(_, text)| text)
        .take(NAMED_VALUES)
        .collect();
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    texts
}

fn repetitions(records: &[&Record]) -> String {
    let most = group::by_cell(records).iter().map(Vec::len).max();
    match most.unwrap_or(0) {
        0 | 1 => "Each cell was measured once.".to_owned(),
        most => format!("Cells were measured up to {most} times, in turn; the values are medians."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::search;

    #[test]
    fn what_varies_and_what_is_fixed() {
        let records = [
            search("recall", "a", "starling", 100, 0.97),
            search("recall", "a", "diskann", 20, 0.92),
        ];
        let records: Vec<&Record> = records.iter().collect();
        let words = settings(&records).join(" ");
        assert!(words.contains("Data: a (10,000 x 128)."), "{words}");
        assert!(words.contains("Designs: diskann, starling."), "{words}");
        assert!(words.contains("Varied: list size 20, 100."), "{words}");
        assert!(words.contains("interleave 1"), "{words}");
        assert!(words.contains("measured once"), "{words}");
    }

    #[test]
    fn repetitions_are_told() {
        let records = [search("recall", "a", "diskann", 20, 0.92), {
            let mut again = search("recall", "a", "diskann", 20, 0.92);
            again.repeat = 1;
            again
        }];
        let records: Vec<&Record> = records.iter().collect();
        assert!(settings(&records).join(" ").contains("up to 2 times"));
    }
}
