//! A node with its distance to a query.

use std::cmp::Ordering;

use crate::NodeId;

/// A node and its distance. Ordered by distance, then by node, so that every ranking is total and
/// repeatable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Distance to the query; smaller is nearer.
    pub distance: f32,
    /// The node.
    pub node: NodeId,
}

impl Candidate {
    /// Pairs a node with its distance.
    #[inline]
    pub const fn new(node: NodeId, distance: f32) -> Self {
        Self { distance, node }
    }
}

impl Eq for Candidate {}

impl Ord for Candidate {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance
            .total_cmp(&other.distance)
            .then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Candidate {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_distance_then_node() {
        let near = Candidate::new(NodeId(9), 1.0);
        let tie = Candidate::new(NodeId(3), 1.0);
        let far = Candidate::new(NodeId(1), 2.0);
        let mut all = [far, near, tie];
        all.sort();
        assert_eq!(all, [tie, near, far]);
    }
}
