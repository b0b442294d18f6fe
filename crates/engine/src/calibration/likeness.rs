//! How far queries lie from their neighbours, by which queries of another distribution are told.
//!
//! Three numbers of one query, all logarithms: how far its nearest neighbour is, how far its kth,
//! and how much nearer the others are than the kth on average, the inverse of twice a local
//! dimension. Rows of the data have a mean and a deviation of each; noise, mixtures of rows and
//! queries of another source are off by some in one of the three at least.

use serde::{Deserialize, Serialize};

/// Queries that tell means and deviations, at least.
const LEAST_QUERIES: usize = 32;

/// Share of the distance of the kth neighbour that others count at least: near copies say nothing.
const NEAREST_SHARE: f32 = 1e-3;

/// Deviations that means of like queries may be apart, beside what a sample is off by chance: three
/// numbers are looked at.
const ALIKE: f64 = 0.2;
const BY_CHANCE: f64 = 1.6;

/// Deviations below which a number is the same for all queries.
const LEAST_DEVIATION: f32 = 1e-4;

/// Distances of calibrated queries to their k nearest neighbours.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Likeness {
    /// Logarithm of the distance of the nearest one.
    pub nearest: Moments,
    /// Logarithm of the distance of the kth.
    pub farthest: Moments,
    /// Mean logarithm of how many times farther than the others the kth is.
    pub between: Moments,
}

/// A mean and a standard deviation over queries.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Moments {
    /// Mean.
    pub mean: f32,
    /// Standard deviation.
    pub deviation: f32,
}

/// The three numbers of one query.
pub(crate) type Marks = [f64; 3];

/// The numbers of a query with neighbours at these distances, ascending; none where they tell
/// nothing.
pub(crate) fn marks(distances: &[f32]) -> Option<Marks> {
    let (first, last) = (distances.first()?, distances.last()?);
    if !last.is_finite() || *last <= 0.0 {
        return None;
    }
    let log = |distance: &f32| f64::from(distance.max(NEAREST_SHARE * last)).ln();
    let farthest = log(last);
    let nearer = distances.iter().map(|own| farthest - log(own)).sum::<f64>();
    let between = nearer / (distances.len() - 1).max(1) as f64;
    Some([log(first), farthest, between])
}

impl Likeness {
    /// Of queries with these numbers; none of too few.
    pub(crate) fn of(queries: &[Marks]) -> Option<Self> {
        let spread = |at: usize| Moments::of(queries.iter().filter_map(|own| own.get(at).copied()));
        (queries.len() >= LEAST_QUERIES).then(|| Self {
            nearest: spread(0),
            farthest: spread(1),
            between: spread(2),
        })
    }

    /// Whether queries with these numbers, by answers of this recall, may be of the distribution
    /// that was calibrated.
    pub(crate) fn includes(&self, queries: &[Marks], recall: f32) -> bool {
        let most = ALIKE + BY_CHANCE / (queries.len().max(1) as f64).sqrt();
        self.apart(queries, recall) <= most
    }

    /// How many deviations the means of queries are off, the one that is most. What was missed
    /// leaves answers that are farther, the kth most: of as many neighbours as `recall` stands for,
    /// and distances go with their number as `between` says.
    fn apart(&self, queries: &[Marks], recall: f32) -> f64 {
        let farther = -recall.clamp(0.1, 1.0).ln() * self.between.mean;
        let own = |(at, spread): (usize, &Moments)| {
            let theirs = Moments::of(queries.iter().filter_map(|own| own.get(at).copied()));
            let off = theirs.mean - spread.mean;
            let off = f64::from(off - off.clamp(0.0, farther.max(0.0))).abs();
            let is_told = spread.deviation > LEAST_DEVIATION;
            if is_told {
                off / f64::from(spread.deviation)
            } else {
                0.0
            }
        };
        let all = [self.nearest, self.farthest, self.between];
        all.iter().enumerate().map(own).fold(0.0, f64::max)
    }

    /// What lies between this one and another, at this share of the way.
    pub(super) fn towards(self, other: Self, share: f32) -> Self {
        Self {
            nearest: self.nearest.towards(other.nearest, share),
            farthest: self.farthest.towards(other.farthest, share),
            between: self.between.towards(other.between, share),
        }
    }

