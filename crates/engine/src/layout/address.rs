//! Node to page. Nodes are numbered at build so that the page number is arithmetic and no map stays
//! in memory.
//!
//! ```text
//!  page 0 .. list_pages - 1                         | behind them, where vectors are separate
//!  adjacency lists (and vectors that lie with them) | vectors
//! ```

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
}

impl PageMap {
    /// Page that holds the list of `node`.
    #[inline]
    pub(crate) fn page_of(self, node: NodeId) -> PageId {
        PageId(node.0 / self.nodes_per_page)
    }

    /// Page that holds the vector of `node`.
    #[inline]
    pub(crate) fn vector_page_of(self, node: NodeId) -> PageId {
        match self.vectors_per_page {
            0 => self.page_of(node),
            per_page => PageId(self.list_pages().saturating_add(node.0 / per_page)),
        }
    }

    /// Pages that hold lists.
    pub(crate) fn list_pages(self) -> u32 {
        self.node_count.div_ceil(self.nodes_per_page)
    }

    /// All pages.
    pub(crate) fn page_count(self) -> u32 {
        let vectors = match self.vectors_per_page {
            0 => 0,
            per_page => self.node_count.div_ceil(per_page),
        };
        self.list_pages().saturating_add(vectors)
    }

    /// True when `page` holds vectors alone.
    #[inline]
    pub(crate) fn holds_vectors_alone(self, page: PageId) -> bool {
        self.vectors_per_page > 0 && page.0 >= self.list_pages()
    }

    /// Nodes on `page`, in slot order. Empty behind the last page.
    pub(crate) fn nodes_of(self, page: PageId) -> Range<u32> {
        let (page, per_page) = if self.holds_vectors_alone(page) {
            (page.0 - self.list_pages(), self.vectors_per_page)
        } else {
            (page.0, self.nodes_per_page)
        };
        let first = page.saturating_mul(per_page).min(self.node_count);
        first..first.saturating_add(per_page).min(self.node_count)
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
