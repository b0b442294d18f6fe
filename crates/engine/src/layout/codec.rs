//! The static seam between pages and the search loop: a codec gives borrowed views of page bytes,
//! and views give records. Decoding allocates nothing and trusts nothing: every offset is checked
//! against the page, every neighbour against the node count.

use pageway_types::{NodeId, PageId};

use super::AddressMap;

/// A page that passed its checksum and still makes no sense, or the wrong page.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    /// The page does not hold the node it was read for.
    #[error("page {page} does not hold node {node}")]
    MissingNode {
        /// The page.
        page: u32,
        /// The node.
        node: u32,
    },
    /// The page is shorter than its records.
    #[error("page {page} holds {found} bytes, its records need {expected}")]
    Short {
        /// The page.
        page: u32,
        /// Bytes there.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// An adjacency list is longer than the maximum degree.
    #[error("node {node} claims {degree} neighbours, at most {max_degree} are possible")]
    Degree {
        /// The node.
        node: u32,
        /// Its claimed degree.
        degree: u32,
        /// The maximum degree (R).
        max_degree: u32,
    },
    /// A neighbour does not exist.
    #[error("node {node} lists neighbour {neighbor}, but there are {node_count} nodes")]
    Neighbor {
        /// The node.
        node: u32,
        /// The neighbour that does not exist.
        neighbor: u32,
        /// Nodes of the index.
        node_count: u32,
    },
}

/// Turns records into page payloads and back.
pub(crate) trait PageCodec: Send + Sync {
    /// Borrowed view of one page.
    type View<'p>: PageView<'p>
    where
        Self: 'p;

    /// Which page holds which node.
    fn address(&self) -> AddressMap;

    /// Looks at the payload of `page`.
    fn view<'p>(&'p self, page: PageId, payload: &'p [u8]) -> Result<Self::View<'p>, PageError>;

    /// Bytes of the longest record.
    fn record_bytes(&self) -> usize;

    /// Reads a record that lies outside a page (in a cache): `bytes` is what `Record::bytes` gave.
    fn record<'p>(&'p self, node: NodeId, bytes: &'p [u8]) -> Result<Record<'p>, PageError>;

    /// Appends the record of `node` to a page payload; records of a page come in slot order.
    fn append(&self, node: &NodeBytes<'_>, payload: &mut Vec<u8>) -> Result<(), PageError>;
}

/// What a page holds.
pub(crate) trait PageView<'p> {
    /// The record of `node`, if it lies here and makes sense.
    fn record(&self, node: NodeId) -> Result<Record<'p>, PageError>;

    /// Every record here, in slot order.
    fn for_each_resident(
        &self,
        visit: &mut dyn FnMut(Record<'p>) -> Result<(), PageError>,
    ) -> Result<(), PageError>;
}

/// One node's bytes on a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'p> {
    /// The node.
    pub(crate) node: NodeId,
    /// Its vector, raw element bytes.
    pub(crate) vector: &'p [u8],
    /// Its adjacency list, four bytes per neighbour.
    pub(crate) neighbors: &'p [u8],
    /// What a search returns for it.
    pub(crate) user_id: u64,
    /// The whole record, for caches.
    pub(crate) bytes: &'p [u8],
}

impl<'p> Record<'p> {
    /// The neighbours in stored (prune) order.
    #[inline]
    pub(crate) fn neighbors(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'p> {
        let (ids, _) = self.neighbors.as_chunks::<4>();
        ids.iter().map(|bytes| NodeId(u32::from_le_bytes(*bytes)))
    }
}

/// What a record is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeBytes<'a> {
    /// The node.
    pub(crate) node: NodeId,
    /// Its vector, raw element bytes.
    pub(crate) vector: &'a [u8],
    /// Its adjacency list in prune order.
    pub(crate) neighbors: &'a [NodeId],
    /// What a search returns for it.
    pub(crate) user_id: u64,
}
