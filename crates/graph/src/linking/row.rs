//! One task per few rows of a graph: every list is written by whom it belongs to.

use pageway_types::{Cancelled, NodeId, Progress};
use rayon::prelude::*;

use super::worker::Workers;
use crate::graph::AdjacencyLists;

/// Rows that one task works on: some milliseconds at most.
const ROWS_PER_TASK: usize = 64;

/// Calls `work` with the row of every node, in the pool of the caller. `work` must not use it.
pub(crate) fn for_each_row<S: Send>(
    lists: &mut AdjacencyLists,
    workers: &Workers<S>,
    progress: &dyn Progress,
    work: impl Fn(&mut S, NodeId, &mut [NodeId]) + Sync,
) -> Result<(), Cancelled> {
    let stride = lists.stride();
    let tasks = lists
        .slots_mut()
        .par_chunks_mut(ROWS_PER_TASK * stride)
        .enumerate();
    tasks.try_for_each(|(task, rows)| {
        workers.with(|scratch| {
            for (row, node) in rows.chunks_exact_mut(stride).zip(ROWS_PER_TASK * task..) {
                progress.check()?;
                work(scratch, NodeId(node as u32), row);
            }
            progress.advance((rows.len() / stride) as u64);
            Ok(())
        })
    })
}
