//! Pages as they are, and as they will be.

use std::collections::BTreeMap;

use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{NodeId, PageId};

use super::super::rewrite::Keeping;
use super::SegmentPatch;
use super::all_codes::AllCodes;
use super::draft::PageDraft;
use super::edges::EdgeWriter;
use super::plan::{PagePlan, Pages};
use super::repair::ListChanges;
use super::rows::NodeRows;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::{PageCodec, PageView, RecordCodec, UnfoldedVector, UnpackedList, VectorPart};
use crate::storage::{RecordPages, gather};

/// Pages that are worked on together.
const BATCH_PAGES: usize = 256;
/// Pages whose dead neighbours are read together.
const DEAD_PAGES: usize = 16;

/// Pages on their way.
pub(super) struct Writing<'w> {
    patch: &'w SegmentPatch<'w>,
    parts: &'w Parts<RecordCodec>,
    /// Of the segment with its new nodes.
    codec: RecordCodec,
    edges: EdgeWriter<'w>,
    changes: &'w ListChanges,
    /// Pages as files hold them.
    known: RecordPages,
    /// Edges that there are more, and neighbours of the longest list.
    written: (i64, u32),
}

/// What became of pages.
pub(super) struct PagesOut {
    /// Those in it, where any were written.
    pub(super) file: Option<FileEntry>,
    /// Numbers of those, ascending.
    pub(super) pages: Vec<u32>,
    /// What others differ by from what files hold of them.
    pub(super) differ: BTreeMap<u32, Vec<u8>>,
}

impl<'w> Writing<'w> {
    pub(super) fn new(
        patch: &'w SegmentPatch<'w>,
        (coded, codec): ((&'w Parts<RecordCodec>, AllCodes<'w>), RecordCodec),
        changes: &'w ListChanges,
    ) -> Result<Self> {
        Ok(Self {
            patch,
            parts: coded.0,
            codec,
            edges: EdgeWriter::new(patch, coded)?,
            changes,
            known: patch.open.pages.as_written(),
            written: (0, 0),
        })
    }

    /// Edges that there are more, and neighbours of the longest list that was written.
    pub(super) fn written(&self) -> (i64, u32) {
        self.written
    }

    /// Writes pages, or what they differ by; where all are written, neighbours of all dead nodes
    /// take their places.
    pub(super) fn run(
        &mut self,
        plan: &PagePlan,
        lists: &mut [Vec<NodeId>],
        create: &dyn Fn() -> Result<PageFileWriter>,
    ) -> Result<PagesOut> {
        let row_of = |node: NodeId| self.patch.lives(node).then_some(node.0);
        let floor = self.patch.base.spec.graph.max_degree() / 2;
        let sweeps = plan.kind == Pages::All;
        let mut keeping = Keeping::new(self.patch.source(), &row_of, floor)?;
        let progress = self.patch.progress;
        progress.stage("write records", plan.pages.len() as u64);
        let (mut payload, mut file) = (Vec::new(), None);
        let (mut written, mut differ) = (Vec::new(), BTreeMap::new());
        for batch in plan.pages.chunks(BATCH_PAGES) {
            progress.check()?;
            let mut drafts = self.read(batch, plan.kind)?;
            let rows = self.rows(&drafts, sweeps)?;
            for few in drafts.chunks_mut(DEAD_PAGES) {
                if sweeps {
                    keeping.load_dead(few.iter().flat_map(|draft| &draft.lists))?;
                }
                for draft in few {
                    self.mend(draft, (&keeping, sweeps), &rows)?;
                }
            }
            for draft in &mut drafts {
                self.extend(draft, lists, &rows);
                self.count(draft);
                payload.clear();
                self.codec.encode(draft.page, draft, &mut payload)?;
                if let Some(runs) = draft.difference_to(&mut payload) {
                    differ.insert(draft.page.0, runs);
                    continue;
                }
                let out = match &mut file {
                    Some(out) => out,
                    none => none.insert(create()?),
                };
                out.append_unit(&payload)?;
                written.push(draft.page.0);
            }
            progress.advance(batch.len() as u64);
        }
        Ok(PagesOut {
            file: file.map(PageFileWriter::finish).transpose()?,
            pages: written,
            differ,
        })
    }

    /// The nodes of some pages, as they are.
    fn read(&self, batch: &[u32], kind: Pages) -> Result<Vec<PageDraft>> {
        let row_bytes = self.patch.base.spec.shape.vectors().row_bytes();
        let (codec, now) = (&self.parts.codec, self.codec.map());
        let (old, differences) = (codec.map(), self.patch.open.pages.differences());
        let known: Vec<PageId> = batch
            .iter()
            .copied()
            .filter(|page| *page < old.page_count())
            .map(PageId)
            .collect();
        let mut drafts: Vec<PageDraft> = batch
            .iter()
            .map(|page| PageDraft::new(PageId(*page), now, row_bytes))
            .collect();
        let mut payload = Vec::new();
        gather(&self.known, &known, &mut |at, written| {
            let Some((page, draft)) = known.get(at).zip(drafts.get_mut(at)) else {
                return Ok(());
            };
            payload.clear();
            payload.extend_from_slice(written);
            differences.apply(*page, &mut payload);
            let view = codec.view(*page, &payload)?;
            let (mut unpacked, mut room) = (UnpackedList::new(), UnfoldedVector::new());
            for node in old.nodes_of(*page).map(NodeId) {
                if old.holds_vectors(*page) {
                    draft.push_vector(&view.vector(node, &mut room)?);
                }
                if !old.holds_vectors_alone(*page) {
                    let record = view.record(node)?;
                    let (list, _) = record.list.unpack(&mut unpacked)?;
                    draft.lists.push(list.iter().collect());
                }
            }
            let is_full = now.nodes_of(*page) == old.nodes_of(*page);
            if kind == Pages::Differ && is_full {
                draft.written = Some(written.to_vec());
            }
            Ok(())
        })?;
        Ok(drafts)
    }

