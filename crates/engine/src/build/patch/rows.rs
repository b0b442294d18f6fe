//! Raw rows of some nodes of a segment.

use pageway_types::{NodeId, PageId};

use super::SegmentPatch;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::{PageCodec, PageView, RecordCodec};
use crate::storage::gather;

/// Raw rows of some nodes, in memory.
#[derive(Default)]
pub(super) struct NodeRows {
    /// Ascending.
    nodes: Vec<u32>,
    rows: Vec<u8>,
    row_bytes: usize,
}

impl NodeRows {
    /// Reads the rows of nodes of the segment, each page once.
    pub(super) fn read(
        patch: &SegmentPatch<'_>,
        parts: &Parts<RecordCodec>,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Result<Self> {
        let row_bytes = patch.base.spec.shape.vectors().row_bytes();
        let mut nodes: Vec<u32> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let map = parts.codec.map();
        let pages: Vec<PageId> = nodes
            .iter()
            .map(|node| map.vector_page_of(NodeId(*node)))
            .collect();
        let mut rows = vec![0; nodes.len() * row_bytes];
        gather(&patch.open.pages, &pages, &mut |at, payload| {
            let out = rows.get_mut(at * row_bytes..(at + 1) * row_bytes);
            if let (Some(node), Some(page), Some(out)) = (nodes.get(at), pages.get(at), out) {
                let vector = parts.codec.view(*page, payload)?.vector(NodeId(*node))?;
                out.copy_from_slice(vector.bytes);
            }
            Ok(())
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
