//! The erased searcher: one virtual call per search, none inside it.

use std::sync::Arc;

use pageway_kernels::KernelSet;
use pageway_quant::Quantizer;
use pageway_store::{IoBackend, PageFile, PageReader};
use pageway_types::NodeId;

use super::driver::{Job, Outcomes, Worker, WorkerShape, run_blocking, run_multiplexed};
use super::parts::Parts;
use crate::error::{Error, Result};
use crate::layout::{PageCodec, PageView};
use crate::storage::scan;

/// A searcher over one open index, whatever its codec.
pub(crate) trait Searcher: Send + Sync {
    /// Bytes of a worker.
    fn worker_bytes(&self, shape: &WorkerShape) -> u64;

    /// Makes a worker.
    fn worker(&self, shape: WorkerShape) -> Result<Worker>;

    /// Takes queries of `job` until there are none.
    fn run(&self, job: &Job<'_>, worker: &mut Worker) -> Result<Outcomes>;

    /// Nodes in the node cache.
    fn cached_nodes(&self) -> usize;

    /// Bits per neighbour in the node cache, where it holds lists.
    fn cached_edge_bits(&self) -> Option<f64>;

    /// Pages in the page cache.
    fn cached_pages(&self) -> usize;

    /// Bytes of the caches of nodes and of pages.
    fn cache_bytes(&self) -> (u64, u64);

    /// The quantizer of the codes.
    fn quantizer(&self) -> &Arc<Quantizer>;

    /// Copies the vectors of nodes `first ..` into `out`, reading pages in order.
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
        self.parts.cache.nodes.len()
    }

    fn cached_edge_bits(&self) -> Option<f64> {
        self.parts.cache.nodes.edge_bits()
    }

    fn cached_pages(&self) -> usize {
        self.parts.cache.pages.len()
    }

    fn cache_bytes(&self) -> (u64, u64) {
        let cache = &self.parts.cache;
        let nodes = cache.nodes.bytes() + cache.vectors.bytes();
        (nodes, cache.pages.held_bytes())
    }

    fn quantizer(&self) -> &Arc<Quantizer> {
        &self.parts.codes.quantizer
    }

    fn read_vectors(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let row_bytes = self.row_bytes;
        let count = (out.len() / row_bytes) as u64;
        let codec = &self.parts.codec;
        let map = codec.map();
        let last = (first + count).min(map.node_count.into());
        if count == 0 || last < first + count || !out.len().is_multiple_of(row_bytes) {
            return Err(Error::invalid("rows out of range"));
        }
        let wanted = first as u32..last as u32;
        let pages = map.vector_pages_of(wanted.clone());
        scan(&self.file, pages, &mut |page, payload| {
            let view = codec.view(page, payload)?;
            for node in map.nodes_of(page).filter(|node| wanted.contains(node)) {
                let start = (node - wanted.start) as usize * row_bytes;
                if let Some(slot) = out.get_mut(start..start + row_bytes) {
                    slot.copy_from_slice(view.vector(NodeId(node))?.bytes);
                }
            }
            Ok(())
        })
    }
}
