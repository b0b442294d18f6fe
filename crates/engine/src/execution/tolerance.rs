//! How far off a returned distance may be: the one knob between exact answers and answers from
//! codes.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// The word for any error.
const ANY_WORD: &str = "any";

/// The largest error of a returned distance, as a share of that distance.
///
/// A distance that is not exact comes with the half width of an interval that holds the exact one:
/// [`Tolerance::DEVIATIONS`] standard deviations of the error of its code. An answer may come from
/// its code where that is at most the tolerance times the magnitude of the distance *as it is
/// returned*: for L2 of the squared Euclidean distance, so that the Euclidean is off by about half
/// that share; for cosine of one minus the cosine; for the inner product of the product. Of two
/// answers the farther one stands first by at most the sum of their errors. Which vectors are
/// answers is another matter, that of recall.
///
/// ```
/// use pageway::Tolerance;
///
/// assert_eq!("0.01".parse::<Tolerance>().unwrap(), Tolerance::new(0.01).unwrap());
/// assert_eq!("any".parse::<Tolerance>().unwrap(), Tolerance::ANY);
/// assert_eq!(Tolerance::default(), Tolerance::EXACT);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tolerance(f32);

impl Tolerance {
    /// Exact distances, in exact order.
    pub const EXACT: Self = Self(0.0);
    /// Whatever codes say of a vector that their bounds are sure is an answer.
    pub const ANY: Self = Self(f32::INFINITY);
    /// Standard deviations that an error is told at. Errors are about normal: one of 16,000 is
    /// larger.
    pub const DEVIATIONS: f32 = 4.0;

    /// A share of the distance from 0 to 1, or infinity for any error.
    ///
    /// # Errors
    /// `InvalidInput` for anything else.
    pub fn new(share: f32) -> Result<Self> {
        if (0.0..=1.0).contains(&share) || share == f32::INFINITY {
            return Ok(Self(share));
        }
        Err(refused(&share.to_string()))
    }

    /// The share; infinite for any error.
    pub const fn share(self) -> f32 {
        self.0
    }

    /// Whether every distance must be exact.
    pub fn is_exact(self) -> bool {
        self.0 <= 0.0
    }

    /// Whether any error will do.
    pub(super) fn is_any(self) -> bool {
        self == Self::ANY
    }

    /// Whether an estimate may be returned that is off by `error` at most.
    #[inline]
    pub(super) fn admits(self, estimate: f32, error: f32) -> bool {
        self.is_any() || !self.is_exact() && error <= self.0 * estimate.abs()
    }
}

fn refused(wish: &str) -> Error {
    Error::invalid(format!(
        "tolerance {wish}: give a share of the distance from 0 (exact) to 1, or '{ANY_WORD}'"
    ))
}

impl FromStr for Tolerance {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == ANY_WORD {
            return Ok(Self::ANY);
        }
        let share = text.parse::<f32>().ok().filter(|share| share.is_finite());
        share
            .and_then(|share| Self::new(share).ok())
            .ok_or_else(|| refused(text))
    }
}

impl Serialize for Tolerance {
    /// The share, or the word for any error.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if *self == Self::ANY {
            serializer.serialize_str(ANY_WORD)
        } else {
            serializer.serialize_f32(self.0)
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ANY {
            f.write_str(ANY_WORD)
        } else {
            self.0.fmt(f)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_share_is_refused() {
        for share in [0.0, -0.0, 1e-30, 0.01, 1.0, f32::INFINITY] {
            assert_eq!(Tolerance::new(share).unwrap().share(), share);
        }
        for share in [f32::NAN, -1e-9, -1.0, 1.000_1, 1e30, f32::NEG_INFINITY] {
            let refused = Tolerance::new(share).unwrap_err();
            assert!(refused.to_string().contains("tolerance"), "{share}");
        }
        for text in ["", "nan", "inf", "-0.1", "2", "exact", "1%"] {
            assert!(text.parse::<Tolerance>().is_err(), "{text}");
        }
        for text in ["0", "0.01", "any"] {
            assert_eq!(text.parse::<Tolerance>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn no_estimate_is_exact_and_any_error_is_admitted_by_any() {
        let small = Tolerance::new(0.1).unwrap();
        for (estimate, error) in [(2.0, 0.0), (2.0, 0.2), (-2.0, 0.2), (0.0, 0.0)] {
            assert!(!Tolerance::EXACT.admits(estimate, error));
            assert!(small.admits(estimate, error));
            assert!(Tolerance::ANY.admits(estimate, error));
        }
        for (estimate, error) in [(2.0, 0.21), (0.0, 1e-9), (1.0, f32::INFINITY)] {
            assert!(!small.admits(estimate, error));
            assert!(Tolerance::ANY.admits(estimate, error));
        }
        assert!(!small.admits(1.0, f32::NAN));
    }
}
