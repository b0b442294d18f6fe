//! An open index: the version that searches take, memory, workers. Delegates; holds no buffers,
//! caches or statistics of its own.

mod by_codes;
mod choice;
mod collect;
mod deltas;
mod describe;
mod earlier;
mod exact;
mod fill;
mod filter;
mod filter_check;
mod filter_room;
mod held_out;
mod latency;
mod lengthen;
mod matches;
mod names;
mod neighbors;
mod notes;
mod open;
mod opening;
mod pool;
mod recall;
mod recent;
mod record;
mod rows;
mod sampled;
mod scan_cost;
mod search;
mod sizes;
mod stored;
mod subset;
#[cfg(feature = "lab")]
mod survey;
mod verify;
mod version;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pageway_store::{DirectoryLock, PerProcess, Vfs};
use pageway_types::{Metric, VectorShape};

pub use describe::{Description, FileDescription, SegmentState, describe, describe_on};
pub(crate) use held_out::CopyTest;
pub(crate) use neighbors::met_bytes;
pub(crate) use notes::ListNoting;
pub(crate) use open::Reload;
pub(crate) use open::share;
pub use open::{BackendReport, MemoryReport};
pub use recall::RecallReport;
pub use rows::{RowPage, RowParts, StoredRow};
pub use sizes::MAX_LIST_SIZE;
pub use stored::StoredVector;
#[cfg(feature = "lab")]
pub use survey::survey;
pub(crate) use verify::verify_files;
pub(crate) use version::{Head, Version};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::options::OpenOptions;
use filter_room::FilterRoom;
use pool::WorkerPool;
use recent::RecentQueries;

/// An index, open for searching. `Send + Sync`: share it between threads.
pub struct Index {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    head: Head,
    pool: WorkerPool,
    /// The options that it was opened with.
    options: OpenOptions,
    /// Bytes set aside for changes, beside the memory of searches.
    update_bytes: Option<u64>,
    /// Threads, and queries in flight per thread, that memory was set aside for.
    lanes: (usize, u32),
    /// Memory of filters.
    filters: PerProcess<FilterRoom>,
    /// When a search last checked for a newer version, if searches do.
    followed: Mutex<Option<Instant>>,
    /// Recent queries, if they are kept.
    recent: RecentQueries,
    /// Held while recall is measured before a first search.
    measuring: PerProcess<Mutex<()>>,
    /// Keeps writers away, in designs that overwrite pages.
    shared: Option<DirectoryLock>,
}

impl Index {
    /// Number of vectors that a search may find.
    pub fn len(&self) -> u64 {
        loop {
            let version = self.head.get();
            let rows = version.living();
            // Once a segment is replaced, deaths are noted in its replacement only: count anew.
            if self.head.get().number == version.number {
                return rows;
            }
        }
    }

    /// Whether the index has no vectors: before any was inserted, or after all were deleted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dimension and element type of the vectors, and of queries.
    pub fn shape(&self) -> VectorShape {
        self.head.get().manifest.spec.shape.vectors()
    }

    /// Distance.
    pub fn metric(&self) -> Metric {
        self.head.get().manifest.spec.shape.metric
    }

    /// The directory of the index.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Recall and cost by list size, as measured at build.
    pub fn calibration(&self) -> Calibration {
        self.head.get().manifest.calibration.clone()
    }

    /// Refuses to do `what` with an index that is open to be changed or has dead rows.
    ///
    /// # Errors
    /// `Unsupported` where it is one.
    pub(crate) fn check_whole(&self, what: &str) -> Result<()> {
        self.version().check_whole(what)
    }

    /// The file system of its files.
    pub(crate) fn vfs(&self) -> &dyn Vfs {
        self.vfs.as_ref()
    }

    /// A lock that keeps other threads from measuring recall.
    pub(crate) fn measuring(&self) -> MutexGuard<'_, ()> {
        self.measuring
            .get()
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes list sizes from another calibration from now on, that of the manifest `generation`.
    pub(crate) fn take_calibration(&self, generation: u64, calibration: Calibration) {
        self.head.recalibrate(generation, calibration);
    }

    /// The version that a search would take now.
    pub(crate) fn version(&self) -> Arc<Version> {
        self.head.get()
    }
}
