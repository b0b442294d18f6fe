//! Axis 2: how records lie in pages. A file for each of its policies.

mod codec;
mod lists;
mod placement;

use serde::{Deserialize, Serialize};

use super::policy::{Subject, Words, count};

pub use codec::{CodecSpec, codecs};
pub use lists::{LISTS, ListSpec};
pub use placement::{PLACEMENTS, PlacementSpec};

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
    /// Components at the end of a vector that lie in a free bit of the others, so that more vectors
    /// fit a page of vectors alone. `None` where the rows are not known, which decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<u32>,
}

impl LayoutSpec {
    /// Whether nodes that are neighbours have numbers that are.
    pub fn is_placed(&self) -> bool {
        !self.placement.is_by_id()
    }
}

/// What is said of the size of a page.
pub(super) fn page_words(page_bytes: u32, _: &Subject<'_>) -> Words {
    Words::new(
        format!(
            "A read brings {} bytes, under a checksum; a record that is larger has several pages \
             to itself.",
            count(page_bytes.into())
        ),
        "Larger pages bring more nodes per read, and more bytes that nobody asked for.",
    )
}
