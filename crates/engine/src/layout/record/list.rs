//! The adjacency list of a record, and what lies behind it: codes of the neighbours, lists of
//! neighbours.

use std::borrow::Cow;

use pageway_graph::ListCode;
use pageway_types::NodeId;

use super::form::{
    COUNT_BYTES, NODE_BYTES, VectorForm, append_exactly, append_nodes, check_degree, count_at,
};
use super::replicas::ReplicaArea;
use crate::error::Result;
use crate::layout::stored::{ListRoom, pack_beginning};
use crate::layout::{Neighbors, NodeFeed, PackedList, PageError, StoredList};
use crate::spec::IndexSpec;

/// Where a record has its degree, neighbours, codes and replicas, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListForm {
    /// Where the list begins: behind vector and identity, or at 0 where those are elsewhere.
    list_at: usize,
    /// Bytes for the list: for degree and neighbours, or packed.
    list_bytes: usize,
    max_degree: u32,
    /// Bytes of a code beside each neighbour, or 0.
    code_bytes: usize,
    replicas: ReplicaArea,
}

impl ListForm {
    pub(super) fn new(spec: &IndexSpec, node_count: u32) -> Self {
        let codec = spec.layout.codec;
        let inline = codec.has_inline_codes();
        let max_degree = spec.graph.max_degree();
        let code_bytes = spec.storage.quantizer.code_bytes() as usize;
        let room = ListRoom::new(spec, node_count).bytes(max_degree);
        Self {
            list_at: VectorForm::beside_list(spec).bytes(),
            list_bytes: if spec.layout.lists.is_packed() {
                room
            } else {
                COUNT_BYTES + room
            },
            max_degree,
            code_bytes: if inline { code_bytes } else { 0 },
            replicas: ReplicaArea::new(codec, max_degree),
        }
    }

    #[inline]
    pub(super) const fn max_degree(self) -> u32 {
        self.max_degree
    }

    #[inline]
    pub(super) const fn replicas(self) -> ReplicaArea {
        self.replicas
    }

    const fn nodes_at(self) -> usize {
        self.list_at + COUNT_BYTES
    }

    const fn codes_at(self) -> usize {
        self.list_at + self.list_bytes
    }

    /// Where the replicas begin.
    #[inline]
    pub(super) const fn replicas_at(self) -> usize {
        self.codes_at() + self.code_bytes * self.max_degree as usize
    }

    /// Bytes of the whole record.
    pub(super) const fn bytes(self) -> usize {
        self.replicas_at() + self.replicas.bytes()
    }

    /// The list in `record`, which is the record of `node`.
    ///
    /// # Errors
    /// `Degree`; `short` when the record ends before the list.
    #[inline]
    pub(super) fn stored<'p>(
        self,
        node: NodeId,
        record: &'p [u8],
        code: Option<&'p ListCode>,
        short: impl Fn() -> PageError,
    ) -> std::result::Result<StoredList<'p>, PageError> {
        if let Some(code) = code {
            return self.packed(node, record, code, short);
        }
        let degree = count_at(record, self.list_at).ok_or_else(&short)?;
        check_degree(node, degree, self.max_degree)?;
        let part = |at: usize, bytes: usize| record.get(at..at + bytes).ok_or_else(&short);
        Ok(StoredList::Plain(Neighbors {
            ids: part(self.nodes_at(), NODE_BYTES * degree)?,
            codes: part(self.codes_at(), self.code_bytes * degree)?,
        }))
    }

    #[inline]
    fn packed<'p>(
        self,
        node: NodeId,
        record: &'p [u8],
        code: &'p ListCode,
        short: impl Fn() -> PageError,
    ) -> std::result::Result<StoredList<'p>, PageError> {
        let part = |at: usize, bytes: usize| record.get(at..at + bytes).ok_or_else(&short);
        let bytes = part(self.list_at, self.list_bytes)?;
        let degree = ListCode::degree(bytes).ok_or_else(&short)?;
        check_degree(node, degree, self.max_degree)?;
        Ok(StoredList::Packed(PackedList {
            code,
            own: node,
            bytes,
            codes: part(self.codes_at(), self.code_bytes * degree)?,
        }))
    }

    /// Appends everything behind vector and identity to `payload`, where the record of `node`
    /// begins at `start`.
    pub(super) fn append(
        self,
        (node, start): (NodeId, usize),
        code: Option<&ListCode>,
        feed: &dyn NodeFeed,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        let list = feed.neighbors(node)?;
        check_degree(node, list.len(), self.max_degree)?;
        let stored = match code {
            None => {
                payload.extend_from_slice(&(list.len() as u16).to_le_bytes());
                append_nodes(list, payload);
                Cow::Borrowed(list)
            }
            Some(code) => {
                let room = self.list_bytes;
                let (sorted, packed) = pack_beginning(code, (node, list), room, |_| 0);
                payload.extend_from_slice(&packed);
                Cow::Owned(sorted)
            }
        };
        payload.resize(start + self.codes_at(), 0);
        if self.code_bytes > 0 {
            for &neighbor in &*stored {
                append_exactly(feed.code(neighbor)?, self.code_bytes, payload)?;
            }
            payload.resize(start + self.replicas_at(), 0);
        }
        self.replicas.append(node, feed, payload)
    }
}
