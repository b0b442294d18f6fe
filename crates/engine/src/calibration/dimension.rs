//! How much more a query misses that has many neighbours at nearly one distance.
//!
//! ```text
//!  misses of a query = misses at the list size x (dimension / usual)^exponent / mean of that
//! ```
//! The surface says the misses at a list size; what is fitted here is the exponent alone, by a
//! Poisson regression of misses on the logarithm of the local dimension, over all lists of a curve.
//! A query is then asked as if for more recall or less, so that list sizes come from the surface.

use serde::{Deserialize, Deserializer, Serialize};

/// Queries that a fit takes, at least.
const LEAST_QUERIES: usize = 100;
/// Mean misses of the lists that are fitted: few misses tell little, many are of short lists.
const MISSES: (f64, f64) = (0.0008, 0.4);
/// Quantiles of the dimension that are kept, each for as many queries.
const QUANTILES: usize = 20;
/// Share of the queries beyond which dimensions are cut for the fit, on either side.
const TAILS: f64 = 0.01;
/// Steps of the regression.
const STEPS: usize = 25;
/// Largest exponent.
const STEEPEST: f64 = 4.0;
/// Times the exponent of a fit: dimensions are those of few candidates, and what is estimated with
/// noise seems to matter less than it does.
const ATTENUATION: f64 = 1.35;
/// Times the dimension that few queries have, up to which misses are taken to grow.
const FARTHEST: f32 = 1.5;
/// Times what a fit says that queries may be found to miss. Never fewer: what is promised is less
/// than the mean that they found, for its error. More are not made up for by longer lists.
const LEVELS: (f64, f64) = (1.0, 2.0);
/// Recalls for which that is found.
pub(crate) const LEVEL_RECALLS: [f32; 3] = [0.8, 0.9, 0.95];

/// How misses go with the local dimension of queries, of one curve.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DimensionFit {
    /// List size at which dimensions are estimated.
    pub first_list: u32,
    /// Misses go with this power of the dimension; 0 where it tells nothing.
    pub exponent: f32,
    /// The same power of the dimension by true neighbours, where that was fitted. By how much it is
    /// above `exponent`, queries of more dimensions miss more without being told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_exponent: Option<f32>,
    /// How many times what it says queries miss on average whose lists are chosen by it for a
    /// recall of .8, .9 and .95; one number for all in former calibrations, none where that was not
    /// measured.
    #[serde(
        default,
        alias = "level",
        deserialize_with = "one_or_more",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub levels: Vec<f32>,
    /// Dimension that one query in a hundred exceeds.
    pub unusual: f32,
    /// Dimensions of the queries: quantiles, ascending, each for as many of them.
    pub quantiles: Vec<f32>,
}

/// Queries of one list size: their logarithms of dimensions, and what they missed.
pub(crate) struct Missed {
    pub(crate) logs: Vec<f64>,
    pub(crate) misses: Vec<f64>,
}

impl DimensionFit {
    /// Fits queries of these dimensions, and what some of them missed with lists of several sizes;
    /// none where there are too few.
    pub(crate) fn of(first_list: u32, dimensions: &[f32], points: &[Missed]) -> Option<Self> {
        let mut sorted: Vec<f32> = dimensions.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        if sorted.len() < LEAST_QUERIES {
            return None;
        }
        let quantile = |share: f64| {
            let at = (share * sorted.len() as f64) as usize;
            sorted.get(at.min(sorted.len() - 1)).copied()
        };
        let middle = |part: usize| quantile((part as f64 + 0.5) / QUANTILES as f64);
        let (low, high) = (quantile(TAILS)?, quantile(1.0 - TAILS)?);
        let cut = (f64::from(low).ln(), f64::from(high).ln());
        let slope = regress(points, cut).clamp(0.0, STEEPEST / ATTENUATION);
        Some(Self {
            first_list,
            exponent: (ATTENUATION * slope) as f32,
            true_exponent: None,
            levels: Vec::new(),
            unusual: high,
            quantiles: (0..QUANTILES).filter_map(middle).collect(),
        })
    }

