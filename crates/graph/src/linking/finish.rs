//! The last pass over the lists: down to the max degree, and into prune order.

use super::back_edges::Linking;
use super::row::for_each_row;
use super::thinning::ListSpec;
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, list_of, write_list};

/// Finishes every list, then gives the slack back.
///
/// A list that is too long is pruned. Any other keeps what pruning would drop, behind the rest:
/// these neighbours cost nothing more and searches profit from them.
pub(crate) fn finish_lists(
    lists: &mut AdjacencyLists,
    linking: &Linking<'_>,
) -> Result<(), GraphError> {
    let Linking {
        vectors,
        spec,
        workers,
        progress,
        ..
    } = *linking;
    let max_degree = spec.prune.max_degree;
    progress.stage("order lists", lists.count() as u64);
    for_each_row(lists, workers, progress, |scratch, node, row| {
        let (list, thinning) = (list_of(row), &mut scratch.thinning);
        let fits = list.len() <= max_degree as usize;
        let fill = if fits { max_degree } else { spec.fill };
        thinning.nodes.clear();
        thinning.nodes.extend_from_slice(list);
        write_list(row, thinning.thin(vectors, node, ListSpec { fill, ..spec }));
    })?;
    lists.shrink(max_degree);
    Ok(())
}
