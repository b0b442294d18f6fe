//! The adjacency lists of a segment that replaces others: the lists that its rows had, without dead
//! nodes, and edges between the largest segment and the rest. After the merge of FreshDiskANN
//! (Singh et al., 2021), in sequential passes within a memory budget.
//!
//! ```text
//! own      the list of each row in its segment; where neighbours died, theirs take their place
//! found    a row that is not of the largest segment: what a search of that finds, and its own
//!          list, pruned together
//! back     an edge back from each of those of the largest, merged with its list by rank, as the
//!          lists of shards are
//! ```
//! Dead nodes lead on in the searches, and are in no list.

use std::collections::HashMap;
use std::ops::Range;

use pageway_graph::merge_lists;
use pageway_types::{NodeId, Progress, VectorRead};

use super::code_distances::CodeDistances;
use super::link::{BaseSearch, Linker, found_per_row, is_well_known};
use super::pipeline::Pipeline;
use super::raw_rows::RawRows;
use super::shards::{ShardGraphs, write_list};
use super::sort::Sorter;
use super::spill::{Spill, SpillWriter};
use crate::cache::ListRead;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::CodePart;
use crate::manifest::SegmentEntry;
use crate::resolve::{self, Source};

/// Nodes whose lists are read together.
const BATCH: usize = 256;
/// Dead neighbours of a node that are replaced by their lists, at most.
const REPLACED: usize = 8;
/// Lists of dead nodes that are kept at hand.
const DEAD_LISTS: usize = 8192;
/// Bytes for sorting reverse edges.
const SORTED_BYTES: u64 = 4 << 20;
/// Bytes of candidates that are read together.
const CANDIDATE_BYTES: usize = 1 << 20;
/// Bytes of a rewrite beside the segment that is searched.
pub(super) const REWRITE_BYTES: u64 = 16 << 20;

/// The rows of a build, as nodes of the segments that they come from.
pub(crate) trait KeptRows: VectorRead {
    /// The row of a node of a segment, by the number of the segment, if it lives. Rows of a segment
    /// follow those of the one before, in the order of their nodes.
    fn row_of(&self, segment: usize, node: NodeId) -> Option<u32>;

    /// Copies some rows, by ascending numbers, into `out`; many are read at the same time.
    ///
    /// # Errors
    /// As reading them fails.
    fn gather(&self, rows: &[u32], out: &mut [u8]) -> Result<()>;

    /// The codes of a segment.
    fn codes(&self, segment: usize) -> Option<&CodePart>;
}

/// Segments whose lists are kept, the largest first, and their rows.
#[derive(Clone, Copy)]
pub(crate) struct KeptLists<'k> {
    pub(crate) segments: &'k [SegmentEntry],
    pub(crate) rows: &'k dyn KeptRows,
}

