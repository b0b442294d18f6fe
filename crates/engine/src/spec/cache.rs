//! Axis 3: what stays in memory beside the codes.

use serde::{Deserialize, Serialize};

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
        matches!(
            (self.nodes, self.pages),
            (NodeCacheSpec::None, PageCacheSpec::None)
        )
    }
}

/// What is kept per node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// Which pages are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageCacheSpec {
    /// None.
    None,
    /// Those of the selection, for good.
    Hot,
    /// Those used last.
    Lru,
    /// Those used lately, by second chance.
    Clock,
}

/// What a cache takes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectionSpec {
    /// Breadth-first from where walks start: by hops.
    BreadthFirst,
    /// By how often walks for sampled queries expand a node.
    Visits,
}
