//! Edges that nodes are asked for: where a list is full, codes tell which neighbour goes.

use pageway_graph::delta_prune;
use pageway_kernels::WidenFn;
use pageway_quant::{CodeBatch, CodeForms, CodeScorer, Scorer};
use pageway_types::NodeId;

use super::SegmentPatch;
use super::rows::NodeRows;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::RecordCodec;
use crate::resolve;

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
    parts: &'e Parts<RecordCodec>,
    /// Codes of the new rows.
    codes: &'e [u8],
    /// Prepared for the node whose list it is, and for the row that comes.
    scorers: [Scorer; 2],
    query: Vec<f32>,
    /// From rows as they are stored.
    widen: WidenFn,
}

impl<'e> EdgeWriter<'e> {
    pub(super) fn new(
        patch: &'e SegmentPatch<'e>,
        (parts, codes): (&'e Parts<RecordCodec>, &'e [u8]),
    ) -> Result<Self> {
        let kernels = resolve::kernels()?;
        let scorer = || parts.codes.quantizer.scorer(kernels);
        Ok(Self {
            patch,
            parts,
            codes,
            scorers: [scorer(), scorer()],
            query: vec![0.0; patch.base.spec.shape.dimension as usize],
            widen: kernels.widen(patch.base.spec.shape.element),
        })
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
                self.prepare(0, vector);
                is_prepared = true;
            }
            self.prepare(1, self.patch.row_of(node, rows));
            let own = self.distances(0, list);
            let others = self.distances(1, list);
            let distance = self.distances(0, &[node]);
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

    fn prepare(&mut self, at: usize, row: &[u8]) {
        (self.widen)(row, &mut self.query);
        let is_arranged = self.parts.codes.quantizer.gains_by_arranging();
        let forms = if is_arranged {
            CodeForms::Both
        } else {
            CodeForms::Stored
        };
        if let Some(scorer) = self.scorers.get_mut(at) {
            scorer.prepare(&self.parts.codes.quantizer, &self.query, forms);
        }
    }

    /// Estimates of the distances from a prepared row to some nodes, in their order.
    fn distances(&self, at: usize, nodes: &[NodeId]) -> Vec<f32> {
        let first = self.patch.base.node_count;
        let (old, new): (Vec<NodeId>, Vec<NodeId>) = nodes.iter().partition(|node| node.0 < first);
        let (mut known, mut fresh) = (Vec::new(), Vec::new());
        if let Some(scorer) = self.scorers.get(at) {
            let code_bytes = scorer.code_bytes();
            scorer.score(self.parts.codes.table.batch(&old), &mut known);
            let code = |node: &NodeId| {
                let start = (node.0 - first) as usize * code_bytes;
                self.codes
                    .get(start..start + code_bytes)
                    .unwrap_or_default()
            };
            let codes: Vec<u8> = new.iter().flat_map(code).copied().collect();
            scorer.score(CodeBatch::Inline { codes: &codes }, &mut fresh);
        }
        let (mut known, mut fresh) = (known.into_iter(), fresh.into_iter());
        let next = |node: &NodeId| {
            let own = if node.0 < first {
                known.next()
            } else {
                fresh.next()
            };
            own.unwrap_or(f32::INFINITY)
        };
        nodes.iter().map(next).collect()
    }
}
