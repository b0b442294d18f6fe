//! Block neighbour padding (Starling, Algorithm I): nodes in the order of their ids, each followed
//! by as many of its neighbours as its page has room for.
//!
//! Lists are in prune order, so those are its most valuable neighbours. One pass over the edges.

use pageway_types::{NodeId, Progress};

use super::pages::Queue;
use crate::error::GraphError;
use crate::graph::Graph;

/// Nodes between two looks at `progress`.
const NODES_PER_CHECK: usize = 4096;

/// Bytes that `pad` holds.
pub(super) fn bytes(count: u64) -> u64 {
    Queue::bytes(count)
}

/// Orders the nodes of `graph`.
pub(super) fn pad(
    graph: &Graph,
    per_page: u32,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>, GraphError> {
    progress.stage("pad pages", u64::from(graph.count()));
    let mut queue = Queue::new(graph.count())?;
    for (at, node) in (0..graph.count()).map(NodeId).enumerate() {
        if at % NODES_PER_CHECK == 0 {
            progress.check()?;
            progress.advance((graph.count() as usize - at).min(NODES_PER_CHECK) as u64);
        }
        if !queue.is_placed(node) {
            queue.push(node);
            pad_page(graph.neighbors(node), per_page as usize, &mut queue);
        }
    }
    Ok(queue.into_order())
}

/// Fills the page that the newest node lies on, if it has room at all.
fn pad_page(neighbors: &[NodeId], per_page: usize, queue: &mut Queue) {
    for &neighbor in neighbors {
        if queue.len().is_multiple_of(per_page) {
            return;
        }
        if !queue.is_placed(neighbor) {
            queue.push(neighbor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::NoProgress;

    #[test]
    fn a_node_brings_its_first_neighbours() {
        let lists = [&[5, 4, 3][..], &[0], &[], &[1], &[2], &[0]];
        let lists = lists.map(|list| list.iter().copied().map(NodeId).collect::<Vec<_>>());
        let lists = lists.iter().map(Vec::as_slice);
        let graph = Graph::from_lists(lists, 3, NodeId(0)).expect("a graph");
        let order = pad(&graph, 3, &NoProgress).expect("not cancelled");
        assert_eq!(order, [0, 5, 4, 1, 2, 3].map(NodeId));
    }
}
