//! Caches of nodes, as what fills them sees them.

use pageway_types::NodeId;

use crate::cache::{ImageCache, ListCache, RecentRecords};
use crate::error::Result;
use crate::layout::Record;

/// A cache of nodes that is filled.
pub(super) trait Fill {
    /// Whether the pages of vectors are wanted, not those of lists.
    fn wants_vectors(&self) -> bool;

    /// Appends to `out` what [`Fill::insert`] takes of a record.
    fn image(&mut self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// Adds a node; false when there is no room.
    fn insert(&mut self, node: NodeId, image: &[u8]) -> bool;
}

impl Fill for ImageCache {
    fn wants_vectors(&self) -> bool {
        self.holds_vectors_alone()
    }

    fn image(&mut self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<()> {
        Ok(self.shape().append(record, out)?)
    }

    fn insert(&mut self, node: NodeId, image: &[u8]) -> bool {
        Self::insert(self, node, image)
    }
}

impl Fill for RecentRecords {
    fn wants_vectors(&self) -> bool {
        false
    }

    fn image(&mut self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<()> {
        Ok(self.shape().append(record, out)?)
    }

    /// What comes later takes the place of what came before.
    fn insert(&mut self, node: NodeId, image: &[u8]) -> bool {
        self.offer_image(node, image);
        true
    }
}

impl Fill for ListCache {
    fn wants_vectors(&self) -> bool {
        false
    }

    fn image(&mut self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<()> {
        Ok(self.pack(record, out)?)
    }

    fn insert(&mut self, node: NodeId, image: &[u8]) -> bool {
        Self::insert(self, node, image)
    }
}
