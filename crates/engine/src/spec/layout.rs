//! Axis 2: how records lie in pages.

use serde::{Deserialize, Serialize};

/// Axis 2: how records lie in pages.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    /// Bytes of a page: 4096, 8192, ... 65536. A record larger than a page spans several.
    pub page_bytes: u32,
    /// What a page holds.
    pub codec: CodecSpec,
    /// Which nodes share a page.
    pub placement: PlacementSpec,
    /// How adjacency lists are stored.
    #[serde(default)]
    pub lists: ListSpec,
}

impl LayoutSpec {
    /// Whether nodes that are neighbours have numbers that are.
    pub fn is_placed(&self) -> bool {
        self.placement != PlacementSpec::ById
    }
}

/// How adjacency lists are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSpec {
    /// Four bytes per neighbour, nearest first.
    #[default]
    Plain,
    /// Gaps between sorted neighbours in few bits. There is room for what a list of full length
    /// takes about; of a longer one the farthest neighbours are left out.
    Packed,
}

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CodecSpec {
    /// Records of fixed size, each a vector and its adjacency list.
    Packed,
    /// Packed records that also hold the codes of their neighbours (AiSAQ).
    InlineCodes,
    /// Packed records that also hold adjacency lists of their nearest neighbours (Gorgeous).
    Replicated {
        /// Lists of neighbours that a record has room for (R of the paper); a list is replicated at
        /// most once more than that.
        lists: u32,
    },
    /// The page is the node of the graph: vectors, and one merged adjacency list (PageANN).
    PageNode {
        /// Neighbours that a page keeps per vector, at least; decides how many vectors fit.
        min_degree: u32,
    },
    /// Adjacency lists in one kind of page, vectors in another (DGAI).
    Split,
}

impl CodecSpec {
    /// Lists of neighbours that a record has room for.
    pub const fn packed_lists(self) -> u32 {
        match self {
            Self::Replicated { lists } => lists,
            Self::Packed | Self::InlineCodes | Self::PageNode { .. } | Self::Split => 0,
        }
    }
}

/// Which nodes share a page.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
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
}
