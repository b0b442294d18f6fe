//! Where a walk starts.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};
use crate::spec::range::{MAX_DEGREE, MAX_ENTRIES, within};
use crate::spec::validate::Checked;

/// Where a walk starts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum EntrySpec {
    /// At the vector nearest to the mean of all.
    Medoid,
    /// At the best of several nodes, each nearest to the centre of a cluster.
    Fixed {
        /// How many.
        count: u32,
    },
    /// At the best nodes of a small graph over a sample, in memory.
    Navigation {
        /// Nodes per sampled node.
        one_in: u32,
        /// Longest adjacency list of the small graph.
        max_degree: u32,
        /// Candidate list of its searches: so many nodes start the walk.
        list_size: u32,
    },
    /// At the best nodes of the upper layers of an HNSW graph, in memory.
    UpperLayers {
        /// Candidate list in the lowest of them.
        list_size: u32,
    },
    /// At sampled nodes whose hash is near that of the query (PageANN).
    Hash {
        /// Nodes per sampled node.
        one_in: u32,
        /// Bits that may differ.
        radius: u32,
        /// Nodes scored at most.
        limit: u32,
    },
    /// At all nodes of the nearest clusters: the only entry of a graph of clusters.
    Clusters,
}

/// Where a walk starts.
pub const ENTRIES: [EntrySpec; 6] = [
    EntrySpec::Medoid,
    EntrySpec::Fixed { count: 8 },
    EntrySpec::Navigation {
        one_in: 100,
        max_degree: 24,
        list_size: 10,
    },
    EntrySpec::UpperLayers { list_size: 10 },
    EntrySpec::Hash {
        one_in: 20,
        radius: 2,
        limit: 200,
    },
    EntrySpec::Clusters,
];

impl EntrySpec {
    /// Whether every walk starts at one and the same node.
    pub const fn is_one_node(self) -> bool {
        matches!(self, Self::Medoid)
    }

    /// Whether a search starts with clusters.
    pub const fn is_clusters(self) -> bool {
        matches!(self, Self::Clusters)
    }

    /// Whether the graph must have layers above that on disk.
    pub const fn needs_layers(self) -> bool {
        matches!(self, Self::UpperLayers { .. })
    }

    pub(in crate::spec) fn validate(&self) -> Checked {
        match *self {
            Self::Medoid | Self::Clusters => Ok(()),
            Self::Fixed { count } => within("entry count", count, 1, MAX_ENTRIES),
            Self::UpperLayers { list_size } => within("entry list", list_size, 1, MAX_ENTRIES),
            Self::Navigation {
                one_in,
                max_degree,
                list_size,
            } => {
                within("one_in", one_in, 1, u32::MAX)?;
                within("navigation degree", max_degree, 1, MAX_DEGREE)?;
                within("entry list", list_size, 1, MAX_ENTRIES)
            }
            Self::Hash {
                one_in,
                radius,
                limit,
            } => {
                within("one_in", one_in, 1, u32::MAX)?;
                within("radius", radius, 0, 2)?;
                within("entry limit", limit, 1, MAX_ENTRIES)
            }
        }
    }
}

impl Choice for EntrySpec {
    const ABOUT: &str = "Where a walk starts: medoid, fixed[:count=8], \
                         navigation[:one_in=100,max_degree=24,list_size=10], \
                         upper_layers[:list_size=10], hash[:one_in=20,radius=2,limit=200] or, with \
                         graph clusters, clusters";

    fn known(_: &Sizes) -> Vec<Self> {
        ENTRIES.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Medoid => Words::new(
                "Each walk starts at the vector nearest to the mean of all.",
                "No memory; the first hops only bring the walk near.",
            ),
            Self::Fixed { count } => Words::new(
                format!(
                    "Each walk starts at the best of {count} nodes, each the middle of a cluster."
                ),
                format!("The codes of {count} nodes in memory."),
            ),
            Self::Navigation {
                one_in,
                max_degree,
                list_size,
            } => Words::new(
                format!(
                    "A small graph over one node in {one_in} is searched in memory first; the \
                     {list_size} best nodes found there start the walk."
                ),
                format!(
                    "Memory for the vectors of the sample and up to {max_degree} neighbours of \
                     each, and some exact distances per query."
                ),
            ),
            Self::UpperLayers { list_size } => Words::new(
                format!(
                    "The upper layers of the HNSW graph are searched in memory first; the \
                     {list_size} best nodes found there start the walk."
                ),
                "Memory for the vectors and lists of their nodes, and some exact distances per \
                 query.",
            ),
            Self::Clusters => Words::new(
                "Each search starts with all nodes of the nearest clusters.",
                "A code per cluster in memory, and some thousand distances from codes per query.",
            ),
            Self::Hash {
                one_in,
                radius,
                limit,
            } => hash_words(one_in, radius, limit),
        }
    }
}

fn hash_words(one_in: u32, radius: u32, limit: u32) -> Words {
    Words::new(
        format!(
            "One node in {one_in} is in a hash table by random hyperplanes. Those whose hash \
             differs from that of the query in at most {radius} bits, {limit} of them at most, are \
             ranked by their codes and start the walk."
        ),
        "Memory for the table, and up to that many distances from codes per query.",
    )
}
