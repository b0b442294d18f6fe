//! A segment that is open: its parts, and the reader of its pages.

use pageway_kernels::KernelSet;
use pageway_store::{FileUuid, PageFile, PageReader};
use pageway_types::NodeId;

use super::ranking::Neighbor;
use super::{AnyParts, IndexShape};
use crate::error::{Error, Result};
use crate::layout::{PageCodec, PageView};
use crate::storage::scan;

/// A segment, ready to be searched.
pub(crate) struct Segment {
    pub(crate) parts: AnyParts,
    pub(crate) reader: PageReader,
    pub(crate) file: PageFile,
    pub(crate) kernels: &'static KernelSet,
    /// What scratches must suit.
    pub(crate) shape: IndexShape,
    /// Bytes of a raw vector.
    pub(crate) row_bytes: usize,
    /// Nodes, and rows, of the segments before it.
    pub(crate) base: u32,
    /// Whether users know vectors by their rows.
    pub(crate) ids_are_rows: bool,
    /// Where the codes' meaning was read from.
    pub(crate) codebook: FileUuid,
}

impl Segment {
    /// Nodes of the segment.
    pub(crate) fn node_count(&self) -> u32 {
        self.shape.nodes as u32
    }

    /// Bytes of the caches of nodes and of pages.
    pub(crate) fn cache_bytes(&self) -> (u64, u64) {
        let cache = self.parts.cache();
        let nodes = cache.nodes.bytes() + cache.vectors.bytes();
        (nodes, cache.pages.held_bytes())
    }

    /// An answer of this segment as one of the index.
    #[inline]
    pub(super) fn neighbor(&self, own: Neighbor) -> Neighbor {
        let ids_before = if self.ids_are_rows { self.base } else { 0 };
        Neighbor {
            node: NodeId(self.base + own.node.0),
            row: self.base + own.row,
            user_id: own.user_id + u64::from(ids_before),
            distance: own.distance,
        }
    }

    /// Copies the vectors of nodes `first ..` of this segment into `out`, reading pages in order.
    ///
    /// # Errors
    /// `InvalidInput` when there are fewer, `Corrupt` or `Io` as the pages are.
    pub(crate) fn read_vectors(&self, first: u64, out: &mut [u8]) -> Result<()> {
        match &self.parts {
            AnyParts::Record(parts) => self.copy_vectors(&parts.codec, first, out),
            AnyParts::PageNode(parts) => self.copy_vectors(&parts.codec, first, out),
        }
    }

    fn copy_vectors(&self, codec: &impl PageCodec, first: u64, out: &mut [u8]) -> Result<()> {
        let row_bytes = self.row_bytes;
        let count = (out.len() / row_bytes) as u64;
        let map = codec.map();
        let last = (first + count).min(map.node_count.into());
        if count == 0 || last < first + count || !out.len().is_multiple_of(row_bytes) {
            return Err(Error::invalid("rows out of range"));
        }
        let wanted = first as u32..last as u32;
        let pages = map.vector_pages_of(wanted.clone());
        scan(&self.file, pages, &mut |page, payload| {
            let view = codec.view(page, payload)?;
            for node in map.nodes_of(page).filter(|node| wanted.contains(node)) {
                let start = (node - wanted.start) as usize * row_bytes;
                if let Some(slot) = out.get_mut(start..start + row_bytes) {
                    slot.copy_from_slice(view.vector(NodeId(node))?.bytes);
                }
            }
            Ok(())
        })
    }
}