    /// Says what no measurement can have been.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let is_sound = |own: &Moments| {
            own.mean.is_finite() && own.deviation.is_finite() && own.deviation >= 0.0
        };
        let all = [self.nearest, self.farthest, self.between];
        if all.iter().all(is_sound) {
            Ok(())
        } else {
            Err("distances of calibrated queries that cannot be")
        }
    }
}

impl Moments {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares = values.map(|own| (own - mean) * (own - mean));
        Self {
            mean: mean as f32,
            deviation: (squares.sum::<f64>() / count).sqrt() as f32,
        }
    }

    fn towards(self, other: Self, share: f32) -> Self {
        let between = |one: f32, other: f32| one + share * (other - one);
        Self {
            mean: between(self.mean, other.mean),
            deviation: between(self.deviation, other.deviation),
        }
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::SplitMix64;

    use super::*;

    /// Squared distances to the nearest of points spread evenly about so many queries.
    fn queries(count: usize, (dimension, scale): (f32, f32), seed: u64) -> Vec<Marks> {
        let mut random = SplitMix64::new(seed);
        let mut one = || {
            let mut volume = 0.0;
            let mut next = || {
                volume -= (1.0 - random.unit()).ln();
                scale * (volume as f32 / 1000.0).powf(2.0 / dimension)
            };
            let distances: Vec<f32> = (0..10).map(|_| next()).collect();
            marks(&distances).unwrap()
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn queries_of_the_same_distribution_are_included_and_others_are_not() {
        let known = Likeness::of(&queries(500, (12.0, 1.0), 1)).unwrap();
        let included = |dimension: f32, scale: f32| {
            let seeds = (2..102_u64)
                .filter(|seed| known.includes(&queries(64, (dimension, scale), *seed), 1.0));
            seeds.count()
        };
        assert!(included(12.0, 1.0) >= 95);
        let others = [(12.0, 1.4), (12.0, 0.7), (24.0, 1.0)];
        assert_eq!(
            others.map(|(dimension, scale)| included(dimension, scale)),
            [0; 3]
        );
        assert_eq!(known.check(), Ok(()));
        assert_eq!(
            Likeness::of(&queries(LEAST_QUERIES - 1, (12.0, 1.0), 1)),
            None
        );
    }

    #[test]
    fn what_a_search_misses_does_not_make_queries_others() {
        let known = Likeness::of(&queries(500, (12.0, 1.0), 1)).unwrap();
        // Of ten neighbours a fifth is missed: the others are those of a thinner set.
        let thinned = queries(256, (12.0, (1.0_f32 / 0.8).powf(2.0 / 12.0)), 2);
        assert!(!known.includes(&thinned, 1.0));
        assert!(known.includes(&thinned, 0.8));
    }

    #[test]
    fn what_tells_nothing_is_left_out() {
        assert_eq!(marks(&[]), None);
        assert_eq!(marks(&[0.0, 0.0]), None);
        assert_eq!(marks(&[1.0, f32::INFINITY]), None);
        let [nearest, farthest, between] = marks(&[2.0]).unwrap();
        assert_eq!((nearest, between), (farthest, 0.0));
        let copies = marks(&[0.0, 0.0, 1.0]).unwrap();
        assert!(copies.iter().all(|own| own.is_finite()), "{copies:?}");
        let alike = Likeness::of(&vec![marks(&[2.0]).unwrap(); 40]).unwrap();
        assert!(
            alike.includes(&[marks(&[3.0]).unwrap()], 1.0),
            "no number differs"
        );
    }

    #[test]
    fn between_two_ranks_numbers_lie_on_lines() {
        let one = Likeness::of(&queries(500, (12.0, 1.0), 1)).unwrap();
        let other = Likeness::of(&queries(500, (12.0, 4.0), 1)).unwrap();
        assert_eq!(one.towards(other, 0.0), one);
        let middle = one.towards(other, 0.5).farthest.mean;
        assert!((middle - f32::midpoint(one.farthest.mean, other.farthest.mean)).abs() < 1e-5);
        let mut forged = one;
        forged.between.deviation = -1.0;
        assert!(forged.check().is_err());
        forged.between.deviation = f32::NAN;
        assert!(forged.check().is_err());
    }
}
