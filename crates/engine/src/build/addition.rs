//! A segment that is added to an index: built as all are, of the design that is there.

use std::path::Path;
use std::sync::Arc;

use pageway_quant::Quantizer;
use pageway_store::{FileEntry, FileUuid, Vfs};
use pageway_types::{Progress, RowId};

use super::budget::{BuildPlan, GraphPlan};
use super::calibrate::held_out_rows;
use super::choose::Refused;
use super::cut::Cut;
use super::encode::Quantizers;
use super::ids::IdFile;
use super::order::NodeOrder;
use super::pipeline::{Pipeline, Stages};
use super::workspace::Workspace;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{FileKind, Manifest, SegmentEntry};
use crate::options::{BuildInput, BuildOptions};
use crate::plan::index_bytes;
use crate::resolve::{self, Source};
use crate::spec::{IdStorage, IndexSpec, QuantizerSpec};
use crate::threads::thread_pool;

/// Rows that a quantizer is trained on at most.
const SAMPLE_ROWS: u64 = 65_536;

/// Rows that stand in for queries where a segment is calibrated.
const CALIBRATION_QUERIES: u32 = 200;

/// What a segment is made of, and within what.
pub(crate) struct Addition<'a> {
    pub(crate) vfs: &'a Arc<dyn Vfs>,
    pub(crate) dir: &'a Path,
    /// Number of the build in its directory: part of the names of its files.
    pub(crate) generation: u64,
    /// Rows with their ids.
    pub(crate) input: &'a BuildInput<'a>,
    /// The design of the index.
    pub(crate) spec: &'a IndexSpec,
    /// The segment whose quantizers are taken over; trained where absent.
    pub(crate) donor: Option<Source<'a>>,
    pub(crate) limits: AdditionLimits,
    /// Whether recall is measured on it.
    pub(crate) calibrates: bool,
    pub(crate) progress: &'a dyn Progress,
}

/// What the build of an added segment may take.
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
}

impl Addition<'_> {
    /// Builds the segment.
    ///
    /// # Errors
    /// `InvalidInput` with the least that works where memory is too small, `NoSpace` before
    /// anything is written where the disk is, and those of a build.
    pub(crate) fn build(&self) -> Result<Added> {
        let options = options_of(self.spec);
        let rows = Cut::of(self.input, 1)?.rows();
        let resident = self.input.vectors.resident().is_some();
        let plan = plan(self.spec, (rows, resident), self.limits, &options)?;
        let workspace = Workspace::of_writer(self.vfs, self.dir, self.generation);
        workspace.check_space(index_bytes(&plan.spec, rows)? + u64::from(rows) * 24)?;
        let pool = thread_pool(plan.threads)?;
        let quantizers = self.donor.map(taken_over).transpose()?;
        let pipeline = Pipeline {
            input: self.input,
            options: &options,
            plan: &plan,
            codebook: None,
            quantizers: quantizers.as_ref(),
            guests: &[],
            segment: None,
            workspace: &workspace,
            pool: &pool,
            progress: self.progress,
        };
        let built = pipeline.build(0, &mut Stages::start())?;
        let mut entry = built.entry;
        entry.files.ids = Some(self.ids(&built.order, &entry)?);
        let calibration = if self.calibrates {
            let held_out = held_out_rows(self.input, &options);
            let node_of = |row: RowId| built.order.node_of(row);
            let nodes = held_out.map(|rows| rows.into_iter().map(node_of).collect());
            let manifest = alone(&entry, &plan);
            Some(pipeline.calibrate(&manifest, nodes)?)
        } else {
            None
        };
        Ok(Added { entry, calibration })
    }

    fn ids(&self, order: &NodeOrder, entry: &SegmentEntry) -> Result<FileEntry> {
        let none = || Error::new(ErrorKind::Internal, "rows without ids");
        let ids = self.input.ids.ok_or_else(none)?;
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

/// Whether a segment of so many rows, `resident` or not, can be built within the limits.
///
/// # Errors
/// `InvalidInput` with the least that works.
pub(crate) fn check_addition(
    spec: &IndexSpec,
    rows: (u32, bool),
    limits: AdditionLimits,
) -> Result<()> {
    plan(spec, rows, limits, &options_of(spec)).map(|_| ())
}

fn options_of(spec: &IndexSpec) -> BuildOptions {
    BuildOptions {
        metric: spec.shape.metric,
        seed: spec.seed,
        page_bytes: spec.layout.page_bytes,
        calibration_queries: CALIBRATION_QUERIES,
        ..BuildOptions::default()
    }
}

/// The design of an index, for a segment of `rows` rows that is added to it: with ids beside its
/// rows.
pub(crate) fn added_spec(spec: &IndexSpec, rows: u32) -> IndexSpec {
    let mut spec = spec.clone();
    spec.storage.ids = IdStorage::InRecord;
    let codes = spec.storage.codes;
    spec.storage.codes = codes.with_memory_nodes(codes.in_memory(rows));
    spec
}

fn plan(
    spec: &IndexSpec,
    (rows, resident): (u32, bool),
    limits: AdditionLimits,
    options: &BuildOptions,
) -> Result<BuildPlan> {
    let mut plan = BuildPlan {
        spec: added_spec(spec, rows),
        node_count: rows,
        cut: Cut::new(rows, 1)?,
        index_memory: limits.index_memory,
        memory_bytes: limits.index_memory,
        budget_bytes: limits.build_memory,
        sample_rows: SAMPLE_ROWS.min(rows.into()),
        graph: GraphPlan::Whole,
        threads: limits.threads.max(1),
    };
    plan.spec.validate()?;
    plan.fit(resident, options).map_err(Refused::into_error)?;
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
    }
}

fn taken_over(donor: Source<'_>) -> Result<Quantizers> {
    let (files, storage) = (&donor.segment.files, &donor.segment.spec.storage);
    let read = |file: &FileEntry, spec: QuantizerSpec| -> Result<(Quantizer, FileUuid)> {
        Ok((resolve::quantizer(donor, file, spec)?, file.uuid))
    };
    let second = files.second_codebook.as_ref().zip(storage.second_quantizer);
    Ok(Quantizers {
        first: read(&files.codebook, storage.quantizer)?,
        second: second.map(|(file, spec)| read(file, spec)).transpose()?,
    })
}
