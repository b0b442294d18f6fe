//! A page of records, or of lists, or of vectors alone.

use std::cell::Cell;
use std::ops::Range;

use pageway_types::{NodeId, PageId};

use super::RecordCodec;
use super::replicas::ListPlace;
use crate::layout::{PageError, PageView, Record, StoredList, UnfoldedVector, VectorPart};

type PageResult<T> = std::result::Result<T, PageError>;

/// A page of records.
///
/// Invariant: the payload is long enough for the records of `nodes`.
#[derive(Clone, Debug)]
pub(crate) struct RecordView<'p> {
    codec: &'p RecordCodec,
    page: PageId,
    nodes: Range<u32>,
    vectors_alone: bool,
    payload: &'p [u8],
    /// Where the replica behind the last one lies: they are asked for one after the other, and have
    /// no table.
    next_replica: Cell<ReplicaPlace>,
}

#[derive(Clone, Copy, Default, Debug)]
struct ReplicaPlace {
    /// Replicas of the page before it.
    at: usize,
    /// Records of the page before its own.
    slot: u32,
    list: ListPlace,
}

impl<'p> RecordView<'p> {
    #[inline]
    pub(super) fn new(codec: &'p RecordCodec, page: PageId, payload: &'p [u8]) -> PageResult<Self> {
        let view = Self {
            codec,
            page,
            nodes: codec.map.nodes_of(page),
            vectors_alone: codec.map.holds_vectors_alone(page),
            payload,
            next_replica: Cell::default(),
        };
        if payload.len() < view.expected_bytes() {
            return Err(view.short());
        }
        Ok(view)
    }

    fn expected_bytes(&self) -> usize {
        self.nodes.len() * self.codec.stride_of(self.vectors_alone)
    }

    #[cold]
    fn short(&self) -> PageError {
        PageError::Short {
            page: self.page.0,
            found: self.payload.len(),
            expected: self.expected_bytes(),
        }
    }

    #[cold]
    fn missing(&self, node: NodeId) -> PageError {
        PageError::MissingNode {
            page: self.page.0,
            node: node.0,
        }
    }

    /// The bytes of `node`.
    #[inline]
    fn record_bytes(&self, node: NodeId) -> PageResult<&'p [u8]> {
        if !self.nodes.contains(&node.0) {
            return Err(self.missing(node));
        }
        let stride = self.codec.stride_of(self.vectors_alone);
        let start = (node.0 - self.nodes.start) as usize * stride;
        self.payload
            .get(start..start + stride)
            .ok_or_else(|| self.short())
    }

    #[inline]
    fn vector_in(&self, node: NodeId, record: &'p [u8]) -> PageResult<VectorPart<'p>> {
        let form = self.codec.form_of(self.vectors_alone);
        record
            .split_at_checked(form.vector_bytes())
            .and_then(|(vector, rest)| form.part(node, vector, rest))
            .ok_or_else(|| self.short())
    }

    /// The area of replicas of `node`; empty where records have none.
    fn replica_area(&self, node: NodeId) -> PageResult<&'p [u8]> {
        let list = self.codec.list;
        let start = list.replicas_at();
        self.record_bytes(node)?
            .get(start..start + list.replicas().bytes())
            .ok_or_else(|| self.short())
    }

    /// The replica at `place`, and moves `place` behind it; `None` behind the last one.
    fn replica_behind(&self, place: &mut ReplicaPlace) -> PageResult<Option<Record<'p>>> {
        while place.slot < self.nodes.len() as u32 {
            let owner = NodeId(self.nodes.start + place.slot);
            let area = self.replica_area(owner)?;
            let replicas = self.codec.list.replicas();
            if let Some(packed) = replicas.next(area, &mut place.list, || self.short())? {
                place.at += 1;
                self.check_exists(owner, packed.node)?;
                return Ok(Some(Record {
                    node: packed.node,
                    vector: None,
                    list: StoredList::Plain(packed.neighbors),
                }));
            }
            place.slot += 1;
            place.list = ListPlace::default();
        }
        Ok(None)
    }

    fn check_exists(&self, owner: NodeId, replica: NodeId) -> PageResult<()> {
        let node_count = self.codec.map.node_count;
        if replica.0 >= node_count {
            return Err(PageError::Neighbor {
                node: owner.0,
                neighbor: replica.0,
                node_count,
            });
        }
        Ok(())
    }

    fn packs_replicas(&self) -> bool {
        self.codec.list.replicas().bytes() > 0
    }
}

impl<'p> PageView<'p> for RecordView<'p> {
    #[inline]
    fn record(&self, node: NodeId) -> PageResult<Record<'p>> {
        if self.vectors_alone {
            return Err(self.missing(node));
        }
        let bytes = self.record_bytes(node)?;
        let code = self.codec.code.as_ref();
        let list = self.codec.list.stored(node, bytes, code, || self.short())?;
        let vector = if self.codec.near.is_empty() {
            None
        } else {
            Some(self.vector_in(node, bytes)?)
        };
        Ok(Record { node, vector, list })
    }

    #[inline]
    fn vector<'v>(&self, node: NodeId, room: &'v mut UnfoldedVector) -> PageResult<VectorPart<'v>>
    where
        'p: 'v,
    {
        let form = self.codec.form_of(self.vectors_alone);
        if form.is_empty() {
            return Err(self.missing(node));
        }
        let part = self.vector_in(node, self.record_bytes(node)?)?;
        Ok(form.unfolded(part, room))
    }

    fn replica_count(&self) -> usize {
        if !self.packs_replicas() {
            return 0;
        }
        let areas = self.nodes.clone().map(NodeId);
        areas
            .filter_map(|node| self.replica_area(node).ok())
            .map(|area| self.codec.list.replicas().count(area))
            .sum()
    }

    /// One after the other each costs the same; going back starts from the first.
    fn replica(&self, at: usize) -> PageResult<Option<Record<'p>>> {
        if !self.packs_replicas() {
            return Ok(None);
        }
        let mut place = self.next_replica.get();
        if place.at > at {
            place = ReplicaPlace::default();
        }
        loop {
            let passed = place.at;
            let found = self.replica_behind(&mut place)?;
            self.next_replica.set(place);
            if passed == at || found.is_none() {
                return Ok(found);
            }
        }
    }
}