    /// Rows of old nodes that edges lead to, and of those on pages without vectors whose lists
    /// change.
    fn rows(&self, drafts: &[PageDraft], sweeps: bool) -> Result<NodeRows> {
        let base = self.patch.base.node_count;
        let map = self.codec.map();
        let mut nodes = Vec::new();
        for draft in drafts {
            if map.holds_vectors_alone(draft.page) {
                continue;
            }
            for node in map.nodes_of(draft.page).map(NodeId) {
                let edges = self.changes.to(node);
                nodes.extend(edges.iter().map(|edge| edge.to.0));
                if (sweeps || !edges.is_empty()) && !map.holds_vectors(draft.page) {
                    nodes.push(node.0);
                }
            }
        }
        nodes.retain(|node| *node < base);
        if nodes.is_empty() {
            return Ok(NodeRows::default());
        }
        NodeRows::read((self.patch, self.parts), &self.patch.open.pages, nodes)
    }

    /// Takes dead nodes out of lists; where it sweeps, or lists become short, others take their
    /// places.
    fn mend(
        &mut self,
        draft: &mut PageDraft,
        (keeping, sweeps): (&Keeping<'_>, bool),
        rows: &NodeRows,
    ) -> Result<()> {
        let before: usize = draft.lists.iter().map(Vec::len).sum();
        for place in 0..draft.lists.len() {
            let node = NodeId(draft.first + place as u32);
            let mut list = draft.lists.get_mut(place).map(std::mem::take);
            let list = list.get_or_insert_default();
            if sweeps && list.iter().any(|other| !self.patch.lives(*other)) {
                let row = row_in(self.patch, (draft, place), rows);
                let edges = &mut self.edges;
                *list = keeping.repaired(node, list, &mut |nodes| edges.between(row, nodes))?;
            } else if list.iter().any(|other| self.changes.is_gone(*other)) {
                self.changes.leave(list);
                let coming = self.changes.to(node).len();
                *list = keeping.filled(node, std::mem::take(list), coming)?;
            }
            if let Some(slot) = draft.lists.get_mut(place) {
                *slot = std::mem::take(list);
            }
        }
        let after: usize = draft.lists.iter().map(Vec::len).sum();
        self.written.0 += after as i64 - before as i64;
        Ok(())
    }

    /// Adds edges to lists, and new nodes behind those that there are.
    fn extend(&mut self, draft: &mut PageDraft, lists: &mut [Vec<NodeId>], rows: &NodeRows) {
        let (base, map) = (self.patch.base.node_count, self.codec.map());
        let alone = map.holds_vectors_alone(draft.page);
        for node in map.nodes_of(draft.page).filter(|node| *node >= base) {
            let at = (node - base) as usize;
            if map.holds_vectors(draft.page) {
                draft.push_vector(&VectorPart {
                    bytes: self.patch.row(at),
                    row: node,
                    user_id: self.patch.ids.get(at).copied().unwrap_or(0),
                });
            }
            if !alone {
                let list = lists.get_mut(at).map(std::mem::take).unwrap_or_default();
                self.written.0 += list.len() as i64;
                draft.lists.push(list);
            }
        }
        for place in 0..draft.lists.len() {
            let node = NodeId(draft.first + place as u32);
            let edges = self.changes.to(node);
            let Some(mut list) = draft.lists.get_mut(place).map(std::mem::take) else {
                continue;
            };
            let before = list.len();
            let row = row_in(self.patch, (draft, place), rows);
            self.edges.add(row, &mut list, edges, rows);
            self.written.0 += list.len() as i64 - before as i64;
            if let Some(slot) = draft.lists.get_mut(place) {
                *slot = list;
            }
        }
    }

    fn count(&mut self, draft: &PageDraft) {
        let longest = draft.lists.iter().map(Vec::len).max();
        self.written.1 = self.written.1.max(longest.unwrap_or(0) as u32);
    }
}

/// The raw row of a node of a page, which that holds or which was read.
fn row_in<'r>(
    patch: &'r SegmentPatch<'_>,
    (draft, place): (&'r PageDraft, usize),
    rows: &'r NodeRows,
) -> &'r [u8] {
    match draft.row(place) {
        [] => patch.row_of(NodeId(draft.first + place as u32), rows),
        row => row,
    }
}
