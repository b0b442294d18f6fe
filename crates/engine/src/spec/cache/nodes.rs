//! What a cache keeps per node.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};

/// What is kept per node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeCacheSpec {
    /// Nothing.
    None,
    /// Whole records.
    Records,
    /// Whole records: of the selection at first, then of nodes used lately, by second chance.
    Clock,
    /// Adjacency lists, packed; vectors of the same nodes when every list is in and memory is left.
    Lists,
}

/// What is cached per node.
pub const NODE_CACHES: [NodeCacheSpec; 4] = [
    NodeCacheSpec::None,
    NodeCacheSpec::Records,
    NodeCacheSpec::Clock,
    NodeCacheSpec::Lists,
];

impl NodeCacheSpec {
    /// Whether nothing is kept.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether a vector is kept with each list.
    pub const fn holds_records(self) -> bool {
        matches!(self, Self::Records | Self::Clock)
    }

    /// Whether lists alone are kept.
    pub const fn holds_lists(self) -> bool {
        matches!(self, Self::Lists)
    }

    /// Whether what is kept follows from earlier queries.
    pub const fn learns(self) -> bool {
        matches!(self, Self::Clock)
    }
}

impl Choice for NodeCacheSpec {
    const ABOUT: &str = "What is cached per node: none, records, clock (records, those used lately) \
                         or lists";

    fn known(_: &Sizes) -> Vec<Self> {
        NODE_CACHES.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::None => Words::new(
                "No records or lists are kept between queries.",
                "No memory; each node costs its read, unless the page is cached.",
            ),
            Self::Records => Words::new(
                "Memory that is left over holds whole records, loaded when the index is opened: \
                 such a node needs no read.",
                "A vector and a list of memory per node.",
            ),
            Self::Clock => Words::new(
                "Memory that is left over holds whole records: of the selection at first, then of \
                 nodes that searches used lately, by second chance.",
                "A vector and the longest list of memory per node; a hit copies the record, under \
                 a lock.",
            ),
            Self::Lists => Words::new(
                "Memory that is left over holds adjacency lists, packed, and vectors only when all \
                 lists are in: such a node is expanded without a read.",
                "About a third of a list's ids of memory per node; its exact distance may still \
                 cost a read.",
            ),
        }
    }
}
