//! A segment that is open: its parts, and the reader of its pages.

use std::ops::{Deref, Range};
use std::sync::{Arc, Weak};

use pageway_attributes::Attributes;
use pageway_kernels::KernelSet;
use pageway_store::FileUuid;
use pageway_types::{NodeId, PageId, VectorShape};

use super::ranking::Neighbor;
use super::{AnyParts, DeadSet, GivenRows, IndexShape};
use crate::error::{Error, Result};
use crate::layout::{PageCodec, PageError, PageView, UnfoldedVector, VectorPart};
use crate::storage::{RecordPages, Region, TRANSFER_BYTES, gather, scan};

/// A segment, ready to be searched, in its place in an index: as the index changes, the same
/// segment may come to lie elsewhere.
#[derive(Clone)]
pub(crate) struct Segment {
    loaded: Arc<LoadedSegment>,
    /// Nodes, and rows, of the segments before it.
    pub(crate) base: u32,
    /// Nodes that were deleted, where any may be.
    pub(crate) dead: Option<Arc<DeadSet>>,
}

/// What a segment holds in memory, and its files. Never changes.
pub(crate) struct LoadedSegment {
    pub(crate) parts: AnyParts,
    pub(crate) pages: RecordPages,
    pub(crate) kernels: &'static KernelSet,
    /// What scratches must suit.
    pub(crate) shape: IndexShape,
    /// How vectors are given back.
    pub(crate) given: GivenRows,
    /// Id of its row 0, where users know vectors by their rows.
    pub(crate) first_id: Option<u64>,
    /// Identity of its records, as they are: see [`Files::identity`](crate::manifest::Files).
    pub(crate) records: FileUuid,
    /// Where the codes' meaning was read from.
    pub(crate) codebook: FileUuid,
    /// Attributes of its nodes, where they have any.
    pub(crate) attributes: Option<Attributes>,
    /// Where in space its rows are, where that is known.
    pub(crate) region: Option<Region>,
}

impl Deref for Segment {
    type Target = LoadedSegment;

    #[inline]
    fn deref(&self) -> &LoadedSegment {
        &self.loaded
    }
}

impl Segment {
    /// Tells for how long anybody reads it.
    pub(crate) fn downgrade(&self) -> Weak<LoadedSegment> {
        Arc::downgrade(&self.loaded)
    }

    /// A segment behind `base` nodes of others.
    pub(crate) fn new(loaded: Arc<LoadedSegment>, base: u32, dead: Option<Arc<DeadSet>>) -> Self {
        Self { loaded, base, dead }
    }

    /// What is loaded of it, wherever it lies.
    pub(crate) fn loaded(&self) -> &Arc<LoadedSegment> {
        &self.loaded
    }

    /// Whether all its nodes died.
    pub(crate) fn is_dead(&self) -> bool {
        let dead = self.dead.as_deref();
        dead.is_some_and(|dead| dead.len() >= self.node_count())
    }

    /// An answer of this segment as one of the index.
    ///
    /// # Errors
    /// For a row that there is not, and for a distance that is no number.
    #[inline]
    pub(crate) fn neighbor(&self, own: Neighbor) -> std::result::Result<Neighbor, PageError> {
        let Neighbor {
            node,
            row,
            distance,
            ..
        } = own;
        if row >= self.node_count() {
            let (node, row_count) = (node.0, self.node_count());
            return Err(PageError::Row {
                node,
                row,
                row_count,
            });
        }
        if !distance.is_finite() {
            let node = node.0;
            return Err(PageError::Distance { node, distance });
        }
        Ok(Neighbor {
            node: NodeId(self.base + node.0),
            row: self.base + row,
            user_id: own.user_id.saturating_add(self.first_id.unwrap_or(0)),
            distance,
            error: own.error,
        })
    }
}

impl LoadedSegment {
    /// Nodes of the segment.
    pub(crate) fn node_count(&self) -> u32 {
        self.shape.nodes as u32
    }

    /// Where the vector of a node is, and how many pages are read for it.
    pub(crate) fn vector_place(&self, node: u32) -> (u64, u32) {
        let map = match &self.parts {
            AnyParts::Record(parts) => parts.codec.map(),
            AnyParts::PageNode(parts) => parts.codec.map(),
        };
        let page = map.vector_page_of(NodeId(node));
        (page.0.into(), map.geometry.span())
    }

    /// Bytes of the caches of nodes and of pages.
    pub(crate) fn cache_bytes(&self) -> (u64, u64) {
        let cache = self.parts.cache();
        let nodes = cache.nodes.bytes() + cache.vectors.bytes();
        (nodes, cache.pages.held_bytes())
    }

    /// Dimension and element type of vectors as they lie in pages.
    pub(crate) fn stored(&self) -> VectorShape {
        self.given.stored()
    }

    /// Copies the vectors of nodes `first ..` of this segment into `out`, as the index takes them,
    /// reading pages in order.
    ///
    /// # Errors
    /// `InvalidInput` when there are fewer, `Corrupt` or `Io` as the pages are.
    pub(crate) fn read_vectors(&self, first: u64, out: &mut [u8]) -> Result<()> {
        self.read_as(self.given, first, out)
    }

    /// The same as they lie in pages.
    ///
    /// # Errors
    /// As [`LoadedSegment::read_vectors`].
    pub(crate) fn read_stored(&self, first: u64, out: &mut [u8]) -> Result<()> {
        self.read_as(GivenRows::new(self.stored(), None), first, out)
    }

