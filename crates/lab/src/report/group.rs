//! Records by what they have in common: data, design, a setting, a cell.
//!
//! Data come in the order of the journal. Designs come in the order of the presets, then by name,
//! so that every legend and table of a report has the same order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pageway::Preset;

use super::curve;
use super::quantity::Format;
use crate::record::{Record, Run, Task};

/// What an experiment measured with a task: records without those that failed or were refused.
pub(crate) fn measured<'r>(run: &'r Run, experiment: &str, task: Task) -> Vec<&'r Record> {
    run.records
        .iter()
        .filter(|record| record.task == task && record.is_of(experiment) && succeeded(record))
        .collect()
}

/// What an experiment asked for and did not get.
pub(crate) fn failed<'r>(run: &'r Run, experiment: &str) -> Vec<&'r Record> {
    let mut failed = all_failed(run);
    failed.retain(|record| record.is_of(experiment));
    failed
}

/// What any experiment asked for and did not get: the last try of each repetition, where none
/// succeeded. A run that is resumed tries again what failed.
pub(crate) fn all_failed(run: &Run) -> Vec<&Record> {
    let mut tries: BTreeMap<(&str, u32), &Record> = BTreeMap::new();
    for record in &run.records {
        let last = tries.entry((&record.cell, record.repeat)).or_insert(record);
        if !succeeded(last) {
            *last = record;
        }
    }
    let last = |record: &&Record| {
        let kept = tries.get(&(record.cell.as_str(), record.repeat));
        !succeeded(record) && kept.is_some_and(|kept| std::ptr::eq(*kept, *record))
    };
    run.records.iter().filter(last).collect()
}

/// Whether a record has numbers.
pub(crate) fn succeeded(record: &Record) -> bool {
    record.error.is_none() && !record.result.is_null()
}

/// Records by data set.
pub(crate) fn by_data<'r>(records: &[&'r Record]) -> Vec<(&'r str, Vec<&'r Record>)> {
    by(records, |record| Some(record.data.as_str()))
}

/// Records by design.
pub(crate) fn by_design<'r>(records: &[&'r Record]) -> Vec<(&'r str, Vec<&'r Record>)> {
    let mut groups = by(records, |record| Some(record.design.as_str()));
    groups.sort_by_key(|(design, _)| (rank(design), *design));
    groups
}

/// Names of the designs of records.
pub(crate) fn designs<'r>(records: &[&'r Record]) -> Vec<&'r str> {
    let groups = by_design(records).into_iter();
    groups.map(|(design, _)| design).collect()
}

/// Records by data set, then by design.
pub(crate) fn by_data_and_design<'r>(
    records: &[&'r Record],
) -> Vec<(&'r str, &'r str, Vec<&'r Record>)> {
    by_data(records)
        .into_iter()
        .flat_map(|(data, of_data)| {
            by_design(&of_data)
                .into_iter()
                .map(move |(design, of_design)| (data, design, of_design))
        })
        .collect()
}

/// Repetitions of each cell, in the order of the journal.
pub(crate) fn by_cell<'r>(records: &[&'r Record]) -> Vec<Vec<&'r Record>> {
    by(records, |record| Some(record.cell.as_str()))
        .into_iter()
        .map(|(_, repetitions)| repetitions)
        .collect()
}

/// Records by a number of their settings, rising; records without it are left out.
pub(crate) fn by_axis<'r>(records: &[&'r Record], axis: &str) -> Vec<(f64, Vec<&'r Record>)> {
    let mut groups = by(records, |record| record.axis(axis));
    groups.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    groups
}

/// Records whose setting is this number.
pub(crate) fn at_axis<'r>(records: &[&'r Record], axis: &str, value: f64) -> Vec<&'r Record> {
    records
        .iter()
        .copied()
        .filter(|record| record.axis(axis) == Some(value))
        .collect()
}

/// Records with the lowest number of a setting that there is; all when none has it.
pub(crate) fn lowest<'r>(records: &[&'r Record], axis: &str) -> Vec<&'r Record> {
    by_axis(records, axis)
        .into_iter()
        .next()
        .map_or_else(|| records.to_vec(), |(_, records)| records)
}

/// Records with the highest number of a setting that there is; all when none has it.
pub(crate) fn highest<'r>(records: &[&'r Record], axis: &str) -> Vec<&'r Record> {
    by_axis(records, axis)
        .pop()
        .map_or_else(|| records.to_vec(), |(_, records)| records)
}

/// Records of one design.
pub(crate) fn of_design<'r>(records: &[&'r Record], design: &str) -> Vec<&'r Record> {
    records
        .iter()
        .copied()
        .filter(|record| record.design == design)
        .collect()
}

/// The middle of a value of records; none when none has it.
pub(crate) fn median(records: &[&Record], value: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = records.iter().filter_map(|record| value(record)).collect();
    Some(curve::median(values)).filter(|median| median.is_finite())
}

/// A value of a setting, as people read it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Key {
    /// In words.
    pub(crate) text: String,
    /// The number that it is, if it is one.
    pub(crate) number: Option<f64>,
}

