//! The code table: one code per node, contiguous, in memory.

use pageway_kernels::advise_huge_pages;

/// Codes of all nodes, in node order.
#[derive(Debug)]
pub(crate) struct CodeTable {
    bytes: Vec<u8>,
}

impl CodeTable {
    /// A table over codes that were read already: `node_count * code_bytes` bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        advise_huge_pages(&bytes);
        Self { bytes }
    }

    /// All codes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
