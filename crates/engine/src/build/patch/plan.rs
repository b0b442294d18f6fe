//! Which pages are written, and how.
//!
//! ```text
//! differ  pages with room for new nodes are images, of the others bytes that change are kept
//! images  those that changed since they were last written, once that is a better use of bytes
//! all     to a file of their own, where too much of what lies on disk would be of no use
//! ```

use pageway_types::NodeId;

use super::SegmentPatch;
use super::repair::ListChanges;
use crate::layout::PageMap;
use crate::spec::QuantizerSpec;
use crate::storage::DIFFERENCE_BYTES;

/// One in so many pages on disk may be of no use.
const GARBAGE_SHARE: u64 = 5;
/// And so many always.
const GARBAGE_PAGES: u64 = 64;
/// Files of images, at most.
const MOST_FILES: usize = 8;
/// Lists are rid of dead nodes when one in so many nodes died since they last were.
const DEAD_SHARE: u32 = 16;
/// Bytes that a page differs by for an edge more, about: a neighbour, a degree, and where they are.
const EDGE_BYTES: u64 = 10;
/// Memory for differences: one byte for so many of codes, and of pages.
const CODES_SHARE: u64 = 8;
const PAGES_SHARE: u64 = 64;
/// And as many bytes always.
const LEAST_BYTES: u64 = 4096;

/// What is done with pages that change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pages {
    /// What they differ by is written, and images of those that new nodes come to.
    Differ,
    /// Images of them, and of those that differed before.
    Images {
        /// Whether those of all files of images are among them, which are of no use then.
        gathers: bool,
    },
    /// All pages are written.
    All,
}

/// Pages, ascending.
pub(super) struct PagePlan {
    pub(super) kind: Pages,
    pub(super) pages: Vec<u32>,
}

impl SegmentPatch<'_> {
    /// Which pages are written, and how.
    pub(super) fn page_plan(&self, map: PageMap, changes: &ListChanges) -> PagePlan {
        let new = (self.base.node_count..map.node_count).map(NodeId);
        let grown = new.flat_map(|node| [map.page_of(node).0, map.vector_page_of(node).0]);
        let grown = ascending(grown.collect());
        let asked = changes.nodes().map(|node| map.page_of(node).0);
        let touched = ascending(asked.chain(grown.iter().copied()).collect());
        let known = self.open.pages.differences().pages();
        let all_changed = ascending(touched.iter().chain(known).copied().collect());
        let all = || PagePlan {
            kind: Pages::All,
            pages: (0..map.page_count()).collect(),
        };
        if changes.sweeps() {
            return all();
        }
        let files = self.base.files.patches.as_ref();
        let is_many = files.map_or(0, |own| own.images.len()) >= MOST_FILES;
        let differs = self.differs((map, changes), (touched.len(), all_changed.len()));
        let images = if differs { &grown } else { &all_changed };
        if self.writes_all(map, (images.len(), is_many)) {
            return all();
        }
        if differs && !is_many {
            return PagePlan {
                kind: Pages::Differ,
                pages: touched,
            };
        }
        let shadow = self.shadow();
        let others: &[u32] = if is_many { shadow.pages() } else { &[] };
        PagePlan {
            kind: Pages::Images { gathers: is_many },
            pages: ascending(all_changed.iter().chain(others).copied().collect()),
        }
    }

    /// Whether so many nodes died that lists are rid of all of them, where nothing else does that.
    pub(super) fn is_dying(&self) -> bool {
        let swept = self.base.patched.map_or(0, |own| own.swept);
        let died = self.dead.len().saturating_sub(swept);
        self.base.spec.repair.is_sweep() && died > 0 && died >= self.base.node_count / DEAD_SHARE
    }

    /// Whether bytes that change are written, and not their pages: as long as memory has room for
    /// all of them, and as long as what was written of them, which is written anew each time, is
    /// less than the pages would be.
    fn differs(
        &self,
        (map, changes): (PageMap, &ListChanges),
        (touched, all_changed): (usize, usize),
    ) -> bool {
        let (spec, added) = (&self.base.spec, self.base.files.additions.as_ref());
        let known = self.base.files.differences();
        let known = known.map_or(0, |file| file.payload_bytes);
        let coming = changes.edges() as u64 * EDGE_BYTES
            + changes.losing() as u64 * EDGE_BYTES
            + touched as u64 * DIFFERENCE_BYTES;
        let unit_bytes = map.geometry.unit_bytes() as u64;
        let pages = u64::from(map.page_count()) * unit_bytes;
        let second = spec.storage.second_codes_in_memory();
        let second = second.map_or(0, QuantizerSpec::code_bytes);
        let codes = u64::from(spec.storage.quantizer.code_bytes() + second);
        let codes = codes * u64::from(map.node_count);
        let most = (codes / CODES_SHARE).min(pages / PAGES_SHARE);
        let most = most.max(LEAST_BYTES);
        let times = if spec.overwrites_pages() { 2 } else { 1 };
        let written = added.map_or(0, |own| own.written_bytes);
        known + coming <= most && written < all_changed as u64 * unit_bytes * times
    }

    /// Whether all pages are written, with so many images more.
    fn writes_all(&self, map: PageMap, (images, is_many): (usize, bool)) -> bool {
        let (pages, images) = (u64::from(map.page_count()), images as u64);
        if self.base.spec.overwrites_pages() {
            // In place each page is written twice, and never what others may read.
            let is_much = 2 * images > pages.max(2 * GARBAGE_PAGES);
            return is_much || is_many || !self.base.files.records.growable;
        }
        let known = if is_many {
            self.shadow().pages().len() as u64
        } else {
            self.shadow().images_count().into()
        };
        let garbage = (self.base.files.records.units + known + images).saturating_sub(pages);
        garbage > (pages / GARBAGE_SHARE).max(GARBAGE_PAGES)
    }
}

fn ascending(mut pages: Vec<u32>) -> Vec<u32> {
    pages.sort_unstable();
    pages.dedup();
    pages
}
