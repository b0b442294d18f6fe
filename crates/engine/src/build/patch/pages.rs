//! Which pages are written, and where.

use std::borrow::Cow;

use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::NodeId;

use super::SegmentPatch;
use super::repair::ListChanges;
use super::writing::Writing;
use crate::error::Result;
use crate::execution::Parts;
use crate::layout::{PageCodec, PageMap, RecordCodec};
use crate::manifest::{FileKind, PatchFiles};
use crate::storage::Shadow;

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
        changes: &ListChanges,
    ) -> Result<WrittenPages> {
        let codec = self.codec()?;
        let map = codec.map();
        let touched = self.touched(map, changes);
        let writes_all = changes.sweeps() || self.writes_all(map, touched.len());
        let (pages, kind) = if writes_all {
            ((0..map.page_count()).collect(), FileKind::Records)
        } else {
            (touched, FileKind::Patch)
        };
        let mut writing = Writing::new(self, (coded, codec), changes)?;
        let file = writing.run(&pages, lists, (self.page_file(kind)?, writes_all))?;
        let (edges, longest) = writing.written();
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

    /// Whether so many nodes died that lists are rid of all of them, where nothing else does that.
    pub(super) fn is_dying(&self) -> bool {
        let swept = self.base.patched.map_or(0, |own| own.swept);
        let died = self.dead.len().saturating_sub(swept);
        self.base.spec.repair.is_sweep() && died > 0 && died >= self.base.node_count / DEAD_SHARE
    }

    /// Whether all pages are written, where so many change.
    fn writes_all(&self, map: PageMap, changed: usize) -> bool {
        let (pages, changed) = (u64::from(map.page_count()), changed as u64);
        let files = self.base.files.patches.as_ref();
        if files.map_or(0, |own| own.images.len()) >= MOST_FILES {
            return true;
        }
        if self.base.spec.overwrites_pages() {
            // In place each page is written twice, and never what others may read.
            let is_much = 2 * changed > pages.max(2 * GARBAGE_PAGES);
            return is_much || !self.base.files.records.growable;
        }
        let known = self.base.files.records.units + u64::from(self.shadow().images_count());
        let garbage = (known + changed).saturating_sub(pages);
        garbage > (pages / GARBAGE_SHARE).max(GARBAGE_PAGES)
    }

    /// Pages with lists that change, and those that get new nodes, ascending.
    fn touched(&self, map: PageMap, changes: &ListChanges) -> Vec<u32> {
        let asked = changes.nodes().map(|node| map.page_of(node).0);
        let new = (self.base.node_count..map.node_count).map(NodeId);
        let grown = new.flat_map(|node| [map.page_of(node).0, map.vector_page_of(node).0]);
        let mut pages: Vec<u32> = asked.chain(grown).collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Which pages have images, as the manifest has it: what is open may read some that were put in
    /// place since from the journal still.
    fn shadow(&self) -> Cow<'_, Shadow> {
        match self.base.files.patches {
            Some(_) => Cow::Borrowed(self.open.pages.shadow()),
            None => Cow::Owned(Shadow::default()),
        }
    }

    fn page_file(&self, kind: FileKind) -> Result<PageFileWriter> {
        let path = self.dir.join(kind.file_name(self.generation, None));
        let geometry = self.open.pages.geometry();
        let uuid = kind.uuid_beside(self.base.files.identity(), self.generation);
        let vfs = self.vfs.as_ref();
        let kind = kind as u16;
        Ok(PageFileWriter::create(vfs, &path, kind, geometry, uuid)?)
    }

    /// Images with a file of further ones, and a map of all.
    fn images(&self, pages: &[u32], file: FileEntry) -> Result<PatchFiles> {
        let known = self.base.files.patches.as_ref();
        let mut images = known.map_or_else(Vec::new, |own| own.images.clone());
        images.push(file);
        let mut map = self.blob(FileKind::PatchMap)?;
        map.write(&self.shadow().extended(pages))?;
        let map = map.finish()?;
        Ok(PatchFiles { map, images })
    }
}
