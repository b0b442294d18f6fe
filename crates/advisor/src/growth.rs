//! What a count over a sample would be over all vectors.
//!
//! The cost of a graph search grows like the logarithm of the number of vectors where codes are
//! good, and like a small power of it where they are coarse, for then ever more candidates stand
//! between. Two sizes cannot tell which: both laws go through them, and the middle of both, by
//! ratio, is taken. Where candidates come from clusters, or bounds leave few to be read, it is a
//! power: neighbours lie closer together, and bounds stay as wide. No exponent is usual there, so
//! that half of the measured one is believed.

use pageway::IndexSpec;
use serde::Serialize;

/// The exponent that codes of one byte per dimension would have, and the power of the bytes per
/// dimension that it falls with: a fit to 128 dimensions, 100,000 to 2.8 million vectors, codes of
/// 8, 16 and 32 bytes (exponents 0.42, 0.26 and 0.15).
const EXPONENT: f64 = 0.053;
const EXPONENT_POWER: f64 = -0.75;
/// Share that a candidate's own measurement has in its exponent; and where none is usual: two
/// counts that are good to a twentieth each tell an exponent to 0.05, as well as what is usual.
const OWN_SHARE: f64 = 0.25;
const OWN_SCANNED_SHARE: f64 = 0.5;
/// Of reads where candidates come from clusters and one size was tried: between sentences
/// (0.07) and photo descriptors (0.2).
pub(crate) const SCANNED_EXPONENT: f64 = 0.1;
/// Largest exponent that is believed: beyond, a sample of queries was unlucky.
const MOST_EXPONENT: f64 = 0.4;

/// The exponent that is usual with codes of `code_share` bytes per dimension: coarse codes pay more
/// as vectors grow in number.
pub(crate) fn usual_exponent(code_share: f64) -> f64 {
    let exponent = EXPONENT * code_share.max(1e-3).powf(EXPONENT_POWER);
    exponent.min(MOST_EXPONENT)
}

/// The same for `spec`, with codes of `code_share` bytes per dimension.
pub(crate) fn exponent_of(spec: &IndexSpec, code_share: f64) -> f64 {
    match spec.graph.members() {
        Some(_) => SCANNED_EXPONENT,
        None => usual_exponent(code_share),
    }
}

/// Growth of one count between two sizes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Growth {
    /// The smaller size and the larger.
    sizes: (f64, f64),
    /// Of the count, as a power of the size.
    exponent: f64,
}

impl Growth {
    /// Of a count that was `small` over `sizes.0` vectors and `large` over `sizes.1`. One that
    /// shrank, or sizes that are one, give no growth.
    pub fn between(sizes: (u64, u64), small: f64, large: f64) -> Self {
        let sizes = (sizes.0 as f64, sizes.1 as f64);
        let apart = (sizes.1 / sizes.0).ln();
        let raw = if apart > 0.0 && small > 0.0 && large > 0.0 {
            (large / small).ln() / apart
        } else {
            0.0
        };
        let exponent = raw.clamp(0.0, MOST_EXPONENT);
        Self { sizes, exponent }
    }

    /// Of a count whose exponent is known.
    pub(crate) fn with_exponent((small, large): (u64, u64), exponent: f64) -> Self {
        Self {
            sizes: (small as f64, large as f64),
            exponent: exponent.clamp(0.0, MOST_EXPONENT),
        }
    }

    /// The exponent of the power law.
    pub const fn exponent(&self) -> f64 {
        self.exponent
    }

    /// The same, drawn to what is usual: a quarter of its exponent is its own, for a few hundred
    /// queries tell the pages at a recall to some percent only.
    #[must_use]
    pub fn towards(self, usual: f64) -> Self {
        self.drawn(usual.clamp(0.0, MOST_EXPONENT), OWN_SHARE)
    }

    /// The same where no exponent is usual.
    #[must_use]
    pub(crate) fn towards_scanned(self) -> Self {
        self.drawn(SCANNED_EXPONENT, OWN_SCANNED_SHARE)
    }

    fn drawn(self, usual: f64, own_share: f64) -> Self {
        let exponent = usual + own_share * (self.exponent - usual);
        Self { exponent, ..self }
    }

    /// The same by the power law alone.
    pub(crate) fn power(&self, rows: u64) -> f64 {
        let (_, large) = self.sizes;
        (rows as f64 / large).max(1.0).powf(self.exponent)
    }

    /// By what factor the count grows from the larger size to `rows`.
    pub fn factor(&self, rows: u64) -> f64 {
        let (small, large) = self.sizes;
        let beyond = (rows as f64 / large).ln();
        if beyond <= 0.0 {
            return 1.0;
        }
        let power = (self.exponent * beyond).exp();
        let apart = (large / small).ln();
        let gained = if apart > 0.0 {
            1.0 - (-self.exponent * apart).exp()
        } else {
            0.0
        };
        let logarithmic = if apart > 0.0 {
            1.0 + gained * beyond / apart
        } else {
            1.0
        };
        (power * logarithmic).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_lies_between_both_laws() {
        let growth = Growth::between((5_000, 20_000), 20.0, 24.0);
        let exponent = (1.2_f64).ln() / (4.0_f64).ln();
        assert!((growth.exponent() - exponent).abs() < 1e-12);
        let power = 50.0_f64.powf(exponent);
        let logarithmic = (24.0 + 4.0 * 50.0_f64.ln() / 4.0_f64.ln()) / 24.0;
        let factor = growth.factor(1_000_000);
        assert!(logarithmic < factor && factor < power, "{factor}");
        assert!((factor * factor - power * logarithmic).abs() < 1e-9);
    }

    #[test]
    fn coarse_codes_grow_faster() {
        for (bytes, exponent) in [(8.0, 0.4), (16.0, 0.26), (32.0, 0.15)] {
            let found = usual_exponent(bytes / 128.0);
            assert!((found - exponent).abs() < 0.02, "{bytes}: {found}");
        }
    }

    #[test]
    fn nothing_grows_where_nothing_is_known() {
        for growth in [
            Growth::between((5_000, 20_000), 20.0, 18.0),
            Growth::between((5_000, 5_000), 20.0, 24.0),
            Growth::between((5_000, 20_000), 0.0, 24.0),
        ] {
            assert_eq!(growth.factor(1_000_000), 1.0);
        }
        let growth = Growth::between((5_000, 20_000), 20.0, 24.0);
        assert_eq!(growth.factor(20_000), 1.0);
        assert_eq!(growth.factor(100), 1.0);
    }

    #[test]
    fn one_unlucky_sample_is_drawn_to_what_is_usual() {
        let growth = Growth::between((1_000, 10_000), 10.0, 90.0);
        assert_eq!(growth.exponent(), MOST_EXPONENT);
        assert!((growth.towards(0.1).exponent() - 0.175).abs() < 1e-12);
        assert!((growth.towards_scanned().exponent() - 0.25).abs() < 1e-12);
    }
}
