//! Which nodes a search has already scored.
//!
//! One bit per node of the graph, so that the whole set stays in the second-level cache up to
//! some ten million nodes. Clearing costs one store per node visited, not one per node of the
//! graph.
#![expect(
    clippy::indexing_slicing,
    reason = "node ids come from the graph; a slip must stop"
)]

use pageway_types::NodeId;

use crate::error::{GraphError, try_filled};

const WORD_BITS: usize = u64::BITS as usize;

/// A set of nodes that remembers the order in which they came.
pub(crate) struct VisitedSet {
    words: Vec<u64>,
    nodes: Vec<NodeId>,
    length: usize,
}

impl VisitedSet {
    /// A set over `0..count` that is given at most `capacity` nodes, repeated ones included.
    pub(crate) fn new(count: usize, capacity: usize) -> Result<Self, GraphError> {
        Ok(Self {
            words: try_filled(count.div_ceil(WORD_BITS), 0, "visited set")?,
            nodes: try_filled(capacity, NodeId(0), "visited nodes")?,
            length: 0,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) fn bytes(count: u64, capacity: u64) -> u64 {
        let words = count.div_ceil(WORD_BITS as u64) * size_of::<u64>() as u64;
        words + capacity * size_of::<NodeId>() as u64
    }

    pub(crate) fn clear(&mut self) {
        for node in &self.nodes[..self.length] {
            self.words[node.index() / WORD_BITS] = 0;
        }
        self.length = 0;
    }

    /// Adds the nodes that are not in the set yet and returns exactly those, in order.
    ///
    /// Half of the neighbours of a search are known already, in no order that a CPU could guess:
    /// so every node is written, and only the count depends on the answer.
    #[inline]
    pub(crate) fn insert_many(&mut self, nodes: &[NodeId]) -> &[NodeId] {
        let fresh = &mut self.nodes[self.length..][..nodes.len()];
        let mut count = 0;
        for &node in nodes {
            fresh[count] = node;
            let word = &mut self.words[node.index() / WORD_BITS];
            let shift = node.index() % WORD_BITS;
            count += (!*word >> shift & 1) as usize;
            *word |= 1 << shift;
        }
        self.length += count;
        &fresh[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_each_node_once_until_cleared() {
        let mut set = VisitedSet::new(130, 8).expect("memory");
        let ids = |ids: &[u32]| ids.iter().copied().map(NodeId).collect::<Vec<_>>();
        assert_eq!(set.insert_many(&ids(&[129, 3, 129])), ids(&[129, 3]));
        assert_eq!(set.insert_many(&ids(&[3, 64])), ids(&[64]));
        set.clear();
        assert_eq!(set.insert_many(&ids(&[3, 129])), ids(&[3, 129]));
    }
}
