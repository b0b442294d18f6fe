//! The lists of new rows: of what was found for them before or searches of the segment find, and
//! of what a graph over the new rows has.

use pageway_graph::{Graph, VectorSet};
use pageway_types::NodeId;
use rayon::ThreadPool;

use super::super::graph::algorithm;
use super::super::link::{BaseSearch, Linker, found_per_row, is_well_known};
use super::all_codes::AllCodes;
use super::known::{KnownRows, ListOrigin};
use super::rows::NodeRows;
use super::{PATCH_BYTES, SegmentPatch};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::layout::RecordCodec;
use crate::resolve;

/// Rows that are searched for together, at most.
const BLOCK_ROWS: usize = 256;

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
        (parts, codes): (&Parts<RecordCodec>, AllCodes<'_>),
        search: &BaseSearch,
        pool: &ThreadPool,
    ) -> Result<Vec<Vec<NodeId>>> {
        let spec = &self.base.spec;
        let row_bytes = spec.shape.vectors().row_bytes();
        let fresh = self.graph(pool)?;
        let own = |at: usize| {
            let own = fresh.as_ref().map(|own| own.neighbors(NodeId(at as u32)));
            let own = own.unwrap_or_default().iter();
            own.map(|other| NodeId(self.base.node_count + other.0))
                .collect()
        };
        let found = found_per_row(spec, self.base.node_count);
        let degree = spec.graph.max_degree();
        let mut linker = Linker::new(spec, found + 2 * degree, None)?;
        let mut known = KnownRows::new(self, (parts, codes))?;
        let segment = search.segment()?;
        let block = self.block_rows(found.max(2 * degree));
        let mut lists = Vec::with_capacity(self.ids.len());
        self.progress.stage("link rows", self.ids.len() as u64);
        for rows in self.rows.chunks(block * row_bytes) {
            self.progress.check()?;
            let count = rows.len() / row_bytes;
            let own: Vec<Vec<NodeId>> = (lists.len()..lists.len() + count).map(own).collect();
            let each = (lists.len()..).zip(&own);
            let known = each.map(|(at, own)| known.near(at, own)).collect();
            let near = self.found(search, rows, known)?;
            let nodes = near.iter().flat_map(ListOrigin::compared);
            let vectors = NodeRows::read((self, parts), &segment.pages, nodes)?;
            for ((row, near), own) in rows.chunks_exact(row_bytes).zip(near).zip(own) {
                lists.push(self.list((row, near), own, &vectors, &mut linker)?);
            }
            self.progress.advance(count as u64);
        }
        Ok(lists)
    }

    /// What is near each of some rows: what is known, and what a search finds for all others.
    fn found(
        &self,
        search: &BaseSearch,
        rows: &[u8],
        mut near: Vec<Option<ListOrigin>>,
    ) -> Result<Vec<ListOrigin>> {
        let row_bytes = self.base.spec.shape.vectors().row_bytes();
        let most = found_per_row(&self.base.spec, self.base.node_count);
        let each = rows.chunks_exact(row_bytes).zip(&near);
        let asked = each.filter(|(_, known)| known.is_none());
        let asked: Vec<u8> = asked.flat_map(|(row, _)| row).copied().collect();
        if !asked.is_empty() {
            let found = search.found(&asked)?;
            for (own, found) in near.iter_mut().filter(|own| own.is_none()).zip(found) {
                let nodes = found.into_iter().map(NodeId);
                let nodes: Vec<NodeId> = nodes.filter(|node| self.lives(*node)).collect();
                let are_all = is_well_known(nodes.len(), most);
                *own = Some(ListOrigin::Candidates { nodes, are_all });
            }
        }
        Ok(near.into_iter().flatten().collect())
    }

    /// The list of a new row, of what is near in the segment and of its neighbours among new rows.
    fn list(
        &self,
        (row, near): (&[u8], ListOrigin),
        own: Vec<NodeId>,
        known: &NodeRows,
        linker: &mut Linker,
    ) -> Result<Vec<NodeId>> {
        let (mut nodes, are_all) = match near {
            ListOrigin::List(list) => return Ok(list),
            ListOrigin::Candidates { nodes, are_all } => (nodes, are_all),
        };
        let reaching = if are_all { nodes.len() } else { 0 };
        nodes.extend(own);
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
