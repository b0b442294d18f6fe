//! A build as a whole: a plan, a segment for each run of rows, one calibration, one commit.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use pageway_store::{OsVfs, Vfs};
use pageway_types::{NodeId, Progress, RowId, VectorShape};
use rayon::ThreadPool;

use super::BuildReport;
use super::arrangement::{ArrangedRows, Arrangement};
use super::attributes::check_documents;
use super::calibrate::{guests, held_out_rows};
use super::codebook::SharedCodebook;
use super::course::Course;
use super::cut::Run;
use super::deal::Deal;
use super::disk::{attribute_bytes, index_disk_bytes, peak_temporary_bytes};
use super::encode::Quantizers;
use super::fingerprint::Fingerprint;
use super::named::with_ids;
use super::pipeline::{Built, Pipeline, Stages};
use super::plan::BuildPlan;
use super::scratch::ScratchWish;
use super::stages::BLOCK_BYTES;
use super::stored::{StoredRows, stored_element};
use super::workspace::Workspace;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::manifest::{Manifest, SegmentEntry};
use crate::memory::check_room;
use crate::options::{BuildInput, BuildOptions};
use crate::source::{Inspection, check_free, check_unique, inspect_rows};
use crate::spec::Shape;
use crate::storage::Region;
use crate::threads::thread_pool;

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
        if let (Some(attributes), None) = (input.attributes, input.names) {
            check_free(attributes)?;
        }
        with_ids(input, |input| {
            build_rows(vfs, dir, input, options, progress)
        })
    }
}

/// Builds an index of rows without names.
fn build_rows(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    input: &BuildInput<'_>,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let (plan, codebook) = planned(vfs.as_ref(), input, options, progress)?;
    let built = build_planned(
        (vfs, dir),
        (input, options),
        (&plan, codebook.as_ref()),
        progress,
    );
    built.map_err(|error| stopped(error, options.resume))
}

/// The plan of a build, and the codebook that it takes over, if any. Refuses a build that the
/// machine has no room for.
pub(super) fn planned(
    vfs: &dyn Vfs,
    input: &BuildInput<'_>,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<(BuildPlan, Option<SharedCodebook>)> {
    check_options(options)?;
    let codebook = shared_codebook(vfs, input, options)?;
    let element = stored_element(input, options, progress)?;
    let plan = BuildPlan::new((input, element), options, codebook.as_ref())?;
    let shape = input.vectors.shape();
    // Rows that are narrowed are copied.
    let resident = input.vectors.resident().is_some() && element == shape.element;
    let resident = resident && !plan.cut.is_by_space();
    check_room(
        plan.peak_bytes(resident) + plan.cut.order_bytes(),
        "this build",
    )?;
    Ok((plan, codebook))
}

/// The error of a stopped build, with words about resuming it.
pub(super) fn stopped(error: Error, resume: bool) -> Error {
    if error.kind() != ErrorKind::Cancelled {
        return error;
    }
    let text = if resume {
        "the build was stopped; what is finished is kept, and the same build with resume goes on"
    } else {
        "the build was stopped, and nothing of it stays; one with resume could go on"
    };
    Error::new(ErrorKind::Cancelled, text)
}

