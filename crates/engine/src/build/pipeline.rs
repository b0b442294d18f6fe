//! The stages of a build, in order.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pageway_graph::{Graph, MedoidSpec, VectorSet, build, medoid};
use pageway_kernels::advise_huge_pages;
use pageway_store::{BlobWriter, FileEntry, OsVfs, PageFileWriter, PageGeometry, Vfs, clock};
use pageway_types::{Metric, NodeId, Progress};
use rayon::ThreadPool;

use super::budget::{BLOCK_BYTES, BuildPlan, GraphPlan};
use super::fingerprint::{Fingerprint, Watched};
use super::reach::{ReachSpec, Relinked, relink};
use super::shards::{ShardBuild, ShardGraphs};
use super::workspace::Workspace;
use super::write::{GraphLists, write_records};
use super::{BuildReport, calibrate, codes};
use crate::cache::breadth_first;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FileKind, Files, GraphStatistics, Index, Manifest, thread_pool};
use crate::layout::PageCodec;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions};
use crate::resolve;
use crate::source::{Inspection, check_unique, inspect_rows};

/// Bytes per node while nodes are listed breadth-first: the order, and a bit.
const ORDER_BYTES: u64 = 5;

impl Index {
    /// Builds an index of `input` in the directory `dir`, replacing the one that is there when the
    /// build is complete.
    ///
    /// The vectors are streamed several times over. An index appears by one atomic step or not at
    /// all.
    ///
    /// # Errors
    /// `InvalidInput` naming row or option, before work where it can be known; `NoSpace`, `Busy`,
    /// `Io`, `Cancelled`.
    pub fn build(
        dir: &Path,
        input: &BuildInput<'_>,
        options: &BuildOptions,
        progress: &dyn Progress,
    ) -> Result<BuildReport> {
        Self::build_on(
            &(Arc::new(OsVfs) as Arc<dyn Vfs>),
            dir,
            input,
            options,
            progress,
        )
    }

    /// As [`Index::build`], on a file system of the caller's.
    pub fn build_on(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        input: &BuildInput<'_>,
        options: &BuildOptions,
        progress: &dyn Progress,
    ) -> Result<BuildReport> {
        let plan = BuildPlan::new(input, options)?;
        if !(0.0..=1.0).contains(&options.recall) {
            return Err(Error::invalid(format!(
                "recall = {}: give 0 to 1",
                options.recall
            )));
        }
        let workspace = Workspace::open(vfs, dir)?;
        workspace.check_space(disk_bytes(&plan)?)?;
        let pool = thread_pool(plan.threads)?;
        let pipeline = Pipeline {
            input,
            options,
            plan: &plan,
            workspace: &workspace,
            pool,
            progress,
        };
        let mut stages = Stages::start();
        let manifest = pipeline.run(&mut stages)?;
        let report = report(&plan, options, &manifest, stages)?;
        progress.check()?;
        workspace.commit(&manifest)?;
        Ok(report)
    }
}

struct Pipeline<'p> {
    input: &'p BuildInput<'p>,
    options: &'p BuildOptions,
    plan: &'p BuildPlan,
    workspace: &'p Workspace,
    pool: ThreadPool,
    progress: &'p dyn Progress,
}

/// Seconds by stage, and what stages report beside the manifest.
struct Stages {
    seconds: Vec<(&'static str, f64)>,
    begin: Instant,
    relinked_nodes: u64,
}

impl Stages {
    fn start() -> Self {
        Self {
            seconds: Vec::new(),
            begin: clock::now(),
            relinked_nodes: 0,
        }
    }

    fn end(&mut self, name: &'static str) {
        let now = clock::now();
        self.seconds.push((name, (now - self.begin).as_secs_f64()));
        self.begin = now;
    }
}

impl Pipeline<'_> {
    fn run(&self, stages: &mut Stages) -> Result<Manifest> {
        let (fingerprint, max_norm) = self.check_rows()?;
        stages.end("check rows");
        let sample = codes::widened_sample(self.input.vectors, self.plan)?;
        let quantizer = codes::train(&sample, self.plan, &self.pool, self.progress)?;
        drop(sample);
        let mut codebook = self.blob(FileKind::Codebook, fingerprint)?;
        codebook.write(&quantizer.to_bytes())?;
        let codebook = codebook.finish()?;
        stages.end("train codes");
        let codes = self.blob(FileKind::Codes, fingerprint)?;
        let codes = codes::encode(
            self.input.vectors,
            &quantizer,
            codes,
            &self.pool,
            self.progress,
        )?;
        drop(quantizer);
        stages.end("encode");
        let (entry, records, graph) = self.graph(fingerprint, max_norm, stages)?;
        let mut manifest = self.manifest(entry, graph, (records, codes, codebook));
        manifest.files.hot = self.hot_nodes(&manifest, fingerprint)?;
        stages.end("choose hot nodes");
        manifest.calibration = self.calibrate(&manifest)?;
        stages.end("calibrate");
        Ok(manifest)
    }

