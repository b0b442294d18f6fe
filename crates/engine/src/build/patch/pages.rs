//! Pages as they are, and as they will be.

use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::{NodeId, PageId};

use super::super::rewrite::Keeping;
use super::SegmentPatch;
use super::edges::{EdgeWriter, EdgesBack};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::layout::{
    NodeFeed, PageCodec, PageMap, PageView, RecordCodec, UnpackedList, VectorPart,
};
use crate::manifest::{FileKind, PatchFiles};
use crate::storage::gather;

/// Pages that are worked on together.
const BATCH_PAGES: usize = 256;
/// One in so many pages on disk may be of no use.
const GARBAGE_SHARE: u64 = 5;
/// And so many always.
const GARBAGE_PAGES: u64 = 64;
/// Files of images, at most.
const MOST_FILES: usize = 8;
/// Lists are rid of dead nodes when one in so many nodes died since they last were.
const DEAD_SHARE: u32 = 16;

/// What was written.
pub(super) struct WrittenPages {
    pub(super) files: PageFiles,
    /// Edges that there are more, or fewer.
    pub(super) edges: i64,
    /// Neighbours of the longest list that was written.
    pub(super) longest: u32,
}

pub(super) enum PageFiles {
    /// All pages, in a file of their own.
    Whole(FileEntry),
    /// Images of some.
    Images(PatchFiles),
}

impl WrittenPages {
    /// Bytes of what was written.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(match &self.files {
            PageFiles::Whole(records) => records.file_bytes()?,
            PageFiles::Images(patches) => {
                let last = patches.images.last().map_or(Ok(0), FileEntry::file_bytes)?;
                last + patches.map.file_bytes()?
            }
        })
    }
}

impl SegmentPatch<'_> {
    /// Writes the pages that change, those of new nodes, or all.
    pub(super) fn pages(
        &self,
        coded: (&Parts<RecordCodec>, &[u8]),
        lists: &mut [Vec<NodeId>],
        edges: &EdgesBack,
    ) -> Result<WrittenPages> {
        let codec = RecordCodec::new(&self.base.spec, self.total()?)?;
        let map = codec.map();
        let touched = touched(coded.0.codec.map(), map, edges);
        let writes_all = self.writes_all(map, touched.len());
        let pages = if writes_all {
            (0..map.page_count()).collect()
        } else {
            touched
        };
        let kind = if writes_all {
            FileKind::Records
        } else {
            FileKind::Patch
        };
        let mut writing = Writing {
            patch: self,
            parts: coded.0,
            codec,
            edges: EdgeWriter::new(self, coded)?,
            back: edges,
            written: (0, 0),
        };
        let file = writing.run(&pages, lists, (self.page_file(kind)?, writes_all))?;
        let (edges, longest) = writing.written;
        let files = if writes_all {
            PageFiles::Whole(file)
        } else {
            PageFiles::Images(self.images(&pages, file)?)
        };
        Ok(WrittenPages {
            files,
            edges,
            longest,
        })
    }

    /// Whether all pages are written, where so many change.
    fn writes_all(&self, map: PageMap, changed: usize) -> bool {
        let pages = u64::from(map.page_count());
        let shadow = self.open.pages.shadow();
        let known = self.base.files.records.units + u64::from(shadow.images_count());
        let garbage = (known + changed as u64).saturating_sub(pages);
        let files = self.base.files.patches.as_ref();
        let files = files.map_or(0, |own| own.images.len());
        let swept = self.base.patched.map_or(0, |own| own.swept);
        let died = self.dead.len().saturating_sub(swept);
        garbage > (pages / GARBAGE_SHARE).max(GARBAGE_PAGES)
            || files >= MOST_FILES
            || (died > 0 && died >= self.base.node_count / DEAD_SHARE)
    }

    fn page_file(&self, kind: FileKind) -> Result<PageFileWriter> {
        let path = self.dir.join(kind.file_name(self.generation, None));
        let geometry = self.open.pages.geometry();
        let uuid = kind.uuid_beside(self.base.files.identity(), self.generation);
        let vfs = self.vfs.as_ref();
        Ok(PageFileWriter::create(
            vfs,
            &path,
            kind as u16,
            geometry,
            uuid,
        )?)
    }

    /// Images with a file of further ones, and a map of all.
    fn images(&self, pages: &[u32], file: FileEntry) -> Result<PatchFiles> {
        let known = self.base.files.patches.as_ref();
        let mut images = known.map_or_else(Vec::new, |own| own.images.clone());
        images.push(file);
        let mut map = self.blob(FileKind::PatchMap)?;
        map.write(&self.open.pages.shadow().extended(pages))?;
        let map = map.finish()?;
        Ok(PatchFiles { map, images })
    }
}

