//! Raw rows of some nodes of a segment.

use pageway_types::NodeId;

use super::SegmentPatch;
use crate::error::Result;
use crate::execution::{Parts, gather_rows};
use crate::layout::RecordCodec;
use crate::storage::RecordPages;

/// Raw rows of some nodes, in memory.
#[derive(Default)]
pub(super) struct NodeRows {
    /// Ascending.
    nodes: Vec<u32>,
    rows: Vec<u8>,
    row_bytes: usize,
}

impl NodeRows {
    /// Reads the rows of nodes of the segment, each of its pages once.
    pub(super) fn read(
        (patch, parts): (&SegmentPatch<'_>, &Parts<RecordCodec>),
        pages: &RecordPages,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Result<Self> {
        let row_bytes = patch.base.spec.shape.vectors().row_bytes();
        let mut nodes: Vec<u32> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let wanted: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
        let mut rows = vec![0; nodes.len() * row_bytes];
        gather_rows(pages, &parts.codec, &wanted, &mut |at, row| {
            if let Some(out) = rows.get_mut(at * row_bytes..(at + 1) * row_bytes) {
                out.copy_from_slice(row);
            }
        })?;
        Ok(Self {
            nodes,
            rows,
            row_bytes,
        })
    }

    /// The row of a node; nothing of one that was not read.
    pub(super) fn row(&self, node: NodeId) -> &[u8] {
        let at = self.nodes.binary_search(&node.0).ok();
        let row = at.and_then(|at| {
            self.rows
                .get(at * self.row_bytes..(at + 1) * self.row_bytes)
        });
        row.unwrap_or_default()
    }
}
