//! The erased searcher: one virtual call per search, none inside it.

use pageway_kernels::KernelSet;
use pageway_store::{IoBackend, PageFile, PageReader};
use pageway_types::NodeId;

use crate::error::{Error, Result};
use crate::execution::Parts;
use crate::execution::driver::{Job, Outcomes, Worker, WorkerShape, run_blocking, run_multiplexed};
use crate::layout::PageCodec;
use crate::storage::scan;

/// A searcher over one open index, whatever its codec.
pub(crate) trait Searcher: Send + Sync {
    /// Bytes of a worker.
    fn worker_bytes(&self, shape: &WorkerShape) -> u64;

    /// Makes a worker.
    fn worker(&self, shape: WorkerShape) -> Result<Worker>;

    /// Takes queries of `job` until there are none.
    fn run(&self, job: &Job<'_>, worker: &mut Worker) -> Result<Outcomes>;

    /// Records in the node cache.
    fn cached_nodes(&self) -> usize;

    /// Copies the vectors of rows `first ..` into `out`, reading pages in order.
    fn read_vectors(&self, first: u64, out: &mut [u8]) -> Result<()>;
}

/// A searcher over pages of one codec.
pub(crate) struct PageSearcher<C: PageCodec> {
    pub(crate) parts: Parts<C>,
    pub(crate) reader: PageReader,
    pub(crate) file: PageFile,
    pub(crate) kernels: &'static KernelSet,
    pub(crate) row_bytes: usize,
}

impl<C: PageCodec> Searcher for PageSearcher<C> {
    fn worker_bytes(&self, shape: &WorkerShape) -> u64 {
        shape.bytes(&self.reader)
    }

    fn worker(&self, shape: WorkerShape) -> Result<Worker> {
        Worker::new(&self.parts, &self.reader, self.kernels, shape)
    }

    fn run(&self, job: &Job<'_>, worker: &mut Worker) -> Result<Outcomes> {
        match self.reader.backend() {
            IoBackend::Blocking => run_blocking(&self.parts, &self.reader, job, worker),
            IoBackend::Uring | IoBackend::Threads | IoBackend::Memory => {
                run_multiplexed(&self.parts, &self.reader, job, worker)
            }
        }
    }

    fn cached_nodes(&self) -> usize {
        self.parts.cache.len()
    }

    fn read_vectors(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let row_bytes = self.row_bytes;
        let count = (out.len() / row_bytes) as u64;
        let address = self.parts.codec.address();
        let last = (first + count).min(address.node_count().into());
        if count == 0 || last < first + count || !out.len().is_multiple_of(row_bytes) {
            return Err(Error::invalid("rows out of range"));
        }
        let page = |row: u64| u64::from(address.page_of(NodeId(row as u32)).0);
        scan(
            &self.parts.codec,
            &self.file,
            page(first)..page(last - 1) + 1,
            &mut |record| {
                let row = u64::from(record.node.0);
                if (first..last).contains(&row) {
                    let start = (row - first) as usize * row_bytes;
                    if let Some(slot) = out.get_mut(start..start + row_bytes) {
                        slot.copy_from_slice(record.vector);
                    }
                }
                Ok(())
            },
        )
    }
}
