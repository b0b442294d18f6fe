//! Which adjacency lists are packed beside a record (Gorgeous, section 4.1): those of the nearest
//! neighbours by exact distance, node by node. With room for R lists beside a record, a list is
//! packed at most R + 1 times.

use std::ops::Range;

use pageway_graph::VectorSet;
use pageway_types::{Guide, NodeId, VectorRead};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::gather::Gathered;
use super::order::NodeOrder;
use super::plan::BuildPlan;
use crate::error::{Error, ErrorKind, Result};
use crate::resolve;

/// Chooses lists for nodes in order.
pub(super) struct ReplicaPlan<'r> {
    distances: Distances<'r>,
    order: &'r NodeOrder,
    /// Lists per record (R).
    lists: usize,
    /// How often each list was packed, its own record included.
    packed: Vec<u16>,
}

/// The source of distances between rows.
#[derive(Clone, Copy)]
pub(super) enum Distances<'r> {
    /// Rows in memory.
    Held(&'r VectorSet<'r>),
    /// Rows that are read, with the distance that graphs are built by.
    Read(&'r dyn VectorRead, Guide, Option<f32>),
}

/// The neighbours of a node, nearest first.
type Ranked = Vec<NodeId>;

impl<'r> ReplicaPlan<'r> {
    /// Bytes of a plan for `count` nodes.
    pub(super) const fn bytes(count: u64) -> u64 {
        count * size_of::<u16>() as u64
    }

    /// A plan for the records of a build, whose nodes are in `order`.
    pub(super) fn new(distances: Distances<'r>, order: &'r NodeOrder, plan: &BuildPlan) -> Self {
        Self {
            distances,
            order,
            lists: plan.spec.layout.codec.packed_lists() as usize,
            packed: vec![1; plan.node_count as usize],
        }
    }

    /// Lists for each of `nodes`, nearest first, of those that `neighbors` gives.
    pub(super) fn choose<'l>(
        &mut self,
        nodes: Range<u32>,
        neighbors: &(dyn Fn(NodeId) -> Result<&'l [NodeId]> + Sync),
        pool: &ThreadPool,
    ) -> Result<Vec<Vec<NodeId>>> {
        let mut sorted = match self.distances {
            Distances::Held(vectors) => self.ranked(nodes, vectors, neighbors, pool)?,
            Distances::Read(vectors, guide, max_norm) => {
                let read = (vectors, guide, max_norm);
                self.ranked_by_reads(nodes, read, neighbors, pool)?
            }
        };
        let most = self.lists as u16 + 1;
        for list in &mut sorted {
            let mut room = self.lists;
            list.retain(|node| {
                let Some(packed) = self.packed.get_mut(node.index()) else {
                    return false;
                };
                let take = room > 0 && *packed < most;
                *packed += u16::from(take);
                room -= usize::from(take);
                take
            });
        }
        Ok(sorted)
    }

    fn ranked<'l>(
        &self,
        nodes: Range<u32>,
        vectors: &VectorSet<'_>,
        neighbors: &(dyn Fn(NodeId) -> Result<&'l [NodeId]> + Sync),
        pool: &ThreadPool,
    ) -> Result<Vec<Ranked>> {
        // The vectors are in the order of rows, as nodes were before placement.
        let row = |node: NodeId| NodeId(self.order.row_of(node).0);
        pool.install(|| {
            let nodes = nodes.into_par_iter().map(NodeId);
            let ranked = nodes.map(|node| {
                let distance = |other: NodeId| vectors.distance(row(node), row(other));
                Ok(nearest_first(neighbors(node)?, distance))
            });
            ranked.collect()
        })
    }

    /// The same for rows on disk; each is read once.
    fn ranked_by_reads<'l>(
        &self,
        nodes: Range<u32>,
        (vectors, guide, max_norm): (&dyn VectorRead, Guide, Option<f32>),
        neighbors: &(dyn Fn(NodeId) -> Result<&'l [NodeId]> + Sync),
        pool: &ThreadPool,
    ) -> Result<Vec<Ranked>> {
        let row = |node: NodeId| self.order.row_of(node).0;
        let mut wanted: Vec<u32> = nodes.clone().map(|node| row(NodeId(node))).collect();
        for node in nodes.clone() {
            wanted.extend(neighbors(NodeId(node))?.iter().copied().map(row));
        }
        let (shape, kernels) = (vectors.shape(), resolve::kernels()?);
        let read = |first: u64, out: &mut [u8]| Ok(vectors.read(first, out)?);
        let rows = Gathered::read(wanted, shape.row_bytes(), &read, pool)?;
        let set = VectorSet::new(rows.bytes(), shape, guide, kernels, max_norm)?;
        let place = |node: NodeId| rows.place(row(node)).map(NodeId).ok_or_else(unread);
        pool.install(|| {
            let nodes = nodes.into_par_iter().map(NodeId);
            let ranked = nodes.map(|node| {
                let own = place(node)?;
                let list = neighbors(node)?;
                let places = list.iter().map(|other| place(*other));
                let places: Vec<NodeId> = places.collect::<Result<_>>()?;
                let mut found = vec![0.0; places.len()];
                set.distance_many(own, &places, &mut found);
                let mut known = found.into_iter();
                Ok(nearest_first(list, |_| {
                    known.next().unwrap_or(f32::INFINITY)
                }))
            });
            ranked.collect()
        })
    }
}

fn nearest_first(list: &[NodeId], mut distance: impl FnMut(NodeId) -> f32) -> Ranked {
    let scored = list.iter().map(|other| (distance(*other), *other));
    let mut list: Vec<(f32, NodeId)> = scored.collect();
    list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.0.cmp(&b.1.0)));
    list.into_iter().map(|(_, other)| other).collect()
}

fn unread() -> Error {
    Error::new(ErrorKind::Internal, "a neighbour whose row was not read")
}
