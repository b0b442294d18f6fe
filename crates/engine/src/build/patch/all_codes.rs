//! Codes of all nodes of a segment, those of new rows among them.

use pageway_types::NodeId;

use super::super::code_distances::CodeDistances;

/// Codes of new rows, behind those that the segment has in memory.
#[derive(Clone, Copy)]
pub(super) struct AllCodes<'c> {
    /// The first new node.
    first: u32,
    new: &'c [u8],
}

impl<'c> AllCodes<'c> {
    /// With the codes of the nodes from `first` on.
    pub(super) const fn new(first: u32, new: &'c [u8]) -> Self {
        Self { first, new }
    }

    /// Estimates of the distances from a prepared row to some nodes, in their order; infinite where
    /// memory does not hold a code.
    pub(super) fn distances(self, from: &CodeDistances<'_>, nodes: &[NodeId]) -> Vec<f32> {
        let is_old = |node: &&NodeId| node.0 < self.first;
        let (old, new): (Vec<NodeId>, Vec<NodeId>) = nodes.iter().partition(is_old);
        let code_bytes = from.code_bytes();
        let code = |node: &NodeId| {
            let start = (node.0 - self.first) as usize * code_bytes;
            self.new.get(start..start + code_bytes).unwrap_or_default()
        };
        let codes: Vec<u8> = new.iter().flat_map(code).copied().collect();
        let mut known = from.to(&old).into_iter();
        let mut fresh = from.to_codes(&codes).into_iter();
        let next = |node: &NodeId| {
            let own = if node.0 < self.first {
                known.next()
            } else {
                fresh.next()
            };
            own.unwrap_or(f32::INFINITY)
        };
        nodes.iter().map(next).collect()
    }
}
