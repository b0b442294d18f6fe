//! Axis 5: how changes reach the disk.

use serde::{Deserialize, Serialize};

use pageway_types::Metric;

use super::policy::{Choice, Subject, Words};
use super::validate::{Checked, refuse_if};
use super::{CodecSpec, IndexSpec, NodeCacheSpec, Sizes, VectorStorage};

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
    /// New rows go into the one segment, whose nodes stay: pages that change are written to other
    /// files, where that can be, see [`IndexSpec::patches_pages`]; else as `Rewrite`.
    Patch,
    /// As `Patch`, but pages that change are written to a journal first, and then where they were.
    Overwrite,
}

impl UpdateSpec {
    /// Whether new rows go into the segment that is there, page by page.
    pub const fn changes_pages(self) -> bool {
        matches!(self, Self::Patch | Self::Overwrite)
    }

    /// Whether pages that change are written where they were.
    pub const fn writes_over(self) -> bool {
        matches!(self, Self::Overwrite)
    }

    /// Whether small segments are merged into the largest.
    pub const fn rewrites(self) -> bool {
        matches!(self, Self::Rewrite)
    }

    /// How it is typed; the way that an index that is built once changes is by segments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static | Self::Segments => "segments",
            Self::Rewrite => "rewrite",
            Self::Patch => "patch",
            Self::Overwrite => "overwrite",
        }
    }
}

impl IndexSpec {
    /// Whether a merge keeps the lists that there are: they must be in their order, node by node,
    /// of a graph that can grow.
    pub fn keeps_lists(&self) -> bool {
        let layout = &self.layout;
        (self.update == UpdateSpec::Rewrite || self.update.changes_pages())
            && self.nodes_are_rows()
            && layout.codec.stands_alone()
            && !layout.lists.is_packed()
            && self.graph.grows()
    }

    /// Whether a merge joins the graphs of segments: each node has a list, and they are candidates
    /// where the graph is made.
    pub const fn joins_lists(&self) -> bool {
        self.graph.takes_lists() && !self.layout.codec.is_page_node()
    }
}

impl IndexSpec {
    /// Whether pages are patched: new rows need a longest norm that stays, which the inner product
    /// has not.
    pub fn patches_pages(&self) -> bool {
        self.update.changes_pages() && self.shape.metric != Metric::InnerProduct
    }

    /// Whether pages that were committed are written over: nobody reads them meanwhile.
    pub(crate) fn overwrites_pages(&self) -> bool {
        self.update == UpdateSpec::Overwrite && self.patches_pages()
    }

    /// Patched pages are records that stand alone, beside their vectors or apart from them, and
    /// tell codes nothing.
    pub(super) fn validate_update(&self) -> Checked {
        let storage = &self.storage;
        let is_packed = matches!(self.layout.codec, CodecSpec::Packed | CodecSpec::Split)
            && !self.layout.lists.is_packed();
        let is_plain = matches!(
            storage.vectors,
            VectorStorage::InRecord | VectorStorage::Separate
        ) && storage.codes.is_memory();
        let is_alone = !storage.ids_in_memory;
        let grows = self.graph.grows() && !self.execution.entry.is_clusters();
        let keeps_lists = self.cache.nodes == NodeCacheSpec::Lists;
        let can = is_packed && is_plain && is_alone && grows && !keeps_lists;
        refuse_if(
            self.update.changes_pages() && !can,
            "update",
            if self.update == UpdateSpec::Patch {
                "patch"
            } else {
                "overwrite"
            },
            "pages are patched where records are vectors and plain lists, together or apart, codes \
             are in memory, and no lists are kept beside them; choose codec packed or split, lists \
             plain, codes memory and cache nodes none or records, or update segments",
        )
    }
}

impl Choice for UpdateSpec {
    const ABOUT: &str = "How changes reach the disk: static, segments, rewrite, patch or \
                         overwrite";

    fn known(_: &Sizes) -> Vec<Self> {
        vec![
            Self::Static,
            Self::Segments,
            Self::Rewrite,
            Self::Patch,
            Self::Overwrite,
        ]
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
            Self::Patch => Words::new(
                "New rows are put into the segment that is there.",
                "Pages that change are written to other files, and nodes stay where they are; \
                 all is rewritten once a fifth of it has changed.",
            ),
            Self::Overwrite => Words::new(
                "New rows are put into the segment that is there, in place.",
                "Pages that change are written to a journal, and then where they were: twice what \
                 patches write, in one file. Other processes may not read it while it is open to \
                 be changed.",
            ),
        }
    }
}
