//! An open index: manifest, segment, memory, workers. Delegates; holds no buffers, caches or
//! statistics of its own.

mod describe;
mod open;
mod opening;
mod pool;
mod recall;
mod record;
mod search;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{IoProbe, Vfs};
use pageway_types::{Metric, VectorShape};

pub use describe::{Description, FileDescription, describe};
pub use open::{BackendReport, MemoryReport};
pub use recall::RecallReport;
pub use search::MAX_LIST_SIZE;
pub use verify::{verify, verify_on};

use crate::calibration::Calibration;
use crate::execution::Segment;
use crate::manifest::Manifest;
use crate::memory::Ledger;
use pool::WorkerPool;

/// An index, open for searching. `Send + Sync`: share it between threads.
pub struct Index {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    manifest: Manifest,
    /// In the order of their nodes.
    segments: Vec<Segment>,
    pool: WorkerPool,
    ledger: Ledger,
    probe: IoProbe,
    /// Threads, and queries in flight per thread, that memory was set aside for.
    lanes: (usize, u32),
}

impl Index {
    /// Number of vectors.
    #[expect(clippy::len_without_is_empty, reason = "an index is never empty")]
    pub fn len(&self) -> u64 {
        self.manifest.node_count().into()
    }

    /// Dimension and element type of the vectors, and of queries.
    pub fn shape(&self) -> VectorShape {
        self.manifest.spec.shape.vectors()
    }

    /// Distance.
    pub fn metric(&self) -> Metric {
        self.manifest.spec.shape.metric
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Recall and cost by list size, as measured at build.
    pub fn calibration(&self) -> &Calibration {
        &self.manifest.calibration
    }
}
