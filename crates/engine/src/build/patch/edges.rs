//! Edges back from the neighbours of new rows: where a list is full, codes tell which neighbour
//! goes.

use pageway_graph::delta_prune;
use pageway_kernels::WidenFn;
use pageway_quant::{CodeBatch, CodeForms, CodeScorer, Scorer};
use pageway_types::NodeId;

use super::SegmentPatch;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::RecordCodec;
use crate::resolve;

/// A new row that asks a node for an edge back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EdgeBack {
    node: u32,
    /// Place of the node in the list of the new row.
    rank: u32,
    /// Number among the new rows.
    row: u32,
}

/// All of them, by node; of a node those first that it is nearest to among their neighbours.
pub(super) struct EdgesBack(Vec<EdgeBack>);

impl EdgesBack {
    /// Those of the lists of new rows.
    pub(super) fn of(lists: &[Vec<NodeId>]) -> Self {
        let edges = (0u32..).zip(lists).flat_map(|(row, list)| {
            let ranked = (0u32..).zip(list);
            ranked.map(move |(rank, node)| EdgeBack {
                node: node.0,
                rank,
                row,
            })
        });
        let mut edges: Vec<EdgeBack> = edges.collect();
        edges.sort_unstable();
        Self(edges)
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
    /// the edge to it, so that something leads there.
    pub(super) fn add(&mut self, vector: &[u8], list: &mut Vec<NodeId>, edges: &[EdgeBack]) {
        let graph = &self.patch.base.spec.graph;
        let (most, alpha) = (graph.max_degree() as usize, graph.alpha());
        let first = self.patch.base.node_count;
        let mut is_prepared = false;
        for edge in edges {
            let node = NodeId(first + edge.row);
            if list.contains(&node) {
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
            let row = self.patch.row(edge.row as usize);
            self.prepare(1, row);
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