/// Pages with nodes that edges are asked of, and those that get new nodes, ascending.
fn touched(old: PageMap, new: PageMap, edges: &EdgesBack) -> Vec<u32> {
    let grown = old.node_count / old.nodes_per_page..new.page_count();
    let asked = edges.nodes().map(|node| new.page_of(node).0);
    let mut pages: Vec<u32> = asked.chain(grown).collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// Pages on their way.
struct Writing<'w> {
    patch: &'w SegmentPatch<'w>,
    parts: &'w Parts<RecordCodec>,
    /// Of the segment with its new nodes.
    codec: RecordCodec,
    edges: EdgeWriter<'w>,
    back: &'w EdgesBack,
    /// Edges that there are more, and neighbours of the longest list.
    written: (i64, u32),
}

impl Writing<'_> {
    fn run(
        &mut self,
        pages: &[u32],
        lists: &mut [Vec<NodeId>],
        (mut file, sweeps): (PageFileWriter, bool),
    ) -> Result<FileEntry> {
        let row_of = |node: NodeId| self.patch.lives(node).then_some(node.0);
        let mut keeping = Keeping::new(self.patch.source(), &row_of)?;
        let progress = self.patch.progress;
        progress.stage("write records", pages.len() as u64);
        let mut payload = Vec::new();
        for batch in pages.chunks(BATCH_PAGES) {
            progress.check()?;
            let mut drafts = self.read(batch)?;
            for draft in &mut drafts {
                if sweeps {
                    self.sweep(draft, &mut keeping)?;
                }
                self.extend(draft, lists);
                self.count(draft);
                payload.clear();
                self.codec.encode(draft.page, draft, &mut payload)?;
                file.append_unit(&payload)?;
            }
            progress.advance(batch.len() as u64);
        }
        Ok(file.finish()?)
    }

    /// The nodes of some pages, as they are.
    fn read(&self, batch: &[u32]) -> Result<Vec<PageDraft>> {
        let (codec, row_bytes) = (
            &self.parts.codec,
            self.patch.base.spec.shape.vectors().row_bytes(),
        );
        let old = codec.map().page_count();
        let known: Vec<PageId> = batch
            .iter()
            .copied()
            .filter(|page| *page < old)
            .map(PageId)
            .collect();
        let mut drafts: Vec<PageDraft> = batch
            .iter()
            .map(|page| PageDraft::new(PageId(*page), self.codec.map(), row_bytes))
            .collect();
        gather(&self.patch.open.pages, &known, &mut |at, payload| {
            let Some((page, draft)) = known.get(at).zip(drafts.get_mut(at)) else {
                return Ok(());
            };
            let view = codec.view(*page, payload)?;
            let mut unpacked = UnpackedList::new();
            for node in codec.map().nodes_of(*page).map(NodeId) {
                let record = view.record(node)?;
                let (list, _) = record.list.unpack(&mut unpacked)?;
                draft.push(&view.vector(node)?, list.iter().collect());
            }
            Ok(())
        })?;
        Ok(drafts)
    }

    /// Puts neighbours of the dead in their places.
    fn sweep(&mut self, draft: &mut PageDraft, keeping: &mut Keeping<'_>) -> Result<()> {
        let before: usize = draft.lists.iter().map(Vec::len).sum();
        keeping.load_dead(&draft.lists)?;
        for (node, list) in (draft.first..).zip(&mut draft.lists) {
            if list.iter().any(|other| !self.patch.lives(*other)) {
                *list = keeping.repaired(NodeId(node), list);
            }
        }
        let after: usize = draft.lists.iter().map(Vec::len).sum();
        self.written.0 += after as i64 - before as i64;
        Ok(())
    }

    /// Adds edges to lists, and new nodes behind those that there are.
    fn extend(&mut self, draft: &mut PageDraft, lists: &mut [Vec<NodeId>]) {
        let base = self.patch.base.node_count;
        for node in self
            .codec
            .map()
            .nodes_of(draft.page)
            .filter(|node| *node >= base)
        {
            let at = (node - base) as usize;
            let user_id = self.patch.ids.get(at).copied().unwrap_or(0);
            let vector = VectorPart {
                bytes: self.patch.row(at),
                row: node,
                user_id,
            };
            let list = lists.get_mut(at).map(std::mem::take);
            let list = list.unwrap_or_default();
            self.written.0 += list.len() as i64;
            draft.push(&vector, list);
        }
        let rows = draft.rows.chunks_exact(draft.row_bytes);
        for ((node, row), list) in (draft.first..).zip(rows).zip(&mut draft.lists) {
            let before = list.len();
            self.edges.add(row, list, self.back.to(NodeId(node)));
            self.written.0 += list.len() as i64 - before as i64;
        }
    }

    fn count(&mut self, draft: &PageDraft) {
        let longest = draft.lists.iter().map(Vec::len).max();
        self.written.1 = self.written.1.max(longest.unwrap_or(0) as u32);
    }
}

