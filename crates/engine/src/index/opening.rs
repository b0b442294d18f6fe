//! The memory of an index, divided over its segments before they are loaded.

use std::path::Path;

use pageway_store::{FileUuid, IoProbe, Vfs};

use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::WorkerSite;
use crate::execution::{IndexShape, Segment};
use crate::manifest::Manifest;
use crate::memory::{Ledger, MemoryPart};
use crate::options::OpenOptions;
use crate::plan::{WorkerPlan, list_size, quantizer_bytes, reserve_fixed, room_for_queries, share};
use crate::resolve::{self, CacheBytes, OpenPages, Source};
use crate::segment;

/// An index whose record files are open, and whose segments are not loaded yet.
pub(super) struct Opening<'o> {
    dir: &'o Path,
    manifest: &'o Manifest,
    parts: Vec<Part<'o>>,
    /// Workers of searches.
    plan: WorkerPlan,
}

/// A segment of it.
struct Part<'o> {
    source: Source<'o>,
    pages: OpenPages,
    /// What the scratch of a query must suit.
    shape: IndexShape,
}

impl<'o> Opening<'o> {
    /// Opens the record file of every segment.
    pub(super) fn new(
        (vfs, dir): (&'o dyn Vfs, &'o Path),
        manifest: &'o Manifest,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut parts = Vec::with_capacity(manifest.segments.len());
        for segment in &manifest.segments {
            let source = Source { vfs, dir, segment };
            parts.push(Part {
                source,
                pages: resolve::record_reader(source)?,
                shape: resolve::index_shape(&segment.spec, segment.node_count)?,
            });
        }
        let whole = (&manifest.spec, manifest.node_count());
        Ok(Self {
            dir,
            manifest,
            parts,
            plan: WorkerPlan::new(whole, options, list_size(manifest, options)?)?,
        })
    }

    /// Reserves what is held whatever is searched, and what searches are lent.
    pub(super) fn reserve(&self, ledger: &mut Ledger) -> Result<()> {
        let mut codebooks: Vec<FileUuid> = Vec::new();
        for Part { source, .. } in &self.parts {
            let segment = source.segment;
            reserve_fixed(ledger, (&segment.spec, segment.node_count));
            let codebook = segment.files.codebook.uuid;
            if !codebooks.contains(&codebook) {
                ledger.reserve(MemoryPart::Codebook, quantizer_bytes(&segment.spec));
                codebooks.push(codebook);
            }
        }
        let first = self.parts.first().ok_or_else(no_segment)?;
        let site = WorkerSite {
            segments: self.parts.iter().map(|part| part.shape),
            geometry: first.pages.reader.geometry(),
            backend: first.pages.reader.backend(),
        };
        let least = self.plan.least_bytes(|shape| site.bytes(shape));
        let wished = self.plan.wished_bytes(|shape| site.bytes(shape));
        ledger.reserve(MemoryPart::OneQuery, least);
        ledger
            .settle("opening this index")
            .map_err(|error| error.within(self.dir.display()))?;
        let room = room_for_queries(&self.manifest.segments, ledger.free());
        let more = wished.saturating_sub(least).min(room);
        ledger.reserve(MemoryPart::MoreQueries, more);
        Ok(())
    }

    /// How the reads of all segments reach the disk: they lie in one directory.
    ///
    /// # Errors
    /// `Corrupt` for an index of no segments.
    pub(super) fn probe(&self) -> Result<IoProbe> {
        let first = self.parts.first().map(|part| part.pages.probe.clone());
        first.ok_or_else(no_segment)
    }

    /// What the caches of each segment get of what is free: its lists where there is room for those
    /// of all, and of the rest a share by its rows.
    fn cache_shares(&self, free: u64) -> Vec<u64> {
        let segments = &self.manifest.segments;
        let lists: Option<Vec<u64>> = segments.iter().map(resolve::packed_list_bytes).collect();
        let fits = |lists: &Vec<u64>| lists.iter().sum::<u64>() <= free;
        let lists = lists.filter(fits).unwrap_or_default();
        let rest = free - lists.iter().sum::<u64>();
        let (mut base, rows) = (0, self.manifest.node_count());
        let of_lists = lists.into_iter().chain(std::iter::repeat(0));
        let shares = segments.iter().zip(of_lists).map(|(segment, lists)| {
            let own = base..base + segment.node_count;
            base = own.end;
            lists + share(rest, own, rows)
        });
        shares.collect()
    }

    /// Loads the segments: what is free goes to their caches. Quantizers of `others` that are the
    /// same are taken over.
    pub(super) fn load(self, ledger: &mut Ledger, others: &[Segment]) -> Result<Vec<Segment>> {
        let shares = self.cache_shares(ledger.free());
        let mut segments: Vec<Segment> = Vec::with_capacity(self.parts.len());
        for (Part { source, pages, .. }, share) in self.parts.into_iter().zip(shares) {
            let entry = source.segment;
            let caches = CacheBytes::divide(share, entry.spec.cache);
            let known = others.iter().chain(&segments);
            let segment = segment::load(source, pages, caches, known)?;
            let (nodes, cached_pages) = segment.cache_bytes();
            ledger.reserve(MemoryPart::CachedNodes, nodes);
            ledger.reserve(MemoryPart::CachedPages, cached_pages);
            segments.push(segment);
        }
        Ok(segments)
    }
}

fn no_segment() -> Error {
    Error::new(ErrorKind::Corrupt, "an index of no segments")
}