    /// The same, with how misses go with dimensions by true neighbours, as another fit says.
    pub(crate) fn beside(self, by_truth: Option<&Self>) -> Self {
        Self {
            true_exponent: by_truth.map(|fit| fit.exponent),
            ..self
        }
    }

    /// Takes in how many times what it says queries miss whose lists are chosen by it, for each of
    /// [`LEVEL_RECALLS`]. Where they are too many, dimensions tell nothing, as of rows of two
    /// kinds: all lists are of one size.
    pub(crate) fn correct(&mut self, times: &[f64]) {
        let (least, most) = LEVELS;
        let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
        if self.exponent > 0.0 && mean > most {
            (self.exponent, self.levels) = (0.0, Vec::new());
        } else {
            let level = |own: &f64| own.clamp(least, most) as f32;
            self.levels = times.iter().map(level).collect();
        }
    }

    /// How many times what it says queries miss of a recall that is asked for.
    pub(super) fn level(&self, recall: f32) -> f32 {
        let known = || LEVEL_RECALLS.iter().zip(&self.levels);
        let below = known().rev().find(|(own, _)| **own <= recall);
        let above = known().find(|(own, _)| **own >= recall);
        match (below, above) {
            (Some((low, from)), Some((high, to))) if high > low => {
                from + (to - from) * (recall - low) / (high - low)
            }
            (Some((_, end)), _) | (None, Some((_, end))) => *end,
            (None, None) => 1.0,
        }
    }

    /// The power of the dimension that misses go with and no query is told, where that is known.
    pub(super) fn untold(&self) -> Option<f32> {
        let own = self.true_exponent?;
        Some((own - self.exponent).max(0.0))
    }

    /// Times that a query of this dimension misses what queries do on average.
    pub(crate) fn risk(&self, dimension: f32) -> f32 {
        let highest = FARTHEST * self.unusual;
        let lowest = self.quantiles.first().copied().unwrap_or(highest);
        let power = |dimension: f32| (dimension / self.unusual).powf(self.exponent);
        let sum: f32 = self.quantiles.iter().map(|own| power(*own)).sum();
        let mean = sum / self.quantiles.len().max(1) as f32;
        power(dimension.clamp(lowest.min(highest), highest)) / mean
    }

    /// The dimension of a usual query.
    pub(crate) fn usual(&self) -> f32 {
        let middle = self.quantiles.get(self.quantiles.len() / 2);
        middle.copied().unwrap_or(self.unusual)
    }

    /// Dimensions from the least to the largest that matter, ascending, at so many steps.
    pub(crate) fn steps(&self, count: usize) -> impl Iterator<Item = f32> {
        let highest = FARTHEST * self.unusual;
        let lowest = self.quantiles.first().copied().unwrap_or(highest);
        let (low, ratio) = (lowest.min(highest), highest / lowest.min(highest));
        (0..count).map(move |at| low * ratio.powf(at as f32 / (count - 1).max(1) as f32))
    }

    /// Says what no fit can have been.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let positive = |value: &f32| value.is_finite() && *value > 0.0;
        let is_sound = self.first_list > 0
            && (0.0..=STEEPEST as f32).contains(&self.exponent)
            && (0.0..=STEEPEST as f32).contains(&self.true_exponent.unwrap_or(0.0))
            && self.levels.len() <= LEVEL_RECALLS.len()
            && self.levels.iter().all(|own| (0.1..=10.0).contains(own))
            && positive(&self.unusual)
            && (1..=QUANTILES).contains(&self.quantiles.len())
            && self.quantiles.iter().all(positive)
            && self.quantiles.is_sorted();
        // Powers of what lies so far apart are no numbers.
        let apart = self.quantiles.iter().any(|own| {
            let ratio = own / self.unusual;
            !(1e-4..=1.001).contains(&ratio)
        });
        if is_sound && !apart {
            Ok(())
        } else {
            Err("a fit of misses by dimension that cannot be")
        }
    }
}

