//! Where codes live.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, count};

/// Where codes live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CodeStorage {
    /// One table in memory, a row per node.
    Memory,
    /// Beside each adjacency list that names the node; the codes of entry nodes alone in memory.
    InPage,
    /// Those of the hottest nodes in memory, the others beside the lists that name them.
    Split {
        /// Nodes whose codes are in memory; nodes are numbered from hot to cold, a page at a time.
        memory_nodes: u32,
    },
}

/// Where codes live.
pub const CODES: [CodeStorage; 3] = [
    CodeStorage::Memory,
    CodeStorage::InPage,
    // The plan of a build sees how many the memory budget holds.
    CodeStorage::Split { memory_nodes: 0 },
];

impl CodeStorage {
    /// Whether memory holds all of them.
    pub const fn is_memory(self) -> bool {
        matches!(self, Self::Memory)
    }

    /// Whether memory holds as many as it has room for.
    pub const fn is_split(self) -> bool {
        matches!(self, Self::Split { .. })
    }

    /// The same with other codes in memory, where memory holds some.
    #[must_use]
    pub const fn with_memory_nodes(self, memory_nodes: u32) -> Self {
        match self {
            Self::Split { .. } => Self::Split { memory_nodes },
            Self::Memory | Self::InPage => self,
        }
    }

    /// Codes held in memory, one per node from node 0, for an index of `node_count`.
    pub const fn in_memory(self, node_count: u32) -> u32 {
        match self {
            Self::InPage => 0,
            Self::Split { memory_nodes } if memory_nodes < node_count => memory_nodes,
            Self::Memory | Self::Split { .. } => node_count,
        }
    }
}

impl Choice for CodeStorage {
    const ABOUT: &str = "Where codes lie: memory, in_page, or split by what memory holds";

    fn known(_: &Sizes) -> Vec<Self> {
        CODES.to_vec()
    }

    fn words(self, of: &Subject<'_>) -> Words {
        let bytes = of.spec.storage.quantizer.code_bytes();
        match self {
            Self::Memory => Words::new(
                "The codes of all vectors are in memory, so that neighbours are ranked without a \
                 read.",
                format!(
                    "{bytes} bytes of memory per vector, {} for {} vectors.",
                    of.bytes_of_all(bytes),
                    count(of.nodes.into())
                ),
            ),
            Self::InPage => Words::new(
                "Each list carries the codes of its neighbours; memory holds those of the entry \
                 nodes alone, however many vectors there are.",
                format!(
                    "{bytes} bytes of disk for each neighbour of each list, so fewer nodes share a \
                     page."
                ),
            ),
            Self::Split { memory_nodes } => Words::new(
                "Memory holds the codes of the nodes that most pages name, as many as the budget \
                 of the build allows; pages carry the others.",
                format!(
                    "{bytes} bytes per code, in memory ({} codes here) or on each page that names \
                     the node.",
                    count(memory_nodes.into())
                ),
            ),
        }
    }
}
