//! Why a candidate was chosen, or not.

use std::fmt;

use serde::{Serialize, Serializer};

/// Why a candidate was chosen, or not; in JSON, the sentence that it reads as.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It is the choice: how it stands among the others.
    Chosen(String),
    /// It was tried and serves: how it compares with the choice.
    Behind(String),
    /// It was not tried: how it seems to compare with the choice.
    Guessed(String),
    /// It was tried and does not reach the recall.
    OutOfReach {
        /// The recall that is wished.
        recall: f32,
        /// The highest on the sample.
        best: f64,
    },
    /// A trial of it ended in an error.
    Failed(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen(words) => write!(f, "chosen: {words}"),
            Self::Behind(words) => f.write_str(words),
            Self::Guessed(words) => write!(f, "guessed, not tried: {words}"),
            Self::OutOfReach { recall, best } => write!(
                f,
                "recall {recall} is out of reach on the sample: {best:.3} at most"
            ),
            Self::Failed(why) => write!(f, "could not be tried: {why}"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
