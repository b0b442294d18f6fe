//! Which nodes a cache takes: breadth-first from the entry, as walks meet them.

use std::cmp::Reverse;
use std::collections::HashMap;

use pageway_types::{NodeId, Progress};

use crate::error::Result;

/// Adjacency lists by node, wherever they lie.
pub(crate) trait ListRead {
    /// Nodes there are.
    fn node_count(&self) -> u32;

    /// Shows the list of each of `nodes` with its place, in any order.
    fn lists(&self, nodes: &[NodeId], visit: &mut dyn FnMut(usize, &[NodeId])) -> Result<()>;
}

/// Nodes expanded per batch of reads.
const BATCH: usize = 2048;

/// The first `limit` nodes in breadth-first order from `entry`.
///
/// Holds a bit per node, the order itself, and the lists of one batch. Costs at most a read per
/// page and level.
pub(crate) fn breadth_first(
    source: &dyn ListRead,
    entry: &[NodeId],
    limit: usize,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>> {
    let node_count = source.node_count();
    let mut seen = vec![0u64; (node_count as usize).div_ceil(64)];
    let mut first_time = |node: NodeId| {
        let Some(word) = seen.get_mut(node.index() / 64) else {
            return false;
        };
        let bit = 1u64 << (node.0 % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    };
    let mut order = Vec::with_capacity(limit);
    order.extend(entry.iter().copied().filter(|node| first_time(*node)));
    order.truncate(limit);
    let mut expanded = 0;
    while expanded < order.len() && order.len() < limit {
        progress.check()?;
        let end = order.len().min(expanded + BATCH);
        let batch = order.get(expanded..end).unwrap_or_default();
        let mut lists: Vec<Vec<NodeId>> = vec![Vec::new(); batch.len()];
        source.lists(batch, &mut |at, neighbors| {
            if let Some(list) = lists.get_mut(at) {
                list.extend_from_slice(neighbors);
            }
        })?;
        for neighbor in lists.into_iter().flatten() {
            if order.len() < limit && first_time(neighbor) {
                order.push(neighbor);
            }
        }
        expanded = end;
    }
    Ok(order)
}

/// Nodes by how often they are in `visits`, most often first; those that are not come behind, in
/// breadth-first order.
pub(crate) fn most_visited(visits: &[NodeId], mut rest: Vec<NodeId>) -> Vec<NodeId> {
    let mut counts: HashMap<NodeId, u32> = HashMap::new();
    for node in visits {
        *counts.entry(*node).or_default() += 1;
    }
    let mut visited = Vec::new();
    rest.retain(|node| {
        let count = counts.get(node).copied();
        visited.extend(count.map(|count| (Reverse(count), *node)));
        count.is_none()
    });
    // Stable: what is visited as often keeps its order.
    visited.sort_by_key(|(count, _)| *count);
    rest.splice(0..0, visited.into_iter().map(|(_, node)| node));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_visited_come_first() {
        let rest: Vec<NodeId> = [3, 1, 0, 2].map(NodeId).to_vec();
        let visits = [2, 0, 2, 1, 0, 2].map(NodeId);
        let order = most_visited(&visits, rest);
        assert_eq!(order, [2, 0, 1, 3].map(NodeId));
    }
}
