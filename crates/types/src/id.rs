//! Ids. A node is a vector inside the index; a page is the unit of I/O and checksum.

use serde::{Deserialize, Serialize};

/// Internal id of a vector in one index: dense, `0..node_count`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// Number of a page in one file, counted behind the header page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageId(pub u32);

impl NodeId {
    /// The id as an index into memory.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PageId {
    /// The id as an index into memory.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
