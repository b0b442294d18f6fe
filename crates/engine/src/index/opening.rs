//! The memory of an index, divided over its segments before they are loaded.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{FileUuid, IoProbe, OpenMode, Vfs};

use crate::error::Result;
use crate::execution::driver::{WorkerSite, largest_read};
use crate::execution::{IndexShape, LoadedSegment, Segment};
use crate::manifest::Manifest;
use crate::memory::{Ledger, MemoryPart};
use crate::options::OpenOptions;
use crate::plan::{
    WorkerPlan, calibrated_list, list_size, quantizer_bytes, reserve_fixed, room_for_queries, share,
};
use crate::resolve::{self, CacheBytes, OpenPages, Source};
use crate::segment;
use crate::storage::Region;

/// An index whose record files are open, and whose segments are not loaded yet.
pub(super) struct Opening<'o> {
    dir: &'o Path,
    manifest: &'o Manifest,
    parts: Vec<LoadedPart<'o>>,
    /// Workers of searches.
    plan: WorkerPlan,
}

/// A segment of it.
struct LoadedPart<'o> {
    source: Source<'o>,
    pages: OpenPages,
    /// The open segment, if there is one whose caches stay as they are.
    kept: Option<Arc<LoadedSegment>>,
    /// The shape that the scratch of a query must suit.
    shape: IndexShape,
}

/// Which lists memory is to hold, and bytes of all.
#[derive(Clone, Copy)]
enum HeldLists {
    Nothing,
    Some(u64),
    All(u64),
}

impl HeldLists {
    fn bytes(self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Some(lists) | Self::All(lists) => Some(lists),
        }
    }
}

impl LoadedPart<'_> {
    /// Cells of its region; 0 if rows are not cut by space.
    fn centres(&self) -> usize {
        let region = self.source.segment.files.region.as_ref();
        let bytes = region.map_or(0, |file| file.payload_bytes);
        Region::centres_in(bytes, self.source.segment.spec.shape.dimension.into()) as usize
    }
}

impl<'o> Opening<'o> {
    /// Opens the record file of every segment.
    pub(super) fn new(
        (vfs, dir): (&'o dyn Vfs, &'o Path),
        manifest: &'o Manifest,
        options: &OpenOptions,
        kept: &[Segment],
    ) -> Result<Self> {
        let mut parts = Vec::with_capacity(manifest.segments.len());
        let mode = if options.through_page_cache {
            OpenMode::ReadOwn
        } else {
            OpenMode::ReadDirect
        };
        for segment in &manifest.segments {
            let source = Source { vfs, dir, segment };
            let records = segment.files.identity();
            let kept = kept.iter().find(|other| other.records == records);
            parts.push(LoadedPart {
                source,
                kept: kept.map(|kept| Arc::clone(kept.loaded())),
                pages: resolve::record_pages(source, mode)?,
                shape: match kept {
                    Some(kept) => kept.shape,
                    None => resolve::index_shape(&segment.spec, segment.node_count)?,
                },
            });
        }
        let whole = (&manifest.spec, manifest.node_count());
        let list_size = list_size(manifest, options)?;
        let lists = (list_size, calibrated_list(manifest, options, list_size));
        Ok(Self {
            dir,
            manifest,
            parts,
            plan: WorkerPlan::new(whole, options, lists)?,
        })
    }