impl Pipeline<'_> {
    /// The lists of all rows, in three files. `max_norm` under the inner product.
    pub(super) fn rewrite(
        &self,
        kept: KeptLists<'_>,
        max_norm: Option<f32>,
    ) -> Result<ShardGraphs> {
        let count = self.plan.node_count;
        self.progress.stage("keep lists", count.into());
        let mut own = self.spill_of("own")?;
        let mut keep = |rows: Range<u32>, lists: Vec<Vec<NodeId>>| {
            let mut lists = rows.zip(lists);
            lists.try_for_each(|(row, list)| write_list(&mut own, row, &list))
        };
        let first = self.each_kept(kept, 0, &mut keep)?;
        if first == 0 {
            for number in 1..kept.segments.len() {
                self.each_kept(kept, number, &mut keep)?;
            }
        }
        let mut spills = vec![own.finish()?];
        if first > 0 && first < count {
            spills.extend(self.find(kept, first, max_norm)?);
        }
        Ok(ShardGraphs::of_one(spills))
    }

    fn spill_of(&self, stem: &str) -> Result<SpillWriter> {
        self.workspace.scratch.writer(stem)
    }

    /// Calls `visit` with the lists of the living rows of a segment, some rows at a time; returns
    /// the number of rows.
    pub(super) fn each_kept(
        &self,
        kept: KeptLists<'_>,
        number: usize,
        show: &mut dyn FnMut(Range<u32>, Vec<Vec<NodeId>>) -> Result<()>,
    ) -> Result<u32> {
        let segment = kept.segments.get(number).ok_or_else(torn)?;
        let source = Source {
            vfs: self.workspace.vfs.as_ref(),
            dir: &self.workspace.dir,
            segment,
        };
        let row_of = |node| kept.rows.row_of(number, node);
        let floor = segment.spec.graph.max_degree() / 2;
        let mut keeping = Keeping::new(source, &row_of, floor)?;
        let part = kept.rows.codes(number).ok_or_else(torn)?;
        let vectors = kept.rows;
        let mut codes = CodeDistances::new(part, vectors.shape())?;
        let (mut living, mut first, mut rows) = (Vec::with_capacity(BATCH), None, 0);
        let (mut raw, last) = (Vec::new(), segment.node_count - 1);
        for node in (0..segment.node_count).map(NodeId) {
            if let Some(row) = (keeping.row_of)(node) {
                first = first.or(Some(row));
                living.push(node);
            }
            let is_full = living.len() == BATCH || node.0 == last;
            let Some(start) = first.filter(|_| is_full) else {
                continue;
            };
            self.progress.check()?;
            let count = living.len() as u32;
            raw.resize(living.len() * vectors.shape().row_bytes(), 0);
            vectors.read(start.into(), &mut raw)?;
            let lists = keeping.lists(&living, (&mut codes, &raw))?;
            show(start..start + count, lists)?;
            self.progress.advance(count.into());
            rows += count;
            living.clear();
            first = None;
        }
        Ok(rows)
    }

    /// Links the rows from `first` on, which are not in the largest segment, to that segment.
    /// Returns the reverse edges from it, and the lists of the rows.
    fn find(&self, kept: KeptLists<'_>, first: u32, max_norm: Option<f32>) -> Result<[Spill; 2]> {
        let base = kept.segments.first().ok_or_else(torn)?;
        let stem = self.workspace.scratch.stem("edges");
        let mut back = Sorter::new(&self.workspace.vfs, stem, SORTED_BYTES);
        let mut found = self.spill_of("found")?;
        let count = self.plan.node_count - first;
        self.progress.stage("link rows", count.into());
        let mut finding = Finding::new(self, (kept, base), max_norm)?;
        let mut link = |rows: Range<u32>, own: Vec<Vec<NodeId>>| {
            for (row, list) in rows.clone().zip(finding.lists(rows, &own)?) {
                write_list(&mut found, row, &list)?;
                for (rank, other) in (0u32..).zip(&list).filter(|(_, other)| other.0 < first) {
                    let value = [rank.to_be_bytes(), row.to_be_bytes()].concat();
                    back.push(&other.0.to_be_bytes(), &value)?;
                }
            }
            Ok(())
        };
        for number in 1..kept.segments.len() {
            self.each_kept(kept, number, &mut link)?;
        }
        Ok([self.edges_back(back)?, found.finish()?])
    }

    /// Lists of the reverse edges, nearest first for each node.
    fn edges_back(&self, pairs: Sorter) -> Result<Spill> {
        let mut out = self.spill_of("back")?;
        let word = |bytes: &[u8]| {
            bytes
                .last_chunk()
                .map_or(0, |word| u32::from_be_bytes(*word))
        };
        let (mut node, mut list) = (u32::MAX, Vec::new());
        pairs.finish(&mut |key, value| {
            let (own, other) = (word(key), NodeId(word(value)));
            if own != node && !list.is_empty() {
                write_list(&mut out, node, &list)?;
                list.clear();
            }
            node = own;
            list.push(other);
            Ok(())
        })?;
        if !list.is_empty() {
            write_list(&mut out, node, &list)?;
        }
        out.finish()
    }
}

/// Repairs lists of a segment, and turns nodes into rows.
pub(super) struct Keeping<'k> {
    reader: Box<dyn ListRead>,
    row_of: &'k dyn Fn(NodeId) -> Option<u32>,
    /// Living neighbours of dead nodes.
    dead: HashMap<NodeId, Vec<NodeId>>,
    /// A list that loses a neighbour is filled up to so many.
    floor: usize,
}

impl<'k> Keeping<'k> {
    /// For the lists of a segment. A list that loses a neighbour is filled up to `floor`, however
    /// short it was; otherwise many small repairs would make it ever shorter.
    pub(super) fn new(
        source: Source<'_>,
        row_of: &'k dyn Fn(NodeId) -> Option<u32>,
        floor: u32,
    ) -> Result<Self> {
        Ok(Self {
            reader: resolve::list_reader(source)?,
            row_of,
            dead: HashMap::new(),
            floor: floor as usize,
        })
    }

    fn rows(&self, list: &[NodeId]) -> Vec<NodeId> {
        let rows = list.iter().filter_map(|node| (self.row_of)(*node));
        rows.map(NodeId).collect()
    }

