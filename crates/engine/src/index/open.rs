//! Opening: the memory budget is divided first, then things are loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{IoProbe, OsVfs, Vfs};
use serde::Serialize;

use super::Index;
use super::opening::Opening;
use super::pool::WorkerPool;
use crate::error::{ErrorKind, Result};
use crate::execution::driver::{WorkerShape, WorkerSite};
use crate::execution::{IndexShape, Segment};
use crate::manifest::Manifest;
use crate::memory::{Ledger, MemoryPart};
use crate::options::OpenOptions;
use crate::plan::FOR_SEARCHES;
use crate::threads::thread_count;

/// Times a reader starts over when a rebuild replaces the files under its hands.
const ATTEMPTS: u32 = 5;

/// How reads reach the disk, and why that way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct BackendReport {
    /// `uring`, `threads` or `blocking`.
    pub io_backend: &'static str,
    /// Why; when it is not io_uring, what to change to get it.
    pub reason: String,
    /// True when reads bypass the page cache.
    pub direct: bool,
}

impl From<IoProbe> for BackendReport {
    fn from(probe: IoProbe) -> Self {
        let IoProbe {
            backend,
            reason,
            direct,
        } = probe;
        Self {
            io_backend: backend.name(),
            reason,
            direct,
        }
    }
}

/// What an index holds in memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct MemoryReport {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Reserved bytes by part.
    pub parts: Vec<(MemoryPart, u64)>,
    /// Nodes whose record or list is in the node cache.
    pub cached_nodes: usize,
    /// Pages in the page cache.
    pub cached_pages: usize,
    /// Bits that a neighbour takes where memory holds lists, with what finds them.
    pub cached_edge_bits: Option<f64>,
    /// Most bytes that searches held at a time, of those set aside for them.
    pub searches_peak_bytes: u64,
    /// Lanes of reads that were made for searches so far: those of one capacity class share them.
    pub workers_made: u64,
}

impl MemoryReport {
    /// Bytes of one part.
    pub fn bytes_of(&self, part: MemoryPart) -> u64 {
        let own = self.parts.iter().filter(|(of, _)| *of == part);
        own.map(|(_, bytes)| bytes).sum()
    }
}

impl Index {
    /// Opens the index in `dir`.
    ///
    /// Reads the codes that memory holds and the codebook, and as many hot records, lists or pages
    /// as the budget leaves room for. A design that keeps nothing in memory reads a constant number
    /// of bytes, however many vectors there are.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt` or `Incompatible` as the files are; `InvalidInput` when the memory
    /// budget is too small, with the smallest that works.
    pub fn open(dir: &Path, options: &OpenOptions) -> Result<Self> {
        Self::open_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir, options)
    }

    /// As [`Index::open`], on a file system of the caller's.
    pub fn open_on(vfs: &Arc<dyn Vfs>, dir: &Path, options: &OpenOptions) -> Result<Self> {
        Self::open_sharing(vfs, dir, options, None)
    }

    /// Opens the index in `dir` in place of this one: what both have in common is not loaded again.
    ///
    /// Indexes of one vector space that were built with one codebook (`codebook_from`) share it.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn switch(&self, dir: &Path, options: &OpenOptions) -> Result<Self> {
        let vfs = Arc::clone(&self.vfs);
        Self::open_sharing(&vfs, dir, options, Some(self))
    }

    fn open_sharing(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        options: &OpenOptions,
        other: Option<&Self>,
    ) -> Result<Self> {
        let mut attempt = 1;
        loop {
            let manifest = Manifest::read(vfs.as_ref(), dir)?;
            match Self::open_manifest((vfs, dir), manifest, options, other) {
                // A rebuild may have removed the files of the manifest just read: read the new one.
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Opens an index whose manifest may not be committed yet.
    pub(crate) fn open_manifest(
        (vfs, dir): (&Arc<dyn Vfs>, &Path),
        manifest: Manifest,
        options: &OpenOptions,
        other: Option<&Self>,
    ) -> Result<Self> {
        let budget = options.memory.map_or(manifest.memory_bytes, |wish| {
            wish.resolve(manifest.raw_bytes())
        });
        let opening = Opening::new((vfs.as_ref(), dir), &manifest, options)?;
        let mut ledger = Ledger::new(budget);
        opening.reserve(&mut ledger)?;
        let pool = WorkerPool::new(ledger.reserved_for(&FOR_SEARCHES));
        let probe = opening.probe()?;
        let others = other.map_or(&[][..], |other| &other.segments);
        let segments = opening.load(&mut ledger, others)?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            dir: PathBuf::from(dir),
            manifest,
            segments,
            pool,
            ledger,
            probe,
            lanes: (thread_count(options.threads), options.interleave.max(1)),
        })
    }

    /// What this index holds in memory, part by part.
    pub fn memory(&self) -> MemoryReport {
        let caches = || self.segments.iter().map(|segment| segment.parts.cache());
        MemoryReport {
            budget_bytes: self.ledger.budget(),
            parts: self.ledger.entries().to_vec(),
            cached_nodes: caches().map(|cache| cache.nodes.len()).sum(),
            cached_pages: caches().map(|cache| cache.pages.len()).sum(),
            cached_edge_bits: self.cached_edge_bits(),
            searches_peak_bytes: self.pool.peak(),
            workers_made: self.pool.made(),
        }
    }

    /// The mean over all segments, by their rows.
    fn cached_edge_bits(&self) -> Option<f64> {
        let rows = f64::from(self.manifest.node_count());
        let of_segment = |segment: &Segment| {
            let bits = segment.parts.cache().nodes.edge_bits()?;
            Some(bits * (f64::from(segment.node_count()) / rows))
        };
        self.segments.iter().map(of_segment).sum()
    }

    /// What the bytes of its workers depend on.
    fn site(&self) -> Option<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
        let first = self.segments.first()?;
        Some(WorkerSite {
            segments: self.segments.iter().map(|segment| segment.shape),
            geometry: first.reader.geometry(),
            backend: first.reader.backend(),
        })
    }

    /// Bytes of a worker.
    pub(super) fn worker_bytes(&self, shape: &WorkerShape) -> u64 {
        self.site().map_or(u64::MAX, |site| site.bytes(shape))
    }

    /// How reads reach the disk.
    pub fn backend(&self) -> BackendReport {
        self.probe.clone().into()
    }
}
