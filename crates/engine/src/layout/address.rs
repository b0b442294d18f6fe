//! Node to page. Nodes are numbered at build so that the page number is arithmetic and no map stays
//! in memory.

use pageway_types::{NodeId, PageId, Slot};

/// Where a node's record lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressMap {
    /// Page `node / nodes_per_page`, slot `node % nodes_per_page`.
    Arithmetic {
        /// Records of a full page, at least 1.
        nodes_per_page: u32,
        /// Nodes of the index.
        node_count: u32,
    },
}

impl AddressMap {
    /// Page that holds `node`.
    #[inline]
    pub(crate) fn page_of(self, node: NodeId) -> PageId {
        let Self::Arithmetic { nodes_per_page, .. } = self;
        PageId(node.0 / nodes_per_page)
    }

    /// Place of `node` inside its page.
    #[inline]
    pub(crate) fn slot_of(self, node: NodeId) -> Slot {
        let Self::Arithmetic { nodes_per_page, .. } = self;
        Slot((node.0 % nodes_per_page) as u16)
    }

    /// Nodes on `page`, in slot order. Empty behind the last page.
    pub(crate) fn nodes_of(self, page: PageId) -> std::ops::Range<u32> {
        let Self::Arithmetic {
            nodes_per_page,
            node_count,
        } = self;
        let first = page.0.saturating_mul(nodes_per_page).min(node_count);
        first..first.saturating_add(nodes_per_page).min(node_count)
    }

    /// Pages that hold all nodes.
    pub(crate) fn page_count(self) -> u32 {
        let Self::Arithmetic {
            nodes_per_page,
            node_count,
        } = self;
        node_count.div_ceil(nodes_per_page)
    }

    /// Nodes of the index.
    pub(crate) fn node_count(self) -> u32 {
        let Self::Arithmetic { node_count, .. } = self;
        node_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_slots_partition_the_nodes() {
        for (nodes_per_page, node_count) in [(1, 1), (3, 10), (12, 12), (12, 13), (700, 5)] {
            let map = AddressMap::Arithmetic {
                nodes_per_page,
                node_count,
            };
            let mut seen = 0;
            for page in 0..map.page_count() {
                for (slot, node) in map.nodes_of(PageId(page)).enumerate() {
                    assert_eq!(node, seen);
                    assert_eq!(map.page_of(NodeId(node)), PageId(page));
                    assert_eq!(map.slot_of(NodeId(node)), Slot(slot as u16));
                    seen += 1;
                }
            }
            assert_eq!(seen, node_count);
            assert!(map.nodes_of(PageId(map.page_count())).is_empty());
        }
    }
}
