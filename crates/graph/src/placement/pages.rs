//! Pages while they are being filled.
//!
//! Room is exact: the first page has room for what is not taken, and the last for the rest of the
//! nodes only. So when every node has its page, all others are full.
#![expect(
    clippy::indexing_slicing,
    reason = "nodes and pages are counted by this structure; a slip must stop"
)]

use pageway_types::NodeId;

use super::paging::Paging;
use crate::error::{GraphError, try_filled, try_reserved};

/// The page of a node that has none yet.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The page of every node, and the room that each page has left.
pub(super) struct Pages {
    page_of: Vec<u32>,
    room: Vec<u32>,
    paging: Paging,
}

impl Pages {
    /// Empty pages for `count` nodes, at least 1.
    pub(super) fn new(count: u32, paging: Paging) -> Result<Self, GraphError> {
        let page_count = paging.pages(count) as usize;
        let mut pages = Self {
            page_of: try_filled(count as usize, NOWHERE, "page of each node")?,
            room: try_filled(page_count, 0, "room of each page")?,
            paging,
        };
        pages.clear();
        Ok(pages)
    }

    /// Bytes that `new` takes at most, with at least two nodes per page.
    pub(super) fn bytes(count: u64) -> u64 {
        // With two nodes to a page, and one before the first.
        let pages = count.div_ceil(2) + 1;
        count
            .saturating_add(pages)
            .saturating_mul(size_of::<u32>() as u64)
    }

    /// Takes every node off its page.
    pub(super) fn clear(&mut self) {
        self.page_of.fill(NOWHERE);
        let (paging, count) = (self.paging, self.page_of.len());
        for (page, room) in (0..).zip(&mut self.room) {
            *room = paging.places(page, count).len() as u32;
        }
    }

    /// The page of each node, `NOWHERE` for those that have none.
    pub(super) fn page_of(&self) -> &[u32] {
        &self.page_of
    }

    #[inline]
    pub(super) fn has_room(&self, page: u32) -> bool {
        self.room[page as usize] > 0
    }

    /// How nodes are cut into these pages.
    pub(super) const fn paging(&self) -> Paging {
        self.paging
    }

    /// Number of pages.
    pub(super) fn count(&self) -> u32 {
        self.room.len() as u32
    }

    #[inline]
    pub(super) fn is_placed(&self, node: NodeId) -> bool {
        self.page_of[node.index()] != NOWHERE
    }

    /// Puts a node that has no page on one that has room.
    #[inline]
    pub(super) fn put(&mut self, node: NodeId, page: u32) {
        self.page_of[node.index()] = page;
        self.room[page as usize] -= 1;
    }

    /// The nodes page by page, ascending within a page. Every node has its page.
    pub(super) fn into_order(self) -> Result<Vec<NodeId>, GraphError> {
        let mut order = try_filled(self.page_of.len(), NodeId(0), "order of nodes")?;
        let mut taken = self.room;
        taken.fill(0);
        for (node, &page) in (0..).map(NodeId).zip(&self.page_of) {
            let slot = &mut taken[page as usize];
            let places = self.paging.places(page, self.page_of.len());
            order[places.start + *slot as usize] = node;
            *slot += 1;
        }
        Ok(order)
    }
}

/// Nodes in the order in which they are placed, each once.
pub(super) struct Queue {
    order: Vec<NodeId>,
    placed: Vec<bool>,
    lowest: usize,
}

impl Queue {
    pub(super) fn new(count: u32) -> Result<Self, GraphError> {
        Ok(Self {
            order: try_reserved(count as usize, "order of nodes")?,
            placed: try_filled(count as usize, false, "placed nodes")?,
            lowest: 0,
        })
    }

    /// Bytes that `new` with the same argument takes.
    pub(super) fn bytes(count: u64) -> u64 {
        count.saturating_mul((size_of::<NodeId>() + size_of::<bool>()) as u64)
    }

    /// Counts nodes as placed until they are pushed: after all others.
    pub(super) fn hold_back(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            self.placed[node.index()] = true;
        }
    }

    /// Places a node that is not placed yet, or was held back.
    pub(super) fn push(&mut self, node: NodeId) {
        self.placed[node.index()] = true;
        self.order.push(node);
    }

    pub(super) fn is_placed(&self, node: NodeId) -> bool {
        self.placed[node.index()]
    }

    /// Number of nodes placed.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The lowest node that is not placed.
    pub(super) fn lowest(&mut self) -> Option<NodeId> {
        let step = self.placed[self.lowest..].iter().position(|placed| !placed);
        self.lowest = step.map_or(self.placed.len(), |step| self.lowest + step);
        step.map(|_| NodeId(self.lowest as u32))
    }

    /// The order in which nodes were placed.
    pub(super) fn into_order(self) -> Vec<NodeId> {
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_has_room_for_the_rest() {
        for (count, rest) in [(7, 1), (8, 2), (9, 3)] {
            let mut pages = Pages::new(count, Paging::whole(3)).expect("memory");
            for node in 0..rest {
                assert!(pages.has_room(2));
                pages.put(NodeId(node), 2);
            }
            assert!(!pages.has_room(2) && pages.has_room(1));
            pages.clear();
            assert!(pages.has_room(2) && !pages.is_placed(NodeId(0)));
        }
    }

    #[test]
    fn the_order_follows_the_pages() {
        let mut pages = Pages::new(5, Paging::whole(2)).expect("memory");
        for (node, page) in [(4, 0), (3, 1), (0, 1), (2, 0), (1, 2)] {
            pages.put(NodeId(node), page);
        }
        assert_eq!(
            pages.into_order().expect("memory"),
            [2, 4, 0, 3, 1].map(NodeId)
        );
    }

    #[test]
    fn the_lowest_node_is_one_without_a_place() {
        let mut queue = Queue::new(3).expect("memory");
        queue.push(NodeId(1));
        assert_eq!(queue.lowest(), Some(NodeId(0)));
        queue.push(NodeId(0));
        assert_eq!(queue.lowest(), Some(NodeId(2)));
        queue.push(NodeId(2));
        assert_eq!((queue.lowest(), queue.len()), (None, 3));
        assert_eq!(queue.into_order(), [1, 0, 2].map(NodeId));
    }
}
