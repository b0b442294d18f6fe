//! Curves of some k, and list sizes for every k.

use serde::{Deserialize, Serialize};

use super::curve::CalibrationCurve;
use super::dimension::DimensionFit;
use super::former::StoredCalibration;
use super::likeness::Likeness;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::whole;

/// The ranks k at which recall is measured, in designs where others cost no searches of their own
/// at some between them too. Between 1 and 30 about the same list serves all; from there on it
/// grows nearly in proportion.
pub const RANKS: [u32; 7] = [1, 10, 30, 50, 100, 300, 1000];

/// How many times the misses of rows that stand in for queries are allowed for: queries of another
/// distribution missed 2.3 to 2.8 times as much, about the same at every list size. Whoever shows
/// queries needs no such margin.
const UNSEEN_QUERIES: f32 = 2.5;

/// The same where misses go with this power of the local dimension or a higher one, which lists are
/// chosen by then: such queries miss more because they are of more dimensions.
const TOLD_QUERIES: (f32, f32) = (1.2, 1.5);
/// The same for queries that are like those of the calibration, for what a sample does not show.
const ALIKE: f32 = 1.05;
/// The same of fewer neighbours than tell it: of up to five of them queries that are like rows
/// missed up to 1.4 times what those do.
const ALIKE_BY_FEW: f32 = 1.2;

/// Part of what dimensions do not tell that is allowed for where true ones would not tell it
/// either.
/// Of 100 neighbours in little memory, queries of text missed 1.3 times what none of it allows for,
/// and those of image descriptors nine tenths.
const REST_PART: f32 = 0.5;

/// Halvings that find the recall of a list size.
const HALVINGS: usize = 24;

/// Recall and cost of an index by k and list size.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "StoredCalibration")]
#[non_exhaustive]
pub struct Calibration {
    /// Queries measured with, at most.
    pub queries: u32,
    /// Whether those were rows of the data, held out, and not queries of the user.
    pub held_out: bool,
    /// Whether those have pages of their own: searches for them are like searches for queries
    /// where nodes are pages, too.
    pub apart: bool,
    /// Reads per round (W) measured with.
    pub beam: u32,
    /// By ascending k; none is empty.
    pub curves: Vec<CalibrationCurve>,
    /// Length that rows seldom exceed, under the inner product: local dimensions are told with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<f32>,
}

/// Queries of which recall is known to two hundredths: a mean of shares that deviate by a tenth.
const FEW_QUERIES: u32 = 30;

/// How much queries miss beside those of the calibration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Misses {
    /// Nobody has looked at them: where rows stood in for queries, more.
    Unknown,
    /// So many times as much.
    Times(f32),
}

impl Misses {
    /// Of queries that lie from their neighbours as those of the calibration do.
    pub(crate) const ALIKE: Self = Self::Times(ALIKE);
    /// The same where it is by more neighbours than are wanted.
    pub(crate) const ALIKE_BY_FEW: Self = Self::Times(ALIKE_BY_FEW);
    /// What the calibration says itself.
    pub(crate) const MEASURED: Self = Self::Times(1.0);

    /// How many times as much, if somebody has looked.
    pub(crate) const fn known(self) -> Option<f32> {
        match self {
            Self::Unknown => None,
            Self::Times(times) => Some(times),
        }
    }

    /// What is known, or else what `guess` says.
    pub(super) fn times(self, guess: impl FnOnce() -> f32) -> f32 {
        self.known().unwrap_or_else(guess)
    }
}

/// How many times the misses of the calibrated queries are allowed for, where lists are chosen by
/// dimensions: more where misses go with a power of them that the candidates do not tell. Where
/// that is not known, what is told must be enough. What dimensions tell little of, such as which
/// hundred are the nearest, queries miss more of than rows without being told: a part of the
/// margin is for that.
pub(super) fn margin((held_out, misses): (bool, Misses), fit: &DimensionFit) -> f32 {
    let (least, enough) = TOLD_QUERIES;
    let guess = || {
        if !held_out {
            return 1.0;
        }
        let rest = enough - fit.exponent;
        let untold = fit.untold().map_or(rest, |own| own.max(REST_PART * rest));
        least * (UNSEEN_QUERIES / least).powf((untold / enough).clamp(0.0, 1.0))
    };
    misses.times(guess)
}

/// The longer of the lists that so many places are the mean of.
pub(crate) fn whole_list(list_size: f32) -> u32 {
    whole(list_size, 1) as u32
}

