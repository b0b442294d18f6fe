//! What a calibration measured, and how to read a list size off it.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The ranks k at which recall is measured.
pub const RANKS: [u32; 3] = [1, 10, 100];

/// Misses of real queries per miss of held-out rows, at worst of the sets measured: queries lie
/// farther from the data than rows do. `docs/decisions/0007-held-out-queries.md`.
const MISSES_PER_HELD_OUT_MISS: f32 = 1.75;

/// Recall and cost of an index by list size.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Calibration {
    /// Queries measured with.
    pub queries: u32,
    /// Whether those were rows of the data, held out, and not queries of the user.
    pub held_out: bool,
    /// Reads per round (W) measured with.
    pub beam: u32,
    /// By ascending list size.
    pub rows: Vec<CalibrationRow>,
}

/// Means over the queries at one list size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CalibrationRow {
    /// Candidate list size (L).
    pub list_size: u32,
    /// Mean recall@1, @10, @100.
    pub recall: [f32; 3],
    /// Standard error of each mean.
    pub standard_error: [f32; 3],
    /// Pages read per query, with the cache of nodes or hot pages of the calibrated memory budget.
    /// A page cache that learns is left out.
    pub pages: f32,
    /// Dependent rounds of reads per query.
    pub rounds: f32,
}

impl Calibration {
    /// The smallest list size that reaches `recall`@`k`, at least `k`.
    ///
    /// Between two measured sizes recall is interpolated; for a k between the measured ranks the
    /// next higher rank decides; above 100 the size grows in proportion to k.
    ///
    /// # Errors
    /// `Unsupported` when no measured size reaches the target, with the best that was measured.
    pub fn list_size_for(&self, k: u32, recall: f32) -> Result<u32> {
        if !(0.0..=1.0).contains(&recall) {
            return Err(Error::invalid(format!(
                "recall = {recall}: give a value from 0 to 1"
            )));
        }
        let column = RANKS
            .iter()
            .position(|rank| *rank >= k)
            .unwrap_or(RANKS.len() - 1);
        let size = self
            .read_off(column, recall)
            .ok_or_else(|| self.unreachable(k, recall))?;
        let scale = (k as f32 / RANKS.last().copied().unwrap_or(1) as f32).max(1.0);
        Ok(((size * scale).ceil() as u32).max(k))
    }

    /// The rank that stands for `k`: the next that was measured; none above all.
    pub fn rank_of(k: u32) -> Option<u32> {
        RANKS.into_iter().find(|rank| *rank >= k)
    }

