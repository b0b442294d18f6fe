//! How adjacency lists are stored.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};

/// How adjacency lists are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ListSpec {
    /// Four bytes per neighbour, nearest first.
    #[default]
    Plain,
    /// Gaps between sorted neighbours in few bits. There is room for what a list of full length
    /// takes about; of a longer one the farthest neighbours are left out.
    Packed,
}

/// How adjacency lists are stored.
pub const LISTS: [ListSpec; 2] = [ListSpec::Plain, ListSpec::Packed];

impl ListSpec {
    /// Whether a list has to be unpacked.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::Packed)
    }
}

impl Choice for ListSpec {
    const ABOUT: &str = "How adjacency lists are stored: plain, or packed: sorted, in about a third \
                         of the bytes";

    fn known(_: &Sizes) -> Vec<Self> {
        LISTS.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Plain => Words::new(
                "A list has the numbers of its neighbours one after the other.",
                "Four bytes per neighbour, and nothing to decode.",
            ),
            Self::Packed => Words::new(
                "A list is sorted and stores gaps, in about a third of the bytes.",
                "2 ns per neighbour to unpack; of lists that pack badly the farthest neighbours \
                 are left out.",
            ),
        }
    }
}
