//! The stages of the build of a segment, in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pageway_quant::Quantizer;
use pageway_store::{BlobWriter, FileEntry, FileUuid, PageGeometry, clock};
use pageway_types::NodeId;
use rayon::ThreadPool;

use super::clusters::BuiltClusters;
use super::codebook::SharedCodebook;
use super::course::Course;
use super::encode::Quantizers;
use super::entry::{BuiltEntry, EntryBuild};
use super::fingerprint::{Fingerprint, Watched};
use super::held::HeldRows;
use super::links::{Linked, Lists, noted};
use super::order::{NodeOrder, row_of_unplaced};
use super::ordered::OrderedRows;
use super::outliers::RowLengths;
use super::parts::PartBuild;
use super::plan::{BuildPlan, GraphPlan};
use super::rewrite::KeptLists;
use super::scratch::StageFiles;
use super::stages::BLOCK_BYTES;
use super::windows::Placed;
use super::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{CodeError, FileKind, Files, GraphStatistics, Manifest, SegmentEntry};
use crate::options::{BuildInput, BuildOptions};
use crate::resolve;
use crate::source::{IdRead, Inspection, Lengths, inspect_each};
use crate::storage::{ClusterTable, Region};

/// Builds a segment.
pub(super) struct Pipeline<'p> {
    /// The rows of the segment.
    pub(super) input: &'p BuildInput<'p>,
    pub(super) options: &'p BuildOptions,
    pub(super) plan: &'p BuildPlan,
    pub(super) codebook: Option<&'p SharedCodebook>,
    /// The quantizers of all segments, if trained before.
    pub(super) quantizers: Option<&'p Quantizers>,
    /// Its rows in the order of nodes, if they were put so.
    pub(super) ordered: Option<&'p Ordered>,
    /// Rows of the segment that stand in for queries, and are linked last.
    pub(super) guests: &'p [NodeId],
    /// Segments that the rows come from, if their lists are kept.
    pub(super) kept: Option<KeptLists<'p>>,
    /// Number of the segment, if there are several.
    pub(super) segment: Option<u32>,
    pub(super) workspace: &'p Workspace,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p Course<'p>,
}

/// Rows in the order of nodes, and the clusters that it follows, if any.
pub(super) struct Ordered {
    rows: Arc<OrderedRows>,
    clusters: Option<Arc<ClusterTable>>,
}

/// Seconds of each stage over all segments, and what else stages report.
pub(super) struct Stages {
    pub(super) seconds: Vec<(&'static str, f64)>,
    begin: Instant,
    pub(super) relinked_nodes: u64,
    pub(super) lengths: RowLengths,
}

impl Stages {
    pub(super) fn start() -> Self {
        Self {
            seconds: Vec::new(),
            begin: clock::now(),
            relinked_nodes: 0,
            lengths: RowLengths::default(),
        }
    }

    pub(super) fn end(&mut self, name: &'static str) {
        let now = clock::now();
        let seconds = (now - self.begin).as_secs_f64();
        match self.seconds.iter_mut().find(|(own, _)| *own == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.seconds.push((name, seconds)),
        }
        self.begin = now;
    }
}

/// A segment that was built.
pub(super) struct Built {
    pub(super) entry: SegmentEntry,
    pub(super) order: NodeOrder,
    pub(super) quantizers: Quantizers,
}

/// Rows that passed the checks.
pub(super) struct CheckedRows {
    /// Identifies the rows and their build.
    pub(super) fingerprint: Fingerprint,
    /// Length of the longest.
    pub(super) max_norm: f32,
    lengths: RowLengths,
    /// Whether all components are below 2 in size.
    below_two: bool,
}

/// The results of the stages before the graph.
struct Prepared {
    fingerprint: Fingerprint,
    max_norm: f32,
    clusters: Option<BuiltClusters>,
    quantizers: Quantizers,
}

impl Pipeline<'_> {
    /// Builds the segment: all its files, from its row `first_row` of the data on.
    pub(super) fn build(&self, first_row: u32, stages: &mut Stages) -> Result<Built> {
        self.over_rows(stages, |own, checked, stages| {
            own.build_of(checked, first_row, stages)
        })
    }

