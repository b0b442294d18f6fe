//! Which proximity graph is walked.

use serde::{Deserialize, Serialize};

/// The proximity graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "snake_case", deny_unknown_fields)]
pub enum GraphSpec {
    /// Vamana with `RobustPrune` (Subramanya et al., NeurIPS 2019).
    Vamana {
        /// Longest adjacency list (R).
        max_degree: u32,
        /// Candidate list size while building (L).
        build_list: u32,
        /// Slack of the prune rule, on squared distances as in the authors' code.
        alpha: f32,
    },
    /// NSG: a monotonic graph pruned from nearest neighbours (Fu et al., VLDB 2019).
    Nsg {
        /// Longest adjacency list (R).
        max_degree: u32,
        /// Candidate list size while building (L).
        build_list: u32,
        /// Nearest neighbours per node that the graph is pruned from.
        knn: u32,
    },
    /// HNSW (Malkov and Yashunin, 2018): its lowest layer lies on disk.
    Hnsw {
        /// Longest adjacency list of the lowest layer (2 M); half of it in the layers above.
        max_degree: u32,
        /// Candidate list size while building (`efConstruction`).
        build_list: u32,
    },
    /// PiPNN: candidates from small overlapping groups, pruned; no search while building.
    #[serde(rename = "pipnn")]
    PiPnn {
        /// Longest adjacency list (R).
        max_degree: u32,
        /// Candidate list size while building a navigation graph; the graph itself needs none.
        build_list: u32,
        /// Slack of the prune rule, as of Vamana.
        alpha: f32,
        /// Groups that each node goes to at first; it comes to twice as many leaves.
        fanout: u32,
        /// Nodes of a leaf, at most.
        leaf: u32,
        /// Nearest nodes that each node takes from each leaf.
        knn: u32,
    },
    /// No lists: nodes are in clusters of k-means, clusters in groups. A query looks into the
    /// nearest clusters, as many as its candidate list is long.
    Clusters {
        /// Nodes of a cluster, on average.
        members: u32,
    },
}

impl GraphSpec {
    /// Members of a cluster, where nodes are grouped in those and have no lists.
    pub const fn members(&self) -> Option<u32> {
        match self {
            Self::Clusters { members } => Some(*members),
            Self::Vamana { .. } | Self::Nsg { .. } | Self::Hnsw { .. } | Self::PiPnn { .. } => None,
        }
    }

    /// Longest adjacency list (R); 0 where nodes have none.
    pub const fn max_degree(&self) -> u32 {
        match self {
            Self::Clusters { .. } => 0,
            Self::Vamana { max_degree, .. }
            | Self::Nsg { max_degree, .. }
            | Self::Hnsw { max_degree, .. }
            | Self::PiPnn { max_degree, .. } => *max_degree,
        }
    }

    /// Candidate list size while building (L); 0 where nothing is searched.
    pub const fn build_list(&self) -> u32 {
        match self {
            Self::Clusters { .. } => 0,
            Self::Vamana { build_list, .. }
            | Self::Nsg { build_list, .. }
            | Self::Hnsw { build_list, .. }
            | Self::PiPnn { build_list, .. } => *build_list,
        }
    }
}
