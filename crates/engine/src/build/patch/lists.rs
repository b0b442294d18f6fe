//! The lists of new rows: of what searches of the segment find, and of what a graph over the new
//! rows has.

use pageway_graph::{Graph, VectorSet};
use pageway_types::NodeId;
use rayon::ThreadPool;

use super::super::graph::algorithm;
use super::super::link::{BaseSearch, Linker, found_per_row, is_well_known};
use super::rows::NodeRows;
use super::{PATCH_BYTES, SegmentPatch};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::layout::RecordCodec;
use crate::resolve;

/// Rows that are searched for together, at most.
const BLOCK_ROWS: usize = 256;

/// What is near a row in the segment.
#[derive(Default)]
struct Near {
    nodes: Vec<u32>,
    /// Whether nobody else who lives is as near as the farthest of them.
    are_all: bool,
}

impl SegmentPatch<'_> {
    /// Rows that are searched for together, so that memory holds those that are found.
    pub(super) fn block_rows(&self, found: u32) -> usize {
        let row_bytes = self.base.spec.shape.vectors().row_bytes() as u64;
        let most = PATCH_BYTES / 2 / (u64::from(found) * row_bytes).max(1);
        (most as usize).clamp(1, BLOCK_ROWS)
    }

    /// The list of each new row, in prune order.
    pub(super) fn lists(
        &self,
        parts: &Parts<RecordCodec>,
        search: &BaseSearch,
        pool: &ThreadPool,
    ) -> Result<Vec<Vec<NodeId>>> {
        let spec = &self.base.spec;
        let row_bytes = spec.shape.vectors().row_bytes();
        let fresh = self.graph(pool)?;
        let found = found_per_row(spec, self.base.node_count);
        let mut linker = Linker::new(spec, found + spec.graph.max_degree(), None)?;
        let block = self.block_rows(found);
        let mut lists = Vec::with_capacity(self.ids.len());
        self.progress.stage("link rows", self.ids.len() as u64);
        for rows in self.rows.chunks(block * row_bytes) {
            self.progress.check()?;
            let found = self.found(search, (lists.len(), rows))?;
            let nodes = found.iter().flat_map(|near| &near.nodes);
            let known = NodeRows::read(self, parts, nodes.copied())?;
            for (row, near) in rows.chunks_exact(row_bytes).zip(found) {
                let at = NodeId(lists.len() as u32);
                let own = fresh.as_ref().map_or(&[][..], |own| own.neighbors(at));
                lists.push(self.list((row, near), own, &known, &mut linker)?);
            }
            self.progress.advance((rows.len() / row_bytes) as u64);
        }
        Ok(lists)
    }

    /// The living nodes near each of some rows from number `first` on: those that are known where
    /// half of them live, and what a search finds of all others.
    fn found(&self, search: &BaseSearch, (first, rows): (usize, &[u8])) -> Result<Vec<Near>> {
        let row_bytes = self.base.spec.shape.vectors().row_bytes();
        let most = found_per_row(&self.base.spec, self.base.node_count);
        let lives = |node: &u32| self.lives(NodeId(*node));
        let known = |at: usize| {
            let all = self.known.get(first + at).map_or(&[][..], Vec::as_slice);
            let nodes: Vec<u32> = all.iter().map(|node| node.0).filter(lives).collect();
            let is_known = !nodes.is_empty() && 2 * nodes.len() >= all.len();
            is_known.then_some(Near {
                nodes,
                are_all: most < self.base.node_count,
            })
        };
        let count = rows.len() / row_bytes;
        let mut found: Vec<Option<Near>> = (0..count).map(known).collect();
        let each = rows.chunks_exact(row_bytes).zip(&found);
        let asked = each.filter(|(_, known)| known.is_none());
        let asked: Vec<u8> = asked.flat_map(|(row, _)| row).copied().collect();
        if !asked.is_empty() {
            let mut near = search.found(&asked)?.into_iter();
            for own in found.iter_mut().filter(|own| own.is_none()) {
                *own = near.next().map(|near| {
                    let nodes: Vec<u32> = near.into_iter().filter(lives).collect();
                    let are_all = is_well_known(nodes.len(), most);
                    Near { nodes, are_all }
                });
            }
        }
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The list of a new row, of what is near in the segment and of its neighbours among new rows.
    fn list(
        &self,
        (row, near): (&[u8], Near),
        own: &[NodeId],
        known: &NodeRows,
        linker: &mut Linker,
    ) -> Result<Vec<NodeId>> {
        let base = self.base.node_count;
        let reaching = if near.are_all { near.nodes.len() } else { 0 };
        let near = near.nodes.into_iter().map(NodeId);
        let own = own.iter().map(|other| NodeId(base + other.0));
        let nodes: Vec<NodeId> = near.chain(own).collect();
        let others: Vec<&[u8]> = nodes.iter().map(|node| self.row_of(*node, known)).collect();
        let chosen = linker.choose(row, (&others.concat(), reaching))?;
        let list = chosen.iter().filter_map(|place| nodes.get(*place).copied());
        Ok(list.collect())
    }

    /// The raw row of a new node, or of one that was read.
    pub(super) fn row_of<'r>(&'r self, node: NodeId, known: &'r NodeRows) -> &'r [u8] {
        match node.0.checked_sub(self.base.node_count) {
            Some(at) => self.row(at as usize),
            None => known.row(node),
        }
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
        let (graph, _) = algorithm.grow(&set, (NodeId(0), &[], None), pool, self.progress)?;
        Ok(Some(graph))
    }
}
