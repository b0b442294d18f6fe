//! How much of a page its own members link to.
#![expect(
    clippy::indexing_slicing,
    reason = "every node of the graph has its page; a slip must stop"
)]

use pageway_types::NodeId;
use rayon::prelude::*;

use crate::graph::Graph;

/// Nodes of one task.
const NODES_PER_TASK: usize = 1024;

/// Overlap ratio of a graph under an order, from 0 to 1: how large a share of the other nodes of
/// its page a node has among its neighbours, on average.
///
/// The mean over pages of the mean over the members of a page. A page of one node counts 0.
/// Allocates nothing; compares every edge with the members of one page. Panics when `order` names
/// a node that the graph does not have, or when `nodes_per_page` is 0.
pub fn overlap_ratio(graph: &Graph, order: &[NodeId], nodes_per_page: u32) -> f64 {
    let pages = order.chunks(nodes_per_page as usize);
    let count = pages.len().max(1) as f64;
    pages.map(|page| page_overlap(graph, page)).sum::<f64>() / count
}

fn page_overlap(graph: &Graph, page: &[NodeId]) -> f64 {
    let inner = |&node: &NodeId| {
        let neighbors = graph.neighbors(node).iter();
        neighbors.filter(|other| page.contains(other)).count()
    };
    let edges: usize = page.iter().map(inner).sum();
    let pairs = page.len() * page.len().saturating_sub(1);
    edges as f64 / pairs.max(1) as f64
}

/// Edges between nodes of one page. While all pages but the last are full, the overlap ratio is
/// proportional to it up to the weight of that one page.
pub(super) fn inner_edges(graph: &Graph, page_of: &[u32]) -> u64 {
    let nodes = (0..page_of.len()).into_par_iter();
    let inner = |node: usize| {
        let neighbors = graph.neighbors(NodeId(node as u32)).iter();
        neighbors
            .filter(|other| page_of[other.index()] == page_of[node])
            .count() as u64
    };
    nodes.with_min_len(NODES_PER_TASK).map(inner).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 and 1 know each other, 2 knows both, 3 knows 4.
    fn graph() -> Graph {
        let lists: [&[NodeId]; 5] = [
            &[NodeId(1)],
            &[NodeId(0)],
            &[NodeId(0), NodeId(1)],
            &[NodeId(4)],
            &[],
        ];
        Graph::from_lists(lists.into_iter(), 2, NodeId(0)).expect("a graph")
    }

    #[test]
    fn overlap_is_the_mean_of_the_pages() {
        let order = [0, 1, 2, 3, 4].map(NodeId);
        let graph = graph();
        assert_eq!(overlap_ratio(&graph, &order, 5), 5.0 / 20.0);
        assert_eq!(
            overlap_ratio(&graph, &order, 3),
            f64::midpoint(4.0 / 6.0, 0.5)
        );
        assert_eq!(overlap_ratio(&graph, &order, 2), 1.0 / 3.0);
        assert_eq!(overlap_ratio(&graph, &order, 1), 0.0);
    }

    #[test]
    fn inner_edges_are_those_within_a_page() {
        assert_eq!(inner_edges(&graph(), &[0, 0, 0, 1, 1]), 5);
        assert_eq!(inner_edges(&graph(), &[0, 1, 0, 1, 0]), 1);
    }
}
