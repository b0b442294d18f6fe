//! Writing records in node order: vectors stream from the source, lists from the graph.

use pageway_graph::Graph;
use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{NodeId, Progress};

use super::budget::BLOCK_BYTES;
use crate::error::Result;
use crate::index::GraphStatistics;
use crate::layout::{NodeBytes, PackedCodec, PageCodec};
use crate::options::BuildInput;
use crate::source::RowBlocks;

/// Adjacency lists in node order.
pub(super) trait ListStream {
    /// Replaces `list` by the list of the next node.
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()>;
}

/// The lists of a graph in memory.
pub(super) struct GraphLists<'g> {
    graph: &'g Graph,
    next: u32,
}

impl<'g> GraphLists<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph, next: 0 }
    }
}

impl ListStream for GraphLists<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        list.clear();
        list.extend_from_slice(self.graph.neighbors(NodeId(self.next)));
        self.next += 1;
        Ok(())
    }
}

/// Writes the records of all nodes.
pub(super) fn write_records(
    input: &BuildInput<'_>,
    codec: &PackedCodec,
    lists: &mut dyn ListStream,
    mut file: PageFileWriter,
    progress: &dyn Progress,
) -> Result<(FileEntry, GraphStatistics)> {
    let count = input.vectors.count();
    let row_bytes = input.vectors.shape().row_bytes();
    progress.stage("write records", count);
    let mut statistics = GraphStatistics::default();
    let mut payload = Vec::with_capacity(codec.geometry().payload_bytes());
    let (mut list, mut ids) = (Vec::new(), Vec::new());
    let (mut edges, mut node) = (0u64, 0u32);
    let mut blocks = RowBlocks::new(input.vectors, 0..count, BLOCK_BYTES);
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        let rows = block.rows.len() / row_bytes;
        read_ids(input, block.first, rows, &mut ids)?;
        for (vector, user_id) in block.rows.chunks_exact(row_bytes).zip(&ids) {
            lists.next_list(&mut list)?;
            edges += list.len() as u64;
            statistics.max_degree = statistics.max_degree.max(list.len() as u32);
            let record = NodeBytes {
                node: NodeId(node),
                vector,
                neighbors: &list,
                user_id: *user_id,
            };
            codec.append(&record, &mut payload)?;
            node += 1;
            if codec.address().slot_of(NodeId(node)).0 == 0 {
                file.append_unit(&payload)?;
                payload.clear();
            }
        }
        progress.advance(rows as u64);
    }
    if !payload.is_empty() {
        file.append_unit(&payload)?;
    }
    statistics.mean_degree = edges as f64 / count as f64;
    Ok((file.finish()?, statistics))
}

fn read_ids(input: &BuildInput<'_>, first: u64, rows: usize, out: &mut Vec<u64>) -> Result<()> {
    out.clear();
    out.extend(first..first + rows as u64);
    match input.ids {
        Some(ids) => ids.read(first, out),
        None => Ok(()),
    }
}
