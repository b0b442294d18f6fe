//! Recall by list size, for one number of neighbours.

use serde::{Deserialize, Serialize};

use super::dimension::DimensionFit;
use super::likeness::Likeness;

/// Standard errors below the mean that a target is compared with: a lucky sample promises less.
const MARGIN: f32 = 1.5;

/// Recall@k and cost of an index by list size.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CalibrationCurve {
    /// Neighbours that were searched for.
    pub k: u32,
    /// By ascending list size; recall does not fall.
    pub rows: Vec<CalibrationRow>,
    /// How misses go with the local dimension of a query, where that was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<DimensionFit>,
    /// The same by what the least list finds, for queries whose lists are shorter than that of
    /// `dimension`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<DimensionFit>,
    /// How far the queries lay from their neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
}

/// Means over some queries at one list size.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CalibrationRow {
    /// Candidate list size (L): candidates that are expanded. May be less than k.
    pub list_size: u32,
    /// Queries that were searched for.
    pub queries: u32,
    /// Mean recall@k of exact answers, made not to fall with the list size.
    pub recall: f32,
    /// By how much it is less where what bounds are sure of is answered by its code, unread, with
    /// whatever else its page holds.
    #[serde(default)]
    pub lost_by_codes: f32,
    /// Standard error of the mean.
    pub standard_error: f32,
    /// Recall@k that one query in twenty does not reach.
    pub recall_p5: f32,
    /// Pages read per query, with the cache of nodes or hot pages of the calibrated memory budget.
    /// A page cache that learns is left out. For k up to 10 with exact distances, above with any
    /// tolerance, unless pages of vectors are harvested.
    pub pages: f32,
    /// Dependent rounds of reads per query.
    pub rounds: f32,
}

impl CalibrationRow {
    /// Recall that a target is compared with.
    fn promised(&self) -> f32 {
        (self.recall - MARGIN * self.standard_error).max(0.0)
    }
}

impl CalibrationCurve {
    /// What was measured for `k`.
    pub(crate) const fn of(k: u32, rows: Vec<CalibrationRow>) -> Self {
        Self {
            k,
            rows,
            dimension: None,
            early: None,
            likeness: None,
        }
    }

    /// The best mean recall that was measured.
    pub fn best(&self) -> f32 {
        self.rows.last().map_or(0.0, |point| point.recall)
    }

    /// Says what no measurement can have been.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.k == 0 || self.rows.is_empty() {
            return Err("a curve of a calibration without neighbours or rows");
        }
        let is_measured = |point: &CalibrationRow| {
            let costs = [point.standard_error, point.pages, point.rounds];
            let shares = [point.recall, point.recall_p5, point.lost_by_codes];
            point.list_size > 0
                && point.queries > 0
                && shares.iter().all(|share| (0.0..=1.0).contains(share))
                && costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0)
        };
        if !self.rows.iter().all(is_measured) {
            return Err("a point of a calibration that cannot be");
        }
        let rises = |one: &CalibrationRow, next: &CalibrationRow| {
            one.list_size < next.list_size && one.recall <= next.recall
        };
        if !self.rows.is_sorted_by(rises) {
            return Err("rows of a calibration where lists or recall do not grow");
        }
        let mut fits = self.dimension.iter().chain(&self.early);
        fits.try_for_each(DimensionFit::check)?;
        self.likeness.iter().try_for_each(Likeness::check)
    }

    /// What the least list promises.
    pub(super) fn least(&self) -> f32 {
        self.rows.first().map_or(0.0, CalibrationRow::promised)
    }

    /// The list size that is expected to reach `recall`; none where no measured one does.
    pub(super) fn size_at(&self, recall: f32) -> Option<f32> {
        let mut before: Option<(f32, f32)> = None;
        for point in &self.rows {
            let (size, promised) = (point.list_size as f32, point.promised());
            if promised >= recall {
                return Some(before.map_or(size, |low| between(low, (size, promised), recall)));
            }
            // Points are measured with samples of their own: of two the better counts.
            before = Some(before.map_or((size, promised), |low| (size, promised.max(low.1))));
        }
        // The margin may ask for more than a finite sample can show: the mean alone decides at the
        // end.
        let last = self.rows.last().filter(|last| last.recall >= recall)?;
        Some(last.list_size as f32)
    }

    /// What answers by codes find.
    pub(super) fn by_codes(&self) -> Self {
        let mut own = self.clone();
        for row in &mut own.rows {
            row.recall = (row.recall - row.lost_by_codes).max(0.0);
            row.lost_by_codes = 0.0;
        }
        own.make_monotone();
        own
    }

    /// Makes recall rise with the list size: neighbours that do not are replaced by their mean over
    /// the queries of both.
    pub(crate) fn make_monotone(&mut self) {
        // Means, their weights, and over how many rows each is.
        let mut runs: Vec<(f64, f64, usize)> = Vec::with_capacity(self.rows.len());
        for point in &self.rows {
            let mut own = (f64::from(point.recall), f64::from(point.queries.max(1)), 1);
            while let Some((mean, weight, count)) = runs.pop_if(|(mean, ..)| *mean > own.0) {
                let sum = weight + own.1;
                own = ((mean * weight + own.0 * own.1) / sum, sum, count + own.2);
            }
            runs.push(own);
        }
        let means = runs
            .iter()
            .flat_map(|(mean, _, count)| std::iter::repeat_n(*mean as f32, *count));
        for (point, mean) in self.rows.iter_mut().zip(means) {
            point.recall = mean;
        }
    }
}

