//! Opening: the memory budget is divided first, then things are loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{IoBackend, IoProbe, OsVfs, Vfs};
use serde::Serialize;

use super::pool::WorkerPool;
use super::{Index, MAX_INTERLEAVE, Manifest, RangeOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::ScratchShape;
use crate::execution::driver::WorkerShape;
use crate::memory::{Ledger, MemoryPart};
use crate::options::OpenOptions;
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
/// Parts of the memory that are lent to searches.
const FOR_SEARCHES: [MemoryPart; 2] = [MemoryPart::OneQuery, MemoryPart::MoreQueries];

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
    pub parts: Vec<(MemoryPart, u64)>,
    /// Nodes whose record or list is in the node cache.
    pub cached_nodes: usize,
    /// Pages in the page cache.
    pub cached_pages: usize,
    /// Bits that a neighbour takes where memory holds lists, with what finds them.
    pub cached_edge_bits: Option<f64>,
    /// Most bytes that searches held at a time, of those set aside for them.
    pub searches_peak_bytes: u64,
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
        let source = Source {
            vfs: vfs.as_ref(),
            dir,
            manifest: &manifest,
        };
        let pages = resolve::record_reader(source)?;
        let probe = pages.probe.clone();
        let subject = (&manifest.spec, manifest.node_count);
        let plan = WorkerPlan::new(subject, options)?;
        let reader = &pages.reader;
        let mut ledger = fixed_memory(subject, budget);
        let least = plan.least_bytes(|shape| shape.bytes(reader));
        ledger.reserve(MemoryPart::OneQuery, least);
        ledger
            .settle("opening this index")
            .map_err(|error| error.within(dir.display()))?;
        let wished = (plan.wished.bytes(reader) * plan.threads).max(plan.range.bytes(reader));
        let more = wished.saturating_sub(least);
        let more = more.min(room_for_queries(&manifest, ledger.free()));
        ledger.reserve(MemoryPart::MoreQueries, more);
        let pool = WorkerPool::new(ledger.reserved_for(&FOR_SEARCHES));
        let caches = CacheBytes::divide(ledger.free(), manifest.spec.cache);
        let codebook = manifest.files.codebook.uuid;
        let shared = other.and_then(|other| other.searcher.quantizer(codebook, &other.manifest));
        let searcher = resolve::searcher(source, pages, caches, shared)?;
        let (nodes, cached_pages) = searcher.cache_bytes();
        ledger.reserve(MemoryPart::CachedNodes, nodes);
        ledger.reserve(MemoryPart::CachedPages, cached_pages);
        Ok(Self {
            vfs: Arc::clone(vfs),
            dir: PathBuf::from(dir),
            manifest,
            searcher,
            pool,
            ledger,
            probe,
            lanes: (plan.threads as usize, options.interleave.max(1)),
        })
    }

    /// What this index holds in memory, part by part.
    pub fn memory(&self) -> MemoryReport {
        MemoryReport {
            budget_bytes: self.ledger.budget(),
            parts: self.ledger.entries().to_vec(),
            cached_nodes: self.searcher.cached_nodes(),
            cached_pages: self.searcher.cached_pages(),
            cached_edge_bits: self.searcher.cached_edge_bits(),
            searches_peak_bytes: self.pool.peak(),
        }
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
    ledger.reserve(MemoryPart::Codes, codes);
    ledger.reserve(MemoryPart::Codebook, resolve::codebook_bytes(spec));
    if let Some(second) = storage.second_codes_in_memory() {
        let codes = u64::from(node_count) * u64::from(second.code_bytes());
        ledger.reserve(MemoryPart::SecondCodes, codes);
    }
    let entry = resolve::entry_bytes(spec, node_count);
    let identities = Identities::bytes(spec, node_count);
    for (part, bytes) in [
        (MemoryPart::Entry, entry),
        (MemoryPart::Identities, identities),
    ] {
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
    let plan = WorkerPlan::new(subject, &OpenOptions::default())?;
    let geometry = resolve::codec(subject.0, subject.1)?.map().geometry;
    let bytes = |backend| plan.least_bytes(|shape| shape.bytes_by(geometry, backend));
    let one_query = bytes(IoBackend::Threads).max(bytes(IoBackend::Uring));
    ledger.reserve(MemoryPart::OneQuery, one_query);
    Ok(ledger)
}

/// Memory of further queries in flight on one thread, as an index is opened by default.
pub(crate) fn more_queries(subject: (&IndexSpec, u32)) -> Result<u64> {
    let plan = WorkerPlan::new(subject, &OpenOptions::default())?;
    let geometry = resolve::codec(subject.0, subject.1)?.map().geometry;
    let bytes = |shape: &WorkerShape| shape.bytes_by(geometry, IoBackend::Uring);
    Ok(bytes(&plan.compact).saturating_sub(bytes(&plan.least)))
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
    fn new(subject: (&IndexSpec, u32), options: &OpenOptions) -> Result<Self> {
        let list_size = if options.list_size == 0 {
            ASSUMED_LIST_SIZE
        } else {
            options.list_size
        };
        let beam = options
            .beam
            .unwrap_or_else(|| subject.0.execution.schedule.beam());
        let results = ASSUMED_K.max(options.k);
        let scratch = scratch_shape(subject, (results, list_size, list_size), beam)?;
        let interleave = options.interleave.clamp(1, MAX_INTERLEAVE) as usize;
        let shorter = shorter_list(list_size.min(subject.1), options.k);
        let growing = scratch_shape(subject, (results, shorter, list_size), beam)?;
        let RangeOptions {
            list_size, limit, ..
        } = RangeOptions::new(0.0);
        let range = scratch_shape(subject, (limit, list_size, limit), beam)?;
        Ok(Self {
            least: WorkerShape::compact(1, scratch),
            growing: WorkerShape::compact(1, growing),
            compact: WorkerShape::compact(interleave, scratch),
            wished: WorkerShape::roomy(interleave, scratch),
            range: WorkerShape::roomy(1, range),
            threads: thread_count(options.threads) as u64,
        })
    }

    /// Memory of one query, of either kind.
    fn least_bytes(&self, bytes: impl Fn(&WorkerShape) -> u64) -> u64 {
        bytes(&self.least).max(bytes(&self.growing))
    }
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

/// Sizes of one query's scratch: for so many results, a candidate list of this size, and one that
/// it may grow to.
pub(crate) fn scratch_shape(
    (spec, node_count): (&IndexSpec, u32),
    (results, list_size, list_limit): (u32, u32, u32),
    beam: u32,
) -> Result<ScratchShape> {
    let most = crate::spec::MAX_BEAM;
    if !(1..=most).contains(&beam) {
        return Err(Error::invalid(format!(
            "beam = {beam}: give 1 to {most} reads in flight"
        )));
    }
    Ok(ScratchShape {
        results: results.min(node_count) as usize,
        list_size: list_size.min(node_count) as usize,
        list_limit: list_limit.max(list_size).min(node_count) as usize,
        beam: beam as usize,
        index: resolve::index_shape(spec, node_count)?,
    })
}

/// 0 means all cores.
pub(crate) fn thread_count(wished: usize) -> usize {
    if wished > 0 {
        return wished;
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
