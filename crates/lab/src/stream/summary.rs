//! Records of the steps of a life, and their sums.

use pageway::{VectorShape, Work};
use serde::Serialize;

use super::curve::Found;

/// A step that was lived through. Times are of this machine in whatever company it was.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepRecord {
    /// Its number in the runbook.
    pub step: usize,
    /// insert, delete, replace or search.
    pub operation: &'static str,
    /// Rows of the operation, or queries.
    pub rows: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// Rows that live afterwards.
    pub live: u64,
    /// Segments of the index afterwards.
    pub segments: usize,
    /// Dead rows in them.
    pub dead: u64,
    /// Bytes of log and segments that were written so far.
    pub bytes_written: u64,
    /// Bytes of the directory afterwards.
    pub disk_bytes: u64,
    /// What a search with the list size came to.
    #[serde(flatten)]
    pub found: Option<Found>,
    /// What a search for the recall that was asked for came to.
    pub wished: Option<Found>,
    /// The same as `found` of an index that was built of the same rows.
    pub fresh: Option<Fresh>,
}

/// How an index that was built of what lives compares.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Fresh {
    /// With the list size.
    pub found: Found,
    /// How much more recall it has where both read as many pages; absent where their pages have
    /// nothing in common.
    pub gap: Option<f64>,
}

/// Recall of the searches of a life.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RecallSummary {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// What it gains in a hundred searches, by the line of least squares.
    pub slope_per_100: f64,
}

/// Gaps of several comparisons.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct GapSummary {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub worst: f64,
}

/// A whole life.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// Searches.
    pub searches: usize,
    /// Recall of searches.
    pub recall: RecallSummary,
    /// Recall of searches for the recall that was asked for.
    pub wished: Option<RecallSummary>,
    /// Recall of fresh builds over ours where both read as many pages.
    pub fresh_gap: Option<GapSummary>,
    /// Pages of a query, mean over searches.
    pub pages: f64,
    /// Rows inserted, deleted and replaced.
    pub updates: u64,
    /// Of those in a second of updating, flushes and merges included.
    pub updates_per_second: f64,
    /// Bytes of the log and of segments that were written.
    pub bytes_written: u64,
    /// Of those for each byte of vectors that came in.
    pub bytes_written_per_byte: f64,
    /// Most bytes of the directory for each byte of the vectors that lived then, where many did.
    pub space: f64,
    /// Flushes and merges.
    pub flushes: u64,
    /// See `flushes`.
    pub merges: u64,
}

impl Summary {
    /// Sums the steps up.
    pub(super) fn of(records: &[StepRecord], shape: VectorShape, work: &Work) -> Self {
        let found: Vec<Found> = records.iter().filter_map(|one| one.found).collect();
        let wished: Vec<Found> = records.iter().filter_map(|one| one.wished).collect();
        let pages: Vec<f64> = found.iter().map(|one| one.pages).collect();
        let gaps: Vec<f64> = records.iter().filter_map(|one| one.fresh?.gap).collect();
        let changed = || records.iter().filter(|one| one.found.is_none());
        let updates: u64 = changed().map(|one| one.rows).sum();
        let seconds: f64 = changed().map(|one| one.seconds).sum();
        let came = changed().filter(|one| one.operation != "delete");
        let came: u64 = came.map(|one| one.rows).sum();
        let row_bytes = shape.row_bytes() as u64;
        let space = |one: &StepRecord| one.disk_bytes as f64 / (one.live * row_bytes) as f64;
        let most = records.iter().map(|one| one.live).max().unwrap_or(0);
        let is_steady = |one: &&StepRecord| one.found.is_some() && one.live * 2 >= most.max(1);
        let steady = records.iter().filter(is_steady);
        Self {
            searches: found.len(),
            recall: RecallSummary::of(&found),
            wished: (!wished.is_empty()).then(|| RecallSummary::of(&wished)),
            fresh_gap: (!gaps.is_empty()).then(|| GapSummary {
                mean: mean(&gaps),
                worst: gaps.iter().copied().fold(f64::MIN, f64::max),
            }),
            pages: mean(&pages),
            updates,
            updates_per_second: updates as f64 / seconds.max(1e-9),
            bytes_written: work.bytes_written,
            bytes_written_per_byte: work.bytes_written as f64 / (came * row_bytes).max(1) as f64,
            space: steady.map(space).fold(0.0, f64::max),
            flushes: work.flushes,
            merges: work.merges,
        }
    }
}

impl RecallSummary {
    fn of(found: &[Found]) -> Self {
        let recalls: Vec<f64> = found.iter().map(|one| one.recall).collect();
        Self {
            mean: mean(&recalls),
            min: recalls.iter().copied().fold(1.0, f64::min),
            slope_per_100: 100.0 * slope(&recalls),
            p5: percentile5(recalls),
        }
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The value that one in twenty lies below.
pub(super) fn percentile5(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 20).copied().unwrap_or(0.0)
}

/// The slope of the line of least squares through values at 0, 1, 2, ..
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let level = mean(values);
    let (mut above, mut below) = (0.0, 0.0);
    for (at, value) in (0u32..).zip(values) {
        let from = f64::from(at) - middle;
        above += from * (value - level);
        below += from * from;
    }
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_steps() {
        assert!((slope(&[0.9, 0.8, 0.7]) + 0.1).abs() < 1e-12);
        assert!(slope(&[0.5]).abs() < 1e-12);
        let values = (0..40).map(f64::from).collect();
        assert!((percentile5(values) - 2.0).abs() < 1e-12);
    }
}
