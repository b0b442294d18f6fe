//! What records and page nodes have in common: a vector in bytes, and the row and the user id that
//! a search returns for it.

use pageway_store::{PAGE_HEADER_BYTES, PageGeometry};
use pageway_types::NodeId;

use crate::error::{Error, ErrorKind, Result};
use crate::layout::{Fold, NodeFeed, PageError, UnfoldedVector, VectorPart};
use crate::spec::IndexSpec;

/// Bytes of a node id.
pub(in crate::layout) const NODE_BYTES: usize = 4;
/// Bytes of a count or a degree.
pub(in crate::layout) const COUNT_BYTES: usize = 2;
const ROW_BYTES: usize = 4;
const USER_ID_BYTES: usize = 8;

/// A vector and its identity: the row, unless the node's number is the row, and the user id, if the
/// index has those.
#[derive(Clone, Copy, Debug)]
pub(in crate::layout) struct VectorForm {
    vector_bytes: usize,
    fold: Fold,
    /// Whether a fine code takes the place of the vector.
    is_code: bool,
    has_row: bool,
    has_user_id: bool,
}

impl VectorForm {
    /// The form of vectors in pages of their own.
    pub(in crate::layout) fn new(spec: &IndexSpec) -> Self {
        let shape = spec.shape.vectors();
        Self {
            vector_bytes: shape.row_bytes(),
            fold: Fold::new(shape, spec.layout.folded.unwrap_or(0)),
            is_code: false,
            has_row: !spec.nodes_are_rows(),
            has_user_id: spec.storage.ids.are_given(),
        }
    }

    /// What lies beside the adjacency list: the vector, a fine code of it, or nothing.
    pub(in crate::layout) fn beside_list(spec: &IndexSpec) -> Self {
        let full = Self::new(spec);
        let vector_bytes = spec.storage.bytes_beside_list(full.vector_bytes);
        let is_there = vector_bytes > 0;
        Self {
            vector_bytes,
            fold: Fold::NONE,
            is_code: spec.storage.vectors.is_coded(),
            has_row: full.has_row && is_there,
            has_user_id: full.has_user_id && is_there,
        }
    }

    /// True when there is nothing.
    #[inline]
    pub(in crate::layout) const fn is_empty(self) -> bool {
        self.vector_bytes == 0
    }

    /// Bytes that a vector takes.
    #[inline]
    pub(in crate::layout) const fn vector_bytes(self) -> usize {
        self.vector_bytes - self.fold.saved_bytes()
    }

    /// Bytes of row and user id.
    #[inline]
    pub(in crate::layout) const fn identity_bytes(self) -> usize {
        let row = if self.has_row { ROW_BYTES } else { 0 };
        let user_id = if self.has_user_id { USER_ID_BYTES } else { 0 };
        row + user_id
    }

    /// Bytes of all.
    pub(in crate::layout) const fn bytes(self) -> usize {
        self.vector_bytes() + self.identity_bytes()
    }

    /// The part that `vector` and `identity` make; `None` when the identity is too short.
    #[inline]
    pub(in crate::layout) fn part<'p>(
        self,
        node: NodeId,
        vector: &'p [u8],
        identity: &[u8],
    ) -> Option<VectorPart<'p>> {
        let (row, identity) = if self.has_row {
            let (row, rest) = identity.split_first_chunk()?;
            (u32::from_le_bytes(*row), rest)
        } else {
            (node.0, identity)
        };
        let user_id = if self.has_user_id {
            u64::from_le_bytes(*identity.first_chunk()?)
        } else {
            row.into()
        };
        Some(VectorPart {
            bytes: vector,
            row,
            user_id,
        })
    }

    /// The same with the vector as it was before it was folded, in `room` where it was.
    #[inline]
    pub(in crate::layout) fn unfolded<'v>(
        self,
        part: VectorPart<'v>,
        room: &'v mut UnfoldedVector,
    ) -> VectorPart<'v> {
        let bytes = self.fold.unfold(part.bytes, room);
        VectorPart { bytes, ..part }
    }

    /// What `feed` has of a node of the page, in this form.
    pub(in crate::layout) fn part_of(
        self,
        node: NodeId,
        feed: &dyn NodeFeed,
    ) -> Result<VectorPart<'_>> {
        let part = feed.vector(node)?;
        let bytes = if self.is_code {
            feed.fine_code(node)?
        } else {
            part.bytes
        };
        Ok(VectorPart { bytes, ..part })
    }

    /// Appends the vector alone.
    pub(in crate::layout) fn append_vector(
        self,
        part: VectorPart<'_>,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        check_length(part.bytes, self.vector_bytes)?;
        self.fold.append(part.bytes, payload)
    }

    /// Appends row and user id.
    pub(in crate::layout) fn append_identity(self, part: VectorPart<'_>, payload: &mut Vec<u8>) {
        if self.has_row {
            payload.extend_from_slice(&part.row.to_le_bytes());
        }
        if self.has_user_id {
            payload.extend_from_slice(&part.user_id.to_le_bytes());
        }
    }
}

/// Appends a vector or a code. Another length than `expected` would shift all that follows.
pub(in crate::layout) fn append_exactly(
    bytes: &[u8],
    expected: usize,
    payload: &mut Vec<u8>,
) -> Result<()> {
    check_length(bytes, expected)?;
    payload.extend_from_slice(bytes);
    Ok(())
}

fn check_length(bytes: &[u8], expected: usize) -> Result<()> {
    if bytes.len() != expected {
        let words = format!("{} bytes to write where {expected} belong", bytes.len());
        return Err(Error::new(ErrorKind::Internal, words));
    }
    Ok(())
}

/// Appends node ids.
pub(in crate::layout) fn append_nodes(nodes: &[NodeId], payload: &mut Vec<u8>) {
    payload.extend(nodes.iter().flat_map(|node| node.0.to_le_bytes()));
}

/// Passes a list that is short enough.
#[inline]
pub(in crate::layout) fn check_degree(
    node: NodeId,
    degree: usize,
    max_degree: u32,
) -> std::result::Result<(), PageError> {
    if degree > max_degree as usize {
        return Err(PageError::Degree {
            node: node.0,
            degree: degree as u32,
            max_degree,
        });
    }
    Ok(())
}

/// The number at `at`; `None` behind the end.
#[inline]
pub(in crate::layout) fn count_at(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*two).into())
}

/// One page where `bytes` fit in it, else as few pages as hold them.
pub(in crate::layout) fn geometry_for(page_bytes: u32, bytes: usize) -> Result<PageGeometry> {
    let span = bytes
        .saturating_add(PAGE_HEADER_BYTES)
        .div_ceil(page_bytes as usize);
    let span = u32::try_from(span).unwrap_or(u32::MAX);
    Ok(PageGeometry::new(page_bytes, span)?)
}
