//! The code table: codes of the first nodes, or of all, contiguous, in memory.

use pageway_kernels::advise_huge_pages;

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

    /// Nodes it holds codes of: node 0 and those behind it.
    #[inline]
    pub(crate) fn node_count(&self) -> u32 {
        self.node_count
    }
}
