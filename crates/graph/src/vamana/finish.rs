//! The last pass over the lists: down to the max degree, and into prune order.

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::spec::VamanaSpec;
use super::worker::{Scratch, Thinning, Workers};
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, list_of, push_neighbor, write_list};
use crate::vectors::VectorSet;

/// Lists that one task finishes: about a millisecond of work.
const LISTS_PER_TASK: usize = 64;

/// Finishes every list, then gives the slack back.
pub(super) fn finish_lists(
    lists: &mut AdjacencyLists,
    vectors: &VectorSet<'_>,
    spec: &VamanaSpec,
    workers: &Workers<Scratch>,
    progress: &dyn Progress,
) -> Result<(), GraphError> {
    progress.stage("order lists", lists.count() as u64);
    let stride = lists.stride();
    let tasks = lists
        .slots_mut()
        .par_chunks_mut(LISTS_PER_TASK * stride)
        .enumerate();
    tasks.try_for_each(|(task, rows)| {
        workers.with(|scratch| {
            for (row, node) in rows.chunks_exact_mut(stride).zip(LISTS_PER_TASK * task..) {
                progress.check()?;
                finish_list(
                    row,
                    NodeId(node as u32),
                    vectors,
                    spec,
                    &mut scratch.thinning,
                );
            }
            progress.advance((rows.len() / stride) as u64);
            Ok::<_, Cancelled>(())
        })
    })?;
    lists.shrink(spec.max_degree);
    Ok(())
}

/// Prunes a list that is too long; puts any other in prune order, followed by the neighbours that
/// pruning would drop, nearest first: they cost nothing more and searches profit from them.
fn finish_list(
    row: &mut [NodeId],
    node: NodeId,
    vectors: &VectorSet<'_>,
    spec: &VamanaSpec,
    thinning: &mut Thinning,
) {
    let list = list_of(row);
    let fits = list.len() <= spec.max_degree as usize;
    thinning.nodes.clear();
    thinning.nodes.extend_from_slice(list);
    write_list(row, thinning.thin(vectors, node, spec));
    if fits {
        for candidate in &thinning.candidates {
            if !list_of(row).contains(&candidate.node) {
                push_neighbor(row, candidate.node);
            }
        }
    }
}
