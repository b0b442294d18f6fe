//! Axis 5: how changes reach the disk.

use serde::{Deserialize, Serialize};

use super::Sizes;
use super::policy::{Choice, Subject, Words};

/// Axis 5: how changes reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UpdateSpec {
    /// Not at all: the index is rebuilt.
    Static,
}

impl Choice for UpdateSpec {
    const ABOUT: &str = "How changes reach the disk: static";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![Self::Static]
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Static => Words::new(
                "The index does not change.",
                "It is built anew, and replaces the old one in one step.",
            ),
        }
    }
}
