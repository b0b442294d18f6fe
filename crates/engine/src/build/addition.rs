//! A segment that is added to an index, built by the same stages and in the design of the index.

use std::path::Path;
use std::sync::Arc;

use pageway_quant::Quantizer;
use pageway_store::{FileEntry, Vfs};
use pageway_types::{ElementType, Progress, RowId};

use super::attributes::{AttributeBuild, DocumentsById};
use super::calibrate::held_out_rows;
use super::choose::{OrRefused, Refused};
use super::course::Course;
use super::cut::Cut;
use super::disk::{index_disk_bytes, peak_temporary_bytes, temporary_bytes};
use super::encode::{CodebookFile, Quantizers};
use super::ids::IdFile;
use super::order::NodeOrder;
use super::pipeline::{Pipeline, Stages};
use super::plan::{BuildKind, BuildPlan, BuildThreads, GraphPlan};
use super::rewrite::KeptLists;
use super::workspace::Workspace;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{AttributeFiles, FileKind, Manifest, SegmentEntry};
use crate::options::{BuildInput, BuildOptions};
use crate::resolve::{self, Source};
use crate::spec::{IdStorage, IndexSpec, QuantizerSpec};
use crate::threads::thread_pool;

/// Bytes of a row in the table of ids, and while that is sorted on disk.
const ID_DISK_BYTES: u64 = 12 + 20;

/// Rows that a quantizer is trained on at most.
const SAMPLE_ROWS: u64 = 65_536;

/// Rows that a partition is planned with, if no quantizer is trained.
const PARTITION_ROWS: u64 = 8192;

/// Rows that stand in for queries of a calibration: the usual number, and the least one.
pub(crate) const CALIBRATION_QUERIES: [u32; 2] = [500, 200];

/// A segment to build: its rows, design and limits.
pub(crate) struct Addition<'a> {
    pub(crate) vfs: &'a Arc<dyn Vfs>,
    pub(crate) dir: &'a Path,
    /// Number of the build in its directory: part of the names of its files.
    pub(crate) generation: u64,
    /// Rows with their ids, in the element type that they are stored in.
    pub(crate) input: &'a BuildInput<'a>,
    /// Their attributes, if any.
    pub(crate) documents: Option<&'a dyn DocumentsById>,
    /// The design of the index, with the element type of its rows as given.
    pub(crate) spec: &'a IndexSpec,
    /// The segment whose quantizers are taken over; `None` trains them.
    pub(crate) donor: Option<Source<'a>>,
    pub(crate) limits: AdditionLimits,
    /// Rows that stand in for queries, if the segment is calibrated; 0 if not.
    pub(crate) calibration_queries: u32,
    /// Segments that the rows come from, if their lists are to be kept or joined, as far as memory
    /// is enough.
    pub(crate) kept: Option<KeptLists<'a>>,
    pub(crate) progress: &'a dyn Progress,
}

/// Memory limits of the build of an added segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdditionLimits {
    /// Memory of the build.
    pub(crate) build_memory: u64,
    /// Memory of searches.
    pub(crate) index_memory: u64,
    pub(crate) threads: usize,
}

/// A segment that was added, in files that no manifest names yet.
pub(crate) struct Added {
    pub(crate) entry: SegmentEntry,
    pub(crate) calibration: Option<Calibration>,
    /// Rows that are new to the segment: all, unless it is one that took more rows.
    pub(crate) came: u32,
    /// Bytes of its files that were written.
    pub(crate) written_bytes: u64,
    /// Bytes that were written to temporary files.
    pub(crate) temporary_bytes: u64,
}

