//! How the rows of a build become segments.

use std::fmt;
use std::str::FromStr;

use pageway_types::did_you_mean;

use crate::error::{Error, Result};

/// How the rows of a build become segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SegmentCut {
    /// In the order in which they come: a run of rows each.
    #[default]
    Arrival,
    /// By where they lie: near rows are in one segment, and a query asks the segments that it is
    /// near. Rows keep their numbers as ids.
    Space,
}

impl SegmentCut {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Arrival, Self::Space];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Space => "space",
        }
    }
}

impl fmt::Display for SegmentCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SegmentCut {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|cut| cut.name() == text);
        found.ok_or_else(|| {
            Error::invalid(format!(
                "unknown cut '{text}': choose arrival or space{}",
                did_you_mean(text, &names)
            ))
        })
    }
}
