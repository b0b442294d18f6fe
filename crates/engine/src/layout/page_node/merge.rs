//! The one list of a page: those of its vectors, merged.

use std::ops::Range;

use pageway_types::NodeId;

use crate::error::Result;
use crate::layout::NodeFeed;
use crate::layout::record::check_degree;

/// Neighbours of `nodes`, without those among `nodes` themselves and each once: the first of each
/// list, then the second of each, so that every vector keeps its best neighbours where not all fit.
pub(super) fn merged_list(
    nodes: Range<u32>,
    max_degree: u32,
    feed: &dyn NodeFeed,
) -> Result<Vec<NodeId>> {
    let lists = nodes.len() as u32;
    let mut turns: Vec<(NodeId, u32)> = Vec::with_capacity(nodes.len() * max_degree as usize);
    for (member, node) in (0..).zip(nodes.clone().map(NodeId)) {
        let list = feed.neighbors(node)?;
        check_degree(node, list.len(), max_degree)?;
        let strangers = (0..)
            .zip(list)
            .filter(|(_, neighbor)| !nodes.contains(&neighbor.0));
        turns.extend(strangers.map(|(rank, &neighbor)| (neighbor, rank * lists + member)));
    }
    turns.sort_unstable();
    turns.dedup_by_key(|(neighbor, _)| *neighbor);
    turns.sort_unstable_by_key(|(_, turn)| *turn);
    Ok(turns.into_iter().map(|(neighbor, _)| neighbor).collect())
}
