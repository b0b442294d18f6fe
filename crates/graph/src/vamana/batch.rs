//! The lists of the nodes that are being inserted, and the edges back to them.

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::back_edges::BackEdge;
use super::builder::Frozen;
use super::spec::VamanaSpec;
use super::worker::{Scratch, Workers};
use crate::error::{GraphError, try_filled, try_reserved};
use crate::graph::{AdjacencyLists, list_of, write_list};

/// Nodes that one task inserts: some tenths of a millisecond of work.
const NODES_PER_TASK: usize = 4;

/// Buffers of one batch, sized for the largest.
pub(super) struct Batch {
    rows: Vec<NodeId>,
    stride: usize,
    edges: Vec<BackEdge>,
}

impl Batch {
    pub(super) fn new(count: u32, spec: &VamanaSpec) -> Result<Self, GraphError> {
        let nodes = VamanaSpec::max_batch(count) as usize;
        let stride = spec.max_degree as usize + 1;
        Ok(Self {
            rows: try_filled(nodes * stride, NodeId(0), "batch lists")?,
            stride,
            edges: try_reserved(nodes * spec.max_degree as usize, "back-edges")?,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(super) fn bytes(count: u32, spec: &VamanaSpec) -> u64 {
        let nodes = u64::from(VamanaSpec::max_batch(count));
        let degree = u64::from(spec.max_degree);
        nodes * ((degree + 1) * size_of::<NodeId>() as u64 + degree * size_of::<BackEdge>() as u64)
    }

    /// Finds the lists of `nodes` on a graph that does not hold them yet.
    pub(super) fn search(
        &mut self,
        nodes: &[NodeId],
        frozen: &Frozen<'_>,
        workers: &Workers<Scratch>,
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let stride = self.stride;
        let tasks = nodes.par_chunks(NODES_PER_TASK);
        tasks
            .zip(self.rows.par_chunks_mut(NODES_PER_TASK * stride))
            .try_for_each(|(nodes, rows)| {
                workers.with(|scratch| {
                    for (&node, row) in nodes.iter().zip(rows.chunks_exact_mut(stride)) {
                        progress.check()?;
                        write_list(row, frozen.find_list(node, scratch));
                    }
                    Ok(())
                })?;
                progress.advance(nodes.len() as u64);
                Ok(())
            })
    }

    /// Writes the lists into the graph and returns the edges back, sorted.
    pub(super) fn link(&mut self, nodes: &[NodeId], lists: &mut AdjacencyLists) -> &[BackEdge] {
        self.edges.clear();
        for (&node, row) in nodes.iter().zip(self.rows.chunks_exact(self.stride)) {
            let list = list_of(row);
            write_list(lists.row_mut(node), list);
            self.edges
                .extend(list.iter().map(|&neighbor| BackEdge::new(neighbor, node)));
        }
        self.edges.par_sort_unstable();
        &self.edges
    }
}