/// The nodes of a page.
struct PageDraft {
    page: PageId,
    /// Its first node.
    first: u32,
    row_bytes: usize,
    rows: Vec<u8>,
    /// Row and user id.
    identities: Vec<(u32, u64)>,
    lists: Vec<Vec<NodeId>>,
}

impl PageDraft {
    fn new(page: PageId, map: PageMap, row_bytes: usize) -> Self {
        Self {
            page,
            first: map.nodes_of(page).start,
            row_bytes,
            rows: Vec::new(),
            identities: Vec::new(),
            lists: Vec::new(),
        }
    }

    fn push(&mut self, vector: &VectorPart<'_>, list: Vec<NodeId>) {
        self.rows.extend_from_slice(vector.bytes);
        self.identities.push((vector.row, vector.user_id));
        self.lists.push(list);
    }

    fn place(&self, node: NodeId) -> Result<usize> {
        let at = node.0.checked_sub(self.first).map(|at| at as usize);
        at.filter(|at| *at < self.lists.len())
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a node of another page"))
    }
}

impl NodeFeed for PageDraft {
    fn vector(&self, node: NodeId) -> Result<VectorPart<'_>> {
        let at = self.place(node)?;
        let bytes = self
            .rows
            .get(at * self.row_bytes..(at + 1) * self.row_bytes);
        let (row, user_id) = self.identities.get(at).copied().unwrap_or_default();
        Ok(VectorPart {
            bytes: bytes.unwrap_or_default(),
            row,
            user_id,
        })
    }

    fn neighbors(&self, node: NodeId) -> Result<&[NodeId]> {
        let list = self.lists.get(self.place(node)?);
        Ok(list.map_or(&[], Vec::as_slice))
    }

    fn fine_code(&self, _: NodeId) -> Result<&[u8]> {
        Err(no_codes())
    }

    fn code(&self, _: NodeId) -> Result<&[u8]> {
        Err(no_codes())
    }

    fn replicas(&self, _: NodeId) -> Result<&[NodeId]> {
        Ok(&[])
    }
}

fn no_codes() -> Error {
    Error::new(ErrorKind::Internal, "records of this design hold no codes")
}
