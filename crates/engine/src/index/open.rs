//! Opening an index: divides the memory budget, then loads files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pageway_store::{DirectoryLock, IoProbe, OsVfs, PerProcess, Vfs, clock};
use serde::Serialize;

use super::latency::LatencyControl;
use super::opening::Opening;
use super::pool::WorkerPool;
use super::recent::RecentQueries;
use super::sizes::check_k;
use super::{Head, Index, Version};
use crate::delta::Delta;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Segment;
use crate::execution::driver::Watching;
use crate::manifest::Manifest;
use crate::memory::{Ledger, MemoryPart, check_room};
use crate::options::OpenOptions;
use crate::threads::thread_count;

/// How often a reader starts again because a rebuild replaced the files.
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
    /// Bits per neighbour of lists in memory, with the tables that find them.
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

/// Keeps writers away from an index whose pages they would overwrite.
///
/// # Errors
/// `Busy` where one has it.
pub(crate) fn share(
    (vfs, dir): (&dyn Vfs, &Path),
    manifest: &Manifest,
) -> Result<Option<DirectoryLock>> {
    if !manifest.overwrites_pages() {
        return Ok(None);
    }
    let shared = DirectoryLock::share(vfs, dir).map_err(Error::from);
    shared.map_err(|error| error.within("pages are written over by who changes this index"))
}

