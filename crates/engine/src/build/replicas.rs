//! Which adjacency lists are packed beside a record (Gorgeous, section 4.1): those of the nearest
//! neighbours by exact distance, node by node, each list at most once more often than a record has
//! room for lists.

use std::ops::Range;

use pageway_graph::{Graph, VectorSet};
use pageway_types::NodeId;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::order::NodeOrder;

/// Chooses lists for nodes in their order.
pub(super) struct ReplicaPlan<'r> {
    graph: &'r Graph,
    vectors: &'r VectorSet<'r>,
    order: &'r NodeOrder,
    /// Lists per record (R).
    lists: usize,
    /// How often each list was packed, its own record included.
    packed: Vec<u16>,
}

impl<'r> ReplicaPlan<'r> {
    /// Bytes of a plan for `count` nodes.
    pub(super) const fn bytes(count: u64) -> u64 {
        count * size_of::<u16>() as u64
    }

    /// A plan for records with room for `lists`. The nodes of `graph` are in `order`.
    pub(super) fn new(
        graph: &'r Graph,
        vectors: &'r VectorSet<'r>,
        order: &'r NodeOrder,
        lists: u32,
    ) -> Self {
        Self {
            graph,
            vectors,
            order,
            lists: lists as usize,
            packed: vec![1; graph.count() as usize],
        }
    }

    /// Lists for each of `nodes`, nearest first.
    pub(super) fn choose(&mut self, nodes: Range<u32>, pool: &ThreadPool) -> Vec<Vec<NodeId>> {
        let this = &*self;
        let mut sorted: Vec<Vec<NodeId>> = pool.install(|| {
            nodes
                .into_par_iter()
                .map(|node| this.nearest_first(NodeId(node)))
                .collect()
        });
        let most = self.lists as u16 + 1;
        for list in &mut sorted {
            let mut room = self.lists;
            list.retain(|node| {
                let Some(packed) = self.packed.get_mut(node.index()) else {
                    return false;
                };
                let take = room > 0 && *packed < most;
                *packed += u16::from(take);
                room -= usize::from(take);
                take
            });
        }
        sorted
    }

    fn nearest_first(&self, node: NodeId) -> Vec<NodeId> {
        // The vectors are those of nodes that have not been placed: rows.
        let row = |node: NodeId| NodeId(self.order.row_of(node).0);
        let distance = |other: &NodeId| self.vectors.distance(row(node), row(*other));
        let mut list: Vec<(f32, NodeId)> = self
            .graph
            .neighbors(node)
            .iter()
            .map(|other| (distance(other), *other))
            .collect();
        list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.0.cmp(&b.1.0)));
        list.into_iter().map(|(_, other)| other).collect()
    }
}