    /// Copies the vectors of some nodes to as many places in `out`: as they lie in pages where
    /// those are of `shape`, else as the index takes them. Each page is read once, many at a time.
    ///
    /// # Errors
    /// As [`LoadedSegment::read_vectors`].
    pub(crate) fn gather(
        &self,
        shape: VectorShape,
        (nodes, out): (&[NodeId], &mut [u8]),
    ) -> Result<()> {
        let rows = if shape == self.stored() {
            GivenRows::new(shape, None)
        } else {
            self.given
        };
        let (mut row, row_bytes) = (rows.row(), rows.row_bytes());
        let mut copy = |at: usize, vector: &[u8]| {
            if let Some(slot) = out.get_mut(at * row_bytes..(at + 1) * row_bytes) {
                slot.copy_from_slice(row.of(vector));
            }
        };
        match &self.parts {
            AnyParts::Record(parts) => gather_rows(&self.pages, &parts.codec, nodes, &mut copy),
            AnyParts::PageNode(parts) => gather_rows(&self.pages, &parts.codec, nodes, &mut copy),
        }
    }

    fn read_as(&self, rows: GivenRows, first: u64, out: &mut [u8]) -> Result<()> {
        let row_bytes = rows.row_bytes();
        let end = first + (out.len() / row_bytes) as u64;
        let nodes = u32::try_from(first).ok().zip(u32::try_from(end).ok());
        let nodes = nodes.filter(|_| out.len().is_multiple_of(row_bytes));
        let (first, end) = nodes.ok_or_else(out_of_range)?;
        self.visit_as(rows, (first..end, TRANSFER_BYTES), &mut |node, vector| {
            let start = (node.0 - first) as usize * row_bytes;
            if let Some(slot) = out.get_mut(start..start + row_bytes) {
                slot.copy_from_slice(vector.bytes);
            }
            Ok(())
        })
    }

    /// Copies the ids of nodes `first ..` of this segment into `out`, reading pages in order.
    ///
    /// # Errors
    /// As [`LoadedSegment::read_vectors`].
    pub(crate) fn read_ids(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let (start, end) = (first, first + out.len() as u64);
        let nodes = u32::try_from(start).ok().zip(u32::try_from(end).ok());
        let (start, end) = nodes.ok_or_else(out_of_range)?;
        self.visit_vectors((start..end, TRANSFER_BYTES), &mut |node, vector| {
            if let Some(slot) = out.get_mut((node.0 - start) as usize) {
                *slot = match self.first_id {
                    Some(first_id) => first_id.saturating_add(vector.row.into()),
                    None => vector.user_id,
                };
            }
            Ok(())
        })
    }

    /// Shows the vectors of `nodes` of this segment in order, as the index takes them, with row and
    /// id as it knows them, reading pages in order, about so many bytes at a time.
    ///
    /// # Errors
    /// `InvalidInput` when there are fewer or none, `Corrupt` or `Io` as the pages are; what
    /// `visit` gives.
    pub(crate) fn visit_vectors(
        &self,
        nodes: (Range<u32>, usize),
        visit: &mut dyn FnMut(NodeId, VectorPart<'_>) -> Result<()>,
    ) -> Result<()> {
        self.visit_as(self.given, nodes, visit)
    }

    fn visit_as(
        &self,
        rows: GivenRows,
        nodes: (Range<u32>, usize),
        visit: &mut dyn FnMut(NodeId, VectorPart<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut row = rows.row();
        let mut visit = |node, vector: VectorPart<'_>| {
            let bytes = row.of(vector.bytes);
            visit(node, VectorPart { bytes, ..vector })
        };
        match &self.parts {
            AnyParts::Record(parts) => self.visit_with(&parts.codec, nodes, &mut visit),
            AnyParts::PageNode(parts) => self.visit_with(&parts.codec, nodes, &mut visit),
        }
    }

    fn visit_with(
        &self,
        codec: &impl PageCodec,
        (nodes, transfer_bytes): (Range<u32>, usize),
        visit: &mut dyn FnMut(NodeId, VectorPart<'_>) -> Result<()>,
    ) -> Result<()> {
        let map = codec.map();
        if nodes.is_empty() || nodes.end > map.node_count {
            return Err(out_of_range());
        }
        let pages = (map.vector_pages_of(nodes.clone()), transfer_bytes);
        let mut room = UnfoldedVector::new();
        scan(&self.pages, pages, &mut |page, payload| {
            if !map.holds_vectors(page) {
                return Ok(());
            }
            let view = codec.view(page, payload)?;
            for node in map.nodes_of(page).filter(|node| nodes.contains(node)) {
                let vector = view.vector(NodeId(node), &mut room)?;
                let (row, row_count) = (vector.row, map.node_count);
                if row >= row_count {
                    let error = PageError::Row {
                        node,
                        row,
                        row_count,
                    };
                    return Err(error.into());
                }
                visit(NodeId(node), vector)?;
            }
            Ok(())
        })
    }
}

/// Shows the raw rows of some nodes, by their places among `nodes`, in any order: each page is read
/// once, many at a time.
///
/// # Errors
/// As [`LoadedSegment::read_vectors`].
pub(crate) fn gather_rows(
    pages: &RecordPages,
    codec: &impl PageCodec,
    nodes: &[NodeId],
    visit: &mut dyn FnMut(usize, &[u8]),
) -> Result<()> {
    let map = codec.map();
    if nodes.iter().any(|node| node.0 >= map.node_count) {
        return Err(out_of_range());
    }
    let own: Vec<PageId> = nodes.iter().map(|node| map.vector_page_of(*node)).collect();
    let mut room = UnfoldedVector::new();
    gather(pages, &own, &mut |at, payload| {
        if let (Some(node), Some(page)) = (nodes.get(at), own.get(at)) {
            let view = codec.view(*page, payload)?;
            visit(at, view.vector(*node, &mut room)?.bytes);
        }
        Ok(())
    })
}

fn out_of_range() -> Error {
    Error::invalid("rows out of range")
}
