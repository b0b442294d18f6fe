//! Edges that nodes are asked for: where a list is full, codes tell which neighbour goes.

use pageway_graph::delta_prune;
use pageway_types::NodeId;

use super::super::code_distances::CodeDistances;
use super::SegmentPatch;
use super::all_codes::AllCodes;
use super::rows::NodeRows;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::RecordCodec;

/// An edge that a node is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EdgeBack {
    pub(super) node: u32,
    /// Place of the node in the list of who asks.
    pub(super) rank: u32,
    /// Who asks.
    pub(super) to: NodeId,
}

/// All of them, by node; of a node those first that it is nearest to among their neighbours.
pub(super) struct EdgesBack(Vec<EdgeBack>);

impl EdgesBack {
    pub(super) fn of(mut edges: Vec<EdgeBack>) -> Self {
        edges.sort_unstable();
        Self(edges)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that a node is asked for.
    pub(super) fn to(&self, node: NodeId) -> &[EdgeBack] {
        let start = self.0.partition_point(|edge| edge.node < node.0);
        let end = self.0.partition_point(|edge| edge.node <= node.0);
        self.0.get(start..end).unwrap_or_default()
    }

    /// Nodes that are asked, ascending, some of them several times.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().map(|edge| NodeId(edge.node))
    }
}

/// Adds edges to lists, with distances by codes.
pub(super) struct EdgeWriter<'e> {
    patch: &'e SegmentPatch<'e>,
    codes: AllCodes<'e>,
    /// From the node whose list it is, and from the row that comes.
    own: CodeDistances<'e>,
    coming: CodeDistances<'e>,
}

impl<'e> EdgeWriter<'e> {
    pub(super) fn new(
        patch: &'e SegmentPatch<'e>,
        (parts, codes): (&'e Parts<RecordCodec>, AllCodes<'e>),
    ) -> Result<Self> {
        let shape = patch.base.spec.shape.vectors();
        let distances = || CodeDistances::new(&parts.codes, shape);
        Ok(Self {
            patch,
            codes,
            own: distances()?,
            coming: distances()?,
        })
    }

    /// Estimates of the distances from a raw row to nodes that there are, in their order.
    pub(super) fn between(&mut self, row: &[u8], nodes: &[NodeId]) -> Vec<f32> {
        self.own.between(row, nodes)
    }

    /// Adds edges to the list of a node with this raw vector. The first neighbour of a row keeps
    /// the edge to it, so that something leads there. `rows` has those of old nodes that ask.
    pub(super) fn add(
        &mut self,
        vector: &[u8],
        list: &mut Vec<NodeId>,
        edges: &[EdgeBack],
        rows: &NodeRows,
    ) {
        let graph = &self.patch.base.spec.graph;
        let (most, alpha) = (graph.max_degree() as usize, graph.alpha());
        let mut is_prepared = false;
        for edge in edges {
            let node = edge.to;
            if list.contains(&node) || node.0 == edge.node {
                continue;
            }
            if list.len() < most {
                list.push(node);
                continue;
            }
            if !is_prepared {
                self.own.prepare(vector);
                is_prepared = true;
            }
            self.coming.prepare(self.patch.row_of(node, rows));
            let own = self.codes.distances(&self.own, list);
            let others = self.codes.distances(&self.coming, list);
            let distance = self.codes.distances(&self.own, &[node]);
            let distance = distance.first().copied().unwrap_or(f32::INFINITY);
            let mut gone = delta_prune(&own, &others, distance, alpha);
            if gone == list.len() && edge.rank == 0 {
                let far = own
                    .iter()
                    .enumerate()
                    .max_by(|one, other| one.1.total_cmp(other.1));
                gone = far.map_or(gone, |(place, _)| place);
            }
            if let Some(slot) = list.get_mut(gone) {
                *slot = node;
            }
        }
    }
}
