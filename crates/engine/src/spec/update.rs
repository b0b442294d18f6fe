//! Axis 5: how changes reach the disk.

use serde::{Deserialize, Serialize};

use super::policy::{Choice, Subject, Words};
use super::{IndexSpec, Sizes};

/// Axis 5: how changes reach the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UpdateSpec {
    /// Nothing is said: the index is built once, and where it is opened to be changed, by segments.
    Static,
    /// New rows become small segments; segments of a size are merged, and all of them in time.
    Segments,
    /// New rows become small segments, which are merged into the largest: its lists are kept where
    /// that can be, see [`IndexSpec::keeps_lists`].
    Rewrite,
}

impl IndexSpec {
    /// Whether a merge keeps the lists that there are: they must be in their order, node by node,
    /// of a graph that can grow.
    pub fn keeps_lists(&self) -> bool {
        let layout = &self.layout;
        self.update == UpdateSpec::Rewrite
            && self.nodes_are_rows()
            && layout.codec.stands_alone()
            && !layout.lists.is_packed()
            && self.graph.grows()
    }
}

impl Choice for UpdateSpec {
    const ABOUT: &str = "How changes reach the disk: static, segments or rewrite";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![Self::Static, Self::Segments, Self::Rewrite]
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::Static => Words::new(
                "The index does not change.",
                "It is built anew, and replaces the old one in one step. Opened to be changed it is \
                 changed by segments.",
            ),
            Self::Segments => Words::new(
                "New rows become segments of their own.",
                "Segments of a size are built into one, and all of them once much has changed.",
            ),
            Self::Rewrite => Words::new(
                "New rows are merged into the lists that are there.",
                "The largest segment is read and written in order; dead nodes give way to their \
                 neighbours, and only new rows are linked.",
            ),
        }
    }
}