    /// Reserves the memory that is always held, and that which searches are lent.
    pub(super) fn reserve(&mut self, ledger: &mut Ledger) -> Result<()> {
        let mut codebooks: Vec<FileUuid> = Vec::new();
        for LoadedPart { source, .. } in &self.parts {
            let segment = source.segment;
            reserve_fixed(ledger, (&segment.spec, segment.node_count));
            if let Some(region) = &segment.files.region {
                ledger.reserve(MemoryPart::Entry, region.payload_bytes);
            }
            if segment.files.patch_bytes() > 0 {
                ledger.reserve(MemoryPart::Patches, segment.files.patch_bytes());
            }
            let codebook = segment.files.codebook.uuid;
            if !codebooks.contains(&codebook) {
                ledger.reserve(MemoryPart::Codebook, quantizer_bytes(&segment.spec));
                codebooks.push(codebook);
            }
        }
        for kept in self.parts.iter().filter_map(|part| part.kept.as_ref()) {
            reserve_caches(ledger, kept);
        }
        let held = self.hold_lists(ledger.free());
        let Some(site) = self.site() else {
            return ledger.settle("opening this index");
        };
        let least = self.plan.least_bytes(|shape| site.bytes(shape));
        let calibrated = self.plan.calibrated_bytes(|shape| site.bytes(shape));
        let wished = self.plan.wished_bytes(|shape| site.bytes(shape));
        ledger.reserve(MemoryPart::OneQuery, least);
        let mut needed = ledger.clone();
        if let HeldLists::All(lists) = held {
            needed.reserve(MemoryPart::Lists, lists);
        }
        needed
            .settle("opening this index")
            .map_err(|error| error.within(self.dir.display()))?;
        let free = ledger.free();
        let room = room_for_queries(&self.manifest.segments, held.bytes(), free);
        // Calibrated lists have room even if adjacency lists in memory would leave none.
        let needed = calibrated.saturating_sub(least).min(free);
        let more = wished.saturating_sub(least).min(room).max(needed);
        ledger.reserve(MemoryPart::MoreQueries, more);
        Ok(())
    }

    /// Whether memory is to hold all adjacency lists, so that walks keep no pages: if they fit into
    /// `free` beside one query, or if nothing less works.
    fn hold_lists(&mut self, free: u64) -> HeldLists {
        let new = || self.parts.iter().filter(|part| part.kept.is_none());
        let lists = new().map(|part| resolve::packed_list_bytes(part.source.segment));
        let Some(lists) = lists.sum::<Option<u64>>() else {
            return HeldLists::Nothing;
        };
        let (keeping, _) = self.one_query();
        let before: Vec<IndexShape> = self.parts.iter().map(|part| part.shape).collect();
        for part in self.parts.iter_mut().filter(|part| part.kept.is_none()) {
            part.shape = part.shape.with_lists();
        }
        let (least, calibrated) = self.one_query();
        let is_least = keeping > free && lists.saturating_add(least) <= keeping;
        if is_least || lists.saturating_add(least.max(calibrated)) <= free {
            return HeldLists::All(lists);
        }
        for (part, shape) in self.parts.iter_mut().zip(before) {
            part.shape = shape;
        }
        HeldLists::Some(lists)
    }

    /// Memory of one query, and of one with the list that was calibrated for a high recall.
    fn one_query(&self) -> (u64, u64) {
        self.site().map_or((0, 0), |site| {
            let least = self.plan.least_bytes(|shape| site.bytes(shape));
            (least, self.plan.calibrated_bytes(|shape| site.bytes(shape)))
        })
    }

