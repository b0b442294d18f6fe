//! Edges with a weight: 2 where both ends list each other, 1 otherwise.
//!
//! Two nodes that list each other put two edges into their page, not one. To know this of every
//! edge takes one bit each; the edges that come in from nodes a list does not name would take a
//! second graph, and change the overlap by a hundredth.
#![expect(
    clippy::indexing_slicing,
    reason = "rows are cut from one allocation by its own stride; a slip must stop"
)]

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use crate::error::{GraphError, try_filled};
use crate::graph::Graph;

const WORD_BITS: usize = u64::BITS as usize;

/// Nodes of one task.
const NODES_PER_TASK: usize = 256;

/// A graph and, for each of its edges, whether there is one back.
pub(super) struct Links<'g> {
    graph: &'g Graph,
    returned: Vec<u64>,
    stride: usize,
}

impl<'g> Links<'g> {
    /// Looks every edge up in the list of its target, in the pool of the caller.
    pub(super) fn new(graph: &'g Graph, progress: &dyn Progress) -> Result<Self, GraphError> {
        progress.stage("match edges", u64::from(graph.count()));
        let stride = stride(graph.max_degree());
        let words = (graph.count() as usize).saturating_mul(stride);
        let mut returned = try_filled(words, 0_u64, "edges that lead back")?;
        let tasks = returned.par_chunks_mut(NODES_PER_TASK * stride);
        tasks.enumerate().try_for_each(|(task, rows)| {
            progress.check()?;
            progress.advance((rows.len() / stride) as u64);
            for (at, row) in rows.chunks_exact_mut(stride).enumerate() {
                mark_returned(graph, NodeId((task * NODES_PER_TASK + at) as u32), row);
            }
            Ok::<_, Cancelled>(())
        })?;
        Ok(Self {
            graph,
            returned,
            stride,
        })
    }

    /// Bytes that `new` takes.
    pub(super) fn bytes(count: u64, max_degree: u32) -> u64 {
        count.saturating_mul((stride(max_degree) * size_of::<u64>()) as u64)
    }

    pub(super) const fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The neighbours of a node with the weights of the edges to them.
    #[inline]
    pub(super) fn of(&self, node: NodeId) -> impl Iterator<Item = (NodeId, u32)> {
        let row = &self.returned[node.index() * self.stride..][..self.stride];
        let neighbors = self.graph.neighbors(node).iter().enumerate();
        neighbors.map(|(at, &neighbor)| {
            let returned = row[at / WORD_BITS] >> (at % WORD_BITS) & 1;
            (neighbor, 1 + returned as u32)
        })
    }
}

fn stride(max_degree: u32) -> usize {
    (max_degree as usize).div_ceil(WORD_BITS)
}

fn mark_returned(graph: &Graph, node: NodeId, row: &mut [u64]) {
    for (at, &neighbor) in graph.neighbors(node).iter().enumerate() {
        let returned = graph.neighbors(neighbor).contains(&node);
        row[at / WORD_BITS] |= u64::from(returned) << (at % WORD_BITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::NoProgress;

    #[test]
    fn edges_both_ways_weigh_double() {
        let around: Vec<NodeId> = (1..70).map(NodeId).collect();
        let mut lists = vec![around.as_slice()];
        let (back, on) = ([NodeId(0)], [NodeId(1)]);
        for node in 1..70 {
            lists.push(if node % 3 == 0 {
                &back
            } else {
                &on[..usize::from(node > 1)]
            });
        }
        let graph = Graph::from_lists(lists.into_iter(), 69, NodeId(0)).expect("a graph");
        let links = Links::new(&graph, &NoProgress).expect("not cancelled");
        for (neighbor, weight) in links.of(NodeId(0)) {
            assert_eq!(weight, 1 + u32::from(neighbor.0 % 3 == 0));
        }
        assert_eq!(links.of(NodeId(3)).collect::<Vec<_>>(), [(NodeId(0), 2)]);
        assert_eq!(links.of(NodeId(2)).collect::<Vec<_>>(), [(NodeId(1), 1)]);
    }
}
