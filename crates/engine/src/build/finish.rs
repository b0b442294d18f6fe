//! The end of a build: what the finished index tells when it is searched, before it is published.

use pageway_store::FileEntry;
use pageway_types::NodeId;

use super::calibrate;
use super::fingerprint::Fingerprint;
use super::order::NodeOrder;
use super::pipeline::Pipeline;
use super::sample::{read_rows, sample_rows};
use crate::cache::{breadth_first, most_visited};
use crate::calibration::Calibration;
use crate::error::Result;
use crate::index::{FileKind, Index, Manifest, least_memory};
use crate::memory::MemoryWish;
use crate::options::{OpenOptions, Queries};
use crate::resolve::{self, Source};

/// Bytes per node while nodes are listed breadth-first: the order, and a bit.
const ORDER_BYTES: u64 = 5;

/// Queries whose visits decide what is hot, and their list size.
const VISIT_QUERIES: u64 = 1000;
const VISIT_LIST: u32 = 50;

impl Pipeline<'_> {
    /// Lists nodes in the order in which a cache takes them.
    pub(super) fn hot_nodes(
        &self,
        manifest: &Manifest,
        structure: &[NodeId],
        fingerprint: Fingerprint,
    ) -> Result<FileEntry> {
        let source = Source {
            vfs: self.workspace.vfs.as_ref(),
            dir: &self.workspace.dir,
            manifest,
        };
        let lists = resolve::list_reader(source)?;
        let room = self.plan.budget_bytes / 2 / ORDER_BYTES;
        let limit = u64::from(manifest.node_count).min(room) as usize;
        // Walks start at the nodes of a navigation graph, if there is one.
        let from = if structure.is_empty() {
            &manifest.entry
        } else {
            structure
        };
        let mut hot = breadth_first(lists.as_ref(), from, limit, self.progress)?;
        if manifest.spec.cache.selection.counts_visits() {
            let visits = self.visits(manifest)?;
            hot = most_visited(&visits, &hot, manifest.node_count);
        }
        let mut file = self.blob(FileKind::HotNodes, fingerprint)?;
        for node in hot {
            file.write(&node.0.to_le_bytes())?;
        }
        Ok(file.finish()?)
    }

    /// Nodes that walks for sampled rows expand.
    fn visits(&self, manifest: &Manifest) -> Result<Vec<NodeId>> {
        let vectors = self.input.queries.unwrap_or(self.input.vectors);
        let seed = self.plan.spec.seed.rotate_left(17);
        let sampled = sample_rows(vectors.count(), VISIT_QUERIES, seed);
        let rows = read_rows(vectors, &sampled)?;
        let index = self.open(manifest)?;
        let queries = Queries::new(&rows, vectors.shape());
        self.progress.stage("sample visits", sampled.len() as u64);
        index.visits(&queries, VISIT_LIST, self.progress)
    }

    pub(super) fn calibrate(&self, manifest: &Manifest, order: &NodeOrder) -> Result<Calibration> {
        let subject = (&self.pool, order);
        let plan = calibrate::plan(self.input, self.options, subject, self.progress)?;
        crate::calibration::calibrate(&self.open(manifest)?, &plan, self.progress)
    }

    /// Opens the index that is not published yet, to measure with.
    fn open(&self, manifest: &Manifest) -> Result<Index> {
        let manifest = Manifest {
            spec: manifest.spec.settled(),
            ..manifest.clone()
        };
        let own = least_memory((&self.plan.spec, manifest.node_count))?.reserved();
        let settled = least_memory((&manifest.spec, manifest.node_count))?.reserved();
        // Pages that wait for their turn are kept; what is cached stays the same.
        let wished = self.plan.memory_bytes + settled.saturating_sub(own);
        let room = self.plan.budget_bytes - self.plan.calibration_bytes(self.options);
        let options = OpenOptions {
            memory: Some(MemoryWish::Bytes(wished.min(room))),
            ..OpenOptions::default()
        };
        let place = (&self.workspace.vfs, self.workspace.dir.as_path());
        Index::open_manifest(place, manifest, &options, None)
    }
}
