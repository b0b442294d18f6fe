//! Curves over recall, and their value at a target: how designs are compared at equal recall.
//!
//! Only what no other reading beats is on a curve (as good a recall at less cost), so that a value
//! at a target means "with the best list size". Between two readings values are interpolated
//! linearly over the logarithm of the misses, along which costs of graph search are nearly
//! straight. A recall that no reading reaches has no value. One that every reading exceeds has that
//! of the first reading, which is then a bound: the design gives at least this recall at this cost.

use crate::record::Record;

/// One reading: a recall, and what it cost or gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Reading {
    /// Recall, 0 to 1.
    pub(super) recall: f64,
    /// The value at it.
    pub(super) value: f64,
}

/// A value at a recall.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct AtRecall {
    /// The value.
    pub(super) value: f64,
    /// True when every reading exceeds the recall: less recall may give a better value.
    pub(super) bound: bool,
}

/// Fewest misses that are told apart: a recall of 1 has no logarithm.
const LEAST_MISSES: f64 = 1e-4;

/// The readings of `records`, by rising recall. Records of one cell (its repetitions) give one
/// reading, with the median value.
pub(super) fn readings(
    records: &[&Record],
    value: impl Fn(&Record) -> Option<f64>,
) -> Vec<Reading> {
    let mut cells: Vec<(&str, f64, Vec<f64>)> = Vec::new();
    for record in records {
        let (Some(recall), Some(value)) = (record.number("recall"), value(record)) else {
            continue;
        };
        match cells.iter_mut().find(|(cell, ..)| *cell == record.cell) {
            Some((_, _, values)) => values.push(value),
            None => cells.push((&record.cell, recall, vec![value])),
        }
    }
    let mut readings: Vec<Reading> = cells
        .into_iter()
        .map(|(_, recall, values)| Reading {
            recall,
            value: median(values),
        })
        .collect();
    readings.sort_by(|a, b| a.recall.total_cmp(&b.recall));
    readings
}

/// The middle value; of an even number the mean of the two in the middle. NaN of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied();
    let lower = values.get(values.len().saturating_sub(1) / 2).copied();
    upper
        .zip(lower)
        .map_or(f64::NAN, |(upper, lower)| f64::midpoint(upper, lower))
}

/// The least cost at `recall`, where `readings` are costs (pages, latency).
pub(super) fn least_at(readings: &[Reading], recall: f64) -> Option<AtRecall> {
    along(&front(readings, |new, old| new < old), recall)
}

/// The most of a good thing at `recall`, where `readings` are speeds.
pub(super) fn most_at(readings: &[Reading], recall: f64) -> Option<AtRecall> {
    along(&front(readings, |new, old| new > old), recall)
}

/// Drops every reading that one of at least its recall beats.
fn front(readings: &[Reading], better: fn(f64, f64) -> bool) -> Vec<Reading> {
    let mut kept: Vec<Reading> = Vec::new();
    for reading in readings.iter().rev() {
        if kept
            .last()
            .is_none_or(|last| better(reading.value, last.value))
        {
            kept.push(*reading);
        }
    }
    kept.reverse();
    kept
}

/// The value at `recall` along all of `readings`, which rise in recall. When every reading exceeds
/// it, that of the first, as a bound; none when no reading reaches it.
pub(super) fn along(readings: &[Reading], recall: f64) -> Option<AtRecall> {
    let above = readings
        .iter()
        .position(|reading| reading.recall >= recall)?;
    let right = readings.get(above)?;
    let Some(left) = above.checked_sub(1).and_then(|below| readings.get(below)) else {
        return Some(AtRecall {
            value: right.value,
            bound: right.recall > recall,
        });
    };
    let misses = |recall: f64| (1.0 - recall).max(LEAST_MISSES).ln();
    let (from, to) = (misses(left.recall), misses(right.recall));
    let share = if from == to {
        1.0
    } else {
        (from - misses(recall)) / (from - to)
    };
    Some(AtRecall {
        value: left.value + (right.value - left.value) * share,
        bound: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(recall: f64, value: f64) -> Reading {
        Reading { recall, value }
    }

    #[test]
    fn a_value_between_two_readings_lies_between_theirs() {
        let curve = [reading(0.90, 20.0), reading(0.99, 40.0)];
        let value = |recall: f64| least_at(&curve, recall).map(|at| (at.value, at.bound));
        let (middle, _) = value(1.0 - 0.1 / 10.0_f64.sqrt()).unwrap();
        assert!((middle - 30.0).abs() < 1e-9, "{middle}");
        assert_eq!(value(0.99), Some((40.0, false)));
        assert_eq!(value(0.995), None);
        assert_eq!(value(0.85), Some((20.0, true)));
        assert_eq!(value(0.90), Some((20.0, false)));
    }

    #[test]
    fn what_is_beaten_does_not_count() {
        let costs = [
            reading(0.90, 20.0),
            reading(0.94, 50.0),
            reading(0.96, 30.0),
        ];
        let cost = least_at(&costs, 0.94).unwrap().value;
        assert!(cost > 20.0 && cost < 30.0, "{cost}");
        let speeds = [
            reading(0.90, 900.0),
            reading(0.94, 200.0),
            reading(0.96, 700.0),
        ];
        let speed = most_at(&speeds, 0.94).unwrap().value;
        assert!(speed > 700.0 && speed < 900.0, "{speed}");
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }
}