/// Builds as planned.
pub(super) fn build_planned(
    (vfs, dir): (&Arc<dyn Vfs>, &Path),
    (input, options): (&BuildInput<'_>, &BuildOptions),
    (plan, codebook): (&BuildPlan, Option<&SharedCodebook>),
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let pool = thread_pool(plan.threads.working)?;
    let mut stages = Stages::start();
    let arrangement = if plan.cut.is_by_space() {
        Some(arrangement((input, options), plan, &pool, progress)?)
    } else {
        None
    };
    if arrangement.is_some() {
        stages.end("cut by space");
    }
    let arranged = arrangement.as_ref().map(|own| own.rows(input));
    let arranged = arranged.as_ref().map(ArrangedRows::input);
    let input = arranged.as_ref().unwrap_or(input);
    let rows = StoredRows::new(input, plan.spec.shape.element)?;
    let stored = rows.input();
    let scratch = ScratchWish {
        dir: options.scratch.as_deref(),
        resumes: options.resume,
    };
    let workspace = Workspace::open(vfs, dir, scratch)?;
    let index_bytes = index_disk_bytes(plan)? + attribute_bytes(input)?;
    workspace.check_space(index_bytes, peak_temporary_bytes(plan))?;
    let course = Course::new(progress, plan);
    let build = Build {
        input,
        stored: &stored,
        options,
        plan,
        codebook,
        regions: arrangement
            .as_ref()
            .map_or(&[], |own| own.regions.as_slice()),
        workspace: &workspace,
        pool: &pool,
        progress: &course,
    };
    let manifest = build.run(&mut stages)?;
    let report = BuildReport::of(plan, options, &manifest, stages)?;
    progress.check()?;
    workspace.commit(&manifest)?;
    course.end();
    Ok(report)
}

/// The order of rows that are cut by space. Checks rows first, so that errors name their numbers in
/// the data.
pub(super) fn arrangement(
    (input, options): (&BuildInput<'_>, &BuildOptions),
    plan: &BuildPlan,
    pool: &ThreadPool,
    progress: &dyn Progress,
) -> Result<Arrangement> {
    let (vectors, metric) = (input.vectors, options.metric);
    let inspection = Inspection {
        vectors,
        name: input.name,
        metric,
    };
    inspect_rows(inspection, BLOCK_BYTES, progress)?;
    if let Some(attributes) = input.attributes {
        check_documents(attributes, options.schema.as_ref())?;
    }
    let deal = Deal {
        vectors,
        metric,
        pool,
        progress,
        stage: "cut by space",
    };
    Arrangement::find(&deal, plan)
}

/// Refuses options that no input can be built with.
pub(super) fn check_options(options: &BuildOptions) -> Result<()> {
    check_recall(options.recall)?;
    check_donor(options)
}

/// A build of all rows.
pub(super) struct Build<'b> {
    pub(super) input: &'b BuildInput<'b>,
    /// The input in the element type that is stored.
    pub(super) stored: &'b BuildInput<'b>,
    pub(super) options: &'b BuildOptions,
    pub(super) plan: &'b BuildPlan,
    pub(super) codebook: Option<&'b SharedCodebook>,
    /// The region of each segment; empty if rows are not cut by space.
    pub(super) regions: &'b [Region],
    pub(super) workspace: &'b Workspace,
    pub(super) pool: &'b ThreadPool,
    pub(super) progress: &'b Course<'b>,
}

/// The rows of one segment of a build.
pub(super) struct SegmentRows<'s> {
    /// The rows in the element type that is stored.
    pub(super) stored: &'s BuildInput<'s>,
    /// Their place among the rows of the build.
    pub(super) run: Range<u32>,
    pub(super) number: u32,
    pub(super) region: Option<&'s Region>,
    /// Rows of the build that stand in for queries, if any do.
    pub(super) held_out: Option<&'s [RowId]>,
}

