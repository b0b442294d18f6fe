//! The static seam between pages and the search loop: a codec gives borrowed views of page bytes,
//! and views give records. Decoding allocates nothing and trusts nothing: every offset is checked
//! against the page; that neighbours exist is for the reader to check, once per list.

use pageway_types::{NodeId, PageId};

use super::{PageMap, StoredList, UnfoldedVector};
use crate::error::{Error, ErrorKind, Result};

/// A page that passed its checksum and still makes no sense, or the wrong page.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// A packed list is none.
    #[error("the packed list of node {node} makes no sense")]
    List {
        /// The node.
        node: u32,
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
    /// A node that is no vector of the index would be an answer.
    #[error("node {node} says that it is row {row}, but there are {row_count}")]
    Row {
        /// The node.
        node: u32,
        /// What it says.
        row: u32,
        /// Rows of the segment.
        row_count: u32,
    },
    /// A node would be an answer at a distance that no vectors have.
    #[error("node {node} lies at a distance of {distance}")]
    Distance {
        /// The node.
        node: u32,
        /// The distance.
        distance: f32,
    },
    /// No walk begins anywhere, or where one begins there is nothing.
    #[error("not one of {node_count} nodes was found: there is no way in")]
    NothingFound {
        /// Nodes of the index.
        node_count: u32,
    },
    /// A neighbour comes without its code, and memory does not hold it.
    #[error("node {node} lists neighbour {neighbor} without its code, which is not in memory")]
    Uncoded {
        /// The node.
        node: u32,
        /// The neighbour.
        neighbor: u32,
    },
}

impl From<PageError> for Error {
    fn from(error: PageError) -> Self {
        Self::caused_by(ErrorKind::Corrupt, error)
    }
}

/// Turns nodes into page payloads and back.
pub(crate) trait PageCodec: Send + Sync {
    /// Borrowed view of one page.
    type View<'p>: PageView<'p>
    where
        Self: 'p;

    /// Whether all nodes of a page share one adjacency list.
    const LIST_PER_PAGE: bool;

    /// Which page holds which node.
    fn map(&self) -> PageMap;

    /// Neighbours that one list may have.
    fn max_neighbors(&self) -> usize;

    /// Looks at the payload of `page`.
    fn view<'p>(
        &'p self,
        page: PageId,
        payload: &'p [u8],
    ) -> std::result::Result<Self::View<'p>, PageError>;

    /// Appends the payload of `page` to `payload`, which is empty.
    ///
    /// # Errors
    /// As the feed; `Degree` when a list is too long.
    fn encode(&self, page: PageId, feed: &dyn NodeFeed, payload: &mut Vec<u8>) -> Result<()>;
}

/// What a page holds.
pub(crate) trait PageView<'p> {
    /// The record of `node`, whose list lies on this page; with its vector where that does too.
    fn record(&self, node: NodeId) -> std::result::Result<Record<'p>, PageError>;

    /// The vector of `node`, which lies on this page; in `room` where it is folded there.
    fn vector<'v>(
        &self,
        node: NodeId,
        room: &'v mut UnfoldedVector,
    ) -> std::result::Result<VectorPart<'v>, PageError>
    where
        'p: 'v;

    /// Lists of other nodes that are packed here.
    fn replica_count(&self) -> usize {
        0
    }

    /// Packed list number `at`; its record has no vector.
    fn replica(&self, _at: usize) -> std::result::Result<Option<Record<'p>>, PageError> {
        Ok(None)
    }
}

/// A vector on a page, or its fine code, and what a search returns for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VectorPart<'p> {
    /// Raw element bytes, or the code.
    pub(crate) bytes: &'p [u8],
    /// Row in the data that the index was built from.
    pub(crate) row: u32,
    /// Id of the user, or the row.
    pub(crate) user_id: u64,
}

/// One node's bytes on a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'p> {
    /// The node.
    pub(crate) node: NodeId,
    /// Its vector, where it lies with the list.
    pub(crate) vector: Option<VectorPart<'p>>,
    /// Its adjacency list.
    pub(crate) list: StoredList<'p>,
}

/// An adjacency list that is not packed, in bytes. The neighbours without a code come first: memory
/// holds theirs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Neighbors<'p> {
    /// Four bytes per neighbour, in stored order.
    pub(crate) ids: &'p [u8],
    /// Codes of the last neighbours, in their order; empty where memory holds all codes.
    pub(crate) codes: &'p [u8],
}

impl<'p> Neighbors<'p> {
    /// The neighbours in stored order.
    #[inline]
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'p> {
        let (ids, _) = self.ids.as_chunks::<4>();
        ids.iter().map(|bytes| NodeId(u32::from_le_bytes(*bytes)))
    }

    /// How many.
    pub(crate) const fn len(&self) -> usize {
        self.ids.len() / 4
    }

    /// Bytes of ids and codes.
    pub(crate) const fn bytes(&self) -> usize {
        self.ids.len() + self.codes.len()
    }
}

/// Where an encoder takes nodes from. Calls for the nodes of the page that is encoded always work;
/// calls for other nodes work where the codec needs them.
pub(crate) trait NodeFeed: Sync {
    /// Raw vector of a node of this page.
    fn vector(&self, node: NodeId) -> Result<VectorPart<'_>>;

    /// Adjacency list of a node, in prune order.
    fn neighbors(&self, node: NodeId) -> Result<&[NodeId]>;

    /// Fine code of a node of this page, where records hold those.
    fn fine_code(&self, node: NodeId) -> Result<&[u8]>;

    /// Code of any node.
    fn code(&self, node: NodeId) -> Result<&[u8]>;

    /// Neighbours of a node of this page whose lists are packed beside its own, nearest first.
    fn replicas(&self, node: NodeId) -> Result<&[NodeId]>;
}