impl Addition<'_> {
    /// Builds the segment.
    ///
    /// # Errors
    /// `InvalidInput` with the least that works where memory is too small, `NoSpace` before
    /// anything is written where the disk is, and those of a build.
    pub(crate) fn build(&self) -> Result<Added> {
        let options = options_of(self.spec, self.kind());
        let rows = Cut::whole(self.input)?.rows();
        let mut spec = self.spec.clone();
        let given = std::mem::replace(&mut spec.shape.element, self.input.vectors.shape().element);
        let resident = self.input.vectors.resident().is_some();
        let mut plan = plan(&spec, (rows, resident), self.kind(), self.limits)?;
        if let Some(largest) = self.kept.and_then(|kept| kept.segments.first()) {
            if spec.keeps_lists() {
                plan.keep_lists(largest.node_count)?;
            }
            let can_join = spec.joins_lists() && plan.can_join();
            if let BuildKind::Added { joins, .. } = &mut plan.kind {
                *joins = can_join;
            }
        }
        let workspace = Workspace::of_writer(self.vfs, self.dir, self.generation);
        workspace.check_space(
            index_disk_bytes(&plan)? + u64::from(rows) * ID_DISK_BYTES,
            peak_temporary_bytes(&plan),
        )?;
        let pool = thread_pool(plan.threads.working)?;
        let quantizers = self.donor.map(taken_over).transpose()?;
        let course = Course::of_part(self.progress);
        let pipeline = Pipeline {
            input: self.input,
            options: &options,
            plan: &plan,
            codebook: None,
            quantizers: quantizers.as_ref(),
            ordered: None,
            guests: &[],
            kept: self.kept,
            segment: None,
            workspace: &workspace,
            pool: &pool,
            progress: &course,
        };
        let built = pipeline.build(0, &mut Stages::start())?;
        let mut entry = built.entry;
        if let Some(donor) = self.donor.and_then(|donor| donor.segment.code_error) {
            entry.code_error = entry.code_error.map(|own| own.trained_on(donor));
        }
        entry.files.ids = Some(self.ids(&built.order, &entry)?);
        entry.files.attributes = self.attributes(&entry)?;
        let calibration = if self.calibration_queries > 0 {
            let held_out = held_out_rows(self.input, &options);
            let nodes = held_out
                .map(|rows| built.order.nodes_of(&rows))
                .transpose()?;
            drop(built.order);
            let manifest = alone(&entry, &plan);
            Some(pipeline.calibrate(&manifest, nodes)?)
        } else {
            None
        };
        entry.element = given;
        Ok(Added {
            came: entry.node_count,
            written_bytes: entry.files.bytes_of(self.generation)?,
            entry,
            calibration,
            temporary_bytes: temporary_bytes(&plan),
        })
    }

    fn kind(&self) -> BuildKind {
        BuildKind::Added {
            trains: self.donor.is_none(),
            calibration_queries: self.calibration_queries,
            joins: false,
        }
    }

    /// Writes the attributes of the rows, given by id, if there are any.
    fn attributes(&self, entry: &SegmentEntry) -> Result<Option<AttributeFiles>> {
        let Some(documents) = self.documents else {
            return Ok(None);
        };
        let build = AttributeBuild {
            vfs: self.vfs,
            dir: self.dir.to_path_buf(),
            name: (self.generation, None),
            page_bytes: self.spec.layout.page_bytes,
            records: entry.files.records.uuid,
            nodes: entry.node_count,
            memory_bytes: self.limits.build_memory,
        };
        let source = Source {
            vfs: self.vfs.as_ref(),
            dir: self.dir,
            segment: entry,
        };
        build.by_ids(documents, source).map(Some)
    }

    fn ids(&self, order: &NodeOrder, entry: &SegmentEntry) -> Result<FileEntry> {
        let none = || Error::new(ErrorKind::Internal, "rows without ids");
        let ids = match order {
            NodeOrder::Ordered(rows) => rows.as_ref(),
            NodeOrder::Rows | NodeOrder::Placed { .. } => self.input.ids.ok_or_else(none)?,
        };
        let file = IdFile {
            vfs: self.vfs,
            dir: self.dir,
            name: (self.generation, None),
            page_bytes: self.spec.layout.page_bytes,
            uuid: FileKind::Ids.uuid_beside(entry.files.records.uuid, self.generation),
            memory_bytes: self.limits.build_memory / 2,
        };
        let node_of = |row: u32| order.node_of(RowId(row)).0;
        file.write(
            entry.node_count,
            &mut |first, out| ids.read(first, out),
            &node_of,
        )
    }
}

/// A segment that is to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdditionSize {
    pub(crate) rows: u32,
    /// Whether its rows are in memory.
    pub(crate) resident: bool,
    /// Whether quantizers are taken over.
    pub(crate) has_donor: bool,
    /// Rows that stand in for queries, if it is calibrated; 0 if not.
    pub(crate) calibration_queries: u32,
}