impl Index {
    /// Keeps others from committing a manifest. If the lock of the directory is shared, which keeps
    /// writers away, locks the records instead, which only writers replace.
    ///
    /// # Errors
    /// `Busy` where another has it.
    pub(crate) fn lock_to_calibrate(&self) -> Result<DirectoryLock> {
        let vfs = self.vfs.as_ref();
        if self.shared.is_none() {
            return Ok(DirectoryLock::acquire(vfs, &self.dir)?);
        }
        let version = self.version();
        let records = &version.manifest.first()?.files.records.name;
        Ok(DirectoryLock::acquire_file(vfs, &self.dir.join(records))?)
    }

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
        let open = |mut manifest: Manifest| {
            let shared = share((vfs.as_ref(), dir), &manifest)?;
            if shared.is_some() {
                manifest = Manifest::read(vfs.as_ref(), dir)?;
            }
            let mut index = Self::open_manifest((vfs, dir), manifest, options, other)?;
            index.shared = shared;
            Ok(index)
        };
        with_current((vfs.as_ref(), dir), open)
    }

    /// Opens an index whose manifest may not be committed yet.
    pub(crate) fn open_manifest(
        place: (&Arc<dyn Vfs>, &Path),
        manifest: Manifest,
        options: &OpenOptions,
        other: Option<&Self>,
    ) -> Result<Self> {
        let before = other.map(|other| other.head.get());
        let others = before.as_deref().map_or(&[][..], |other| &other.segments);
        Self::open_for(place, manifest, (options, None), others)
    }

    /// Opens an index to be changed, with so many bytes for that beside the memory of searches.
    pub(crate) fn open_to_change(
        place: (&Arc<dyn Vfs>, &Path),
        manifest: Manifest,
        options: (&OpenOptions, u64),
    ) -> Result<Self> {
        Self::open_for(place, manifest, (options.0, Some(options.1)), &[])
    }

    fn open_for(
        (vfs, dir): (&Arc<dyn Vfs>, &Path),
        manifest: Manifest,
        (options, update_bytes): (&OpenOptions, Option<u64>),
        others: &[Segment],
    ) -> Result<Self> {
        // Before memory is laid out for it.
        check_k(options.k)?;
        let loading = Loading {
            place: (vfs.as_ref(), dir),
            options,
            update_bytes,
        };
        let version = loading.version(manifest, others, false)?;
        Ok(Self {
            vfs: Arc::clone(vfs),
            dir: PathBuf::from(dir),
            head: Head::new(version),
            pool: WorkerPool::default(),
            filters: PerProcess::default(),
            options: *options,
            update_bytes,
            lanes: (thread_count(options.threads), options.interleave.max(1)),
            followed: Mutex::new(None),
            recent: RecentQueries::default(),
            measuring: PerProcess::default(),
            shared: None,
        })
    }

    /// Loads the version of a manifest. Open segments stay open, with their caches, if memory has
    /// room for the others beside them; otherwise all are loaded anew.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub(crate) fn reload(&self, reload: Reload) -> Result<Version> {
        let loading = Loading {
            place: (self.vfs.as_ref(), &self.dir),
            options: &self.options,
            update_bytes: self.update_bytes,
        };
        let before = self.head.get();
        let others = &before.segments;
        let kept = loading.version(reload.manifest.clone(), others, true);
        let mut version = match kept {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                loading.version(reload.manifest, others, false)?
            }
            version => version?,
        };
        version.deltas = reload.deltas;
        Ok(version)
    }

    /// Makes a version the one that searches take from now on.
    pub(crate) fn swap(&self, version: Version) -> Arc<Version> {
        let version = self.head.swap(version);
        self.pool.turn_to(version.number);
        version
    }

    /// Makes these the deltas of the version that searches take from now on.
    pub(crate) fn turn_to_deltas(&self, deltas: Vec<Arc<Delta>>) -> Arc<Version> {
        self.head.turn_to_deltas(deltas)
    }

    /// Turns to the index as it was last committed, by whoever changes it: true when it is another
    /// than before. Searches that began go on with what they have. An index that was opened to be
    /// changed is always the last.
    ///
    /// # Errors
    /// As [`Index::open`]; the index stays as it was then.
    pub fn refresh(&self) -> Result<bool> {
        let before = self.head.get().manifest.generation;
        if self.update_bytes.is_some() {
            return Ok(false);
        }
        let version = with_current((self.vfs.as_ref(), &self.dir), |manifest| {
            if manifest.generation == before {
                return Ok(None);
            }
            if manifest.overwrites_pages() && self.shared.is_none() {
                let words = "pages of this index are written over now: open it again";
                return Err(Error::new(ErrorKind::Unsupported, words));
            }
            let deltas = Vec::new();
            self.reload(Reload { manifest, deltas }).map(Some)
        })?;
        let is_new = version.is_some();
        if let Some(version) = version {
            self.swap(version);
        }
        Ok(is_new)
    }

    /// Turns to the last commit, if searches are to follow commits and none checked just now.
    pub(super) fn follow(&self) -> Result<()> {
        // Another thread that holds the lock is checking already.
        let (Some(every), Ok(mut last)) = (self.options.follow, self.followed.try_lock()) else {
            return Ok(());
        };
        let now = clock::now();
        if last.is_some_and(|last| now.saturating_duration_since(last) < every) {
            return Ok(());
        }
        *last = Some(now);
        self.refresh().map(drop)
    }

    /// What this index holds in memory, part by part.
    pub fn memory(&self) -> MemoryReport {
        let version = self.head.get();
        let caches = || version.segments.iter().map(|segment| segment.parts.cache());
        MemoryReport {
            budget_bytes: version.ledger.budget(),
            parts: version.ledger.entries().to_vec(),
            cached_nodes: caches().map(|cache| cache.nodes.len()).sum(),
            cached_pages: caches().map(|cache| cache.pages.len()).sum(),
            cached_edge_bits: cached_edge_bits(&version),
            searches_peak_bytes: self.pool.peak(),
            workers_made: self.pool.made(),
        }
    }

    /// Whether it was opened with the memory in its manifest.
    pub(crate) fn has_memory_of_its_own(&self) -> bool {
        self.options.memory.is_none()
    }

    /// Watches for gaps in which searches wait for pages, for background work.
    pub(crate) fn watch(&self) -> Watching<'_> {
        self.pool.gaps().watch(thread_count(0) as u32)
    }

    /// The latency control of searches, if they have a target.
    pub(crate) fn latency(&self) -> Option<MutexGuard<'_, LatencyControl>> {
        self.pool.latency()
    }

    /// How long background work rests after it `worked`, if searches have a target; it gets at
    /// least the share `least`.
    pub(crate) fn rest_after(&self, worked: Duration, least: f64) -> Option<Duration> {
        let share = self.latency()?.share(clock::now()).max(least);
        Some(worked.mul_f64(1.0 / share - 1.0))
    }

    /// Sets the latency target of searches of this process, once.
    pub(crate) fn aim_at(&self, target: Duration) {
        self.pool.aim_at(target);
    }

    /// How reads reach the disk.
    pub fn backend(&self) -> BackendReport {
        let version = self.head.get();
        version.probe.clone().map_or_else(no_reads, Into::into)
    }
}