    /// The quantizers of the segment; builds nothing else.
    pub(super) fn own_quantizers(&self, stages: &mut Stages) -> Result<Quantizers> {
        self.over_rows(stages, |own, checked, stages| {
            Ok(own.prepare(checked, stages)?.quantizers)
        })
    }

    /// Checks the rows, and calls `act` with the rows to read: in the order of nodes, in memory, or
    /// as given.
    fn over_rows<T>(
        &self,
        stages: &mut Stages,
        act: impl FnOnce(&Pipeline<'_>, CheckedRows, &mut Stages) -> Result<T>,
    ) -> Result<T> {
        let checked = self.check_rows()?;
        stages.lengths.add(checked.lengths);
        stages.end("check rows");
        let plan = self.plan.for_rows(checked.below_two)?;
        let own = Pipeline {
            plan: &plan,
            ..*self
        };
        if let Some(capacity) = plan.parts {
            let ordered = own.put_in_order(capacity, &checked)?;
            stages.end("order rows");
            let input = ordered.rows.input(self.input);
            let pipeline = Pipeline {
                input: &input,
                ordered: Some(&ordered),
                ..own
            };
            return act(&pipeline, checked, stages);
        }
        let holds = plan.graph == GraphPlan::Whole;
        if !holds || self.input.vectors.resident().is_some() {
            return act(&own, checked, stages);
        }
        let held = HeldRows::read(self.input)?;
        let (vectors, ids) = (held.vectors()?, held.ids());
        let input = BuildInput {
            vectors: &vectors,
            ids: ids.as_ref().map(|ids| ids as &dyn IdRead),
            ..*self.input
        };
        let pipeline = Pipeline {
            input: &input,
            ..own
        };
        act(&pipeline, checked, stages)
    }

    /// Its rows in the order of nodes, if that is not the order of the data.
    pub(super) fn ordered_rows(&self) -> Option<&OrderedRows> {
        self.ordered.map(|ordered| ordered.rows.as_ref())
    }

    /// The temporary files of the segment.
    pub(super) fn files(&self, fingerprint: Fingerprint) -> StageFiles<'_> {
        StageFiles {
            scratch: &self.workspace.scratch,
            fingerprint,
            segment: self.segment,
        }
    }

    fn put_in_order(&self, capacity: u32, checked: &CheckedRows) -> Result<Ordered> {
        let parts = PartBuild {
            input: self.input,
            plan: self.plan,
            max_norm: checked.max_norm,
            files: self.files(checked.fingerprint),
            pool: self.pool,
            progress: self.progress,
        };
        let (rows, clusters) = parts.run(capacity)?;
        let rows = Arc::new(rows);
        Ok(Ordered { rows, clusters })
    }

    /// Builds the segment of checked rows.
    fn build_of(&self, checked: CheckedRows, first_row: u32, stages: &mut Stages) -> Result<Built> {
        let prepared = self.prepare(checked, stages)?;
        // Codes of vectors that hardly vary are shorter than they may be.
        let plan = self.plan.with_codes_of(&prepared.quantizers);
        let pipeline = Pipeline {
            plan: &plan,
            ..*self
        };
        let mut built = pipeline.run(prepared, first_row, stages)?;
        built.entry.files.attributes = self.attributes(&built.order, &built.entry)?;
        if built.entry.files.attributes.is_some() {
            stages.end("sort attributes");
        }
        Ok(built)
    }

    fn prepare(&self, checked: CheckedRows, stages: &mut Stages) -> Result<Prepared> {
        let CheckedRows {
            fingerprint,
            max_norm,
            ..
        } = checked;
        let clusters = match self.ordered {
            Some(ordered) => ordered.clusters.as_ref().map(BuiltClusters::in_order),
            None => self.find_clusters(max_norm)?,
        };
        if clusters.is_some() {
            stages.end("find clusters");
        }
        let quantizers = match self.quantizers {
            Some(known) => known.clone(),
            None => self.trained(fingerprint, clusters.as_ref())?,
        };
        stages.end("train codes");
        Ok(Prepared {
            fingerprint,
            max_norm,
            clusters,
            quantizers,
        })
    }