/// A number, or a list of some.
fn one_or_more<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<f32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Numbers {
        One(f32),
        More(Vec<f32>),
    }
    Ok(match Numbers::deserialize(from)? {
        Numbers::One(own) => vec![own],
        Numbers::More(all) => all,
    })
}

/// The slope of the logarithm of misses over that of the dimension, within `cut`: each list size
/// has its mean as it is, and all share the slope.
fn regress(points: &[Missed], cut: (f64, f64)) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let used: Vec<(f64, &Missed)> = points
        .iter()
        .map(|point| (mean(&point.misses), point))
        .filter(|(misses, _)| *misses > MISSES.0 && *misses < MISSES.1)
        .collect();
    let logs: Vec<f64> = used
        .iter()
        .flat_map(|(_, point)| &point.logs)
        .copied()
        .collect();
    let centre = mean(&logs);
    let (mut level, mut slope) = (0.0, 0.0);
    for _ in 0..STEPS {
        let mut sums = Sums::default();
        for (misses, point) in &used {
            for (log, missed) in point.logs.iter().zip(&point.misses) {
                let at = log.clamp(cut.0, cut.1) - centre;
                let expected = misses * (level + slope * at).clamp(-10.0, 5.0).exp();
                sums.add(at, expected, missed - expected);
            }
        }
        let Some((up, steeper)) = sums.step() else {
            break;
        };
        level += up;
        slope += steeper;
    }
    slope
}

/// What a step of Newton's method takes.
#[derive(Default)]
struct Sums {
    gradient: (f64, f64),
    curvature: (f64, f64, f64),
}

impl Sums {
    fn add(&mut self, at: f64, expected: f64, rest: f64) {
        self.gradient.0 += rest;
        self.gradient.1 += rest * at;
        self.curvature.0 += expected;
        self.curvature.1 += expected * at;
        self.curvature.2 += expected * at * at;
    }

