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
}

impl GraphSpec {
    /// Longest adjacency list (R).
    pub const fn max_degree(&self) -> u32 {
        match self {
            Self::Vamana { max_degree, .. }
            | Self::Nsg { max_degree, .. }
            | Self::Hnsw { max_degree, .. } => *max_degree,
        }
    }

    /// Candidate list size while building (L).
    pub const fn build_list(&self) -> u32 {
        match self {
            Self::Vamana { build_list, .. }
            | Self::Nsg { build_list, .. }
            | Self::Hnsw { build_list, .. } => *build_list,
        }
    }
}