    fn run(&self, mut prepared: Prepared, first_row: u32, stages: &mut Stages) -> Result<Built> {
        let files = self.files(prepared.fingerprint);
        let (Some(capacity), Some(ordered)) = (self.plan.graph.window(), self.ordered) else {
            let linked = self.link(prepared.max_norm, files, stages)?;
            return self.lay_out(prepared, linked, first_row, stages);
        };
        let format = ordered.rows.format();
        let placed = match self.placed_before(files, format)? {
            Some(placed) => placed,
            None => self.place_linked((ordered, capacity), (prepared.max_norm, files), stages)?,
        };
        stages.end("place nodes");
        let (medoid, shards) = (placed.medoid, noted(&placed.note, "shards") as u32);
        let ordered = Ordered {
            rows: Arc::new(placed.rows),
            clusters: None,
        };
        prepared.clusters = None;
        let linked = Linked {
            medoid,
            lists: Lists::File(placed.graph),
            shards,
        };
        let input = ordered.rows.input(self.input);
        let pipeline = Pipeline {
            input: &input,
            ordered: Some(&ordered),
            ..*self
        };
        pipeline.lay_out(prepared, linked, first_row, stages)
    }

    /// Builds the graph on disk, and places its nodes by it.
    fn place_linked(
        &self,
        (ordered, capacity): (&Ordered, u32),
        (max_norm, files): (f32, StageFiles<'_>),
        stages: &mut Stages,
    ) -> Result<Placed> {
        let linked = self.link(max_norm, files, stages)?;
        let Lists::File(graph) = linked.lists else {
            return Err(not_in_memory());
        };
        let note = serde_json::json!({ "shards": linked.shards });
        let windows = (&ordered.rows, graph, capacity);
        self.place_in_windows(windows, (linked.medoid, max_norm), (files, note))
    }

    /// Writes the files of the segment, once its graph is there.
    fn lay_out(
        &self,
        prepared: Prepared,
        linked: Linked<'_>,
        first_row: u32,
        stages: &mut Stages,
    ) -> Result<Built> {
        let Prepared {
            fingerprint,
            max_norm,
            clusters,
            quantizers,
        } = prepared;
        let codebooks = self.write_codebooks(quantizers.clone())?;
        let (order, table) = self.numbers(clusters, &linked, fingerprint)?;
        let overlap = self.overlap(&linked, &order)?;
        stages.end("place nodes");
        let codes = self.encode(&codebooks, (&order, table.as_deref()), fingerprint)?;
        stages.end("encode");
        let entry = self.entry(&linked, (&order, table.as_deref()), &codebooks.first)?;
        let write = |file| self.write_entry(file, fingerprint);
        let entry_file = entry.file.as_ref().map(write).transpose()?;
        stages.end("find entries");
        let own = (fingerprint, max_norm);
        let (records, statistics) = self.records(linked, &order, &codes, own)?;
        stages.end("write records");
        let mut segment = SegmentEntry {
            first_row,
            node_count: self.plan.node_count,
            own_first_id: None,
            element: self.plan.spec.shape.element,
            spec: self.plan.spec.clone(),
            entry: entry.nodes.clone(),
            code_error: Some(CodeError::measured(codes.error)),
            patched: None,
            files: Files {
                records,
                codebook: codebooks.first_file,
                codes: codes.first,
                hot: None,
                entry: entry_file,
                second_codes: codes.second,
                second_codebook: codebooks.second.map(|(_, file)| file),
                identities: self.identities(&order, fingerprint)?,
                ids: None,
                dead: None,
                attributes: None,
                patches: None,
                region: None,
                overwritten: None,
                repaired: None,
                additions: None,
            },
            graph: GraphStatistics {
                overlap,
                ..statistics
            },
        };
        drop(codes.at_hand);
        if resolve::keeps_hot_list(&segment.spec) {
            segment.files.hot = Some(self.hot_nodes(&segment, &entry.structure, fingerprint)?);
            stages.end("choose hot nodes");
        }
        Ok(Built {
            entry: segment,
            order,
            quantizers,
        })
    }

    fn entry<'t>(
        &self,
        linked: &Linked<'_>,
        (order, clusters): (&NodeOrder, Option<&'t ClusterTable>),
        quantizer: &Quantizer,
    ) -> Result<BuiltEntry<'t>> {
        let build = EntryBuild {
            vectors: self.input.vectors,
            spec: &self.plan.spec,
            order,
            medoid: order.node_of(row_of_unplaced(linked.medoid)),
            layers: linked.layers(),
            clusters,
            quantizer,
            pool: self.pool,
            progress: self.progress,
        };
        build.run()
    }

