//! Which nodes a cache takes: breadth-first from the entry, as walks meet them.

use pageway_store::PageReader;
use pageway_types::{NodeId, Progress};

use crate::error::Result;
use crate::layout::PageCodec;
use crate::storage::gather;

/// Nodes expanded per batch of reads.
const BATCH: usize = 2048;

/// The first `limit` nodes in breadth-first order from `entry`, read off the record file.
///
/// Holds a bit per node, the order itself, and the lists of one batch. Costs at most a read per
/// page and level.
pub(crate) fn breadth_first<C: PageCodec>(
    codec: &C,
    reader: &PageReader,
    entry: &[NodeId],
    limit: usize,
    progress: &dyn Progress,
) -> Result<Vec<NodeId>> {
    let node_count = codec.address().node_count();
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
        gather(codec, reader, batch, &mut |at, record| {
            if let Some(list) = lists.get_mut(at) {
                list.extend(record.neighbors());
            }
            Ok(())
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
