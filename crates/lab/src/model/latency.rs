//! A distribution of read times, by a few quantiles.

use pageway::{Error, Result};
use serde::{Deserialize, Serialize};

/// Quantiles: pairs of percentile and microseconds. Between two of them the logarithm of the time
/// grows evenly; below the first and above the last it is constant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// A distribution with these pairs.
    ///
    /// # Errors
    /// `InvalidInput` where they do not rise from 0 to 100, or no time is positive.
    pub fn new(pairs: Vec<(f64, f64)>) -> Result<Self> {
        let quantiles = Self(pairs);
        quantiles.check()?;
        Ok(quantiles)
    }

    /// As [`Quantiles::new`], for one that was read.
    pub(super) fn check(&self) -> Result<()> {
        let rises = |pair: &[(f64, f64)]| match pair {
            [(p, t), (q, u)] => p < q && t <= u,
            _ => true,
        };
        let sane = |&(percent, us): &(f64, f64)| {
            (0.0..=100.0).contains(&percent) && us > 0.0 && us.is_finite()
        };
        if !self.0.is_empty() && self.0.iter().all(sane) && self.0.windows(2).all(rises) {
            return Ok(());
        }
        let words = "latency: give pairs of percentile (0 to 100) and microseconds, both rising";
        Err(Error::invalid(words))
    }

    /// The time that `share` (0 to 1) of the reads do not exceed, in microseconds.
    pub fn at(&self, share: f64) -> f64 {
        let percent = share * 100.0;
        let after = self.0.partition_point(|(p, _)| *p <= percent);
        let before = after.checked_sub(1).and_then(|at| self.0.get(at));
        match (before, self.0.get(after)) {
            (Some((p, t)), Some((q, u))) => t * (u / t).powf((percent - p) / (q - p)),
            (Some((_, t)), None) | (None, Some((_, t))) => *t,
            (None, None) => 0.0,
        }
    }

    /// The mean in microseconds.
    pub fn mean(&self) -> f64 {
        let between = self.0.windows(2).map(|pair| match pair {
            [(p, t), (q, u)] => (q - p) / 100.0 * logarithmic_mean(*t, *u),
            _ => 0.0,
        });
        let first = self.0.first().map_or(0.0, |(p, t)| p / 100.0 * t);
        let last = self.0.last().map_or(0.0, |(p, t)| (1.0 - p / 100.0) * t);
        first + between.sum::<f64>() + last
    }

    /// The same shape with another mean.
    pub(super) fn with_mean(self, mean: f64) -> Self {
        let factor = mean / self.mean();
        Self(self.0.into_iter().map(|(p, t)| (p, t * factor)).collect())
    }
}

/// The mean over an interval in which the logarithm grows evenly from that of `a` to that of `b`.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let ratio = b / a;
    if (ratio - 1.0).abs() < 1e-9 {
        return a;
    }
    (b - a) / ratio.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_met_and_joined_by_straight_lines_of_logarithms() {
        let quantiles = Quantiles::new(vec![(10.0, 50.0), (50.0, 100.0), (99.0, 400.0)]).unwrap();
        for (share, us) in [
            (0.0, 50.0),
            (0.1, 50.0),
            (0.5, 100.0),
            (0.745, 200.0),
            (1.0, 400.0),
        ] {
            assert!((quantiles.at(share) - us).abs() < 1e-9, "{share}");
        }
        let steps = 100_000;
        let sum: f64 = (0..steps)
            .map(|i| quantiles.at((f64::from(i) + 0.5) / f64::from(steps)))
            .sum();
        assert!((sum / f64::from(steps) - quantiles.mean()).abs() < 0.01);
        assert!((quantiles.with_mean(70.0).mean() - 70.0).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_rise_is_refused() {
        let nan = f64::NAN;
        for pairs in [
            vec![],
            vec![(50.0, 0.0)],
            vec![(50.0, nan)],
            vec![(101.0, 5.0)],
            vec![(50.0, 9.0), (99.0, 8.0)],
            vec![(50.0, 9.0), (50.0, 9.0)],
        ] {
            assert!(Quantiles::new(pairs).is_err());
        }
    }
}
