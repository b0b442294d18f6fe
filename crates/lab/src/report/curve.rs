//! Curves over recall, and their value at a target: how designs are compared at equal recall.
//!
//! Only what no other reading beats is on a curve (as good a recall at less cost), so that a value
//! at a target means "with the best list size". Between two readings values are interpolated
//! linearly over the logarithm of the misses, along which costs of graph search are nearly
//! straight; beyond the readings there is no value.

use crate::record::Record;

/// One reading: a recall, and what it cost or gave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reading {
    /// Recall, 0 to 1.
    pub(crate) recall: f64,
    /// The value at it.
    pub(crate) value: f64,
}

/// Fewest misses that are told apart: a recall of 1 has no logarithm.
const LEAST_MISSES: f64 = 1e-4;

/// The readings of `records`, by rising recall: the value at `path` of each (see
/// [`Record::number`]). Records of one cell (its repetitions) give one reading, with the median
/// value.
pub(crate) fn readings(records: &[&Record], path: &str) -> Vec<Reading> {
    let mut cells: Vec<(&str, f64, Vec<f64>)> = Vec::new();
    for record in records {
        let (Some(recall), Some(value)) = (record.number("recall"), record.number(path)) else {
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
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied();
    let lower = values.get(values.len().saturating_sub(1) / 2).copied();
    upper
        .zip(lower)
        .map_or(f64::NAN, |(upper, lower)| f64::midpoint(upper, lower))
}

/// The least cost at `recall`, where `readings` are costs (pages, latency).
pub(crate) fn least_at(readings: &[Reading], recall: f64) -> Option<f64> {
    at(&front(readings, |new, old| new < old), recall)
}

/// The most of a good thing at `recall`, where `readings` are speeds.
pub(crate) fn most_at(readings: &[Reading], recall: f64) -> Option<f64> {
    at(&front(readings, |new, old| new > old), recall)
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

fn at(curve: &[Reading], recall: f64) -> Option<f64> {
    let above = curve.iter().position(|reading| reading.recall >= recall)?;
    let right = curve.get(above)?;
    let Some(left) = above.checked_sub(1).and_then(|below| curve.get(below)) else {
        // Every reading reaches the target; the smallest of them is what it costs at most, which
        // says something only when it is near.
        return (right.recall - recall < 0.01).then_some(right.value);
    };
    let misses = |recall: f64| (1.0 - recall).max(LEAST_MISSES).ln();
    let (from, to) = (misses(left.recall), misses(right.recall));
    let share = if from == to {
        1.0
    } else {
        (from - misses(recall)) / (from - to)
    };
    Some(left.value + (right.value - left.value) * share)
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
        let middle = least_at(&curve, 1.0 - 0.1 / 10.0_f64.sqrt()).unwrap();
        assert!((middle - 30.0).abs() < 1e-9, "{middle}");
        assert_eq!(least_at(&curve, 0.99), Some(40.0));
        assert_eq!(least_at(&curve, 0.995), None);
        assert_eq!(least_at(&curve, 0.85), None);
        assert_eq!(least_at(&curve, 0.895), Some(20.0));
    }

    #[test]
    fn what_is_beaten_does_not_count() {
        let costs = [
            reading(0.90, 20.0),
            reading(0.94, 50.0),
            reading(0.96, 30.0),
        ];
        let cost = least_at(&costs, 0.94).unwrap();
        assert!(cost > 20.0 && cost < 30.0, "{cost}");
        let speeds = [
            reading(0.90, 900.0),
            reading(0.94, 200.0),
            reading(0.96, 700.0),
        ];
        let speed = most_at(&speeds, 0.94).unwrap();
        assert!(speed > 700.0 && speed < 900.0, "{speed}");
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }
}