    /// The step to the maximum; none where queries do not differ.
    fn step(&self) -> Option<(f64, f64)> {
        let ((level, slope), (a, b, c)) = (self.gradient, self.curvature);
        let determinant = a * c - b * b;
        let can = determinant > 1e-9 * a * a && determinant.is_finite();
        can.then(|| {
            (
                (c * level - b * slope) / determinant,
                (a * slope - b * level) / determinant,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimensions(count: usize) -> Vec<f32> {
        (0..count)
            .map(|at| 8.0 + 24.0 * (at as f32 / count as f32))
            .collect()
    }

    fn missing(scale: f64, exponent: f64, dimensions: &[f32]) -> Missed {
        let logs: Vec<f64> = dimensions.iter().map(|own| f64::from(*own).ln()).collect();
        let misses = logs
            .iter()
            .map(|log| scale * (exponent * (log - 3.0)).exp());
        Missed {
            misses: misses.collect(),
            logs,
        }
    }

    #[test]
    fn a_known_exponent_is_found() {
        let own = dimensions(500);
        for exponent in [0.0, 0.7, 1.5, 2.5] {
            let points: Vec<_> = [0.2, 0.1, 0.02, 0.005]
                .map(|scale| missing(scale, exponent, &own))
                .into();
            let fit = DimensionFit::of(3, &own, &points).unwrap();
            let found = f64::from(fit.exponent) / ATTENUATION;
            assert!((found - exponent).abs() < 0.05, "{exponent}: {found}");
            assert_eq!(fit.check(), Ok(()));
        }
        let falls = DimensionFit::of(3, &own, &[missing(0.1, -2.0, &own)]).unwrap();
        assert_eq!(falls.exponent, 0.0);
    }

    #[test]
    fn risks_average_one_and_grow() {
        let own = dimensions(400);
        let fit = DimensionFit::of(3, &own, &[missing(0.1, 1.5, &own)]).unwrap();
        let mean = fit.quantiles.iter().map(|own| fit.risk(*own)).sum::<f32>() / 20.0;
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
        let risks: Vec<f32> = fit.steps(16).map(|own| fit.risk(own)).collect();
        assert!(risks.is_sorted() && risks.first() < risks.last());
        assert_eq!(fit.risk(1e9), fit.risk(1e6));
        assert!(fit.risk(fit.usual()) > fit.risk(0.1));
    }

    #[test]
    fn what_tells_nothing_gives_no_exponent() {
        let alike = vec![10.0; 200];
        let fit = DimensionFit::of(3, &alike, &[missing(0.1, 1.0, &alike)]).unwrap();
        assert_eq!((fit.exponent, fit.risk(3.0)), (0.0, 1.0));
        let none = DimensionFit::of(3, &dimensions(200), &[]).unwrap();
        assert_eq!(none.exponent, 0.0);
        assert_eq!(DimensionFit::of(3, &dimensions(99), &[]), None);
    }

    #[test]
    fn a_fit_that_says_far_too_little_is_given_up() {
        let own = dimensions(400);
        let fit = DimensionFit::of(3, &own, &[missing(0.1, 1.5, &own)]).unwrap();
        let corrected = |times: f64| {
            let mut own = fit.clone();
            own.correct(&[times]);
            (own.exponent, own.levels)
        };
        assert_eq!(corrected(0.5), (fit.exponent, vec![1.0]));
        assert_eq!(corrected(1.5), (fit.exponent, vec![1.5]));
        assert_eq!(corrected(2.5), (0.0, vec![]));
    }

    #[test]
    fn what_queries_miss_beside_is_known_by_recall() {
        let own = dimensions(400);
        let mut fit = DimensionFit::of(3, &own, &[missing(0.1, 1.5, &own)]).unwrap();
        assert_eq!(fit.level(0.8), 1.0);
        fit.correct(&[1.5, 1.1, 0.9]);
        let levels = [0.5, 0.8, 0.85, 0.9, 0.925, 0.95, 0.99].map(|recall| fit.level(recall));
        for (own, wanted) in levels.into_iter().zip([1.5, 1.5, 1.3, 1.1, 1.05, 1.0, 1.0]) {
            assert!((own - wanted).abs() < 1e-4, "{own} {wanted}");
        }
        let written = serde_json::to_string(&fit).unwrap();
        assert_eq!(fit, serde_json::from_str(&written).unwrap());
        let former = written.replace("\"levels\":[1.5,1.1,1.0]", "\"level\":1.25");
        let former: DimensionFit = serde_json::from_str(&former).unwrap();
        assert_eq!([0.8, 0.95].map(|recall| former.level(recall)), [1.25; 2]);
    }

    #[test]
    fn what_cannot_have_been_fitted_is_said() {
        let own = dimensions(200);
        let sound = DimensionFit::of(3, &own, &[missing(0.1, 1.5, &own)]).unwrap();
        assert_eq!(sound.check(), Ok(()));
        let forge = |change: fn(&mut DimensionFit)| {
            let mut forged = sound.clone();
            change(&mut forged);
            forged.check()
        };
        assert!(forge(|fit| fit.first_list = 0).is_err());
        assert!(forge(|fit| fit.exponent = f32::NAN).is_err());
        assert!(forge(|fit| fit.exponent = 50.0).is_err());
        assert!(forge(|fit| fit.exponent = -1.0).is_err());
        assert!(forge(|fit| fit.true_exponent = Some(f32::NAN)).is_err());
        assert!(forge(|fit| fit.levels = vec![0.0]).is_err());
        assert!(forge(|fit| fit.levels = vec![1.0, f32::NAN]).is_err());
        assert!(forge(|fit| fit.levels = vec![1.0; 4]).is_err());
        assert!(forge(|fit| fit.unusual = f32::INFINITY).is_err());
        assert!(forge(|fit| fit.unusual = 1e-30).is_err());
        assert!(forge(|fit| fit.unusual = 1e30).is_err());
        assert!(forge(|fit| fit.quantiles.clear()).is_err());
        assert!(forge(|fit| fit.quantiles.reverse()).is_err());
        assert!(forge(|fit| fit.quantiles = vec![1.0; 1000]).is_err());
    }
}