    /// Recall expected of a list size at rank `k`, interpolated; at [`Calibration::rank_of`] it.
    /// What list sizes are chosen by, which has a margin below the mean that was measured.
    pub fn expected_recall(&self, k: u32, list_size: u32) -> Option<f32> {
        let column = RANKS.iter().position(|rank| *rank >= k)?;
        let size = list_size as f32;
        let value = |row: &CalibrationRow| Some(self.promised(row, column).max(0.0));
        let above = self.rows.iter().position(|row| row.list_size >= list_size);
        let (Some(above), Some(last)) = (above, self.rows.last()) else {
            return self.rows.last().and_then(value);
        };
        let right = self.rows.get(above).unwrap_or(last);
        let left = self.rows.get(above.saturating_sub(1)).unwrap_or(right);
        let (low, high) = (left.list_size as f32, right.list_size as f32);
        let share = if high > low {
            ((size - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        Some(value(left)? * (1.0 - share) + value(right)? * share)
    }

    /// Recall that the target is compared with. One standard error below the mean, so that a lucky
    /// sample of queries promises nothing; and where rows stood in for queries, with more misses
    /// than they had.
    fn promised(&self, row: &CalibrationRow, column: usize) -> f32 {
        let mean = row.recall.get(column).copied().unwrap_or(0.0);
        let error = row.standard_error.get(column).copied().unwrap_or(0.0);
        let factor = if self.held_out {
            MISSES_PER_HELD_OUT_MISS
        } else {
            1.0
        };
        1.0 - factor * (1.0 - mean + error)
    }

    fn read_off(&self, column: usize, recall: f32) -> Option<f32> {
        let reached = self
            .rows
            .iter()
            .position(|row| self.promised(row, column) >= recall);
        let Some(at) = reached else {
            // The margin may ask for more than a finite sample can show: the mean alone decides at
            // the end.
            let reaches = |row: &&CalibrationRow| row.recall.get(column) >= Some(&recall);
            return self
                .rows
                .iter()
                .find(reaches)
                .map(|row| row.list_size as f32);
        };
        let row = self.rows.get(at)?;
        let Some(before) = at.checked_sub(1).and_then(|below| self.rows.get(below)) else {
            return Some(row.list_size as f32);
        };
        let (low, high) = (self.promised(before, column), self.promised(row, column));
        let share = if high > low {
            ((recall - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        let (from, to) = (before.list_size as f32, row.list_size as f32);
        Some(from + (to - from) * share)
    }

    fn unreachable(&self, k: u32, recall: f32) -> Error {
        let column = RANKS
            .iter()
            .position(|rank| *rank >= k)
            .unwrap_or(RANKS.len() - 1);
        let best = self.rows.last().map_or_else(
            || "this index was not calibrated".to_owned(),
            |row| {
                let reached = row.recall.get(column).copied().unwrap_or(0.0);
                format!(
                    "its best calibrated recall is {reached:.4} at list size {}",
                    row.list_size
                )
            },
        );
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "this index cannot promise recall@{k} {recall}: {best}; ask for less, give a list \
                 size (effort) yourself, or rebuild with more memory (longer codes) or degree"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder() -> Calibration {
        let row = |list_size, recall: f32| CalibrationRow {
            list_size,
            recall: [recall, recall - 0.02, recall - 0.1],
            standard_error: [0.0; 3],
            pages: list_size as f32,
            rounds: 1.0,
        };
        let rows = vec![row(10, 0.80), row(20, 0.90), row(40, 0.98)];
        Calibration {
            queries: 100,
            held_out: false,
            beam: 4,
            rows,
        }
    }

    #[test]
    fn reads_off_the_smallest_sufficient_size() {
        let ladder = ladder();
        assert_eq!(ladder.list_size_for(1, 0.5).unwrap(), 10);
        assert_eq!(ladder.list_size_for(1, 0.9).unwrap(), 20);
        assert_eq!(ladder.list_size_for(1, 0.94).unwrap(), 30);
        assert_eq!(ladder.list_size_for(10, 0.96).unwrap(), 40);
        assert!(ladder.list_size_for(7, 0.90).unwrap() > ladder.list_size_for(1, 0.90).unwrap());
        assert_eq!(
            ladder.list_size_for(100, 0.5).unwrap(),
            100,
            "never below k"
        );
    }

    #[test]
    fn says_so_when_the_target_is_out_of_reach() {
        let error = ladder().list_size_for(10, 0.99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.context().contains("0.9600 at list size 40"),
            "{error}"
        );
        assert!(ladder().list_size_for(10, 1.5).is_err());
        assert!(Calibration::default().list_size_for(10, 0.5).is_err());
    }

    #[test]
    fn a_margin_of_one_standard_error_is_kept_where_it_can_be() {
        let mut ladder = ladder();
        for row in &mut ladder.rows {
            row.standard_error = [0.05; 3];
        }
        assert!(ladder.list_size_for(1, 0.90).unwrap() > 20);
        assert_eq!(ladder.list_size_for(1, 0.97).unwrap(), 40);
    }

    #[test]
    fn rows_in_place_of_queries_promise_less() {
        let rows = Calibration {
            held_out: true,
            ..ladder()
        };
        assert!(rows.list_size_for(1, 0.9).unwrap() > ladder().list_size_for(1, 0.9).unwrap());
        assert_eq!(rows.list_size_for(1, 0.965).unwrap(), 40);
        assert_eq!(
            rows.list_size_for(1, 0.979).unwrap(),
            40,
            "the mean decides at the end"
        );
        assert!(rows.list_size_for(1, 0.985).is_err());
    }

    #[test]
    fn expectation_interpolates_and_ends_flat() {
        let ladder = ladder();
        assert!((ladder.expected_recall(1, 30).unwrap() - 0.94).abs() < 1e-6);
        assert!((ladder.expected_recall(1, 5).unwrap() - 0.80).abs() < 1e-6);
        assert!((ladder.expected_recall(1, 400).unwrap() - 0.98).abs() < 1e-6);
        assert_eq!(ladder.expected_recall(101, 30), None);
    }

    #[test]
    fn what_is_expected_of_the_size_that_was_chosen_is_what_was_asked_for() {
        for held_out in [false, true] {
            let mut ladder = Calibration {
                held_out,
                ..ladder()
            };
            for row in &mut ladder.rows {
                row.standard_error = [0.01; 3];
            }
            let size = ladder.list_size_for(1, 0.93).unwrap();
            let expected = ladder.expected_recall(1, size).unwrap();
            let steps = ladder.expected_recall(1, size - 1).unwrap();
            assert!(expected >= 0.93 && steps < 0.93, "{steps} {expected}");
        }
    }
}
