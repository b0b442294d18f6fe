//! Edges back from the neighbours of nodes, grouped by the node whose list they join.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut at the targets of the edges, which are nodes; a slip must stop"
)]

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::distances::Distances;
use super::thinning::{ListSpec, Thinning};
use super::worker::{LinkScratch, Workers};
use crate::error::{GraphError, try_reserved};
use crate::graph::{AdjacencyLists, list_of, push_neighbor, write_list};

/// Edges that one task appends: about a millisecond of work.
const EDGES_PER_TASK: usize = 256;

/// An edge to a node, ordered by the node that it leaves, then by the node it leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BackEdge(u64);

impl BackEdge {
    fn new(from: NodeId, to: NodeId) -> Self {
        Self(u64::from(from.0) << 32 | u64::from(to.0))
    }

    fn from(self) -> NodeId {
        NodeId((self.0 >> 32) as u32)
    }

    fn to(self) -> NodeId {
        NodeId(self.0 as u32)
    }
}

/// The edges back to some nodes at a time: one buffer for all of them.
pub(crate) struct BackEdges(Vec<BackEdge>);

impl BackEdges {
    /// For at most `nodes` nodes at a time, with lists of at most `degree`.
    pub(crate) fn new(nodes: usize, degree: u32) -> Result<Self, GraphError> {
        try_reserved(nodes * degree as usize, "back-edges").map(Self)
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) fn bytes(nodes: usize, degree: u32) -> u64 {
        nodes as u64 * u64::from(degree) * size_of::<BackEdge>() as u64
    }

    /// Adds an edge back for every edge of `nodes`, where it is not there yet.
    pub(crate) fn add(
        &mut self,
        nodes: impl Iterator<Item = NodeId>,
        lists: &mut AdjacencyLists,
        linking: &Linking<'_>,
    ) -> Result<(), Cancelled> {
        let Self(edges) = self;
        edges.clear();
        for node in nodes {
            let list = lists.neighbors(node).iter();
            edges.extend(list.map(|&neighbor| BackEdge::new(neighbor, node)));
        }
        edges.par_sort_unstable();
        let rows = TargetRows {
            stride: lists.stride(),
            first: NodeId(0),
            slots: lists.slots_mut(),
        };
        linking.append(edges, rows)
    }
}

/// What every task reads.
pub(crate) struct Linking<'a> {
    pub(crate) vectors: &'a dyn Distances,
    pub(crate) spec: ListSpec,
    /// Whether edges may have an edge back already. Not those of nodes that are new to the graph.
    pub(crate) mutual: bool,
    pub(crate) workers: &'a Workers<LinkScratch>,
    pub(crate) progress: &'a dyn Progress,
}

/// Consecutive rows of a graph, from that of node `first`.
struct TargetRows<'r> {
    slots: &'r mut [NodeId],
    stride: usize,
    first: NodeId,
}

impl<'r> TargetRows<'r> {
    fn row(&mut self, node: NodeId) -> &mut [NodeId] {
        &mut self.slots[(node.0 - self.first.0) as usize * self.stride..][..self.stride]
    }

    fn split_at(self, middle: NodeId) -> (Self, Self) {
        let rows = (middle.0 - self.first.0) as usize;
        let (low, high) = self.slots.split_at_mut(rows * self.stride);
        let part = |slots: &'r mut [NodeId], first| Self {
            slots,
            first,
            stride: self.stride,
        };
        (part(low, self.first), part(high, middle))
    }
}

impl Linking<'_> {
    /// Appends sorted edges to the lists that they leave.
    ///
    /// Cuts the edges between two targets and the rows with them, so that each task owns what it
    /// writes.
    fn append(&self, edges: &[BackEdge], mut rows: TargetRows<'_>) -> Result<(), Cancelled> {
        let cut = cut_between_targets(edges);
        if edges.len() <= EDGES_PER_TASK || cut == 0 {
            return self.workers.with(|scratch| {
                edges
                    .chunk_by(|a, b| a.from() == b.from())
                    .try_for_each(|group| {
                        self.progress.check()?;
                        self.append_group(group, rows.row(group[0].from()), scratch);
                        Ok(())
                    })
            });
        }
        let (left, right) = edges.split_at(cut);
        let (low, high) = rows.split_at(right[0].from());
        let (left, right) = rayon::join(|| self.append(left, low), || self.append(right, high));
        left.and(right)
    }

    /// Appends the edges of one node, or prunes when they do not fit.
    fn append_group(&self, group: &[BackEdge], row: &mut [NodeId], scratch: &mut LinkScratch) {
        let Thinning { nodes, .. } = &mut scratch.thinning;
        let list = list_of(row);
        let known = |to: &NodeId| self.mutual && list.contains(to);
        nodes.clear();
        nodes.extend(group.iter().map(|edge| edge.to()).filter(|to| !known(to)));
        if list.len() + nodes.len() < row.len() {
            for &node in &*nodes {
                push_neighbor(row, node);
            }
            return;
        }
        nodes.extend_from_slice(list);
        let list = scratch
            .thinning
            .thin(self.vectors, group[0].from(), self.spec);
        write_list(row, list);
    }
}

/// A position near the middle where the target changes, or 0 when there is only one target.
fn cut_between_targets(edges: &[BackEdge]) -> usize {
    let Some(middle) = edges.get(edges.len() / 2).map(|edge| edge.from()) else {
        return 0;
    };
    let before = edges.partition_point(|edge| edge.from() < middle);
    if before > 0 {
        return before;
    }
    let behind = edges.partition_point(|edge| edge.from() <= middle);
    if behind < edges.len() { behind } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_targets() {
        let edges = |targets: &[u32]| {
            let edge = |(to, &from): (u32, &u32)| BackEdge::new(NodeId(from), NodeId(to));
            (0..).zip(targets).map(edge).collect::<Vec<_>>()
        };
        assert_eq!(cut_between_targets(&[]), 0);
        assert_eq!(cut_between_targets(&edges(&[5, 5, 5])), 0);
        assert_eq!(cut_between_targets(&edges(&[5, 5, 5, 7])), 3);
        assert_eq!(cut_between_targets(&edges(&[4, 5, 5, 5])), 1);
        assert_eq!(cut_between_targets(&edges(&[1, 2, 3, 4])), 2);
    }
}
