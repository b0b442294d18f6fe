//! A count by rows or by segments: what was measured, and what follows for where nothing was.

use serde::Serialize;

use crate::model::{Fit, Law};

/// A count over some other number: of rows, or of segments.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CountLaw {
    /// What was measured: pairs of that number and the count.
    pub measured: Vec<(u64, f64)>,
    /// What was fitted; none where the count is 0 somewhere, or one number alone was measured.
    pub fit: Option<Fit>,
    /// By what factor the fit grows when the number doubles, at the last that was measured.
    pub per_doubling: f64,
}

impl CountLaw {
    /// Fits `law`.
    pub(super) fn of(law: Law, measured: &[(u64, f64)]) -> Self {
        let mut measured = measured.to_vec();
        measured.sort_by_key(|(number, _)| *number);
        let differ = measured.first().map(|one| one.0) != measured.last().map(|one| one.0);
        let is_positive = measured
            .iter()
            .all(|(number, count)| *number > 0 && *count > 0.0);
        let fit = (differ && is_positive).then(|| Fit::of(law, &measured));
        let mut own = Self {
            measured,
            fit,
            per_doubling: 1.0,
        };
        let last = own.measured.last().map_or(1, |one| one.0);
        own.per_doubling = own.factor(last, 2 * last);
        own
    }

    /// Fits the law that leaves the smaller errors.
    pub(super) fn best(measured: &[(u64, f64)]) -> Self {
        let both = [Law::Logarithmic, Law::Power].map(|law| Self::of(law, measured));
        let residual = |one: &Self| one.fit.map_or(f64::INFINITY, |fit| fit.residual);
        let [logarithmic, power] = both;
        if residual(&power) < residual(&logarithmic) {
            power
        } else {
            logarithmic
        }
    }

    /// By what factor the count grows between two numbers; 1 where nothing was fitted.
    pub(super) fn factor(&self, from: u64, to: u64) -> f64 {
        let Some(fit) = self.fit else {
            return 1.0;
        };
        let factor = fit.at(to) / fit.at(from);
        if factor.is_finite() && factor > 0.0 {
            factor
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_that_fits_is_taken_and_tells_its_growth_by_doubling() {
        let power = [(1, 3.0), (2, 6.0), (4, 12.0)];
        let law = CountLaw::best(&power);
        assert_eq!(law.fit.map(|fit| fit.law), Some(Law::Power));
        assert!((law.per_doubling - 2.0).abs() < 1e-9);
        assert!((law.factor(4, 16) - 4.0).abs() < 1e-9);
        let logarithmic = [(10_000, 10.0), (100_000, 12.0), (1_000_000, 14.0)];
        let law = CountLaw::best(&logarithmic);
        assert_eq!(law.fit.map(|fit| fit.law), Some(Law::Logarithmic));
        assert!((law.factor(1_000_000, 1_000_000_000) - 20.0 / 14.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_fitted_does_not_grow() {
        for measured in [vec![], vec![(4, 1.0)], vec![(1, 0.0), (2, 5.0)]] {
            let law = CountLaw::best(&measured);
            assert_eq!((law.fit, law.factor(2, 1 << 40)), (None, 1.0));
        }
    }
}