    fn check_rows(&self) -> Result<(Fingerprint, f32)> {
        if let Some(ids) = self.input.ids {
            check_unique(ids, self.plan.budget_bytes)?;
        }
        let vectors = Watched::new(self.input.vectors);
        let metric = self.options.metric;
        let inspection = Inspection {
            vectors: &vectors,
            name: self.input.name,
            metric,
        };
        let statistics = inspect_rows(inspection, BLOCK_BYTES, self.progress)?;
        let mut fingerprint = vectors.finish().ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "the rows were not read once each, in order",
            )
        })?;
        let BuildPlan {
            spec,
            sample_rows,
            graph,
            ..
        } = self.plan;
        let generation = self.workspace.generation;
        fingerprint.add(format!("{spec:?} {sample_rows} {graph:?} {generation}").as_bytes());
        self.input
            .ids
            .map_or(Ok(()), |ids| fingerprint.add_ids(ids))?;
        Ok((fingerprint, statistics.max_norm))
    }

    fn blob(&self, kind: FileKind, fingerprint: Fingerprint) -> Result<BlobWriter> {
        let geometry = PageGeometry::new(self.plan.spec.layout.page_bytes, 1)?;
        let (path, uuid) = (self.workspace.path(kind), fingerprint.uuid(kind.stem()));
        Ok(BlobWriter::create(
            self.workspace.vfs.as_ref(),
            &path,
            kind as u16,
            geometry,
            uuid,
        )?)
    }

    /// Builds the graph, whole or in shards, and writes the records.
    fn graph(
        &self,
        fingerprint: Fingerprint,
        max_norm: f32,
        stages: &mut Stages,
    ) -> Result<(NodeId, FileEntry, GraphStatistics)> {
        let metric = self.options.metric;
        let kernels = resolve::kernels()?;
        let vectors = self.input.vectors;
        let spec = MedoidSpec {
            metric,
            kernels,
            block_bytes: BLOCK_BYTES,
        };
        let entry = medoid(vectors, &spec, &self.pool, self.progress)?.node;
        let max_norm = (metric == Metric::InnerProduct).then_some(max_norm);
        let codec = resolve::codec(&self.plan.spec, self.plan.node_count)?;
        let kind = FileKind::Records;
        let (path, uuid) = (self.workspace.path(kind), fingerprint.uuid(kind.stem()));
        let vfs = self.workspace.vfs.as_ref();
        let create = || {
            PageFileWriter::create(vfs, &path, kind as u16, codec.geometry(), uuid)
                .map_err(Error::from)
        };
        let (records, statistics) = match self.plan.graph {
            GraphPlan::Whole => {
                let graph = self.whole_graph(entry, max_norm)?;
                stages.end("build graph");
                let mut lists = GraphLists::new(&graph);
                write_records(self.input, &codec, &mut lists, create()?, self.progress)?
            }
            GraphPlan::Shards { capacity } => {
                let (shards, relinked) = self.shard_graphs(capacity, entry, max_norm, stages)?;
                let max_degree = self.plan.spec.graph.max_degree();
                let mut lists = relinked.patch(shards.merged(max_degree)?);
                let (records, statistics) =
                    write_records(self.input, &codec, &mut lists, create()?, self.progress)?;
                (
                    records,
                    GraphStatistics {
                        shards: shards.count(),
                        ..statistics
                    },
                )
            }
        };
        stages.end("write records");
        Ok((entry, records, statistics))
    }

    /// Builds the graphs of all shards, and links the nodes that their merge does not reach.
    fn shard_graphs(
        &self,
        capacity: u32,
        entry: NodeId,
        max_norm: Option<f32>,
        stages: &mut Stages,
    ) -> Result<(ShardGraphs, Relinked)> {
        let build = ShardBuild {
            vectors: self.input.vectors,
            plan: self.plan,
            workspace: self.workspace,
            pool: &self.pool,
            max_norm,
            progress: self.progress,
        };
        let shards = build.run(capacity)?;
        stages.end("build graph");
        let max_degree = self.plan.spec.graph.max_degree();
        let spec = ReachSpec {
            entry,
            node_count: self.plan.node_count,
            max_degree,
        };
        let relinked = relink(spec, || shards.merged(max_degree), self.progress)?;
        stages.relinked_nodes = relinked.count() as u64;
        stages.end("check reachability");
        Ok((shards, relinked))
    }

    fn whole_graph(&self, entry: NodeId, max_norm: Option<f32>) -> Result<Graph> {
        let vectors = self.input.vectors;
        let owned;
        let rows = if let Some(rows) = vectors.resident() {
            rows
        } else {
            let mut bytes = vec![0; vectors.count() as usize * vectors.shape().row_bytes()];
            vectors.read(0, &mut bytes)?;
            advise_huge_pages(&bytes);
            owned = bytes;
            &owned
        };
        let metric = self.options.metric;
        let set = VectorSet::new(rows, vectors.shape(), metric, resolve::kernels()?, max_norm)?;
        let spec = self.plan.vamana(self.plan.spec.graph.max_degree());
        Ok(build(&set, entry, &spec, &self.pool, self.progress)?)
    }

    fn manifest(
        &self,
        entry: NodeId,
        graph: GraphStatistics,
        (records, codes, codebook): (FileEntry, FileEntry, FileEntry),
    ) -> Manifest {
        let hot = codes.clone();
        Manifest {
            generation: self.workspace.generation,
            created_by: concat!("pageway ", env!("CARGO_PKG_VERSION")).to_owned(),
            spec: self.plan.spec.clone(),
            node_count: self.plan.node_count,
            entry: vec![entry],
            files: Files {
                records,
                codes,
                codebook,
                hot,
            },
            graph,
            memory_bytes: self.plan.memory_bytes,
            calibration: Calibration::default(),
        }
    }

    fn hot_nodes(&self, manifest: &Manifest, fingerprint: Fingerprint) -> Result<FileEntry> {
        let vfs = self.workspace.vfs.as_ref();
        let (_, reader, _) = resolve::record_reader(vfs, &self.workspace.dir, manifest)?;
        let codec = resolve::codec(&manifest.spec, manifest.node_count)?;
        let room = self.plan.budget_bytes / 2 / ORDER_BYTES;
        let limit = u64::from(manifest.node_count).min(room) as usize;
        let hot = breadth_first(&codec, &reader, &manifest.entry, limit, self.progress)?;
        let mut file = self.blob(FileKind::HotNodes, fingerprint)?;
        for node in hot {
            file.write(&node.0.to_le_bytes())?;
        }
        Ok(file.finish()?)
    }

    fn calibrate(&self, manifest: &Manifest) -> Result<Calibration> {
        let plan = calibrate::plan(self.input, self.options, &self.pool, self.progress)?;
        let room = self.plan.budget_bytes - self.plan.calibration_bytes(self.options);
        let memory = Some(MemoryWish::Bytes(self.plan.memory_bytes.min(room)));
        let options = OpenOptions {
            memory,
            ..OpenOptions::default()
        };
        let (vfs, dir) = (&self.workspace.vfs, &self.workspace.dir);
        let index = Self::open_unpublished(vfs, dir, manifest, &options)?;
        crate::calibration::calibrate(&index, &plan, self.progress)
    }

    fn open_unpublished(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        manifest: &Manifest,
        options: &OpenOptions,
    ) -> Result<Index> {
        Index::open_manifest(vfs, dir, manifest.clone(), options)
    }
}

