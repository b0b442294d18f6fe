//! Which proximity graph is walked.

use pageway_graph::PiPnnSpec;
use serde::{Deserialize, Serialize};

use super::Sizes;
use super::policy::{Choice, Subject, Words};
use super::range::{MAX_BUILD_LIST, MAX_DEGREE, within};
use super::validate::Checked;

/// The proximity graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
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
    /// PiPNN: candidates from small overlapping groups, pruned, and edges across them from a graph
    /// over some of the nodes.
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

/// Proximity graphs.
pub fn graphs(sizes: &Sizes) -> [GraphSpec; 5] {
    let (max_degree, build_list) = (sizes.max_degree, sizes.build_list);
    [
        GraphSpec::vamana(sizes),
        GraphSpec::Nsg {
            max_degree,
            build_list,
            knn: 2 * max_degree,
        },
        GraphSpec::Hnsw {
            max_degree,
            build_list,
        },
        GraphSpec::pipnn(sizes),
        GraphSpec::Clusters { members: 64 },
    ]
}

impl GraphSpec {
    /// DiskANN's graph.
    pub const fn vamana(sizes: &Sizes) -> Self {
        Self::Vamana {
            max_degree: sizes.max_degree,
            build_list: sizes.build_list,
            alpha: sizes.alpha,
        }
    }

    /// A graph from small overlapping groups (decisions 0014 and 0058).
    pub const fn pipnn(sizes: &Sizes) -> Self {
        let PiPnnSpec {
            fanout, leaf, knn, ..
        } = PiPnnSpec::new(sizes.max_degree, sizes.alpha, sizes.seed);
        Self::PiPnn {
            max_degree: sizes.max_degree,
            build_list: sizes.build_list,
            alpha: sizes.alpha,
            fanout,
            leaf,
            knn,
        }
    }

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

    /// Slack of the prune rule, on squared distances; 1 where there is none.
    pub const fn alpha(&self) -> f32 {
        match self {
            Self::Vamana { alpha, .. } | Self::PiPnn { alpha, .. } => *alpha,
            Self::Nsg { .. } | Self::Hnsw { .. } | Self::Clusters { .. } => 1.0,
        }
    }

    /// Whether rows are linked by searches of the graph and a prune of what they find, so that more
    /// can be linked to it later.
    pub const fn grows(&self) -> bool {
        matches!(self, Self::Vamana { .. })
    }

    /// Whether lists that nodes have already are taken for candidates.
    pub const fn takes_lists(&self) -> bool {
        matches!(self, Self::PiPnn { .. })
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

    /// Whether nodes have adjacency lists.
    pub const fn has_lists(&self) -> bool {
        self.members().is_none()
    }

    /// Whether there are layers above the one on disk.
    pub const fn has_layers(&self) -> bool {
        matches!(self, Self::Hnsw { .. })
    }

    pub(super) fn validate(&self) -> Checked {
        if let Some(members) = self.members() {
            return within("members", members, 1, 65_536);
        }
        within("max_degree", self.max_degree(), 1, MAX_DEGREE)?;
        within("build_list", self.build_list(), 1, MAX_BUILD_LIST)?;
        match *self {
            Self::Clusters { .. } => Ok(()),
            Self::Vamana { alpha, .. } => within("alpha", alpha, 1.0, 4.0),
            Self::Nsg { knn, .. } => within("knn", knn, 1, MAX_BUILD_LIST),
            Self::Hnsw { max_degree, .. } => within("max_degree", max_degree, 4, MAX_DEGREE),
            Self::PiPnn {
                alpha,
                fanout,
                leaf,
                knn,
                ..
            } => {
                within("alpha", alpha, 1.0, 4.0)?;
                within("fanout", fanout, 1, 64)?;
                within("leaf", leaf, 16, 8192)?;
                within("knn", knn, 1, 64)
            }
        }
    }
}

impl Choice for GraphSpec {
    const ABOUT: &str = "Graph: vamana, nsg[:knn=2R], hnsw, pipnn[:fanout=12,knn=5,leaf=512] or, \
                         without lists, clusters[:members=64]";

    fn known(sizes: &Sizes) -> Vec<Self> {
        graphs(sizes).to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        let (degree, list) = (self.max_degree(), self.build_list());
        match self {
            Self::Vamana { alpha, .. } => Words::new(
                format!(
                    "Each node has up to {degree} neighbours, near ones and some far ones, so that \
                     few hops lead anywhere; of two that lead the same way the farther one goes, \
                     with a slack of {alpha}."
                ),
                format!(
                    "Building takes a search with a list of {list} per node; 4 bytes per neighbour \
                     on disk."
                ),
            ),
            Self::Nsg { knn, .. } => Words::new(
                format!(
                    "Each node has up to {degree} neighbours, pruned from its {knn} nearest nodes \
                     and from what a search for it meets."
                ),
                format!(
                    "Building takes three searches per node, one with a list of {list}, and memory \
                     for all vectors and the whole graph; 4 bytes per neighbour on disk."
                ),
            ),
            Self::Hnsw { .. } => Words::new(
                format!(
                    "The lowest layer, with up to {degree} neighbours per node, lies on disk; a \
                     node in {} is in the layer above, and so on, for entry upper_layers.",
                    (degree / 2).max(2)
                ),
                format!(
                    "Building takes a search with a list of {list} per node and layer, and memory \
                     for all vectors and the whole graph; 4 bytes per neighbour on disk."
                ),
            ),
            Self::PiPnn {
                fanout, leaf, knn, ..
            } => Words::new(
                format!(
                    "Each node has up to {degree} neighbours, pruned from its {knn} nearest in \
                     each of some {} groups of up to {leaf} nodes that overlap.",
                    2 * fanout
                ),
                "Building compares groups by products of matrices, and searches for one node in \
                 sixteen; 4 bytes per neighbour on disk.",
            ),
            Self::Clusters { members } => Words::new(
                format!(
                    "Nodes have no lists: they are in clusters of k-means, of {members} on \
                     average, and clusters in groups. A query ranks the nearest clusters, as many \
                     as its list is long, and then their nodes, by codes in memory."
                ),
                "Building compares nodes with means by products of matrices; a code per cluster in \
                 memory, and nothing per neighbour.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::choices::typed;

    #[test]
    fn sizes_fill_what_a_choice_leaves_open() {
        let sizes = Sizes {
            max_degree: 31,
            ..Sizes::default()
        };
        let [vamana, nsg, hnsw, pipnn, clusters] = graphs(&sizes);
        for graph in [vamana, nsg, hnsw, pipnn] {
            assert!(typed(&graph).contains("max_degree=31"), "{graph:?}");
        }
        assert_eq!(typed(&clusters), "clusters:members=64");
        assert!(typed(&nsg).contains("knn=62"), "{nsg:?}");
    }
}