    /// The order of nodes, and the clusters that it follows, if any.
    fn numbers(
        &self,
        clusters: Option<BuiltClusters>,
        linked: &Linked<'_>,
        fingerprint: Fingerprint,
    ) -> Result<(NodeOrder, Option<Arc<ClusterTable>>)> {
        let (found, table) = match clusters {
            Some(clusters) => (Some(clusters.order), Some(clusters.table)),
            None => (None, None),
        };
        let order = match (self.ordered, found) {
            (Some(ordered), _) => NodeOrder::Ordered(Arc::clone(&ordered.rows)),
            (None, Some(order)) => order,
            (None, None) => self.order(linked, self.files(fingerprint))?,
        };
        Ok((order, table))
    }

    /// Refuses invalid rows.
    pub(super) fn check_rows(&self) -> Result<CheckedRows> {
        let vectors = Watched::new(self.input.vectors);
        let metric = self.options.metric;
        let inspection = Inspection {
            vectors: &vectors,
            name: self.input.name,
            metric,
        };
        let mut lengths = Lengths::new();
        let statistics = inspect_each((inspection, BLOCK_BYTES), self.progress, &mut |norm| {
            lengths.count(norm);
        })?;
        let mut fingerprint = vectors.finish().ok_or_else(unordered)?;
        let BuildPlan {
            spec,
            sample_rows,
            graph,
            parts,
            ..
        } = self.plan;
        fingerprint.add_json(&serde_json::json!({
            "spec": spec,
            "sample_rows": sample_rows,
            "shard_capacity": graph.capacity(),
            "part_capacity": parts,
            "window_capacity": graph.window(),
            "donor": self.donor_file()?,
            "guests": self.guests.len(),
            "generation": self.workspace.generation,
        }));
        self.input
            .ids
            .map_or(Ok(()), |ids| fingerprint.add_ids(ids))?;
        Ok(CheckedRows {
            fingerprint,
            max_norm: statistics.max_norm,
            below_two: statistics.below_two,
            lengths: RowLengths::of(&lengths, metric),
        })
    }

    /// Where a file of the segment goes.
    pub(super) fn path(&self, kind: FileKind) -> PathBuf {
        let name = kind.file_name(self.workspace.generation, self.segment);
        self.workspace.dir.join(name)
    }

    /// The file of the graph that is taken over, if any.
    fn donor_file(&self) -> Result<Option<FileUuid>> {
        let vfs = self.workspace.vfs.as_ref();
        let read = |dir: &Path| Ok(Manifest::read(vfs, dir)?.first()?.files.records.uuid);
        self.options.graph_from.as_deref().map(read).transpose()
    }

    /// Writes the region of a segment.
    pub(super) fn region(&self, region: &Region, built: &SegmentEntry) -> Result<FileEntry> {
        let generation = self.workspace.generation;
        let uuid = FileKind::Region.uuid_beside(built.files.records.uuid, generation);
        let mut file = self.blob_of(FileKind::Region, uuid)?;
        file.write(&region.to_bytes())?;
        Ok(file.finish()?)
    }

    pub(super) fn blob(&self, kind: FileKind, fingerprint: Fingerprint) -> Result<BlobWriter> {
        self.blob_of(kind, fingerprint.uuid(kind.stem()))
    }

    pub(super) fn blob_of(&self, kind: FileKind, uuid: FileUuid) -> Result<BlobWriter> {
        let geometry = PageGeometry::new(self.plan.spec.layout.page_bytes, 1)?;
        let path = self.path(kind);
        let vfs = self.workspace.vfs.as_ref();
        Ok(BlobWriter::create(vfs, &path, kind as u16, geometry, uuid)?)
    }

    fn write_entry(
        &self,
        entry: &resolve::EntryFile<'_>,
        fingerprint: Fingerprint,
    ) -> Result<FileEntry> {
        let mut file = self.blob(FileKind::Entry, fingerprint)?;
        entry.write(&mut |piece| Ok(file.write(piece)?))?;
        Ok(file.finish()?)
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

/// The error of stages that were planned for rows in memory and do not find them there.
pub(super) fn not_in_memory() -> Error {
    Error::new(ErrorKind::Internal, "the rows are not in memory")
}

fn unordered() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the rows were not read once each, in order",
    )
}
