//! The last pass over the lists: down to the max degree, and into prune order.

use pageway_types::NodeId;

use super::back_edges::Linking;
use super::row::for_each_row;
use super::worker::Thinning;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, list_of, push_neighbor, write_list};

/// Finishes every list, then gives the slack back.
pub(crate) fn finish_lists(
    lists: &mut AdjacencyLists,
    linking: &Linking<'_>,
) -> Result<(), GraphError> {
    let Linking {
        workers, progress, ..
    } = *linking;
    progress.stage("order lists", lists.count() as u64);
    for_each_row(lists, workers, progress, |scratch, node, row| {
        finish_list(row, node, linking, &mut scratch.thinning);
    })?;
    lists.shrink(linking.prune.max_degree);
    Ok(())
}

/// Prunes a list that is too long; puts any other in prune order, followed by the neighbours that
/// pruning would drop, nearest first: they cost nothing more and searches profit from them.
fn finish_list(row: &mut [NodeId], node: NodeId, linking: &Linking<'_>, thinning: &mut Thinning) {
    let list = list_of(row);
    let fits = list.len() <= linking.prune.max_degree as usize;
    thinning.nodes.clear();
    thinning.nodes.extend_from_slice(list);
    write_list(row, thinning.thin(linking.vectors, node, linking.prune));
    if fits {
        for candidate in &thinning.candidates {
            if !list_of(row).contains(&candidate.node) {
                push_neighbor(row, candidate.node);
            }
        }
    }
}
