//! The last pass over the lists: down to the max degree.

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::spec::VamanaSpec;
use super::worker::{Scratch, Workers};
use crate::error::GraphError;
use crate::graph::{AdjacencyLists, list_of, write_list};
use crate::vectors::VectorSet;

/// Lists that one task finishes: about a millisecond of work.
const LISTS_PER_TASK: usize = 64;

/// Prunes the lists that outgrew the max degree, then gives the slack back.
pub(super) fn thin_lists(
    lists: &mut AdjacencyLists,
    vectors: &VectorSet<'_>,
    spec: &VamanaSpec,
    workers: &Workers<Scratch>,
    progress: &dyn Progress,
) -> Result<(), GraphError> {
    progress.stage("thin lists", lists.count() as u64);
    let stride = lists.stride();
    let tasks = lists.slots_mut().par_chunks_mut(LISTS_PER_TASK * stride).enumerate();
    tasks.try_for_each(|(task, rows)| {
        workers.with(|scratch| {
            for (row, node) in rows.chunks_exact_mut(stride).zip(LISTS_PER_TASK * task..) {
                progress.check()?;
                thin_list(row, NodeId(node as u32), vectors, spec, scratch);
            }
            progress.advance((rows.len() / stride) as u64);
            Ok::<_, Cancelled>(())
        })
    })?;
    lists.shrink(spec.max_degree);
    Ok(())
}

fn thin_list(
    row: &mut [NodeId],
    node: NodeId,
    vectors: &VectorSet<'_>,
    spec: &VamanaSpec,
    scratch: &mut Scratch,
) {
    let list = list_of(row);
    if list.len() <= spec.max_degree as usize {
        return;
    }
    scratch.thinning.nodes.clear();
    scratch.thinning.nodes.extend_from_slice(list);
    write_list(row, scratch.thinning.thin(vectors, node, spec));
}