    fn living(&self, list: &[NodeId]) -> Vec<NodeId> {
        let living = list.iter().filter(|node| (self.row_of)(**node).is_some());
        living.copied().collect()
    }

    /// The lists of some living nodes, as rows; their raw rows are given.
    fn lists(
        &mut self,
        living: &[NodeId],
        (codes, raw): (&mut CodeDistances<'_>, &[u8]),
    ) -> Result<Vec<Vec<NodeId>>> {
        let mut lists = vec![Vec::new(); living.len()];
        self.reader.lists(living, &mut |at, list| {
            if let Some(slot) = lists.get_mut(at) {
                *slot = list.to_vec();
            }
        })?;
        self.load_dead(lists.iter())?;
        let row_bytes = (raw.len() / living.len().max(1)).max(1);
        let each = living.iter().zip(&lists).zip(raw.chunks_exact(row_bytes));
        each.map(|((node, list), row)| {
            let list = self.repaired(*node, list, &mut |nodes| codes.between(row, nodes))?;
            Ok(self.rows(&list))
        })
        .collect()
    }

    /// Dead nodes of a list, the first few.
    fn dead_of(&self, list: &[NodeId]) -> Vec<NodeId> {
        let dead = list.iter().filter(|node| (self.row_of)(**node).is_none());
        dead.copied().take(REPLACED).collect()
    }

    /// Reads the lists of the dead in some lists.
    pub(super) fn load_dead<'l>(
        &mut self,
        lists: impl Iterator<Item = &'l Vec<NodeId>>,
    ) -> Result<()> {
        if self.dead.len() > DEAD_LISTS {
            self.dead.clear();
        }
        let mut nodes: Vec<NodeId> = lists.flat_map(|list| self.dead_of(list)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|node| !self.dead.contains_key(node));
        let mut loaded = vec![Vec::new(); nodes.len()];
        self.reader.lists(&nodes, &mut |at, list| {
            if let Some(slot) = loaded.get_mut(at) {
                *slot = self.living(list);
            }
        })?;
        self.dead.extend(nodes.into_iter().zip(loaded));
        Ok(())
    }

    /// The list of a node: its living neighbours, and in place of dead ones the nearest of their
    /// neighbours. None of these is farther than the farthest dead one, except to fill the list up
    /// to the floor: if all nodes around a dead one died, its list leads anywhere.
    pub(super) fn repaired(
        &self,
        node: NodeId,
        list: &[NodeId],
        distances: &mut dyn FnMut(&[NodeId]) -> Vec<f32>,
    ) -> Result<Vec<NodeId>> {
        let mut kept = self.living(list);
        if kept.len() == list.len() {
            return Ok(kept);
        }
        let dead = self.dead_of(list);
        let theirs = dead.iter().filter_map(|node| self.dead.get(node)).flatten();
        let is_new = |other: &NodeId| *other != node && !kept.contains(other);
        let mut others: Vec<NodeId> = theirs.copied().filter(is_new).collect();
        others.sort_unstable();
        others.dedup();
        let reach = distances(&dead).into_iter().fold(0.0, f32::max);
        let scored = distances(&others).into_iter().zip(others);
        let mut scored: Vec<(f32, NodeId)> = scored.collect();
        scored.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let most = list.len().max(self.floor);
        for (distance, other) in scored {
            if kept.len() >= most || (distance > reach && kept.len() >= self.floor) {
                break;
            }
            kept.push(other);
        }
        if kept.len() < self.floor {
            let living = kept.clone();
            self.widen(node, &mut kept, living.iter())?;
        }
        Ok(kept)
    }

    /// The list of a node that lost neighbours, in a segment that keeps its numbers: filled with
    /// neighbours of its neighbours, if it is too short even with the `coming` edges.
    pub(super) fn filled(
        &self,
        node: NodeId,
        mut list: Vec<NodeId>,
        coming: usize,
    ) -> Result<Vec<NodeId>> {
        if list.len() + coming < self.floor {
            let known = list.clone();
            self.widen(node, &mut list, known.iter())?;
        }
        Ok(list)
    }

