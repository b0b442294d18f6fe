//! The lists of new rows: of what searches of the segment find, and of what a graph over the new
//! rows has.

use pageway_graph::{Graph, VectorSet};
use pageway_types::NodeId;
use rayon::ThreadPool;

use super::super::graph::algorithm;
use super::super::link::{BaseSearch, Linker, found_per_row};
use super::super::workspace::Workspace;
use super::{PATCH_BYTES, SegmentPatch};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::layout::{PageCodec, PageView, RecordCodec};
use crate::resolve;
use crate::storage::gather;

/// Rows that are searched for together, at most.
const BLOCK_ROWS: usize = 256;

impl SegmentPatch<'_> {
    /// The list of each new row, in prune order.
    pub(super) fn lists(
        &self,
        parts: &Parts<RecordCodec>,
        (workspace, pool): (&Workspace, &ThreadPool),
    ) -> Result<Vec<Vec<NodeId>>> {
        let spec = &self.base.spec;
        let row_bytes = spec.shape.vectors().row_bytes();
        let fresh = self.graph(pool)?;
        let search = BaseSearch::open(
            workspace,
            (self.base, spec.shape.element),
            pool.current_num_threads(),
        )?;
        let found = found_per_row(spec, self.base.node_count);
        let mut linker = Linker::new(spec, found + spec.graph.max_degree(), None)?;
        let most = PATCH_BYTES / 2 / (u64::from(found) * row_bytes as u64).max(1);
        let block = (most as usize).clamp(1, BLOCK_ROWS);
        let mut lists = Vec::with_capacity(self.ids.len());
        self.progress.stage("link rows", self.ids.len() as u64);
        for rows in self.rows.chunks(block * row_bytes) {
            self.progress.check()?;
            let found = search.found(rows)?;
            let known = FoundRows::read(self, parts, &found)?;
            for (row, mut near) in rows.chunks_exact(row_bytes).zip(found) {
                near.retain(|node| self.lives(NodeId(*node)));
                let at = lists.len();
                let own = fresh
                    .as_ref()
                    .map_or(&[][..], |own| own.neighbors(NodeId(at as u32)));
                let base = self.base.node_count;
                let nodes: Vec<NodeId> = near
                    .iter()
                    .map(|node| NodeId(*node))
                    .chain(own.iter().map(|other| NodeId(base + other.0)))
                    .collect();
                let mut others = Vec::with_capacity(nodes.len() * row_bytes);
                for node in &near {
                    others.extend_from_slice(known.row(*node));
                }
                for other in own {
                    others.extend_from_slice(self.row(other.index()));
                }
                let chosen = linker.choose(row, &others)?;
                let list = chosen.iter().filter_map(|place| nodes.get(*place).copied());
                lists.push(list.collect());
            }
            self.progress.advance((rows.len() / row_bytes) as u64);
        }
        Ok(lists)
    }

    /// A graph over the new rows, where there are several.
    fn graph(&self, pool: &ThreadPool) -> Result<Option<Graph>> {
        let spec = &self.base.spec;
        if self.ids.len() < 2 {
            return Ok(None);
        }
        let (shape, guide) = (spec.shape.vectors(), spec.shape.metric.guide());
        let set = VectorSet::new(self.rows, shape, guide, resolve::kernels()?, None)?;
        let algorithm = algorithm(spec)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "nodes of this graph have no lists"))?;
        let (graph, _) = algorithm.grow(&set, (NodeId(0), &[]), pool, self.progress)?;
        Ok(Some(graph))
    }
}

/// Raw rows of some nodes of the segment.
struct FoundRows {
    /// Ascending.
    nodes: Vec<u32>,
    rows: Vec<u8>,
    row_bytes: usize,
}

impl FoundRows {
    /// Those of the living among what was found, each page read once.
    fn read(
        patch: &SegmentPatch<'_>,
        parts: &Parts<RecordCodec>,
        found: &[Vec<u32>],
    ) -> Result<Self> {
        let row_bytes = patch.base.spec.shape.vectors().row_bytes();
        let mut nodes: Vec<u32> = found.iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|node| patch.lives(NodeId(*node)));
        let map = parts.codec.map();
        let pages: Vec<_> = nodes
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

    fn row(&self, node: u32) -> &[u8] {
        let at = self
            .nodes
            .binary_search(&node)
            .unwrap_or(usize::MAX / 2 / self.row_bytes);
        let row = self
            .rows
            .get(at * self.row_bytes..(at + 1) * self.row_bytes);
        row.unwrap_or_default()
    }
}
