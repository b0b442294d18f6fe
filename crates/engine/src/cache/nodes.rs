//! What memory holds of nodes: records or lists of hot ones, chosen when the index opens and never
//! evicted; or records that searches change.

use pageway_types::NodeId;

use super::images::ImageCache;
use super::lists::ListCache;
use super::recent::RecentRecords;
use crate::layout::{Neighbors, Record, UnpackedList, VectorPart};

/// What is kept per node.
#[derive(Default)]
#[expect(
    clippy::large_enum_variant,
    reason = "an open index has one, and looks into it at every hop"
)]
pub(crate) enum NodeCache {
    /// Nothing.
    #[default]
    None,
    /// Whole records.
    Records(ImageCache),
    /// Whole records of nodes that were used lately.
    Recent(RecentRecords),
    /// Adjacency lists.
    Lists(ListCache),
}

impl NodeCache {
    /// What is kept of a node, if it is here; a list is unpacked into `list`, and what
    /// may change meanwhile is copied there.
    #[inline]
    pub(crate) fn record<'r>(
        &'r self,
        node: NodeId,
        list: &'r mut UnpackedList,
    ) -> Option<Record<'r>> {
        match self {
            Self::None => None,
            Self::Records(records) => records.record(node),
            Self::Recent(records) => records.record(node, list),
            Self::Lists(lists) => lists.record(node, list),
        }
    }

    /// Whether the node is here.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match self {
            Self::None => false,
            Self::Records(records) => records.contains(node),
            Self::Recent(records) => records.contains(node),
            Self::Lists(lists) => lists.contains(node),
        }
    }

    /// Offers a record that was read for its node and used: for a cache that learns.
    pub(crate) fn offer(
        &self,
        node: NodeId,
        neighbors: Neighbors<'_>,
        vector: Option<&VectorPart<'_>>,
    ) {
        if let Self::Recent(records) = self {
            records.offer(node, neighbors, vector);
        }
    }

    /// Whether what is here depends on the queries so far.
    pub(crate) fn learns(&self) -> bool {
        matches!(self, Self::Recent(_))
    }

    /// Nodes held.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Records(records) => records.len(),
            Self::Recent(records) => records.len(),
            Self::Lists(lists) => lists.len(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Records(records) => records.bytes(),
            Self::Recent(records) => records.bytes(),
            Self::Lists(lists) => lists.bytes(),
        }
    }

    /// Bits per neighbour where lists alone are held, with what finds them.
    pub(crate) fn edge_bits(&self) -> Option<f64> {
        match self {
            Self::Lists(lists) if lists.edges() > 0 => {
                Some(lists.bytes() as f64 * 8.0 / lists.edges() as f64)
            }
            Self::None | Self::Records(_) | Self::Recent(_) | Self::Lists(_) => None,
        }
    }
}
