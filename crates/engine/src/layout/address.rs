//! Node to page. Nodes are numbered at build so that the page number is arithmetic and no map stays
//! in memory.
//!
//! ```text
//!  page 0 .. list_pages - 1                         | behind them, where vectors are separate
//!  adjacency lists (and vectors that lie with them) | vectors
//! ```
//! Where vectors are separate and nodes came since, those lie behind both, in groups: a page of
//! lists, and as many pages as their vectors fill. So no page moves when others come.

use std::ops::Range;

use pageway_store::PageGeometry;
use pageway_types::{NodeId, PageId};

/// Which page holds the list of a node, and which its vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageMap {
    /// Bytes and pages of one read.
    pub(crate) geometry: PageGeometry,
    /// Nodes of the index.
    pub(crate) node_count: u32,
    /// Lists of a full page, at least 1.
    pub(crate) nodes_per_page: u32,
    /// Vectors of a full page, where vectors have pages of their own; else 0.
    pub(crate) vectors_per_page: u32,
    /// Nodes that the pages were first laid out for: all of them, unless some came since.
    pub(crate) built: u32,
}

impl PageMap {
    /// The same where nodes behind the first `built` came since.
    #[must_use]
    pub(crate) fn grown_from(self, built: u32) -> Self {
        match self.vectors_per_page {
            0 => self,
            _ => Self {
                built: built.min(self.node_count),
                ..self
            },
        }
    }

    /// Page that holds the list of `node`.
    #[inline]
    pub(crate) fn page_of(self, node: NodeId) -> PageId {
        match self.place_in_group(node) {
            Some((first, _)) => PageId(first),
            None => PageId(node.0 / self.nodes_per_page),
        }
    }

    /// Page that holds the vector of `node`.
    #[inline]
    pub(crate) fn vector_page_of(self, node: NodeId) -> PageId {
        let per_page = self.vectors_per_page;
        match self.place_in_group(node) {
            _ if per_page == 0 => self.page_of(node),
            Some((first, at)) => PageId(first.saturating_add(1 + at / per_page)),
            None => PageId(self.list_pages().saturating_add(node.0 / per_page)),
        }
    }

    /// First page of the group of a node that came since, and its place there.
    #[inline]
    fn place_in_group(self, node: NodeId) -> Option<(u32, u32)> {
        if node.0 < self.built {
            return None;
        }
        let at = node.0 - self.built;
        let before = (at / self.nodes_per_page).saturating_mul(self.group_pages());
        let first = self.first_pages().saturating_add(before);
        Some((first, at % self.nodes_per_page))
    }

    /// Pages of the nodes that the pages were first laid out for.
    fn first_pages(self) -> u32 {
        let vectors = match self.vectors_per_page {
            0 => 0,
            per_page => self.built.div_ceil(per_page),
        };
        self.list_pages().saturating_add(vectors)
    }

    /// Pages of a full group of nodes that came since.
    const fn group_pages(self) -> u32 {
        match self.vectors_per_page {
            0 => 1,
            per_page => 1 + self.nodes_per_page.div_ceil(per_page),
        }
    }

    /// Pages that hold lists, of those that were laid out first.
    pub(crate) fn list_pages(self) -> u32 {
        self.built.div_ceil(self.nodes_per_page)
    }

    /// All pages.
    pub(crate) fn page_count(self) -> u32 {
        let came = self.node_count - self.built;
        let (groups, rest) = (came / self.nodes_per_page, came % self.nodes_per_page);
        let own = match (rest, self.vectors_per_page) {
            (0, _) => 0,
            (_, 0) => 1,
            (rest, per_page) => 1 + rest.div_ceil(per_page),
        };
        let groups = groups.saturating_mul(self.group_pages());
        self.first_pages()
            .saturating_add(groups)
            .saturating_add(own)
    }

    /// Number of the group of a page of nodes that came since, and its place there.
    #[inline]
    fn group_of(self, page: PageId) -> Option<(u32, u32)> {
        if self.built == self.node_count {
            return None;
        }
        let behind = page.0.checked_sub(self.first_pages())?;
        Some((behind / self.group_pages(), behind % self.group_pages()))
    }

    /// True when `page` holds vectors, alone or beside lists.
    #[inline]
    pub(crate) fn holds_vectors(self, page: PageId) -> bool {
        self.vectors_per_page == 0 || self.holds_vectors_alone(page)
    }

    /// True when `page` holds vectors alone.
    #[inline]
    pub(crate) fn holds_vectors_alone(self, page: PageId) -> bool {
        self.vectors_per_page > 0
            && match self.group_of(page) {
                Some((_, at)) => at > 0,
                None => page.0 >= self.list_pages(),
            }
    }

