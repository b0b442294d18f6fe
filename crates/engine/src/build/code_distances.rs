//! Distances from a raw row to nodes, estimated by codes.

use pageway_kernels::WidenFn;
use pageway_quant::{CodeBatch, CodeForms, CodeScorer, Scorer};
use pageway_types::{NodeId, VectorShape};

use crate::error::Result;
use crate::execution::CodePart;
use crate::resolve;

/// Estimates distances from a row to nodes of a segment that has its codes in memory.
pub(super) struct CodeDistances<'c> {
    part: &'c CodePart,
    scorer: Scorer,
    query: Vec<f32>,
    /// Widens raw rows.
    widen: WidenFn,
}

impl<'c> CodeDistances<'c> {
    /// From rows of this shape.
    pub(super) fn new(part: &'c CodePart, shape: VectorShape) -> Result<Self> {
        let kernels = resolve::kernels()?;
        Ok(Self {
            part,
            scorer: part.quantizer.scorer(kernels),
            query: vec![0.0; shape.dimension as usize],
            widen: kernels.widen(shape.element),
        })
    }

    /// Sets the row that distances are from.
    pub(super) fn prepare(&mut self, row: &[u8]) {
        (self.widen)(row, &mut self.query);
        self.scorer
            .prepare(&self.part.quantizer, &self.query, CodeForms::Both);
    }

    /// Distances to some nodes, in their order; infinite if memory does not hold their codes.
    pub(super) fn to(&self, nodes: &[NodeId]) -> Vec<f32> {
        let table = &self.part.table;
        let is_there = |node: &NodeId| node.0 < table.node_count();
        let mut out = Vec::with_capacity(nodes.len());
        if nodes.iter().all(is_there) {
            self.scorer.score(table.batch(nodes), &mut out);
            return out;
        }
        let known: Vec<NodeId> = nodes.iter().copied().filter(is_there).collect();
        self.scorer.score(table.batch(&known), &mut out);
        let mut scored = out.into_iter();
        let all = nodes.iter().map(|node| {
            let own = is_there(node).then(|| scored.next()).flatten();
            own.unwrap_or(f32::INFINITY)
        });
        all.collect()
    }

    /// Distances to codes, as they are stored.
    pub(super) fn to_codes(&self, codes: &[u8]) -> Vec<f32> {
        let mut out = Vec::new();
        self.scorer.score(CodeBatch::Inline { codes }, &mut out);
        out
    }

    /// Distances from a row to some nodes, in their order.
    pub(super) fn between(&mut self, row: &[u8], nodes: &[NodeId]) -> Vec<f32> {
        self.prepare(row);
        self.to(nodes)
    }

    pub(super) fn code_bytes(&self) -> usize {
        self.scorer.code_bytes()
    }
}