/// The size on the way from one size and recall to another, along a line. Misses fall ever more
/// slowly as lists grow, so recall lies above it.
fn between((size, low): (f32, f32), (next, high): (f32, f32), recall: f32) -> f32 {
    let share = if high > low {
        ((recall - low) / (high - low)).clamp(0.0, 1.0)
    } else {
        1.0
    };
    size + share * (next - size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(rows: &[(u32, f32, f32)]) -> CalibrationCurve {
        let point = |&(list_size, recall, standard_error): &(u32, f32, f32)| CalibrationRow {
            list_size,
            queries: 100,
            recall,
            standard_error,
            ..CalibrationRow::default()
        };
        CalibrationCurve::of(10, rows.iter().map(point).collect())
    }

    #[test]
    fn recall_rises_along_lines_over_the_list_size() {
        let curve = curve(&[(10, 0.84, 0.0), (40, 0.99, 0.0)]);
        assert_eq!(curve.size_at(0.5), Some(10.0));
        assert_eq!(curve.size_at(0.84), Some(10.0));
        let middle = curve.size_at(0.94).unwrap();
        assert!((middle - 30.0).abs() < 0.01, "{middle}");
        assert!((curve.size_at(0.99).unwrap() - 40.0).abs() < 1e-3);
        assert_eq!(curve.size_at(0.991), None);
    }

    #[test]
    fn a_margin_is_kept_where_it_can_be() {
        let wide = curve(&[(10, 0.8, 0.02), (20, 0.9, 0.02), (40, 0.98, 0.02)]);
        let sharp = curve(&[(10, 0.8, 0.0), (20, 0.9, 0.0), (40, 0.98, 0.0)]);
        assert!(wide.size_at(0.9) > sharp.size_at(0.9));
        assert_eq!(
            wide.size_at(0.98),
            Some(40.0),
            "the mean decides at the end"
        );
        assert_eq!(wide.size_at(0.981), None);
    }

    #[test]
    fn lists_are_longer_where_codes_lose_some() {
        let mut curve = curve(&[(10, 0.80, 0.0), (20, 0.90, 0.0), (40, 0.98, 0.0)]);
        assert_eq!(curve.by_codes(), curve, "nothing is lost");
        for (row, lost) in curve.rows.iter_mut().zip([0.05, 0.10, 0.04]) {
            row.lost_by_codes = lost;
        }
        let by_codes = curve.by_codes();
        assert_eq!(by_codes.check(), Ok(()));
        assert_eq!(curve.size_at(0.9), Some(20.0));
        // The lists find .75, .80 and .94.
        let middle = by_codes.size_at(0.9).unwrap();
        assert!((34.0..35.0).contains(&middle), "{middle}");
        assert_eq!(by_codes.size_at(0.95), None);
    }

    #[test]
    fn what_cannot_have_been_measured_is_said() {
        let sound = curve(&[(10, 0.8, 0.02), (20, 0.8, 0.02), (40, 0.98, 0.0)]);
        assert_eq!(sound.check(), Ok(()));
        for wrong in [
            vec![],
            vec![(10, 0.8, 0.0), (10, 0.9, 0.0)],
            vec![(10, 0.8, 0.0), (20, 0.7, 0.0)],
            vec![(0, 0.8, 0.0)],
            vec![(10, 1.1, 0.0)],
            vec![(10, 0.8, f32::NAN)],
        ] {
            assert!(curve(&wrong).check().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn recall_that_falls_is_levelled_by_its_queries() {
        let mut curve = curve(&[
            (8, 0.7, 0.0),
            (16, 0.9, 0.0),
            (32, 0.8, 0.0),
            (64, 0.95, 0.0),
        ]);
        if let Some(point) = curve.rows.get_mut(2) {
            point.queries = 300;
        }
        curve.make_monotone();
        let recall: Vec<f32> = curve.rows.iter().map(|point| point.recall).collect();
        assert_eq!(recall, [0.7, 0.825, 0.825, 0.95]);
        let mut falling = self::curve(&[(1, 0.9, 0.0), (2, 0.8, 0.0), (4, 0.7, 0.0)]);
        falling.make_monotone();
        assert!(
            falling
                .rows
                .iter()
                .all(|point| (point.recall - 0.8).abs() < 1e-6)
        );
    }
}
