//! Axis 3: what stays in memory beside the codes. A file for each of its policies.

mod nodes;
mod pages;
mod selection;

use serde::{Deserialize, Serialize};

use super::policy::{Subject, Words, percent};

pub use nodes::{NODE_CACHES, NodeCacheSpec};
pub use pages::{PAGE_CACHES, PageCacheSpec};
pub use selection::{SELECTIONS, SelectionSpec};

/// Axis 3: what stays in memory beside the codes. The bytes are what the memory budget leaves over.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// What is kept per node.
    pub nodes: NodeCacheSpec,
    /// Which pages are kept.
    pub pages: PageCacheSpec,
    /// What both take first.
    pub selection: SelectionSpec,
    /// Share of the bytes that pages get where nodes are kept too.
    pub page_share: f32,
}

impl CacheSpec {
    /// Whether nothing is kept.
    pub const fn is_none(&self) -> bool {
        self.nodes.is_none() && self.pages.is_none()
    }

    /// Whether adjacency lists are kept.
    pub const fn holds_lists(&self) -> bool {
        matches!(self.nodes, NodeCacheSpec::Lists)
    }

    /// Whether something is taken first, and stays.
    pub const fn has_selection(&self) -> bool {
        !self.nodes.is_none() || self.pages.is_hot()
    }

    /// Whether nodes and pages share the memory.
    pub const fn is_shared(&self) -> bool {
        !self.nodes.is_none() && !self.pages.is_none()
    }
}

/// What is said of the share of pages, where nodes are cached too.
pub(super) fn share_words(share: f32, of: &Subject<'_>) -> Option<Words> {
    of.spec.cache.is_shared().then(|| {
        Words::new(
            format!("Of the memory of the cache, pages get {}.", percent(share)),
            "What pages get, records or lists lose.",
        )
    })
}