impl Calibration {
    /// The smallest list size that reaches `recall`@`k`. May be less than `k`: the list then holds
    /// `k`, and only so many of them are expanded.
    ///
    /// Where rows stood in for queries, queries are taken to miss 2.5 times as much.
    ///
    /// Between the rows of a curve recall, and between two measured ranks the logarithm of the list
    /// size is interpolated, unless the lower rank needs the longer list, which serves for both;
    /// beyond the last rank the size grows in proportion to k.
    ///
    /// # Errors
    /// `InvalidInput` for a recall that is none; `Unsupported` when no measured size reaches the
    /// target, with the best that was measured.
    pub fn list_size_for(&self, k: u32, recall: f32) -> Result<u32> {
        self.list_size_by(k, recall, Misses::Unknown)
    }

    /// The same for queries that miss so much.
    ///
    /// # Errors
    /// As [`Self::list_size_for`].
    pub(crate) fn list_size_by(&self, k: u32, recall: f32, misses: Misses) -> Result<u32> {
        self.mean_list_size(k, recall, misses).map(whole_list)
    }

    /// The same as a mean over queries of which some have a list of one place more than others.
    ///
    /// # Errors
    /// As [`Self::list_size_for`].
    pub(crate) fn mean_list_size(&self, k: u32, recall: f32, misses: Misses) -> Result<f32> {
        if !(0.0..=1.0).contains(&recall) {
            return Err(Error::invalid(format!(
                "recall = {recall}: give a value from 0 to 1"
            )));
        }
        let size = self.size_at(k, self.measured_for(k, recall, misses));
        size.ok_or_else(|| self.unreachable(k, recall))
    }

    /// The recall that must have been measured to promise `recall`, as far as it was reached.
    fn measured_for(&self, k: u32, recall: f32, misses: Misses) -> f32 {
        let needed = 1.0 - (1.0 - recall) / self.times(misses).max(f32::MIN_POSITIVE);
        let best = self.best(k).unwrap_or(0.0);
        // What was never reached is refused, unless it is the margin alone that asks for it.
        if recall <= best {
            needed.min(best)
        } else {
            needed.max(recall)
        }
    }

    /// How many times what was measured queries are taken to miss.
    fn times(&self, misses: Misses) -> f32 {
        misses.times(|| if self.held_out { UNSEEN_QUERIES } else { 1.0 })
    }

    /// What answers by codes find, of about `k` neighbours.
    pub(crate) fn by_codes(&self, k: u32) -> Self {
        let around = self.around(k);
        let is_near = |curve: &&CalibrationCurve| {
            around.is_some_and(|(low, high)| (low.k..=high.k).contains(&curve.k))
        };
        let curves = self.curves.iter().filter(is_near);
        Self {
            curves: curves.map(CalibrationCurve::by_codes).collect(),
            ..*self
        }
    }

    /// The list size that finds `k / share` nearest as well as a list of `list_size` finds the `k`
    /// nearest: so many hold `k` of a part that is this share of all, spread evenly. No less than
    /// `list_size`.
    pub(crate) fn list_size_among(&self, k: u32, list_size: u32, share: f64) -> f64 {
        let least = f64::from(list_size);
        let holding = (f64::from(k) / share.max(1e-9)).min(f64::from(u32::MAX)) as u32;
        let recall = self.measured_at(k, list_size as f32);
        let size = recall.and_then(|recall| {
            let reached = self.best(holding).map(|best| recall.min(best));
            self.size_at(holding, reached?)
        });
        size.map_or(least / share.max(1e-9), f64::from).max(least)
    }

    /// Recall@`k` promised of a list size: the most that would have led to it. None where nothing
    /// was measured.
    pub fn expected_recall(&self, k: u32, list_size: u32) -> Option<f32> {
        self.expected_by(k, list_size as f32, Misses::Unknown)
    }

    /// The same of queries that miss so much.
    pub(crate) fn expected_by(&self, k: u32, list_size: f32, misses: Misses) -> Option<f32> {
        let missed = 1.0 - self.measured_at(k, list_size)?;
        Some((1.0 - self.times(misses) * missed).max(0.0))
    }

    /// How far the calibrated queries lay from their `k` nearest neighbours.
    pub(crate) fn likeness(&self, k: u32) -> Option<Likeness> {
        let (low, high) = self.around(k)?;
        let (from, to) = (low.likeness?, high.likeness?);
        if high.k > low.k {
            let share = (k as f32 / low.k as f32).ln() / (high.k as f32 / low.k as f32).ln();
            return Some(from.towards(to, share));
        }
        Some(to)
    }

