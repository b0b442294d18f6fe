//! What linking knows of vectors: how far nodes are from each other.
//!
//! A subset is linked without a copy of its rows: its nodes are numbered by their position in it,
//! and every batch of positions is translated on the stack before it is measured.

use pageway_types::NodeId;

use crate::vectors::VectorSet;

/// Positions translated at a time: more than most lists hold, half a kilobyte of stack.
const BLOCK: usize = 128;

/// Distances between the nodes `0..count`. A batch per call, so that the call costs nothing.
pub(crate) trait Distances: Sync {
    /// Number of nodes, at least 1.
    fn count(&self) -> u32;

    /// Build distances of one node to others; never negative. `out` is as long as `nodes`.
    fn distance_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]);

    /// Whether a query with the vector of this node lies apart from it in the space of the build.
    fn is_asked_apart(&self, node: NodeId) -> bool;

    /// Build distances of such a query to nodes; never negative. `out` is as long as `nodes`.
    fn asked_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]);
}

impl Distances for VectorSet<'_> {
    fn count(&self) -> u32 {
        Self::count(self)
    }

    fn distance_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        Self::distance_many(self, node, nodes, out);
    }

    fn is_asked_apart(&self, node: NodeId) -> bool {
        Self::is_asked_apart(self, node)
    }

    fn asked_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        Self::asked_many(self, node, nodes, out);
    }
}

/// Some nodes of a set, numbered by their position in `nodes`.
pub(crate) struct Subset<'s> {
    pub(crate) vectors: &'s VectorSet<'s>,
    pub(crate) nodes: &'s [NodeId],
}

impl Subset<'_> {
    #[expect(
        clippy::indexing_slicing,
        reason = "positions come from a graph over this subset; a slip must stop"
    )]
    fn node(&self, position: NodeId) -> NodeId {
        self.nodes[position.index()]
    }

    /// Measures the nodes at positions, some at a time.
    fn in_blocks(
        &self,
        positions: &[NodeId],
        out: &mut [f32],
        mut measure: impl FnMut(&[NodeId], &mut [f32]),
    ) {
        let mut block = [NodeId(0); BLOCK];
        for (positions, out) in positions.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            for (node, &position) in block.iter_mut().zip(positions) {
                *node = self.node(position);
            }
            measure(block.get(..positions.len()).unwrap_or_default(), out);
        }
    }
}

impl Distances for Subset<'_> {
    fn count(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn distance_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        self.in_blocks(nodes, out, |nodes, out| {
            self.vectors.distance_many(self.node(node), nodes, out);
        });
    }

    fn is_asked_apart(&self, node: NodeId) -> bool {
        self.vectors.is_asked_apart(self.node(node))
    }

    fn asked_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        self.in_blocks(nodes, out, |nodes, out| {
            self.vectors.asked_many(self.node(node), nodes, out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rows, clustered};
    use pageway_types::Guide;

    #[test]
    fn a_subset_measures_the_nodes_it_stands_for() {
        let rows = Rows::f32(3, &clustered(900, 3, 1.0, 2));
        let set = rows.set(Guide::InnerProduct);
        let nodes: Vec<_> = (0..300).map(|position| NodeId(3 * position)).collect();
        let subset = Subset {
            vectors: &set,
            nodes: &nodes,
        };
        let positions: Vec<_> = (0..Distances::count(&subset)).map(NodeId).collect();
        let mut found = vec![0.0; positions.len()];
        subset.distance_many(NodeId(7), &positions, &mut found);
        let mut expected = vec![0.0; nodes.len()];
        set.distance_many(NodeId(21), &nodes, &mut expected);
        assert_eq!(found, expected);
        subset.asked_many(NodeId(7), &positions, &mut found);
        set.asked_many(NodeId(21), &nodes, &mut expected);
        assert_eq!(found, expected);
        assert_eq!(
            subset.is_asked_apart(NodeId(7)),
            set.is_asked_apart(NodeId(21))
        );
    }
}
