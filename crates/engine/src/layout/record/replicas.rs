//! Adjacency lists of neighbours at the end of a record (Gorgeous, section 4.1): a page that was
//! read for one node lets a search expand others too.
//!
//! ```text
//! | count u16 | node u32 | degree u16 | degree x neighbour u32 | node u32 | ... | zero |
//! ```
//!
//! The area has room for a number of lists of full length; lists are stored as long as they are, so
//! more may fit.

use pageway_types::NodeId;

use super::form::{COUNT_BYTES, NODE_BYTES, append_nodes, check_degree, count_at};
use crate::error::Result;
use crate::layout::{Neighbors, NodeFeed, PageError};
use crate::spec::CodecSpec;

const LIST_HEADER_BYTES: usize = NODE_BYTES + COUNT_BYTES;

/// The area for lists of neighbours in a record; no bytes where the codec packs none.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicaArea {
    bytes: usize,
    max_degree: u32,
}

/// Where the next list of an area begins, and how many came before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ListPlace {
    passed: usize,
    offset: usize,
}

/// A list of an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicaList<'p> {
    pub(super) node: NodeId,
    pub(super) neighbors: Neighbors<'p>,
}

impl ReplicaArea {
    pub(super) fn new(codec: CodecSpec, max_degree: u32) -> Self {
        let bytes = match codec.packed_lists() as usize {
            0 => 0,
            lists => {
                let list = LIST_HEADER_BYTES + NODE_BYTES * max_degree as usize;
                COUNT_BYTES + list.saturating_mul(lists)
            }
        };
        Self { bytes, max_degree }
    }

    /// Bytes of the area.
    #[inline]
    pub(super) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Lists that fit when all are empty: what a count is bounded by.
    const fn most_lists(self) -> usize {
        self.bytes.saturating_sub(COUNT_BYTES) / LIST_HEADER_BYTES
    }

    /// Appends the area of `node`: as many of its lists as fit, nearest first. One that does not
    /// fit makes way for shorter ones behind it.
    pub(super) fn append(
        self,
        node: NodeId,
        feed: &dyn NodeFeed,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let start = payload.len();
        let end = start + self.bytes;
        let mut count = 0u16;
        payload.extend_from_slice(&count.to_le_bytes());
        for &replica in feed.replicas(node)?.iter().take(u16::MAX.into()) {
            let list = feed.neighbors(replica)?;
            check_degree(replica, list.len(), self.max_degree)?;
            if payload.len() + LIST_HEADER_BYTES + NODE_BYTES * list.len() > end {
                continue;
            }
            count += 1;
            payload.extend_from_slice(&replica.0.to_le_bytes());
            payload.extend_from_slice(&(list.len() as u16).to_le_bytes());
            append_nodes(list, payload);
        }
        payload.resize(end, 0);
        if let Some(place) = payload.get_mut(start..start + COUNT_BYTES) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        Ok(())
    }

    /// Lists that an area claims, at most as many as it could hold.
    pub(super) fn count(self, area: &[u8]) -> usize {
        let claimed = count_at(area, 0).unwrap_or(0);
        claimed.min(self.most_lists())
    }

    /// The list at `place`, and moves `place` behind it; `None` behind the last list.
    ///
    /// # Errors
    /// `Degree`; `short` where the lists do not lie within the area.
    pub(super) fn next<'p>(
        self,
        area: &'p [u8],
        place: &mut ListPlace,
        short: impl Fn() -> PageError,
    ) -> std::result::Result<Option<ReplicaList<'p>>, PageError> {
        let claimed = count_at(area, 0).filter(|&claimed| claimed <= self.most_lists());
        if place.passed >= claimed.ok_or_else(&short)? {
            return Ok(None);
        }
        let at = COUNT_BYTES + place.offset;
        let node = area.get(at..).and_then(<[u8]>::first_chunk);
        let node = NodeId(u32::from_le_bytes(*node.ok_or_else(&short)?));
        let degree = count_at(area, at + NODE_BYTES).ok_or_else(&short)?;
        check_degree(node, degree, self.max_degree)?;
        let list = at + LIST_HEADER_BYTES;
        let end = list + NODE_BYTES * degree;
        let ids = area.get(list..end).ok_or_else(short)?;
        place.passed += 1;
        place.offset = end - COUNT_BYTES;
        let neighbors = Neighbors { ids, codes: &[] };
        Ok(Some(ReplicaList { node, neighbors }))
    }
}