    /// Fills a list up to the floor from the lists of some nodes of the segment.
    fn widen<'n>(
        &self,
        node: NodeId,
        kept: &mut Vec<NodeId>,
        nodes: impl Iterator<Item = &'n NodeId>,
    ) -> Result<()> {
        let nodes: Vec<NodeId> = nodes.copied().collect();
        let mut lists = vec![Vec::new(); nodes.len()];
        self.reader.lists(&nodes, &mut |at, list| {
            if let Some(slot) = lists.get_mut(at) {
                *slot = self.living(list);
            }
        })?;
        let theirs: Vec<&[NodeId]> = lists.iter().map(Vec::as_slice).collect();
        fill(node, kept, &theirs, self.floor);
        Ok(())
    }
}

/// Adds the nodes of other lists that are new to `kept`, the first of each list first, up to
/// `most`.
fn fill(node: NodeId, kept: &mut Vec<NodeId>, theirs: &[&[NodeId]], most: usize) {
    let mut others = Vec::new();
    merge_lists(theirs, 2 * most, &mut others);
    for other in others {
        if kept.len() >= most {
            break;
        }
        if other != node && !kept.contains(&other) {
            kept.push(other);
        }
    }
}

/// Searches of the largest segment for rows of the others.
struct Finding<'f> {
    pipeline: &'f Pipeline<'f>,
    kept: KeptLists<'f>,
    base: BaseSearch,
    /// Nodes that a search finds.
    found: u32,
    linker: Linker,
}

impl<'f> Finding<'f> {
    fn new(
        pipeline: &'f Pipeline<'_>,
        (kept, base): (KeptLists<'f>, &SegmentEntry),
        max_norm: Option<f32>,
    ) -> Result<Self> {
        let spec = &pipeline.plan.spec;
        let found = found_per_row(&base.spec, base.node_count);
        let most = found + spec.graph.max_degree();
        let threads = pipeline.pool.current_num_threads();
        let element = pipeline.input.vectors.shape().element;
        Ok(Self {
            pipeline,
            kept,
            base: BaseSearch::open(pipeline.workspace, (base, element), threads)?,
            found,
            linker: Linker::new(spec, most, max_norm)?,
        })
    }

    /// The lists of some rows, pruned from nodes of the largest segment and from their own lists.
    fn lists(&mut self, rows: Range<u32>, own: &[Vec<NodeId>]) -> Result<Vec<Vec<NodeId>>> {
        let vectors = self.pipeline.input.vectors;
        let row_bytes = vectors.shape().row_bytes();
        let mut queries = vec![0; rows.len() * row_bytes];
        vectors.read(rows.start.into(), &mut queries)?;
        let found = self.base.found(&queries)?;
        let each = found.iter().zip(own);
        let candidates: Vec<Candidates> = each
            .map(|(nodes, own)| self.candidates(nodes, own))
            .collect();
        let most = candidates.iter().map(|own| own.rows.len()).max();
        let together = CANDIDATE_BYTES / (row_bytes * most.unwrap_or(0).max(1));
        let mut lists = Vec::with_capacity(candidates.len());
        let mut queries = queries.chunks_exact(row_bytes);
        for group in candidates.chunks(together.max(1)) {
            let rows = group.iter().flat_map(|own| &own.rows);
            let read = RawRows::read(self.kept.rows, rows.copied().collect())?;
            for (own, query) in group.iter().zip(&mut queries) {
                lists.push(self.list(query, own, &read)?);
            }
        }
        Ok(lists)
    }

    /// Nodes that were found for a row, as rows, and the rows of its own list.
    fn candidates(&self, nodes: &[u32], own: &[NodeId]) -> Candidates {
        let row = |node: &u32| self.kept.rows.row_of(0, NodeId(*node));
        let mut rows: Vec<u32> = nodes.iter().filter_map(row).collect();
        let near = if is_well_known(rows.len(), self.found) {
            rows.len()
        } else {
            0
        };
        rows.extend(own.iter().map(|other| other.0));
        Candidates { rows, near }
    }

    /// The list of a row, among candidates that were read.
    fn list(&mut self, query: &[u8], own: &Candidates, read: &RawRows) -> Result<Vec<NodeId>> {
        let mut others = Vec::with_capacity(own.rows.len() * query.len());
        for row in &own.rows {
            others.extend_from_slice(read.get(*row).ok_or_else(torn)?);
        }
        let chosen = self.linker.choose(query, (&others, own.near))?;
        let rows = chosen
            .iter()
            .filter_map(|place| own.rows.get(*place).copied());
        Ok(rows.map(NodeId).collect())
    }
}

/// The candidates for the list of a row.
struct Candidates {
    rows: Vec<u32>,
    /// How many of the first are known to be near.
    near: usize,
}

fn torn() -> Error {
    Error::new(ErrorKind::Internal, "a rewrite of no segment")
}
