//! The stages of a build, in order.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pageway_store::{BlobWriter, FileEntry, FileUuid, OsVfs, PageGeometry, Vfs, clock};
use pageway_types::{Progress, VectorShape};
use rayon::ThreadPool;

use super::BuildReport;
use super::budget::{BLOCK_BYTES, BuildPlan, GraphPlan};
use super::choose::index_bytes;
use super::clusters::BuiltClusters;
use super::codebook::SharedCodebook;
use super::encode::Codebooks;
use super::entry::EntryBuild;
use super::fingerprint::{Fingerprint, Watched};
use super::workspace::Workspace;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FileKind, Files, GraphStatistics, Index, Manifest, thread_pool};
use crate::options::{BuildInput, BuildOptions};
use crate::resolve;
use crate::source::{Inspection, check_unique, inspect_rows};
use crate::spec::Shape;

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
        check_recall(options.recall)?;
        let codebook = shared_codebook(vfs.as_ref(), input, options)?;
        let plan = BuildPlan::new(input, options, codebook.as_ref())?;
        let workspace = Workspace::open(vfs, dir)?;
        workspace.check_space(disk_bytes(&plan)?)?;
        let pool = thread_pool(plan.threads)?;
        let pipeline = Pipeline {
            input,
            options,
            plan: &plan,
            codebook,
            workspace: &workspace,
            pool,
            progress,
        };
        let mut stages = Stages::start();
        let prepared = pipeline.prepare(&mut stages)?;
        // Codes of vectors that hardly vary are shorter than they may be.
        let plan = plan.with_codes_of(&prepared.codebooks);
        let pipeline = Pipeline {
            plan: &plan,
            ..pipeline
        };
        let manifest = pipeline.run(prepared, &mut stages)?;
        let report = report(&plan, options, &manifest, stages)?;
        progress.check()?;
        workspace.commit(&manifest)?;
        Ok(report)
    }
}

fn check_recall(recall: f32) -> Result<()> {
    if (0.0..=1.0).contains(&recall) {
        return Ok(());
    }
    Err(Error::invalid(format!("recall = {recall}: give 0 to 1")))
}

/// The codebook that the build takes over from another index, if it does.
fn shared_codebook(
    vfs: &dyn Vfs,
    input: &BuildInput<'_>,
    options: &BuildOptions,
) -> Result<Option<SharedCodebook>> {
    let Some(other) = &options.codebook_from else {
        return Ok(None);
    };
    let VectorShape { dimension, element } = input.vectors.shape();
    let shape = Shape {
        dimension,
        element,
        metric: options.metric,
    };
    Ok(Some(SharedCodebook::read(vfs, other, shape)?))
}

pub(super) struct Pipeline<'p> {
    pub(super) input: &'p BuildInput<'p>,
    pub(super) options: &'p BuildOptions,
    pub(super) plan: &'p BuildPlan,
    pub(super) codebook: Option<SharedCodebook>,
    pub(super) workspace: &'p Workspace,
    pub(super) pool: ThreadPool,
    pub(super) progress: &'p dyn Progress,
}

/// Seconds by stage, and what stages report beside the manifest.
pub(super) struct Stages {
    seconds: Vec<(&'static str, f64)>,
    begin: Instant,
    pub(super) relinked_nodes: u64,
}

impl Stages {
    fn start() -> Self {
        Self {
            seconds: Vec::new(),
            begin: clock::now(),
            relinked_nodes: 0,
        }
    }

    pub(super) fn end(&mut self, name: &'static str) {
        let now = clock::now();
        self.seconds.push((name, (now - self.begin).as_secs_f64()));
        self.begin = now;
    }
}

/// What is known once all rows were seen.
struct Prepared {
    fingerprint: Fingerprint,
    max_norm: f32,
    clusters: Option<BuiltClusters>,
    codebooks: Codebooks,
}

impl Pipeline<'_> {
    fn prepare(&self, stages: &mut Stages) -> Result<Prepared> {
        let (fingerprint, max_norm) = self.check_rows()?;
        stages.end("check rows");
        let clusters = self.find_clusters(max_norm)?;
        if clusters.is_some() {
            stages.end("find clusters");
        }
        let codebooks = self.train(fingerprint, clusters.as_ref())?;
        stages.end("train codes");
        Ok(Prepared {
            fingerprint,
            max_norm,
            clusters,
            codebooks,
        })
    }

