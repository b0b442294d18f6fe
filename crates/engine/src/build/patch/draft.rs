//! The nodes of a page, as they will be.

use pageway_types::{NodeId, PageId};

use crate::error::{Error, ErrorKind, Result};
use crate::layout::{NodeFeed, PageMap, VectorPart};
use crate::storage::difference;

/// The nodes of a page: their lists, their vectors, or both, as the page holds them.
pub(super) struct PageDraft {
    pub(super) page: PageId,
    /// Its first node.
    pub(super) first: u32,
    row_bytes: usize,
    rows: Vec<u8>,
    /// Row and user id.
    identities: Vec<(u32, u64)>,
    pub(super) lists: Vec<Vec<NodeId>>,
    /// Its payload, as its file holds it, where it may be written as what it differs by.
    pub(super) written: Option<Vec<u8>>,
}

impl PageDraft {
    pub(super) fn new(page: PageId, map: PageMap, row_bytes: usize) -> Self {
        Self {
            page,
            first: map.nodes_of(page).start,
            row_bytes,
            rows: Vec::new(),
            identities: Vec::new(),
            lists: Vec::new(),
            written: None,
        }
    }

    /// Adds the vector of the next node.
    pub(super) fn push_vector(&mut self, vector: &VectorPart<'_>) {
        self.rows.extend_from_slice(vector.bytes);
        self.identities.push((vector.row, vector.user_id));
    }

    /// The raw vector of a node of it; nothing where it holds none.
    pub(super) fn row(&self, place: usize) -> &[u8] {
        let row = self
            .rows
            .get(place * self.row_bytes..(place + 1) * self.row_bytes);
        row.unwrap_or_default()
    }

    /// What it differs by from what its file holds, where that takes less than half of it; its
    /// payload is filled up to the length of that.
    pub(super) fn difference_to(&self, payload: &mut Vec<u8>) -> Option<Vec<u8>> {
        let written = self.written.as_ref()?;
        payload.resize(written.len(), 0);
        let runs = difference(written, payload);
        (2 * runs.len() < written.len()).then_some(runs)
    }

    fn place(&self, node: NodeId) -> usize {
        node.0
            .checked_sub(self.first)
            .map_or(usize::MAX, |at| at as usize)
    }
}

impl NodeFeed for PageDraft {
    fn vector(&self, node: NodeId) -> Result<VectorPart<'_>> {
        let at = self.place(node);
        let identity = self.identities.get(at).copied();
        let (row, user_id) = identity.ok_or_else(of_another_page)?;
        Ok(VectorPart {
            bytes: self.row(at),
            row,
            user_id,
        })
    }

    fn neighbors(&self, node: NodeId) -> Result<&[NodeId]> {
        let list = self.lists.get(self.place(node));
        list.map(Vec::as_slice).ok_or_else(of_another_page)
    }

    fn fine_code(&self, _: NodeId) -> Result<&[u8]> {
        Err(no_codes())
    }

    fn code(&self, _: NodeId) -> Result<&[u8]> {
        Err(no_codes())
    }

    fn replicas(&self, _: NodeId) -> Result<&[NodeId]> {
        Ok(&[])
    }
}

fn of_another_page() -> Error {
    Error::new(ErrorKind::Internal, "a node of another page")
}

fn no_codes() -> Error {
    Error::new(ErrorKind::Internal, "records of this design hold no codes")
}
