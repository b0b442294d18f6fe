//! The end of a build: the finished index is searched before it is published, for its hot nodes and
//! its recall.

use pageway_store::FileEntry;
use pageway_types::{NodeId, Progress};

use super::fingerprint::Fingerprint;
use super::pipeline::Pipeline;
use super::sample::{read_rows, sample_rows};
use super::stages::STAGE_BYTES;
use super::{calibrate, measure};
use crate::cache::{breadth_first, most_visited};
use crate::calibration::Calibration;
use crate::error::Result;
use crate::index::Index;
use crate::manifest::{FileKind, Manifest, SegmentEntry};
use crate::memory::MemoryWish;
use crate::options::{OpenOptions, Queries};
use crate::plan::{Extent, least_memory};
use crate::resolve::{self, Source};
use crate::threads::thread_pool;

/// Bytes per node while nodes are listed breadth-first: the order, and a bit.
const ORDER_BYTES: u64 = 5;

/// Queries whose visits decide what is hot, and their list size.
const VISIT_QUERIES: u64 = 1000;
const VISIT_LIST: u32 = 50;

/// A segment as an index of its own.
pub(super) fn alone(generation: u64, segment: &SegmentEntry, memory_bytes: u64) -> Manifest {
    Manifest {
        generation,
        created_by: String::new(),
        spec: segment.spec.clone(),
        segments: vec![SegmentEntry {
            first_row: 0,
            ..segment.clone()
        }],
        memory_bytes,
        calibration: Calibration::default(),
        changes: None,
        schema: None,
        wish: None,
    }
}

impl Pipeline<'_> {
    /// Lists nodes in the order in which a cache takes them.
    pub(super) fn hot_nodes(
        &self,
        segment: &SegmentEntry,
        structure: &[NodeId],
        fingerprint: Fingerprint,
    ) -> Result<FileEntry> {
        // Done before nodes are listed, because it needs the memory of an open index.
        let visits = if self.plan.samples_visits()? {
            Some(self.visits(segment)?)
        } else {
            None
        };
        let source = Source {
            vfs: self.workspace.vfs.as_ref(),
            dir: &self.workspace.dir,
            segment,
        };
        let lists = resolve::list_reader(source)?;
        let memory = self.plan.budget_bytes.min(self.plan.usual_bytes());
        let room = memory / 2 / ORDER_BYTES;
        let limit = u64::from(segment.node_count).min(room) as usize;
        // Walks start at the nodes of a navigation graph, if there is one.
        let from = if structure.is_empty() {
            &segment.entry
        } else {
            structure
        };
        let mut hot = breadth_first(lists.as_ref(), from, limit, self.progress)?;
        if let Some(visits) = visits {
            hot = most_visited(&visits, hot);
        }
        let mut file = self.blob(FileKind::HotNodes, fingerprint)?;
        for node in hot {
            file.write(&node.0.to_le_bytes())?;
        }
        Ok(file.finish()?)
    }

    /// Nodes that walks for sampled rows expand.
    fn visits(&self, segment: &SegmentEntry) -> Result<Vec<NodeId>> {
        // A segment alone holds all that segments share.
        let least = least_memory(&segment.spec, segment.node_count)?.reserved();
        let manifest = alone(
            self.workspace.generation,
            segment,
            self.plan.memory_bytes.max(least),
        );
        let vectors = self.input.queries.unwrap_or(self.input.vectors);
        let seed = self.plan.spec.seed.rotate_left(17);
        let sampled = sample_rows(vectors.count(), VISIT_QUERIES, seed);
        let rows = read_rows(vectors, &sampled)?;
        let index = self.open(&manifest, STAGE_BYTES)?;
        let queries = Queries::new(&rows, vectors.shape());
        self.progress.stage("sample visits", sampled.len() as u64);
        index.visits(&queries, VISIT_LIST, self.progress)
    }

    /// Measures recall and cost of all segments together. `held_out`: nodes of the rows that stand
    /// in for queries.
    pub(super) fn calibrate(
        &self,
        manifest: &Manifest,
        held_out: Option<Vec<NodeId>>,
    ) -> Result<Calibration> {
        let queries = self.plan.queries(self.options)?;
        let index = self.open(manifest, self.plan.calibration_bytes(queries))?;
        // Memory of other stages may hold fewer threads.
        let asked = self.plan.threads.asked;
        let is_short = asked > self.pool.current_num_threads();
        let own = is_short.then(|| thread_pool(asked)).transpose()?;
        let plan = calibrate::plan(
            self.input,
            (self.options, queries),
            (&index, held_out),
            (own.as_ref().unwrap_or(self.pool), self.progress),
        )?;
        measure::calibrate(&index, &plan, self.progress)
    }

    /// Opens an index that is not published yet, to measure with. It has no attributes, so it needs
    /// no memory for filters. `beside`: bytes that measuring itself takes.
    fn open(&self, manifest: &Manifest, beside: u64) -> Result<Index> {
        let mut settled = manifest.clone();
        for segment in &mut settled.segments {
            segment.spec = segment.spec.settled();
            segment.files.attributes = None;
        }
        let (own, least) = (least_bytes(manifest)?, least_bytes(&settled)?);
        // Pages that wait for their turn are kept; what is cached stays the same.
        let searching = manifest
            .memory_bytes
            .saturating_sub(manifest.filter_bytes());
        let wished = searching.max(own) + least.saturating_sub(own);
        let room = self.plan.budget_bytes.saturating_sub(beside);
        let options = OpenOptions {
            memory: Some(MemoryWish::Bytes(wished.min(room))),
            through_page_cache: true,
            ..OpenOptions::default()
        };
        let place = (&self.workspace.vfs, self.workspace.dir.as_path());
        Index::open_manifest(place, settled, &options, None)
    }
}

/// The least memory that the segments of a build are opened with.
fn least_bytes(manifest: &Manifest) -> Result<u64> {
    let longest = manifest.segments.iter().map(|segment| segment.node_count);
    let extent = Extent {
        rows: manifest.node_count(),
        segments: manifest.segments.len() as u32,
        longest: longest.max().unwrap_or(0),
        centres: 0,
    };
    let least = least_memory(&manifest.first()?.spec, extent)?.reserved();
    Ok(least + manifest.region_bytes())
}