    fn run(&self, prepared: Prepared, stages: &mut Stages) -> Result<Manifest> {
        let Prepared {
            fingerprint,
            max_norm,
            clusters,
            codebooks,
        } = prepared;
        let linked = self.link(max_norm, stages)?;
        let (order, table) = match clusters {
            Some(clusters) => (clusters.order, Some(clusters.table)),
            None => (self.order(&linked)?, None),
        };
        let overlap = self.overlap(&linked, &order)?;
        stages.end("place nodes");
        let codes = self.encode(&codebooks, (&order, table.as_ref()), fingerprint)?;
        stages.end("encode");
        let medoid = order.node_of(linked.medoid);
        let entry = EntryBuild {
            vectors: self.input.vectors,
            spec: &self.plan.spec,
            order: &order,
            medoid,
            layers: linked.layers(),
            clusters: table.as_ref(),
            quantizer: &codebooks.first,
            pool: &self.pool,
            progress: self.progress,
        };
        let entry = entry.run()?;
        let entry_file = match &entry.file {
            Some(file) => Some(self.write_blob(FileKind::Entry, fingerprint, &file.to_bytes())?),
            None => None,
        };
        stages.end("find entries");
        let (records, statistics) = self.records(linked, &order, &codes, fingerprint)?;
        stages.end("write records");
        let mut manifest = Manifest {
            generation: self.workspace.generation,
            created_by: concat!("pageway ", env!("CARGO_PKG_VERSION")).to_owned(),
            spec: self.plan.spec.clone(),
            node_count: self.plan.node_count,
            entry: entry.nodes.clone(),
            files: Files {
                records,
                codebook: codebooks.first_file,
                codes: codes.first,
                hot: None,
                entry: entry_file,
                second_codes: codes.second,
                second_codebook: codebooks.second.map(|(_, file)| file),
                identities: self.identities(&order, fingerprint)?,
            },
            graph: GraphStatistics {
                overlap,
                ..statistics
            },
            memory_bytes: self.plan.memory_bytes,
            calibration: Calibration::default(),
        };
        drop(codes.at_hand);
        if resolve::keeps_hot_list(&manifest.spec) {
            manifest.files.hot = Some(self.hot_nodes(&manifest, &entry.structure, fingerprint)?);
            stages.end("choose hot nodes");
        }
        manifest.calibration = self.calibrate(&manifest, &order)?;
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
        fingerprint.add_json(&serde_json::json!({
            "spec": spec,
            "sample_rows": sample_rows,
            "shard_capacity": graph.capacity(),
            "donor": self.donor()?,
            "generation": self.workspace.generation,
        }));
        self.input
            .ids
            .map_or(Ok(()), |ids| fingerprint.add_ids(ids))?;
        Ok((fingerprint, statistics.max_norm))
    }

    /// The file whose lists are taken over, where they are.
    fn donor(&self) -> Result<Option<FileUuid>> {
        let vfs = self.workspace.vfs.as_ref();
        let read = |dir: &Path| Ok(Manifest::read(vfs, dir)?.files.records.uuid);
        self.options.graph_from.as_deref().map(read).transpose()
    }

    pub(super) fn blob(&self, kind: FileKind, fingerprint: Fingerprint) -> Result<BlobWriter> {
        self.blob_of(kind, fingerprint.uuid(kind.stem()))
    }

    pub(super) fn blob_of(&self, kind: FileKind, uuid: FileUuid) -> Result<BlobWriter> {
        let geometry = PageGeometry::new(self.plan.spec.layout.page_bytes, 1)?;
        let path = self.workspace.path(kind);
        let vfs = self.workspace.vfs.as_ref();
        Ok(BlobWriter::create(vfs, &path, kind as u16, geometry, uuid)?)
    }

    pub(super) fn write_blob(
        &self,
        kind: FileKind,
        fingerprint: Fingerprint,
        bytes: &[u8],
    ) -> Result<FileEntry> {
        let mut file = self.blob(kind, fingerprint)?;
        file.write(bytes)?;
        Ok(file.finish()?)
    }
}

/// Disk that the build needs, temporary files included.
fn disk_bytes(plan: &BuildPlan) -> Result<u64> {
    let nodes = u64::from(plan.node_count);
    let row = plan.spec.shape.vectors().row_bytes() as u64;
    let list = 4 * u64::from(plan.shard_degree() + 2);
    let spills = match plan.graph {
        GraphPlan::Whole => 0,
        GraphPlan::Shards { .. } => 2 * nodes * (row + 4 + list),
    };
    Ok(index_bytes(&plan.spec, plan.node_count)? + spills)
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
    if let Some(dir) = options
        .graph_from
        .as_ref()
        .filter(|_| plan.spec.graph.max_degree() == 0)
    {
        warnings.push(format!(
            "the graph of {} was not taken over: with this memory the design has clusters and no \
             lists",
            dir.display()
        ));
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