    /// The site that the bytes of workers depend on; `None` without segments.
    fn site(&self) -> Option<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
        let records = &self.parts.first()?.pages.records;
        let geometries = self.parts.iter().map(|part| part.pages.records.geometry());
        Some(WorkerSite {
            segments: self.parts.iter().map(|part| part.shape),
            centres: self.parts.iter().map(LoadedPart::centres).sum(),
            geometry: largest_read(geometries)?,
            backend: records.backend(),
        })
    }

    /// Bytes of the largest caches, with their tables.
    pub(super) fn cached_bytes(&self) -> u64 {
        let segments = self.manifest.segments.iter();
        let records = segments.map(|segment| segment.files.records.payload_bytes);
        2 * records.sum::<u64>()
    }

    /// How the reads of all segments reach the disk: they lie in one directory.
    /// Nothing without segments.
    pub(super) fn probe(&self) -> Option<IoProbe> {
        self.parts.first().map(|part| part.pages.probe.clone())
    }

    /// The part of `free` for the caches of each segment: its lists, if there is room for those of
    /// all, and a share of the rest by its rows. 0 for caches that are kept.
    fn cache_shares(&self, free: u64) -> Vec<u64> {
        let new = || self.parts.iter().filter(|part| part.kept.is_none());
        let segments = || new().map(|part| part.source.segment);
        let lists: Option<Vec<u64>> = segments().map(resolve::packed_list_bytes).collect();
        let fits = |lists: &Vec<u64>| lists.iter().sum::<u64>() <= free;
        let lists = lists.filter(fits).unwrap_or_default();
        let rest = free - lists.iter().sum::<u64>();
        let rows = segments().map(|segment| segment.node_count).sum();
        let (mut base, mut lists) = (0, lists.into_iter());
        let shares = self.parts.iter().map(|part| {
            if part.kept.is_some() {
                return 0;
            }
            let own = base..base + part.source.segment.node_count;
            base = own.end;
            lists.next().unwrap_or(0) + share(rest, own, rows)
        });
        shares.collect()
    }

    /// Loads the segments; free memory goes to the caches of those that are not kept. Takes over
    /// equal quantizers of `others`, and their dead rows if `writable`, which files may not hold
    /// yet.
    pub(super) fn load(
        self,
        ledger: &mut Ledger,
        others: &[Segment],
        writable: bool,
    ) -> Result<Vec<Segment>> {
        let shares = self.cache_shares(ledger.free());
        let mut segments: Vec<Segment> = Vec::with_capacity(self.parts.len());
        for (part, share) in self.parts.into_iter().zip(shares) {
            let source = part.source;
            let entry = source.segment;
            let loaded = if let Some(kept) = part.kept {
                kept
            } else {
                let caches = CacheBytes::divide(share, entry.spec.cache);
                let known = others.iter().chain(&segments).map(|other| &**other);
                let suited = (part.pages, part.shape);
                let loaded = segment::load(source, suited, caches, known)?;
                reserve_caches(ledger, &loaded);
                Arc::new(loaded)
            };
            let same = |other: &&Segment| other.records == entry.files.identity();
            let before = others.iter().find(same).filter(|_| writable);
            let dead = match before.and_then(|before| before.dead.clone()) {
                Some(dead) => Some(dead),
                None => segment::dead_set(source, writable)?.map(Arc::new),
            };
            segments.push(Segment::new(loaded, entry.first_row, dead));
        }
        Ok(segments)
    }
}

fn reserve_caches(ledger: &mut Ledger, segment: &LoadedSegment) {
    let (nodes, pages) = segment.cache_bytes();
    ledger.reserve(MemoryPart::CachedNodes, nodes);
    ledger.reserve(MemoryPart::CachedPages, pages);
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, NoProgress, SplitMix64, VectorShape};

    use crate::Index;
    use crate::memory::MemoryWish;
    use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
    use crate::source::VectorSlice;

    const SHAPE: VectorShape = VectorShape {
        dimension: 16,
        element: ElementType::U8,
    };

    #[test]
    fn the_least_memory_holds_a_search_for_as_many_as_were_announced() {
        let mut random = SplitMix64::new(4);
        let rows: Vec<u8> = (0..1500 * 16).map(|_| random.next_u64() as u8).collect();
        let dir = tempfile::tempdir().unwrap();
        let vectors = VectorSlice::new(&rows, SHAPE).unwrap();
        let build = BuildOptions {
            degree: 12,
            calibration_queries: Some(40),
            ..BuildOptions::default()
        };
        let input = BuildInput::new(&vectors, "rows");
        Index::build(dir.path(), &input, &build, &NoProgress).unwrap();
        let efforts = [None, Some(Effort::ListSize(50)), Some(Effort::Recall(0.9))];
        for (effort, k) in efforts
            .into_iter()
            .flat_map(|own| [(own, 300), (own, 1000)])
        {
            let announced = |memory| OpenOptions {
                memory: Some(MemoryWish::Bytes(memory)),
                effort,
                k,
                ..OpenOptions::default()
            };
            let open = |memory| Index::open(dir.path(), &announced(memory));
            let least = open(1).err().unwrap().least_named();
            assert!(open(least - 1).is_err());
            let index = open(least).unwrap();
            let mut options = SearchOptions::nearest(k);
            options.effort = effort.unwrap_or(options.effort);
            let query = Queries::new(&rows[..16], SHAPE);
            let found = index.search(&query, &options);
            found.unwrap_or_else(|error| panic!("{effort:?} {k}: {error}"));
        }
    }
}
