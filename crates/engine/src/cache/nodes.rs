//! What memory holds of hot nodes: records or lists, chosen when the index opens, never evicted.

use pageway_types::NodeId;

use super::images::ImageCache;
use super::lists::ListCache;
use crate::layout::{Record, UnpackedList};

/// What is kept per node.
#[derive(Debug, Default)]
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
    /// Adjacency lists.
    Lists(ListCache),
}

impl NodeCache {
    /// What is kept of a node, if it is here; a list is unpacked into `list`.
    #[inline]
    pub(crate) fn record<'r>(
        &'r self,
        node: NodeId,
        list: &'r mut UnpackedList,
    ) -> Option<Record<'r>> {
        match self {
            Self::None => None,
            Self::Records(records) => records.record(node),
            Self::Lists(lists) => lists.record(node, list),
        }
    }

    /// Whether the node is here.
    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match self {
            Self::None => false,
            Self::Records(records) => records.contains(node),
            Self::Lists(lists) => lists.contains(node),
        }
    }

    /// Nodes held.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Records(records) => records.len(),
            Self::Lists(lists) => lists.len(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Records(records) => records.bytes(),
            Self::Lists(lists) => lists.bytes(),
        }
    }

    /// Bits per neighbour where lists alone are held, with what finds them.
    pub(crate) fn edge_bits(&self) -> Option<f64> {
        match self {
            Self::Lists(lists) if lists.edges() > 0 => {
                Some(lists.bytes() as f64 * 8.0 / lists.edges() as f64)
            }
            Self::None | Self::Records(_) | Self::Lists(_) => None,
        }
    }
}
