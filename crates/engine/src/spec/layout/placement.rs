//! Which nodes share a page.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, percent};
use crate::spec::range::within;
use crate::spec::validate::Checked;

/// Which nodes share a page.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PlacementSpec {
    /// In the order of the data.
    ById,
    /// Block neighbour padding: a node and its neighbours, in one pass (Starling).
    Bnp,
    /// Block neighbour frequency: each node goes where most of its neighbours were (Starling).
    Bnf {
        /// Rounds at most (beta).
        rounds: u32,
        /// Gain in overlap ratio below which it stops (tau).
        gain: f32,
    },
    /// Block neighbour swap: nodes change places while that raises the overlap (Starling).
    Bns {
        /// Sweeps at most.
        rounds: u32,
        /// Gain in overlap ratio below which it stops (tau).
        gain: f32,
    },
    /// A node and the nearest of those within so many hops (PageANN, Algorithm 1).
    Grouped {
        /// Hops (h).
        hops: u32,
    },
    /// Balanced clusters of the vectors.
    Clustered,
    /// The same, but nodes change places while that brings the nearest of their neighbours onto
    /// their page.
    Nearest,
}

/// Which nodes share a page.
pub const PLACEMENTS: [PlacementSpec; 7] = [
    PlacementSpec::ById,
    PlacementSpec::Bnp,
    PlacementSpec::Bnf {
        rounds: 8,
        gain: 0.01,
    },
    PlacementSpec::Bns {
        rounds: 8,
        gain: 0.01,
    },
    PlacementSpec::Grouped { hops: 2 },
    PlacementSpec::Clustered,
    PlacementSpec::Nearest,
];

impl PlacementSpec {
    /// Name on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ById => "by_id",
            Self::Bnp => "bnp",
            Self::Bnf { .. } => "bnf",
            Self::Bns { .. } => "bns",
            Self::Grouped { .. } => "grouped",
            Self::Clustered => "clustered",
            Self::Nearest => "nearest",
        }
    }

    /// Whether nodes keep the order of the data.
    pub const fn is_by_id(self) -> bool {
        matches!(self, Self::ById)
    }

    /// Whether nodes lie in clusters.
    pub const fn is_clustered(self) -> bool {
        matches!(self, Self::Clustered)
    }

    /// Whether near vectors share a page, as against nodes that name each other.
    pub const fn is_by_vectors(self) -> bool {
        matches!(self, Self::Clustered | Self::Nearest)
    }

    pub(in crate::spec) fn validate(&self) -> Checked {
        match *self {
            Self::Bnf { rounds, gain } | Self::Bns { rounds, gain } => {
                within("rounds", rounds, 1, 1000)?;
                within("gain", gain, 0.0, 1.0)
            }
            Self::Grouped { hops } => within("hops", hops, 1, 8),
            Self::ById | Self::Bnp | Self::Clustered | Self::Nearest => Ok(()),
        }
    }
}

impl Choice for PlacementSpec {
    const ABOUT: &str = "Which nodes share a page: by_id, bnp, bnf[:rounds=8,gain=0.01], \
                         bns[:rounds=8,gain=0.01], grouped[:hops=2], clustered or nearest";

    fn known(_: &Sizes) -> Vec<Self> {
        PLACEMENTS.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        let meaning = match self {
            Self::ById => {
                return Words::new(
                    "Nodes lie in the order of the data.",
                    "No work at build; who shares a page is chance.",
                );
            }
            Self::Bnp => {
                "A page holds a node and its neighbours, filled in one pass over the graph."
                    .to_owned()
            }
            Self::Bnf { rounds, gain } => format!(
                "Each node goes to the page where most of its neighbours were, over and over: \
                 {rounds} rounds, fewer once the share of neighbours on a page grows by less than \
                 {}.",
                percent(gain)
            ),
            Self::Bns { rounds, gain } => format!(
                "Nodes change places while that brings neighbours together: {rounds} sweeps, fewer \
                 once the share of neighbours on a page grows by less than {}. Slower than bnf, \
                 and closer.",
                percent(gain)
            ),
            Self::Grouped { hops } => format!(
                "A page holds a node and the nearest of those that it reaches in {hops} hops."
            ),
            Self::Clustered => {
                "A page holds a small cluster of vectors; all clusters are of one size.".to_owned()
            }
            Self::Nearest => {
                "A page holds nodes that are among each other's nearest neighbours; near pages \
                 follow each other."
                    .to_owned()
            }
        };
        let cost = if self.is_clustered() {
            "Nodes are numbered anew, part by part where the build has little memory."
        } else {
            "Nodes are numbered anew, in windows where the build has no memory for the whole graph."
        };
        Words::new(meaning, cost)
    }
}
