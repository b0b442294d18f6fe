//! Where the bytes of a node begin: an open-addressing table from node to a number.

use pageway_types::NodeId;

const EMPTY: u32 = u32::MAX;

/// A node, and a number.
type Slot = (u32, u32);

/// Numbers by node; at most three quarters of the slots are taken.
#[derive(Debug, Default)]
pub(super) struct NodeSlots {
    slots: Vec<Slot>,
    nodes: usize,
}

impl NodeSlots {
    /// A table for `nodes`.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            slots: vec![(EMPTY, 0); Self::slot_count(nodes)],
            nodes: 0,
        }
    }

    fn slot_count(nodes: usize) -> usize {
        match nodes {
            0 => 0,
            _ => nodes + nodes / 3 + 1,
        }
    }

    /// Bytes of a table for `nodes`.
    pub(super) fn bytes_for(nodes: usize) -> usize {
        Self::slot_count(nodes) * size_of::<Slot>()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    /// Nodes held.
    pub(super) fn len(&self) -> usize {
        self.nodes
    }

    /// The most nodes, up to `limit`, that `bytes` hold with `node_bytes` for each.
    pub(super) fn capacity_for(bytes: u64, node_bytes: f64, limit: usize) -> usize {
        let fits = |nodes: usize| {
            Self::bytes_for(nodes) as f64 + nodes as f64 * node_bytes <= bytes as f64
        };
        let (mut low, mut high) = (0, limit);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Nodes taken at most: one slot stays empty, or nothing would end a search for a node that is
    /// not here.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len() * 3 / 4
    }

    /// Whether no node more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.nodes >= self.capacity()
    }

    /// Adds a node; false when it is full. The caller adds no node twice.
    pub(super) fn insert(&mut self, node: NodeId, number: u32) -> bool {
        if self.is_full() {
            return false;
        }
        let start = self.start(node);
        let (before, behind) = self.slots.split_at_mut(start);
        let mut free = behind.iter_mut().chain(before);
        let Some(slot) = free.find(|slot| slot.0 == EMPTY) else {
            return false;
        };
        *slot = (node.0, number);
        self.nodes += 1;
        true
    }

    /// The number of a node, if it is here.
    #[inline]
    pub(super) fn find(&self, node: NodeId) -> Option<u32> {
        let mut at = self.start(node);
        loop {
            let Some((held, number)) = self.slots.get(at).copied() else {
                if self.slots.is_empty() {
                    return None;
                }
                at = 0;
                continue;
            };
            if held == node.0 {
                return Some(number);
            }
            if held == EMPTY {
                return None;
            }
            at += 1;
        }
    }

    /// A multiplicative hash, spread over the slots.
    #[inline]
    fn start(&self, node: NodeId) -> usize {
        let hash = u64::from(node.0.wrapping_mul(0x9E37_79B1));
        ((hash * self.slots.len() as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        for nodes in [1, 2, 3, 7, 100, 1000] {
            let mut slots = NodeSlots::new(nodes);
            for n in 0..nodes as u32 {
                assert!(!slots.is_full(), "{n} of {nodes}");
                assert!(slots.insert(NodeId(n * 7919), n));
            }
            assert_eq!(slots.len(), nodes);
            for n in 0..nodes as u32 {
                assert_eq!(slots.find(NodeId(n * 7919)), Some(n));
                assert_eq!(slots.find(NodeId(n * 7919 + 1)), None);
            }
        }
    }

    #[test]
    fn a_full_table_still_tells_what_it_has_not() {
        for nodes in 1..20 {
            let mut slots = NodeSlots::new(nodes);
            let taken = (0..100).filter(|n| slots.insert(NodeId(*n), *n)).count();
            assert!(taken >= nodes && slots.is_full(), "{taken} of {nodes}");
            assert_eq!(taken, slots.capacity());
            assert_eq!(slots.find(NodeId(1_000_000)), None);
        }
        assert_eq!(NodeSlots::default().find(NodeId(0)), None);
        assert!(!NodeSlots::default().insert(NodeId(0), 0));
    }

    #[test]
    fn the_capacity_is_the_most_that_fits() {
        for bytes in [0, 7, 30, 1000, 99_999] {
            let nodes = NodeSlots::capacity_for(bytes, 10.5, 500);
            let taken = |nodes| NodeSlots::bytes_for(nodes) as f64 + nodes as f64 * 10.5;
            assert!(taken(nodes) <= bytes as f64);
            assert!(nodes == 500 || taken(nodes + 1) > bytes as f64);
        }
    }
}
