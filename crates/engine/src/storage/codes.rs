//! Codes in memory: a table of those of the first nodes, or of all; and those of a few others.

use pageway_kernels::{advise_huge_pages, places};
use pageway_types::{NodeId, Place};

/// Codes in node order.
#[derive(Debug, Default)]
pub(crate) struct CodeTable {
    bytes: Vec<u8>,
    node_count: u32,
}

impl CodeTable {
    /// A table over codes that were read already: `node_count * code_bytes` bytes.
    pub(crate) fn new(bytes: Vec<u8>, node_count: u32) -> Self {
        advise_huge_pages(&bytes);
        Self { bytes, node_count }
    }

    /// All codes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The code of a node, of `code_bytes` bytes; nothing for nodes whose codes are not here.
    #[inline]
    pub(crate) fn code(&self, node: NodeId, code_bytes: usize) -> Option<&[u8]> {
        let start = node.index() * code_bytes;
        self.bytes.get(start..start + code_bytes)
    }

    /// Places of the codes of some nodes, which it holds.
    #[expect(clippy::unused_self, reason = "codes of other sources lie elsewhere")]
    #[inline]
    pub(crate) const fn places<'n>(&self, nodes: &'n [NodeId]) -> &'n [Place] {
        places(nodes)
    }

    /// Nodes it holds codes of: node 0 and those behind it.
    #[inline]
    pub(crate) fn node_count(&self) -> u32 {
        self.node_count
    }
}

/// Codes of a few nodes, by node.
#[derive(Debug, Default)]
pub(crate) struct EntryCodes {
    /// Ascending.
    pub(crate) nodes: Vec<NodeId>,
    /// In the order of `nodes`.
    pub(crate) codes: Vec<u8>,
}

impl EntryCodes {
    /// Place of the code of a node.
    pub(crate) fn place_of(&self, node: NodeId) -> Option<Place> {
        let at = self.nodes.binary_search(&node).ok()?;
        Some(Place(at as u32))
    }

    /// Bytes of `count` codes.
    pub(crate) const fn bytes(count: u64, code_bytes: u64) -> u64 {
        count * (4 + code_bytes)
    }
}