/// Whether a segment can be built within the limits.
///
/// # Errors
/// `InvalidInput` with the least that works.
pub(crate) fn check_addition(
    spec: &IndexSpec,
    size: AdditionSize,
    limits: AdditionLimits,
) -> Result<()> {
    let kind = BuildKind::Added {
        trains: !size.has_donor,
        calibration_queries: size.calibration_queries,
        joins: false,
    };
    let check = |spec: &IndexSpec| plan(spec, (size.rows, size.resident), kind, limits);
    check(spec)?;
    if spec.shape.element == ElementType::F32 {
        // Whether it can be stored as f16 is known only once its rows are read.
        let mut narrowed = spec.clone();
        narrowed.shape.element = ElementType::F16;
        check(&narrowed)?;
    }
    Ok(())
}

fn options_of(spec: &IndexSpec, kind: BuildKind) -> BuildOptions {
    let calibration_queries = match kind {
        BuildKind::Added {
            calibration_queries,
            ..
        } => calibration_queries,
        BuildKind::Whole => 0,
    };
    BuildOptions {
        metric: spec.shape.metric,
        seed: spec.seed,
        page_bytes: spec.layout.page_bytes,
        calibration_queries: Some(calibration_queries),
        ..BuildOptions::default()
    }
}

/// The design of an index for a segment of `rows` rows that is added to it: records have ids.
pub(crate) fn added_spec(spec: &IndexSpec, rows: u32) -> IndexSpec {
    let mut spec = spec.clone();
    spec.storage.ids = IdStorage::InRecord;
    let codes = spec.storage.codes;
    spec.storage.codes = codes.with_memory_nodes(codes.in_memory(rows));
    spec
}

/// The plan of an added segment, in the design of the index. If memory does not hold its graph,
/// nodes are in the order of the data, so that the graph can be built in shards.
pub(super) fn plan(
    spec: &IndexSpec,
    size: (u32, bool),
    kind: BuildKind,
    limits: AdditionLimits,
) -> Result<BuildPlan> {
    let own = added_spec(spec, size.0);
    let planned = plan_of(own.clone(), size, kind, limits);
    let planned = planned.or_else(|refused| {
        let in_order = own.in_order_of_rows();
        if own.layout.placement.is_by_id() || in_order.validate().is_err() {
            return Err(refused);
        }
        plan_of(in_order, size, kind, limits).map_err(|other| refused.or(other))
    });
    planned.map_err(Refused::into_error)
}

fn plan_of(
    spec: IndexSpec,
    (rows, resident): (u32, bool),
    kind: BuildKind,
    limits: AdditionLimits,
) -> OrRefused<BuildPlan> {
    spec.validate()?;
    let options = options_of(&spec, kind);
    let sample_rows = match kind {
        BuildKind::Added { trains: false, .. } => PARTITION_ROWS,
        BuildKind::Added { .. } | BuildKind::Whole => SAMPLE_ROWS,
    };
    let mut plan = BuildPlan {
        kind,
        spec,
        node_count: rows,
        cut: Cut::new(rows, 1)?,
        index_memory: limits.index_memory,
        memory_bytes: limits.index_memory,
        budget_bytes: limits.build_memory,
        sample_rows: sample_rows.min(rows.into()),
        parts: None,
        graph: GraphPlan::Whole,
        threads: BuildThreads::of(limits.threads.max(1), limits.threads.max(1)),
        passed_over: None,
    };
    plan.fit(resident, &options)?;
    Ok(plan)
}

/// A manifest of one segment.
fn alone(entry: &SegmentEntry, plan: &BuildPlan) -> Manifest {
    Manifest {
        generation: 0,
        created_by: String::new(),
        spec: entry.spec.clone(),
        segments: vec![entry.clone()],
        memory_bytes: plan.index_memory,
        calibration: Calibration::default(),
        changes: None,
        schema: None,
        wish: None,
    }
}

fn taken_over(donor: Source<'_>) -> Result<Quantizers> {
    let (files, storage) = (&donor.segment.files, &donor.segment.spec.storage);
    let read = |file: &FileEntry, spec: QuantizerSpec| -> Result<(Quantizer, CodebookFile)> {
        let quantizer = resolve::quantizer(donor, file, spec)?;
        Ok((quantizer, CodebookFile::Shared(file.clone())))
    };
    let second = files.second_codebook.as_ref().zip(storage.second_quantizer);
    Ok(Quantizers {
        first: read(&files.codebook, storage.quantizer)?,
        second: second.map(|(file, spec)| read(file, spec)).transpose()?,
    })
}
