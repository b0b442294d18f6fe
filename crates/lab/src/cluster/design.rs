//! The ways in which rows lie on several machines.

use std::fmt;

use pageway::SegmentCut;
use serde::Serialize;

/// A way in which rows lie on several machines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterDesign {
    /// Segments of rows as they came; every query asks all.
    Arrival,
    /// Segments of rows that lie together; a query asks those that it is near.
    Space,
    /// One graph over all rows, its pages dealt to nodes by a hash: a message for each step of the
    /// walk, as DistributedANN has it.
    Graph,
}

impl ClusterDesign {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Arrival, Self::Space, Self::Graph];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Space => "space",
            Self::Graph => "graph",
        }
    }

    /// How its rows are cut into the segments of an index.
    pub(super) const fn cut(self) -> SegmentCut {
        match self {
            Self::Arrival | Self::Graph => SegmentCut::Arrival,
            Self::Space => SegmentCut::Space,
        }
    }
}

impl fmt::Display for ClusterDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
