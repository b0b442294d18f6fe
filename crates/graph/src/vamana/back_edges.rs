//! Edges back from the neighbours of new nodes, grouped by the node whose list they join.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut at the targets of the edges, which are nodes; a slip must stop"
)]

use pageway_types::{Cancelled, Candidate, NodeId, Progress};

use super::spec::VamanaSpec;
use super::worker::{Scratch, Thinning, Workers};
use crate::graph::{list_of, push_neighbor, write_list};
use crate::vectors::VectorSet;

/// Edges that one task appends: about a millisecond of work.
const EDGES_PER_TASK: usize = 256;

/// An edge to a new node, ordered by the node that it leaves, then by the new node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BackEdge(u64);

impl BackEdge {
    pub(super) fn new(from: NodeId, to: NodeId) -> Self {
        Self(u64::from(from.0) << 32 | u64::from(to.0))
    }

    fn from(self) -> NodeId {
        NodeId((self.0 >> 32) as u32)
    }

    fn to(self) -> NodeId {
        NodeId(self.0 as u32)
    }
}

/// What every task reads.
pub(super) struct Appending<'a> {
    pub(super) vectors: &'a VectorSet<'a>,
    pub(super) spec: &'a VamanaSpec,
    pub(super) workers: &'a Workers<Scratch>,
    pub(super) progress: &'a dyn Progress,
    pub(super) stride: usize,
}

impl Appending<'_> {
    /// Appends sorted edges to their lists; `rows` begins with the row of node `first`.
    ///
    /// Cuts the edges between two targets and the rows with them, so that each task owns what it
    /// writes.
    pub(super) fn append(
        &self,
        edges: &[BackEdge],
        rows: &mut [NodeId],
        first: NodeId,
    ) -> Result<(), Cancelled> {
        let cut = cut_between_targets(edges);
        if edges.len() <= EDGES_PER_TASK || cut == 0 {
            return self.workers.with(|scratch| {
                edges
                    .chunk_by(|a, b| a.from() == b.from())
                    .try_for_each(|group| {
                        self.progress.check()?;
                        let row = (group[0].from().0 - first.0) as usize * self.stride;
                        self.append_group(group, &mut rows[row..][..self.stride], scratch);
                        Ok(())
                    })
            });
        }
        let (left, right) = edges.split_at(cut);
        let middle = right[0].from();
        let (low, high) = rows.split_at_mut((middle.0 - first.0) as usize * self.stride);
        let (left, right) = rayon::join(
            || self.append(left, low, first),
            || self.append(right, high, middle),
        );
        left.and(right)
    }

    /// Appends the edges of one node, or prunes when they do not fit.
    fn append_group(&self, group: &[BackEdge], row: &mut [NodeId], scratch: &mut Scratch) {
        let degree = list_of(row).len();
        if degree + group.len() < self.stride {
            for edge in group {
                push_neighbor(row, edge.to());
            }
            return;
        }
        let thinning = &mut scratch.thinning;
        thinning.nodes.clear();
        thinning.nodes.extend_from_slice(list_of(row));
        thinning.nodes.extend(group.iter().map(|edge| edge.to()));
        let list = thinning.thin(self.vectors, group[0].from(), self.spec);
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

impl Thinning {
    /// Prunes `self.nodes`, none of which is `node`, to the list of `node`.
    pub(super) fn thin(
        &mut self,
        vectors: &VectorSet<'_>,
        node: NodeId,
        spec: &VamanaSpec,
    ) -> &[NodeId] {
        let distances = &mut self.distances[..self.nodes.len()];
        vectors.distance_many(node, &self.nodes, distances);
        self.candidates.clear();
        let scored = self.nodes.iter().zip(&*distances);
        self.candidates
            .extend(scored.map(|(&node, &distance)| Candidate::new(node, distance)));
        self.thin_candidates(vectors, spec)
    }

    /// Prunes `self.candidates`, in any order.
    pub(super) fn thin_candidates(
        &mut self,
        vectors: &VectorSet<'_>,
        spec: &VamanaSpec,
    ) -> &[NodeId] {
        self.candidates.sort_unstable();
        self.pruner
            .prune(&self.candidates, spec.prune(), |node, others, out| {
                vectors.distance_many(node, others, out);
            })
    }
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