impl Build<'_> {
    fn run(&self, stages: &mut Stages) -> Result<Manifest> {
        let all = self.check_input()?;
        stages.end("check rows");
        let quantizers = self.shared_quantizers(all)?;
        stages.end("train codes");
        let (segments, held_out) = self.segments(quantizers, stages)?;
        self.joined(segments, held_out, stages)
    }

    /// The index of these segments, calibrated. `held_out`: nodes of the rows that stand in for
    /// queries.
    pub(super) fn joined(
        &self,
        segments: Vec<SegmentEntry>,
        held_out: Option<Vec<NodeId>>,
        stages: &mut Stages,
    ) -> Result<Manifest> {
        let mut manifest = self.manifest(segments);
        let pipeline = self.pipeline(self.input, (self.plan, None), None);
        if self.plan.calibrates(self.options)? {
            manifest.calibration = pipeline.calibrate(&manifest, held_out)?;
            stages.end("calibrate");
        }
        Ok(manifest)
    }

    /// The manifest of these segments, without a calibration.
    pub(super) fn manifest(&self, segments: Vec<SegmentEntry>) -> Manifest {
        let spec = segments
            .first()
            .map_or(&self.plan.spec, |first| &first.spec);
        let mut spec = spec.clone();
        spec.shape.element = self.input.vectors.shape().element;
        spec.layout.folded = None;
        Manifest {
            generation: self.workspace.generation,
            created_by: concat!("pageway ", env!("CARGO_PKG_VERSION")).to_owned(),
            spec,
            segments,
            memory_bytes: self.plan.index_memory,
            calibration: Calibration::default(),
            changes: None,
            schema: self.options.schema.clone(),
            wish: self.options.design_wish(),
        }
    }

    /// Checks ids and attributes, and with several segments the rows of all, before one is built.
    /// Returns the fingerprint of all rows of several segments.
    pub(super) fn check_input(&self) -> Result<Option<Fingerprint>> {
        if let Some(ids) = self.input.ids {
            check_unique(ids, self.plan.budget_bytes)?;
        }
        if let Some(attributes) = self.input.attributes {
            check_documents(attributes, self.options.schema.as_ref())?;
        }
        if self.plan.cut.runs() == 1 {
            return Ok(None);
        }
        let whole = self.pipeline(self.stored, (self.plan, None), None);
        let fingerprint = whole.check_rows()?.fingerprint;
        Ok(Some(fingerprint))
    }

    /// Whether quantizers are trained on the first segment and not on all rows. Codes around
    /// cluster means need the clusters first, and differences from these are about the same in all
    /// segments.
    pub(super) fn trains_on_first(&self) -> bool {
        self.plan.quantizer().has_centres() && self.plan.has_clusters()
    }

    /// Trains the quantizers of several segments on rows of all, unless the first trains them.
    pub(super) fn shared_quantizers(&self, all: Option<Fingerprint>) -> Result<Option<Quantizers>> {
        match all.filter(|_| !self.trains_on_first()) {
            Some(fingerprint) => {
                let whole = self.pipeline(self.stored, (self.plan, None), None);
                whole.trained(fingerprint, None).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Builds the segments one after the other, and finds the nodes of the rows that the
    /// calibration holds out.
    fn segments(
        &self,
        mut quantizers: Option<Quantizers>,
        stages: &mut Stages,
    ) -> Result<(Vec<SegmentEntry>, Option<Vec<NodeId>>)> {
        let rows = held_out_rows(self.input, self.options);
        let (mut segments, mut nodes) = (Vec::new(), Vec::new());
        for (number, run) in (0..).zip(self.plan.cut.all()) {
            self.progress.segment(number);
            let own = Run::new(self.stored, &run);
            let own = SegmentRows {
                stored: &own.input(),
                run,
                number,
                region: self.regions.get(segments.len()),
                held_out: rows.as_deref(),
            };
            let (built, held_out) = self.segment(&own, quantizers.as_ref(), stages)?;
            nodes.extend(held_out);
            segments.push(built.entry);
            quantizers = quantizers.or(Some(built.quantizers));
        }
        Ok((segments, rows.map(|_| nodes)))
    }

    /// Builds a segment, and finds its held-out nodes, numbered among those of all segments.
    pub(super) fn segment(
        &self,
        rows: &SegmentRows<'_>,
        quantizers: Option<&Quantizers>,
        stages: &mut Stages,
    ) -> Result<(Built, Vec<NodeId>)> {
        let (run, held_out) = (&rows.run, rows.held_out.unwrap_or_default());
        let plan = self.plan.of_segment(run.end - run.start);
        let guests = guests(held_out, run);
        let pipeline = self.segment_pipeline(rows, (&plan, quantizers), &guests);
        let mut built = pipeline.build(run.start, stages)?;
        if let Some(region) = rows.region {
            built.entry.files.region = Some(pipeline.region(region, &built.entry)?);
        }
        built.entry.element = self.input.vectors.shape().element;
        let own = held_out.iter().filter(|row| run.contains(&row.0));
        let own: Vec<RowId> = own.map(|row| RowId(row.0 - run.start)).collect();
        let nodes = built.order.nodes_of(&own)?.into_iter();
        let nodes = nodes.map(|node| NodeId(run.start + node.0)).collect();
        Ok((built, nodes))
    }

    /// Trains the quantizers of the first segment.
    pub(super) fn first_quantizers(
        &self,
        rows: &SegmentRows<'_>,
        stages: &mut Stages,
    ) -> Result<Quantizers> {
        let plan = self.plan.of_segment(rows.run.end - rows.run.start);
        let guests = guests(rows.held_out.unwrap_or_default(), &rows.run);
        let pipeline = self.segment_pipeline(rows, (&plan, None), &guests);
        pipeline.own_quantizers(stages)
    }

    fn segment_pipeline<'p>(
        &'p self,
        rows: &SegmentRows<'p>,
        known: (&'p BuildPlan, Option<&'p Quantizers>),
        guests: &'p [NodeId],
    ) -> Pipeline<'p> {
        let number = (self.plan.cut.runs() > 1).then_some(rows.number);
        Pipeline {
            guests,
            ..self.pipeline(rows.stored, known, number)
        }
    }

    fn pipeline<'p>(
        &'p self,
        input: &'p BuildInput<'p>,
        (plan, quantizers): (&'p BuildPlan, Option<&'p Quantizers>),
        segment: Option<u32>,
    ) -> Pipeline<'p> {
        Pipeline {
            input,
            options: self.options,
            plan,
            codebook: self.codebook,
            quantizers,
            ordered: None,
            guests: &[],
            kept: None,
            segment,
            workspace: self.workspace,
            pool: self.pool,
            progress: self.progress,
        }
    }
}

fn check_recall(recall: f32) -> Result<()> {
    if (0.0..=1.0).contains(&recall) {
        return Ok(());
    }
    Err(Error::invalid(format!("recall = {recall}: give 0 to 1")))
}

/// Refuses several segments with a graph of another index, which makes one.
fn check_donor(options: &BuildOptions) -> Result<()> {
    if options.graph_from.is_none() || options.segments == 1 {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "segments = {}: a graph that is taken over makes one segment",
        options.segments
    )))
}

/// The codebook that the build takes over from another index, if it does.
pub(super) fn shared_codebook(
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