/// Disk that the build needs, temporary files included.
fn disk_bytes(plan: &BuildPlan) -> Result<u64> {
    let codec = resolve::codec(&plan.spec, plan.node_count)?;
    let records = u64::from(codec.address().page_count()) * codec.geometry().unit_bytes() as u64;
    let nodes = u64::from(plan.node_count);
    let codes = nodes * u64::from(plan.spec.storage.quantizer.code_bytes());
    let row = plan.spec.shape.vectors().row_bytes() as u64;
    let list = 4 * u64::from(plan.shard_degree() + 2);
    let spills = match plan.graph {
        GraphPlan::Whole => 0,
        GraphPlan::Shards { .. } => 2 * nodes * (row + 4 + list),
    };
    Ok(records + codes + codes / 64 + nodes + spills + resolve::codebook_bytes(&plan.spec))
}

fn report(
    plan: &BuildPlan,
    options: &BuildOptions,
    manifest: &Manifest,
    stages: Stages,
) -> Result<BuildReport> {
    let calibration = &manifest.calibration;
    let k = 10.min(plan.node_count);
    let reachable = calibration.list_size_for(k, options.recall);
    let mut warnings = Vec::new();
    if let Err(error) = &reachable {
        warnings.push(error.context().to_owned());
    }
    let best = calibration.rows.last().map_or(0.0, |row| {
        let [_, at_10, _] = row.recall;
        at_10
    });
    Ok(BuildReport {
        nodes: plan.node_count.into(),
        shape: plan.spec.shape.vectors(),
        seconds: stages.seconds,
        shards: manifest.graph.shards.max(1),
        relinked_nodes: stages.relinked_nodes,
        mean_degree: manifest.graph.mean_degree,
        code_bytes: plan.spec.storage.quantizer.code_bytes(),
        raw_bytes: manifest.raw_bytes(),
        index_bytes: manifest.files.bytes()?,
        memory_bytes: plan.memory_bytes,
        build_memory_bytes: plan.budget_bytes,
        best_recall_at_10: best,
        list_size: reachable.ok(),
        warnings,
    })
}
