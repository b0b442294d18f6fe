//! The lists of the nodes that are being inserted.

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::insertion::Frozen;
use super::worker::{LinkScratch, Workers};
use crate::error::{GraphError, try_filled};
use crate::graph::{AdjacencyLists, list_of, write_list};

/// Nodes that one task inserts: some tenths of a millisecond of work.
const NODES_PER_TASK: usize = 4;

/// Lists of one batch, sized for the largest.
pub(super) struct Batch {
    rows: Vec<NodeId>,
    stride: usize,
}

impl Batch {
    /// For at most `nodes` nodes at a time, with lists of at most `degree`.
    pub(super) fn new(nodes: usize, degree: u32) -> Result<Self, GraphError> {
        let stride = degree as usize + 1;
        Ok(Self {
            rows: try_filled(nodes * stride, NodeId(0), "batch lists")?,
            stride,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(super) fn bytes(nodes: usize, degree: u32) -> u64 {
        AdjacencyLists::bytes(nodes as u64, degree)
    }

    /// Finds the lists of `nodes` on a graph that does not hold them yet.
    pub(super) fn search(
        &mut self,
        nodes: &[NodeId],
        frozen: &Frozen<'_>,
        workers: &Workers<LinkScratch>,
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

    /// Writes the lists of `nodes` into the graph.
    pub(super) fn write(&self, nodes: &[NodeId], lists: &mut AdjacencyLists) {
        for (&node, row) in nodes.iter().zip(self.rows.chunks_exact(self.stride)) {
            write_list(lists.row_mut(node), list_of(row));
        }
    }
}