/// The report of an index without pages.
fn no_reads() -> BackendReport {
    BackendReport {
        io_backend: "none",
        reason: "the index has no segments yet".to_owned(),
        direct: false,
    }
}

/// The mean over all segments, by their rows.
fn cached_edge_bits(version: &Version) -> Option<f64> {
    let rows = f64::from(version.node_count());
    let of_segment = |segment: &Segment| {
        let bits = segment.parts.cache().nodes.edge_bits()?;
        Some(bits * (f64::from(segment.node_count()) / rows))
    };
    version.segments.iter().map(of_segment).sum()
}

/// The manifest and deltas of the next version.
pub(crate) struct Reload {
    pub(crate) manifest: Manifest,
    pub(crate) deltas: Vec<Arc<Delta>>,
}

/// How versions of an index are loaded.
struct Loading<'l> {
    place: (&'l dyn Vfs, &'l Path),
    options: &'l OpenOptions,
    update_bytes: Option<u64>,
}

impl Loading<'_> {
    /// Loads the files of a manifest. `others` are open segments, which stay as they are if `keep`.
    fn version(&self, manifest: Manifest, others: &[Segment], keep: bool) -> Result<Version> {
        let memory = self.options.memory;
        let budget = memory.map_or(manifest.memory_bytes, |wish| {
            wish.resolve(manifest.raw_bytes())
        });
        let kept = if keep { others } else { &[] };
        let mut opening = Opening::new(self.place, &manifest, self.options, kept)?;
        let mut ledger = Ledger::new(budget.saturating_add(self.update_bytes.unwrap_or(0)));
        match self.update_bytes {
            Some(bytes) => ledger.reserve(MemoryPart::Updates, bytes),
            None if manifest.dead_bytes() > 0 => {
                ledger.reserve(MemoryPart::Dead, manifest.dead_bytes());
            }
            None => {}
        }
        let filters = manifest.filter_bytes();
        if filters > 0 {
            ledger.reserve(MemoryPart::Filters, filters);
        }
        let recent = u64::from(self.options.recent_queries);
        if recent > 0 {
            let row_bytes = manifest.spec.shape.vectors().row_bytes() as u64;
            ledger.reserve(MemoryPart::RecentQueries, recent.saturating_mul(row_bytes));
        }
        opening.reserve(&mut ledger)?;
        if others.is_empty() {
            let cached = opening.cached_bytes().min(ledger.free());
            check_room(ledger.reserved() + cached, "opening this index")
                .map_err(|error| error.within(self.place.1.display()))?;
        }
        let probe = opening.probe();
        let segments = opening.load(&mut ledger, others, self.update_bytes.is_some())?;
        Ok(Version {
            manifest,
            segments,
            deltas: Vec::new(),
            ledger,
            probe,
            number: 0,
            numbering: 0,
            plans: Arc::default(),
            earlier: Arc::default(),
        })
    }
}

/// Calls `act` with the current manifest, and again if a commit replaced its files meanwhile.
fn with_current<T>(
    (vfs, dir): (&dyn Vfs, &Path),
    mut act: impl FnMut(Manifest) -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        match act(Manifest::read(vfs, dir)?) {
            // The files of the manifest just read may be gone: read the new one.
            Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
    }
}