/// Records by a setting, by `data` or by `design`. Numbers rise, and what has none comes as it
/// appears.
pub(crate) fn by_key<'r>(
    records: &[&'r Record],
    axis: &str,
    format: Format,
) -> Vec<(Key, Vec<&'r Record>)> {
    let groups = match axis {
        "design" => {
            return by_design(records)
                .into_iter()
                .map(|(name, of)| (Key::name(name), of))
                .collect();
        }
        _ => by(records, |record| key_text(record, axis, format)),
    };
    let number = |records: &Vec<&Record>| records.first().and_then(|record| record.axis(axis));
    let mut groups: Vec<(Key, Vec<&Record>)> = groups
        .into_iter()
        .map(|(text, records)| {
            (
                Key {
                    text,
                    number: number(&records),
                },
                records,
            )
        })
        .collect();
    if groups.iter().all(|(key, _)| key.number.is_some()) {
        groups.sort_by(|(a, _), (b, _)| a.number.partial_cmp(&b.number).unwrap_or(Ordering::Equal));
    }
    groups
}

impl Key {
    /// Of something that is no number.
    pub(crate) fn name(name: impl Into<String>) -> Self {
        Self {
            text: name.into(),
            number: None,
        }
    }

    /// Of a number that people read as `text`.
    pub(crate) const fn number(text: String, number: f64) -> Self {
        Self {
            text,
            number: Some(number),
        }
    }
}

/// A setting of a record as people read it; its data and its design are settings too.
pub(crate) fn key_text(record: &Record, axis: &str, format: Format) -> Option<String> {
    match axis {
        "data" => Some(record.data.clone()),
        "design" => Some(record.design.clone()),
        _ => record
            .axis(axis)
            .map(|number| format.text(number))
            .or_else(|| record.axis_text(axis)),
    }
}

/// Records by design, to be curves.
pub(crate) fn named<'r>(records: &[&'r Record]) -> Vec<(String, Vec<&'r Record>)> {
    let groups = by_design(records).into_iter();
    groups
        .map(|(design, records)| (design.to_owned(), records))
        .collect()
}

/// Records by a key, in the order in which keys appear; records without one are left out.
pub(crate) fn by<'r, K: PartialEq>(
    records: &[&'r Record],
    key: impl Fn(&'r Record) -> Option<K>,
) -> Vec<(K, Vec<&'r Record>)> {
    let mut groups: Vec<(K, Vec<&Record>)> = Vec::new();
    for record in records {
        let Some(key) = key(record) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(record),
            None => groups.push((key, vec![record])),
        }
    }
    groups
}

/// Place of a design among all: presets first.
fn rank(design: &str) -> usize {
    Preset::ALL
        .iter()
        .position(|known| known.name() == design)
        .unwrap_or(Preset::ALL.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{refused, search};

    #[test]
    fn designs_stand_in_the_order_of_presets_and_others_behind() {
        let records: Vec<Record> = ["zebra", "pipeann", "apple", "diskann"]
            .iter()
            .map(|design| search("recall", "a", design, 10, 0.9))
            .collect();
        let records: Vec<&Record> = records.iter().collect();
        let names: Vec<&str> = by_design(&records).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["diskann", "pipeann", "apple", "zebra"]);
    }

    #[test]
    fn axes_rise_and_cells_hold_their_repetitions() {
        let mut records = [
            search("recall", "a", "diskann", 40, 0.95),
            search("recall", "a", "diskann", 10, 0.9),
            search("recall", "a", "diskann", 40, 0.95),
        ];
        records[2].repeat = 1;
        let records: Vec<&Record> = records.iter().collect();
        let axes: Vec<f64> = by_axis(&records, "list_size")
            .iter()
            .map(|(value, _)| *value)
            .collect();
        assert_eq!(axes, [10.0, 40.0]);
        let sizes: Vec<usize> = by_cell(&records).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1]);
        assert_eq!(at_axis(&records, "list_size", 40.0).len(), 2);
        assert_eq!(by_data_and_design(&records).len(), 1);
    }

    #[test]
    fn what_succeeded_later_did_not_fail() {
        let refusal = || refused("recall", "a", "diskann", "killed");
        let mut done = search("recall", "a", "diskann", 10, 0.9);
        done.cell = refusal().cell;
        let tried = |records: Vec<Record>| {
            let run = Run {
                records,
                ..Run::default()
            };
            all_failed(&run).len()
        };
        assert_eq!(tried(vec![refusal(), done.clone()]), 0);
        assert_eq!(tried(vec![done, refusal()]), 0);
        assert_eq!(tried(vec![refusal(), refusal()]), 1);
        let mut again = refusal();
        again.repeat = 1;
        assert_eq!(tried(vec![refusal(), again]), 2);
    }

    #[test]
    fn what_was_refused_has_no_numbers() {
        let run = Run {
            records: vec![
                search("memory", "a", "diskann", 10, 0.9),
                refused("memory", "a", "gorgeous", "needs 3 MB"),
            ],
            ..Run::default()
        };
        assert_eq!(measured(&run, "memory", Task::Search).len(), 1);
        assert_eq!(measured(&run, "recall", Task::Search).len(), 0);
        assert_eq!(failed(&run, "memory")[0].design, "gorgeous");
    }
}