    /// Puts in how many times what they say queries miss whose lists are chosen by `dimension` and
    /// by `early`.
    pub(crate) fn set_levels(&mut self, k: u32, [dimension, early]: [Option<Vec<f64>>; 2]) {
        let Some(curve) = self.curves.iter_mut().find(|curve| curve.k == k) else {
            return;
        };
        let fits = [(&mut curve.dimension, dimension), (&mut curve.early, early)];
        for (fit, times) in fits {
            if let (Some(fit), Some(times)) = (fit, times) {
                fit.correct(&times);
            }
        }
    }

    pub(super) fn measured_at(&self, k: u32, list_size: f32) -> Option<f32> {
        let best = self.best(k)?;
        let fits = |recall: f32| {
            let size = self.size_at(k, recall);
            size.is_some_and(|size| size <= list_size + 1e-2)
        };
        if fits(best) {
            return Some(best);
        }
        if !fits(0.0) {
            return self.least(k);
        }
        let (mut low, mut high) = (0.0, best);
        for _ in 0..HALVINGS {
            let middle = f32::midpoint(low, high);
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// What to say of a calibration with fewer queries of the user than tell much.
    pub fn few_warning(&self) -> Option<String> {
        let tells_little = !self.held_out && (1..FEW_QUERIES).contains(&self.queries);
        tells_little.then(|| {
            format!(
                "recall was measured with {} of your queries, which tell little of others: give \
                 some hundred",
                self.queries
            )
        })
    }

    /// The best recall@`k` that was measured: the lesser one between two ranks.
    pub fn best(&self, k: u32) -> Option<f32> {
        let (low, high) = self.around(k)?;
        Some(low.best().min(high.best()))
    }

    /// What the least lists that were measured promise.
    fn least(&self, k: u32) -> Option<f32> {
        let (low, high) = self.around(k)?;
        Some(low.least().min(high.least()))
    }

    /// The curve of `k`, where it was measured.
    pub fn curve(&self, k: u32) -> Option<&CalibrationCurve> {
        self.curves.iter().find(|curve| curve.k == k)
    }

    /// The last curve up to `k` and the first from it on; the nearest one for both beyond the ends.
    pub(super) fn around(&self, k: u32) -> Option<(&CalibrationCurve, &CalibrationCurve)> {
        let low = self.curves.iter().rev().find(|curve| curve.k <= k);
        let high = self.curves.iter().find(|curve| curve.k >= k);
        Some((low.or(high)?, high.or(low)?))
    }

    /// Says what no measurement can have been.
    pub(crate) fn check(&self) -> std::result::Result<(), &'static str> {
        if self
            .longest
            .is_some_and(|own| !own.is_finite() || own < 0.0)
        {
            return Err("a length of rows that none can have");
        }
        if !self.curves.is_sorted_by(|one, next| one.k < next.k) {
            return Err("curves of a calibration are not by ascending k");
        }
        self.curves.iter().try_for_each(CalibrationCurve::check)
    }

    pub(super) fn size_at(&self, k: u32, recall: f32) -> Option<f32> {
        let (low, high) = self.around(k)?;
        let (from, to) = (low.size_at(recall)?, high.size_at(recall)?);
        let (k, low, high) = (k as f32, low.k.max(1) as f32, high.k.max(1) as f32);
        if high > low && from > to {
            // Where more neighbours need shorter lists, what is between them is not told.
            return Some(from);
        }
        if high > low {
            let share = (k / low).ln() / (high / low).ln();
            return Some(from * (to / from).powf(share));
        }
        Some(to * (k / high).max(1.0))
    }

    fn unreachable(&self, k: u32, recall: f32) -> Error {
        let limiting = self.around(k).map(
            |(low, high)| {
                if low.best() < high.best() { low } else { high }
            },
        );
        let last = limiting.and_then(|curve| Some((curve, curve.rows.last()?)));
        let best = last.map_or_else(
            || "it was not calibrated, which pageway calibrate does".to_owned(),
            |(curve, point)| {
                let rank = if curve.k == k {
                    String::new()
                } else {
                    format!(" of recall@{}", curve.k)
                };
                format!(
                    "its best calibrated recall is {:.4}{rank} at list size {}",
                    point.recall, point.list_size
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
    use super::super::curve::CalibrationRow;
    use super::*;

    fn surface() -> Calibration {
        let curve = |k: u32, scale: u32| CalibrationCurve {
            k,
            dimension: None,
            early: None,
            likeness: None,
            rows: [(10, 0.80), (20, 0.90), (40, 0.98)]
                .map(|(list_size, recall)| CalibrationRow {
                    list_size: list_size * scale,
                    queries: 100,
                    recall,
                    ..CalibrationRow::default()
                })
                .to_vec(),
        };
        Calibration {
            queries: 100,
            held_out: false,
            apart: false,
            beam: 4,
            curves: vec![curve(1, 1), curve(10, 1), curve(100, 4)],
            longest: None,
        }
    }

    #[test]
    fn rows_in_place_of_queries_leave_a_margin() {
        let seen = surface();
        let unseen = Calibration {
            held_out: true,
            ..surface()
        };
        assert_eq!(
            unseen.list_size_for(10, 0.75).unwrap(),
            seen.list_size_for(10, 0.9).unwrap()
        );
        let promised = unseen.expected_recall(10, 20).unwrap();
        assert!((promised - 0.75).abs() < 1e-3, "{promised}");
        // What was measured at best is enough for what is asked, though not with the margin.
        assert_eq!(unseen.list_size_for(10, 0.97).unwrap(), 40);
        assert!(unseen.list_size_for(10, 0.99).is_err());
    }

    #[test]
    fn sizes_lie_between_those_of_the_ranks_around() {
        let surface = surface();
        assert_eq!(surface.list_size_for(1, 0.5).unwrap(), 10);
        assert_eq!(surface.list_size_for(1, 0.9).unwrap(), 20);
        assert_eq!(surface.list_size_for(5, 0.9).unwrap(), 20);
        assert_eq!(surface.list_size_for(10, 0.98).unwrap(), 40);
        let eleven = surface.list_size_for(11, 0.9).unwrap();
        assert!((21..=22).contains(&eleven), "{eleven}");
        let middle = surface.size_at(32, 0.9).unwrap();
        assert!((middle - 40.0).abs() < 1.0, "{middle}");
        assert_eq!(surface.list_size_for(100, 0.9).unwrap(), 80, "less than k");
        assert_eq!(surface.list_size_for(250, 0.9).unwrap(), 200);
    }

    #[test]
    fn says_so_when_the_target_is_out_of_reach() {
        let error = surface().list_size_for(10, 0.99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.context().contains("0.9800 at list size 40"),
            "{error}"
        );
        let between = surface().list_size_for(11, 0.99).unwrap_err();
        assert!(between.context().contains("of recall@100"), "{between}");
        assert!(surface().list_size_for(10, 1.5).is_err());
        assert!(Calibration::default().list_size_for(10, 0.5).is_err());
        assert_eq!(Calibration::default().expected_recall(10, 50), None);
    }

    #[test]
    fn what_is_expected_of_the_size_that_was_chosen_is_what_was_asked_for() {
        let mut surface = surface();
        for curve in &mut surface.curves {
            for point in &mut curve.rows {
                point.standard_error = 0.01;
            }
        }
        for k in [1, 7, 10, 30, 99, 100, 400] {
            for recall in [0.82, 0.9, 0.93, 0.95] {
                let size = surface.list_size_for(k, recall).unwrap();
                let expected = surface.expected_recall(k, size).unwrap();
                let less = surface.expected_recall(k, size - 1).unwrap();
                assert!(
                    expected >= recall - 1e-3 && less < recall,
                    "{k} {recall}: {less} {expected}"
                );
            }
            assert_eq!(surface.expected_recall(k, 100_000), Some(0.98));
            assert!((surface.expected_recall(k, 1).unwrap() - 0.785).abs() < 1e-5);
        }
    }

    #[test]
    fn a_part_takes_the_list_of_more_neighbours() {
        let surface = surface();
        let among = |share: f64| surface.list_size_among(10, 40, share);
        assert!((among(1.0) - 40.0).abs() < 0.1, "{}", among(1.0));
        assert!((among(0.1) - 160.0).abs() < 1.0, "{}", among(0.1));
        assert!((among(0.01) - 1600.0).abs() < 10.0, "{}", among(0.01));
        assert_eq!(Calibration::default().list_size_among(10, 40, 0.5), 80.0);
    }

    #[test]
    fn one_k_alone_serves_all() {
        let mut surface = surface();
        surface.curves.truncate(1);
        assert_eq!(surface.list_size_for(1, 0.9).unwrap(), 20);
        assert_eq!(surface.list_size_for(10, 0.9).unwrap(), 200);
    }
}
