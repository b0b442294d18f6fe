//! What a page holds.

use serde::{Deserialize, Serialize};

use super::ListSpec;
use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words, count};
use crate::spec::range::{MAX_DEGREE, within};
use crate::spec::validate::Checked;

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
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

/// What a page holds.
pub fn codecs(sizes: &Sizes) -> [CodecSpec; 5] {
    [
        CodecSpec::Packed,
        CodecSpec::InlineCodes,
        CodecSpec::Replicated { lists: 4 },
        CodecSpec::PageNode {
            min_degree: sizes.max_degree.div_ceil(2),
        },
        CodecSpec::Split,
    ]
}

impl CodecSpec {
    /// Lists of neighbours that a record has room for.
    pub const fn packed_lists(self) -> u32 {
        match self {
            Self::Replicated { lists } => lists,
            Self::Packed | Self::InlineCodes | Self::PageNode { .. } | Self::Split => 0,
        }
    }

    /// The same with room for other lists, where it has room for some.
    #[must_use]
    pub const fn with_packed_lists(self, lists: u32) -> Self {
        match self {
            Self::Replicated { .. } => Self::Replicated { lists },
            Self::Packed | Self::InlineCodes | Self::PageNode { .. } | Self::Split => self,
        }
    }

    /// Neighbours that a page keeps per vector, at least; none where each vector has a list.
    pub const fn shared_degree(self) -> Option<u32> {
        match self {
            Self::PageNode { min_degree } => Some(min_degree),
            Self::Packed | Self::InlineCodes | Self::Replicated { .. } | Self::Split => None,
        }
    }

    /// The same with half as many of those.
    #[must_use]
    pub const fn with_half_shared_degree(self) -> Self {
        match self {
            Self::PageNode { min_degree } => Self::PageNode {
                min_degree: min_degree.div_ceil(2),
            },
            Self::Packed | Self::InlineCodes | Self::Replicated { .. } | Self::Split => self,
        }
    }

    /// Whether all vectors of a page have one list.
    pub const fn is_page_node(self) -> bool {
        self.shared_degree().is_some()
    }

    /// Whether records hold lists of others.
    pub const fn is_replicated(self) -> bool {
        matches!(self, Self::Replicated { .. })
    }

    /// Whether each list comes with the codes of its neighbours.
    pub const fn has_inline_codes(self) -> bool {
        matches!(self, Self::InlineCodes)
    }

    /// Whether vectors have pages of their own, and nothing takes their place.
    pub const fn is_split(self) -> bool {
        matches!(self, Self::Split)
    }

    /// Whether a record is that of its node alone, so that nothing of others need be at hand when
    /// it is written.
    pub const fn stands_alone(self) -> bool {
        !self.is_replicated() && !self.is_page_node()
    }

    pub(in crate::spec) fn validate(self, max_degree: u32) -> Checked {
        match self {
            Self::Replicated { lists } => within("packed lists", lists, 0, MAX_DEGREE),
            Self::PageNode { min_degree } => within("min_degree", min_degree, 1, max_degree),
            Self::Packed | Self::InlineCodes | Self::Split => Ok(()),
        }
    }
}

impl Choice for CodecSpec {
    const ABOUT: &str = "What a page holds: packed, inline_codes, replicated[:lists=4], \
                         page_node[:min_degree=R/2] or split";

    fn known(sizes: &Sizes) -> Vec<Self> {
        codecs(sizes).to_vec()
    }

    fn words(self, of: &Subject<'_>) -> Words {
        let spec = of.spec;
        let degree = spec.graph.max_degree();
        match self {
            Self::Packed => Words::new(
                "A page holds records of one size, each a vector and its adjacency list.",
                match spec.layout.lists {
                    ListSpec::Plain => full_list(degree),
                    ListSpec::Packed => "Lists have room of one size, full or not.".to_owned(),
                },
            ),
            Self::InlineCodes => Words::new(
                "A record holds the codes of its neighbours too, so that a walk needs no codes in \
                 memory.",
                format!(
                    "{} bytes more per record.",
                    count(u64::from(degree * spec.storage.quantizer.code_bytes()))
                ),
            ),
            Self::Replicated { lists } => replicated_words(lists, degree),
            Self::PageNode { min_degree } => Words::new(
                "A page is the node of the graph: some vectors, and one list of neighbours for all \
                 of them.",
                format!(
                    "Room for {min_degree} neighbours per vector decides how many vectors fit; \
                     neighbours beyond the room of the page are dropped."
                ),
            ),
            Self::Split => Words::new(
                "Adjacency lists fill one kind of page, vectors another.",
                "Two reads where a record would take one, for the few vectors that are refined.",
            ),
        }
    }
}

fn full_list(degree: u32) -> String {
    format!("A list takes {} bytes, full or not.", 2 + 4 * degree)
}

fn replicated_words(lists: u32, degree: u32) -> Words {
    if lists == 0 {
        return Words::new(
            "A record would hold lists of its neighbours too, but the page has no room for one.",
            full_list(degree),
        );
    }
    Words::new(
        "A record holds the lists of its nearest neighbours too: one read lets several nodes be \
         expanded.",
        format!(
            "Room for {lists} lists, {} bytes more per record; no list is stored more than {} \
             times.",
            count(u64::from(lists * (6 + 4 * degree) + 2)),
            lists + 1
        ),
    )
}
