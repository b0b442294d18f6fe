//! Pages to files: images with a map, what pages differ by, or all pages anew.

use std::borrow::Cow;

use pageway_store::{FileEntry, PageFileWriter};
use pageway_types::NodeId;

use super::SegmentPatch;
use super::all_codes::AllCodes;
use super::plan::Pages;
use super::repair::ListChanges;
use super::writing::Writing;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::layout::{PageCodec, RecordCodec};
use crate::manifest::{FileKind, PatchFiles};
use crate::storage::Shadow;

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
    /// Images of some, where any were written, and what others differ by.
    Changed {
        images: Option<PatchFiles>,
        differences: Option<FileEntry>,
    },
}

impl SegmentPatch<'_> {
    /// Writes the pages that change, those of new nodes, or all.
    pub(super) fn pages(
        &self,
        coded: (&Parts<RecordCodec>, AllCodes<'_>),
        lists: &mut [Vec<NodeId>],
        changes: &ListChanges,
    ) -> Result<WrittenPages> {
        let codec = self.codec()?;
        let plan = self.page_plan(codec.map(), changes);
        let kind = match plan.kind {
            Pages::All => FileKind::Records,
            Pages::Differ | Pages::Images { .. } => FileKind::Patch,
        };
        let mut writing = Writing::new(self, (coded, codec), changes)?;
        let out = writing.run(&plan, lists, &|| self.page_file(kind))?;
        let (edges, longest) = writing.written();
        let files = match (plan.kind, out.file) {
            (Pages::All, Some(file)) => PageFiles::Whole(file),
            (Pages::All, None) => {
                return Err(Error::new(ErrorKind::Internal, "a segment without pages"));
            }
            (kind, file) => {
                let gathers = kind == Pages::Images { gathers: true };
                let images = file.map(|file| self.images((&out.pages, file), gathers));
                let known = self.open.pages.differences();
                let differences = known.followed_by(&out.differ, &out.pages)?;
                PageFiles::Changed {
                    images: images.transpose()?,
                    differences: self.differences(&differences)?,
                }
            }
        };
        Ok(WrittenPages {
            files,
            edges,
            longest,
        })
    }

    /// Which pages have images, as the manifest has it: what is open may read some that were put in
    /// place since from the journal still.
    pub(super) fn shadow(&self) -> Cow<'_, Shadow> {
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

    /// Images with a file of further ones, or of all that are of use, and a map of them.
    fn images(&self, (pages, file): (&[u32], FileEntry), gathers: bool) -> Result<PatchFiles> {
        let known = self.base.files.patches.as_ref().filter(|_| !gathers);
        let mut images = known.map_or_else(Vec::new, |own| own.images.clone());
        images.push(file);
        let shadow = if gathers {
            Cow::Owned(Shadow::default())
        } else {
            self.shadow()
        };
        let mut map = self.blob(FileKind::PatchMap)?;
        map.write(&shadow.extended(pages))?;
        let map = map.finish()?;
        Ok(PatchFiles { map, images })
    }

    fn differences(&self, bytes: &[u8]) -> Result<Option<FileEntry>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut file = self.blob(FileKind::Differences)?;
        file.write(bytes)?;
        Ok(Some(file.finish()?))
    }
}