    /// Nodes on `page`, in slot order. Empty behind the last page.
    pub(crate) fn nodes_of(self, page: PageId) -> Range<u32> {
        if let Some((group, at)) = self.group_of(page) {
            let start = group.saturating_mul(self.nodes_per_page);
            let start = self.built.saturating_add(start).min(self.node_count);
            let end = start
                .saturating_add(self.nodes_per_page)
                .min(self.node_count);
            let Some(at) = at.checked_sub(1) else {
                return start..end;
            };
            let first = at.saturating_mul(self.vectors_per_page);
            let first = start.saturating_add(first).min(end);
            return first..first.saturating_add(self.vectors_per_page).min(end);
        }
        let (page, per_page) = if self.holds_vectors_alone(page) {
            (page.0 - self.list_pages(), self.vectors_per_page)
        } else {
            (page.0, self.nodes_per_page)
        };
        let first = page.saturating_mul(per_page).min(self.built);
        first..first.saturating_add(per_page).min(self.built)
    }

    /// Pages to read in order to see the vectors of `nodes`.
    pub(crate) fn vector_pages_of(self, nodes: Range<u32>) -> Range<u64> {
        let first = self.vector_page_of(NodeId(nodes.start));
        let last = self.vector_page_of(NodeId(nodes.end.saturating_sub(1)));
        u64::from(first.0)..u64::from(last.0) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(nodes_per_page: u32, vectors_per_page: u32, node_count: u32) -> PageMap {
        PageMap {
            geometry: PageGeometry::new(4096, 1).unwrap(),
            node_count,
            nodes_per_page,
            vectors_per_page,
            built: node_count,
        }
    }

    #[test]
    fn no_page_moves_when_nodes_come() {
        for (per_page, vectors, built) in [(20, 3, 50), (4, 9, 7), (5, 5, 5), (12, 0, 20)] {
            let mut before: Option<PageMap> = None;
            for count in built..built + 70 {
                let map = map(per_page, vectors, count).grown_from(built);
                if let Some(old) = before {
                    assert!(old.page_count() <= map.page_count());
                    for node in (0..old.node_count).map(NodeId) {
                        assert_eq!(old.page_of(node), map.page_of(node));
                        assert_eq!(old.vector_page_of(node), map.vector_page_of(node));
                    }
                }
                let (mut lists, mut seen) = (Vec::new(), Vec::new());
                for page in (0..map.page_count()).map(PageId) {
                    let nodes = map.nodes_of(page);
                    assert!(!nodes.is_empty());
                    for node in nodes {
                        if !map.holds_vectors_alone(page) {
                            assert_eq!(map.page_of(NodeId(node)), page);
                            lists.push(node);
                        }
                        if map.holds_vectors(page) {
                            assert_eq!(map.vector_page_of(NodeId(node)), page);
                            seen.push(node);
                        }
                    }
                }
                let all: Vec<u32> = (0..count).collect();
                assert_eq!((&lists, &seen), (&all, &all));
                assert!(map.nodes_of(PageId(map.page_count())).is_empty());
                before = Some(map);
            }
        }
    }

    #[test]
    fn pages_and_slots_partition_the_nodes() {
        for (per_page, node_count) in [(1, 1), (3, 10), (12, 12), (12, 13), (700, 5)] {
            let map = map(per_page, 0, node_count);
            let mut seen = 0;
            for page in 0..map.page_count() {
                for (slot, node) in map.nodes_of(PageId(page)).enumerate() {
                    assert_eq!(node, seen);
                    assert_eq!(map.page_of(NodeId(node)), PageId(page));
                    assert_eq!(map.vector_page_of(NodeId(node)), PageId(page));
                    assert_eq!(slot as u32, node % per_page);
                    seen += 1;
                }
            }
            assert_eq!(seen, node_count);
            assert!(map.nodes_of(PageId(map.page_count())).is_empty());
        }
    }

    #[test]
    fn vectors_follow_the_lists() {
        let map = map(20, 3, 50);
        assert_eq!((map.list_pages(), map.page_count()), (3, 3 + 17));
        for node in 0..50 {
            let page = map.vector_page_of(NodeId(node));
            assert!(map.holds_vectors_alone(page));
            assert!(map.nodes_of(page).contains(&node));
            assert!(map.nodes_of(map.page_of(NodeId(node))).contains(&node));
        }
        assert_eq!(map.vector_pages_of(0..50), 3..20);
        assert_eq!(map.vector_pages_of(3..4), 4..5);
    }
}
