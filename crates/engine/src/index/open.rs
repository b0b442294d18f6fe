//! Opening: the memory budget is divided first, then things are loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{IoBackend, IoProbe, OsVfs, Vfs};
use serde::Serialize;

use super::pool::WorkerPool;
use super::{Index, MAX_INTERLEAVE, Manifest};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::{WorkerShape, WorkerSite};
use crate::execution::{IndexShape, Sizes};
use crate::memory::Ledger;
use crate::options::{Effort, OpenOptions, SearchOptions};
use crate::resolve::{self, CacheBytes, Source};
use crate::spec::{EntrySpec, IndexSpec};
use crate::storage::{CodeBlocks, Identities};

/// List size that searches are assumed to use when nobody says: enough for high recall on most
/// data.
const ASSUMED_LIST_SIZE: u32 = 200;
/// Results per query that memory is set aside for.
const ASSUMED_K: u32 = 100;
/// Times a reader starts over when a rebuild replaces the files under its hands.
const ATTEMPTS: u32 = 5;

/// How reads reach the disk, and why that way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
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
pub struct MemoryReport {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Reserved bytes by part.
    pub parts: Vec<(&'static str, u64)>,
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
        let source = Source {
            vfs: vfs.as_ref(),
            dir,
            manifest: &manifest,
        };
        let pages = resolve::record_reader(source)?;
        let probe = pages.probe.clone();
        let subject = (&manifest.spec, manifest.node_count);
        let plan = WorkerPlan::new(subject, options, list_size(&manifest, options)?)?;
        let site = WorkerSite {
            segments: std::iter::once(resolve::index_shape(subject.0, subject.1)?),
            geometry: pages.reader.geometry(),
            backend: pages.reader.backend(),
        };
        let mut ledger = fixed_memory(subject, budget);
        let least = plan.least_bytes(|shape| site.bytes(shape));
        ledger.reserve("one query", least);
        ledger
            .settle("opening this index")
            .map_err(|error| error.within(dir.display()))?;
        let wished = (site.bytes(&plan.wished) * plan.threads).max(site.bytes(&plan.range));
        let more = wished.saturating_sub(least);
        let more = more.min(room_for_queries(&manifest, ledger.free()));
        ledger.reserve("more queries in flight", more);
        let pool = WorkerPool::new(ledger.entries().iter().rev().take(2).map(|(_, b)| b).sum());
        let caches = CacheBytes::divide(ledger.free(), manifest.spec.cache);
        let codebook = manifest.files.codebook.uuid;
        let others = other.into_iter().flat_map(|other| &other.segments);
        let shared = others
            .filter(|segment| segment.codebook == codebook)
            .map(|segment| segment.parts.quantizer())
            .next();
        let searcher = resolve::searcher(source, pages, caches, shared)?;
        let (nodes, cached_pages) = searcher.cache_bytes();
        ledger.reserve("cached nodes", nodes);
        ledger.reserve("cached pages", cached_pages);
        Ok(Self {
            vfs: Arc::clone(vfs),
            dir: PathBuf::from(dir),
            manifest,
            segments: vec![searcher],
            pool,
            ledger,
            probe,
            lanes: (plan.threads as usize, options.interleave.max(1)),
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
            cached_edge_bits: caches().find_map(|cache| cache.nodes.edge_bits()),
            searches_peak_bytes: self.pool.peak(),
            workers_made: self.pool.made(),
        }
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

/// What more queries in flight may take of what is free: all where there is no cache; half, or what
/// all lists leave where memory holds those; caches take the rest.
fn room_for_queries(manifest: &Manifest, free: u64) -> u64 {
    if manifest.spec.cache.is_none() {
        return free;
    }
    let lists = resolve::packed_list_bytes(manifest);
    let beside_lists = lists.and_then(|lists| free.checked_sub(lists));
    beside_lists.unwrap_or(free / 2)
}

/// What an index holds whatever is searched.
pub(crate) fn fixed_memory((spec, node_count): (&IndexSpec, u32), budget: u64) -> Ledger {
    let mut ledger = Ledger::new(budget);
    let storage = &spec.storage;
    let code_bytes = u64::from(storage.quantizer.code_bytes());
    let in_memory = u64::from(storage.codes_in_memory(node_count));
    let codes = if spec.execution.entry == EntrySpec::Clusters {
        CodeBlocks::bytes(in_memory, code_bytes)
    } else {
        in_memory * code_bytes
    };
    ledger.reserve("codes", codes);
    ledger.reserve("codebook", resolve::codebook_bytes(spec));
    if let Some(second) = storage.second_codes_in_memory() {
        let codes = u64::from(node_count) * u64::from(second.code_bytes());
        ledger.reserve("second codes", codes);
    }
    let entry = resolve::entry_bytes(spec, node_count);
    let identities = Identities::bytes(spec, node_count);
    for (part, bytes) in [("entry", entry), ("identities", identities)] {
        if bytes > 0 {
            ledger.reserve(part, bytes);
        }
    }
    ledger
}

/// The smallest memory that an index of this spec can be opened with, wherever it is opened: with
/// threads for reads, or a ring for one at a time.
pub(crate) fn least_memory(subject: (&IndexSpec, u32)) -> Result<Ledger> {
    let mut ledger = fixed_memory(subject, u64::MAX);
    let plan = WorkerPlan::assumed(subject)?;
    let bytes = |backend| -> Result<u64> {
        let site = site_of(subject, backend)?;
        Ok(plan.least_bytes(|shape| site.bytes(shape)))
    };
    let one_query = bytes(IoBackend::Threads)?.max(bytes(IoBackend::Uring)?);
    ledger.reserve("one query", one_query);
    Ok(ledger)
}

/// Memory of further queries in flight on one thread, as an index is opened by default.
pub(crate) fn more_queries(subject: (&IndexSpec, u32)) -> Result<u64> {
    let plan = WorkerPlan::assumed(subject)?;
    let site = site_of(subject, IoBackend::Uring)?;
    Ok(site
        .bytes(&plan.compact)
        .saturating_sub(site.bytes(&plan.least)))
}

/// What the bytes of workers over one segment depend on.
fn site_of(
    (spec, node_count): (&IndexSpec, u32),
    backend: IoBackend,
) -> Result<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
    Ok(WorkerSite {
        segments: std::iter::once(resolve::index_shape(spec, node_count)?),
        geometry: resolve::codec(spec, node_count)?.map().geometry,
        backend,
    })
}

/// Memory for searches: the least that works, and what is wished for.
pub(crate) struct WorkerPlan {
    least: WorkerShape,
    /// The same where a range search begins with a shorter list.
    growing: WorkerShape,
    /// All queries in flight that are wished for, with few buffers.
    compact: WorkerShape,
    wished: WorkerShape,
    /// A range search as wide as its options are by default.
    range: WorkerShape,
    threads: u64,
}

impl WorkerPlan {
    fn new(subject: (&IndexSpec, u32), options: &OpenOptions, list_size: u32) -> Result<Self> {
        let beam = options
            .beam
            .unwrap_or_else(|| subject.0.execution.schedule.beam());
        let results = ASSUMED_K.max(options.k);
        let nodes = subject.1;
        let listed = sizes(nodes, (results, list_size, list_size), beam)?;
        let interleave = options.interleave.clamp(1, MAX_INTERLEAVE) as usize;
        let shorter = shorter_list(list_size.min(subject.1), options.k);
        let growing = sizes(nodes, (results, shorter, list_size), beam)?;
        let limit = SearchOptions::RANGE_LIMIT;
        let range = sizes(nodes, (limit, SearchOptions::RANGE_LIST_SIZE, limit), beam)?;
        Ok(Self {
            least: WorkerShape::compact(1, listed),
            growing: WorkerShape::compact(1, growing),
            compact: WorkerShape::compact(interleave, listed),
            wished: WorkerShape::roomy(interleave, listed),
            range: WorkerShape::roomy(1, range),
            threads: thread_count(options.threads) as u64,
        })
    }

    /// What is set aside where nobody says what is to come.
    fn assumed(subject: (&IndexSpec, u32)) -> Result<Self> {
        Self::new(subject, &OpenOptions::default(), ASSUMED_LIST_SIZE)
    }

    /// Memory of one query, of either kind.
    fn least_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        bytes(&self.least).max(bytes(&self.growing))
    }
}

/// The list that memory is set aside for.
fn list_size(manifest: &Manifest, options: &OpenOptions) -> Result<u32> {
    Ok(match options.effort {
        None => ASSUMED_LIST_SIZE,
        Some(Effort::ListSize(size)) => size,
        Some(Effort::Recall(recall)) => {
            let k = options.k.clamp(1, manifest.node_count);
            manifest.calibration.list_size_for(k, recall)?
        }
    })
}

/// The list that takes most memory of those that a search may begin with and have grown to
/// `longest`. None shorter where fewer results are wanted than candidates: that is no range search.
fn shorter_list(longest: u32, results: u32) -> u32 {
    if results >= longest {
        longest.saturating_sub(1).max(1)
    } else {
        longest
    }
}

/// Sizes of a query of an index of so many nodes: results, a candidate list of this size, and one
/// that it may grow to.
pub(crate) fn sizes(
    node_count: u32,
    (results, list_size, list_limit): (u32, u32, u32),
    beam: u32,
) -> Result<Sizes> {
    let most = crate::spec::MAX_BEAM;
    if !(1..=most).contains(&beam) {
        return Err(Error::invalid(format!(
            "beam = {beam}: give 1 to {most} reads in flight"
        )));
    }
    Ok(Sizes {
        results: results.min(node_count) as usize,
        list_size: list_size.min(node_count) as usize,
        list_limit: list_limit.max(list_size).min(node_count) as usize,
        beam: beam as usize,
    })
}

/// 0 means all cores.
pub(crate) fn thread_count(wished: usize) -> usize {
    if wished > 0 {
        return wished;
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
