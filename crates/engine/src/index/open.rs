//! Opening: the memory budget is divided first, then things are loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{IoBackend, IoProbe, OsVfs, Vfs};
use serde::Serialize;

use super::pool::WorkerPool;
use super::{Index, Manifest};
use crate::cache::NodeCache;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::ScratchShape;
use crate::execution::driver::WorkerShape;
use crate::layout::PageCodec;
use crate::memory::Ledger;
use crate::options::OpenOptions;
use crate::resolve;
use crate::spec::IndexSpec;

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
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryReport {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Reserved bytes by part.
    pub parts: Vec<(&'static str, u64)>,
    /// Records in the node cache.
    pub cached_nodes: usize,
    /// Most bytes that searches held at a time, of those set aside for them.
    pub searches_peak_bytes: u64,
}

impl Index {
    /// Opens the index in `dir`.
    ///
    /// Reads the codes and the codebook into memory, and as many hot records as the budget leaves
    /// room for.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt` or `Incompatible` as the files are; `InvalidInput` when the memory
    /// budget is too small, with the smallest that works.
    pub fn open(dir: &Path, options: &OpenOptions) -> Result<Self> {
        Self::open_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir, options)
    }

    /// As [`Index::open`], on a file system of the caller's.
    pub fn open_on(vfs: &Arc<dyn Vfs>, dir: &Path, options: &OpenOptions) -> Result<Self> {
        let mut attempt = 1;
        loop {
            let manifest = Manifest::read(vfs.as_ref(), dir)?;
            match Self::open_manifest(vfs, dir, manifest, options) {
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
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        manifest: Manifest,
        options: &OpenOptions,
    ) -> Result<Self> {
        let budget = options.memory.map_or(manifest.memory_bytes, |wish| {
            wish.resolve(manifest.raw_bytes())
        });
        let (file, reader, probe) = resolve::record_reader(vfs.as_ref(), dir, &manifest)?;
        let subject = (&manifest.spec, manifest.node_count);
        let plan = WorkerPlan::new(subject, options)?;
        let mut ledger = fixed_memory(subject, budget);
        ledger.reserve("one query", plan.least.bytes(&reader));
        ledger
            .settle("opening this index")
            .map_err(|error| error.within(dir.display()))?;
        // Half of what is left may go to more queries in flight; records take the rest.
        let wished = plan.wished.bytes(&reader) * plan.threads - plan.least.bytes(&reader);
        ledger.reserve("more queries in flight", wished.min(ledger.free() / 2));
        let pool = WorkerPool::new(ledger.entries().iter().rev().take(2).map(|(_, b)| b).sum());
        let searcher =
            resolve::searcher(vfs.as_ref(), dir, &manifest, (file, reader), ledger.free())?;
        let codec = resolve::codec(&manifest.spec, manifest.node_count)?;
        let cache = NodeCache::bytes(searcher.cached_nodes(), codec.record_bytes());
        ledger.reserve("cached records", cache);
        Ok(Self {
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
            searches_peak_bytes: self.pool.peak(),
        }
    }

    /// How reads reach the disk.
    pub fn backend(&self) -> BackendReport {
        self.probe.clone().into()
    }
}

/// What an index holds whatever is searched.
pub(crate) fn fixed_memory((spec, node_count): (&IndexSpec, u32), budget: u64) -> Ledger {
    let mut ledger = Ledger::new(budget);
    let code_bytes = spec.storage.quantizer.code_bytes();
    ledger.reserve("codes", u64::from(node_count) * u64::from(code_bytes));
    ledger.reserve("codebook", resolve::codebook_bytes(spec));
    ledger
}

/// The smallest memory that an index of this spec can be opened with, wherever it is opened: with
/// threads for reads.
pub(crate) fn least_memory(subject: (&IndexSpec, u32)) -> Result<Ledger> {
    let mut ledger = fixed_memory(subject, u64::MAX);
    let plan = WorkerPlan::new(subject, &OpenOptions::default())?;
    let geometry = resolve::codec(subject.0, subject.1)?.geometry();
    ledger.reserve(
        "one query",
        plan.least.bytes_by(geometry, IoBackend::Threads),
    );
    Ok(ledger)
}

/// Memory for searches: the least that works, and what is wished for.
pub(crate) struct WorkerPlan {
    least: WorkerShape,
    wished: WorkerShape,
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
        let scratch = scratch_shape(subject, ASSUMED_K.max(options.k), list_size, beam)?;
        let wished = WorkerShape {
            interleave: options.interleave.max(1) as usize,
            scratch,
        };
        let least = WorkerShape {
            interleave: 1,
            scratch,
        };
        Ok(Self {
            least,
            wished,
            threads: thread_count(options.threads) as u64,
        })
    }
}

/// Sizes of one query's scratch.
pub(crate) fn scratch_shape(
    (spec, node_count): (&IndexSpec, u32),
    k: u32,
    list_size: u32,
    beam: u32,
) -> Result<ScratchShape> {
    let most = crate::spec::MAX_BEAM;
    if !(1..=most).contains(&beam) {
        return Err(Error::invalid(format!(
            "beam = {beam}: give 1 to {most} reads per round"
        )));
    }
    Ok(ScratchShape {
        k: k.min(node_count) as usize,
        list_size: list_size.min(node_count) as usize,
        beam: beam as usize,
        max_degree: spec.graph.max_degree() as usize,
        dimension: spec.shape.dimension as usize,
        code_bytes: spec.storage.quantizer.code_bytes() as usize,
    })
}

/// 0 means all cores.
pub(crate) fn thread_count(wished: usize) -> usize {
    if wished > 0 {
        return wished;
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
