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
use super::encode::Quantizers;
use super::fingerprint::Fingerprint;
use super::graph_file::list_bytes;
use super::named::with_ids;
use super::pipeline::{Built, Pipeline, Stages};
use super::plan::{BuildPlan, GraphPlan};
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
use crate::plan::index_bytes;
use crate::resolve;
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
    workspace.check_space(index_disk_bytes(plan)?, peak_temporary_bytes(plan))?;
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
    let report = report(plan, options, &manifest, stages)?;
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

/// Disk that the build needs, temporary files included.
pub(super) fn disk_bytes(plan: &BuildPlan) -> Result<u64> {
    Ok(index_disk_bytes(plan)? + peak_temporary_bytes(plan))
}

/// Disk that the index needs.
pub(super) fn index_disk_bytes(plan: &BuildPlan) -> Result<u64> {
    Ok(u64::from(plan.cut.runs()) * index_bytes(&plan.spec, plan.node_count)?)
}

/// Most bytes of temporary files at once.
pub(super) fn peak_temporary_bytes(plan: &BuildPlan) -> u64 {
    let ordering = ordering_bytes(plan);
    let graph = graph_bytes(plan);
    // A part is removed before the next is read. Rows stay while shards are made, their lists until
    // they are merged, and the graph until its nodes are placed.
    let merging = ordering + sharding_bytes(plan).max(merged_bytes(plan) + graph);
    let placed = placed_bytes(plan, ordering + graph);
    let paging = ordering + graph + placed + waiting_bytes(plan);
    joined_bytes(plan) + (2 * ordering * 5 / 8).max(merging).max(paging)
}

/// Bytes that a build writes to temporary files.
pub(super) fn temporary_bytes(plan: &BuildPlan) -> u64 {
    let (ordering, graph) = (ordering_bytes(plan), graph_bytes(plan));
    let placed = placed_bytes(plan, ordering + graph);
    let own = 2 * ordering + sharding_bytes(plan) + graph + placed + waiting_bytes(plan);
    own + joined_bytes(plan)
}

/// Bytes of lists that are joined.
fn joined_bytes(plan: &BuildPlan) -> u64 {
    if plan.joins() { plan.joined_bytes() } else { 0 }
}

/// Bytes of `moved` rows and lists that are placed, and of their places.
fn placed_bytes(plan: &BuildPlan, moved: u64) -> u64 {
    let places = 4 * u64::from(plan.node_count);
    plan.graph.window().map_or(0, |_| moved + places)
}

/// Bytes of the rows in order, if they are put in order part by part.
fn ordering_bytes(plan: &BuildPlan) -> u64 {
    let rows = u64::from(plan.node_count) * plan.identified_bytes();
    let means = resolve::cluster_spec(&plan.spec).map_or(0, |spec| {
        let clusters = u64::from(spec.clusters(plan.node_count));
        clusters * u64::from(plan.spec.shape.dimension) * size_of::<f32>() as u64
    });
    plan.parts.map_or(0, |_| rows + means)
}

/// Bytes of shards and of their lists: each node is in two.
fn sharding_bytes(plan: &BuildPlan) -> u64 {
    let row = plan.spec.shape.vectors().row_bytes() as u64;
    let nodes = u64::from(plan.node_count);
    let capacity = plan.graph.capacity();
    let dealt = capacity.map_or(0, |capacity| 2 * nodes + plan.scaffold_nodes(capacity));
    dealt * (row + 4) + merged_bytes(plan)
}

/// Bytes of the lists of shards.
fn merged_bytes(plan: &BuildPlan) -> u64 {
    let list = 4 * u64::from(plan.shard_degree() + 2);
    let nodes = u64::from(plan.node_count);
    let capacity = plan.graph.capacity();
    capacity.map_or(0, |capacity| {
        (2 * nodes + plan.scaffold_nodes(capacity)) * list
    })
}

/// Bytes of a graph on disk.
fn graph_bytes(plan: &BuildPlan) -> u64 {
    let list = list_bytes(plan.spec.graph.max_degree()) as u64;
    let is_file = plan.graph != GraphPlan::Whole;
    u64::from(is_file) * u64::from(plan.node_count) * list
}

/// Bytes of codes that wait on disk for pages.
fn waiting_bytes(plan: &BuildPlan) -> u64 {
    u64::from(plan.codes_wait_on_disk()) * plan.code_table_bytes()
}

pub(super) fn report(
    plan: &BuildPlan,
    options: &BuildOptions,
    manifest: &Manifest,
    stages: Stages,
) -> Result<BuildReport> {
    let calibration = &manifest.calibration;
    let k = 10.min(manifest.node_count());
    let reachable = calibration.list_size_for(k, options.recall);
    let mut warnings = stages.lengths.warnings();
    warnings.extend(plan.warnings(options)?);
    if let Err(error) = &reachable
        && !calibration.curves.is_empty()
    {
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
    Ok(BuildReport {
        nodes: manifest.node_count().into(),
        shape: manifest.spec.shape.vectors(),
        stored: plan.spec.shape.element,
        seconds: stages.seconds,
        shards: manifest.shards(),
        relinked_nodes: stages.relinked_nodes,
        tamed_rows: stages.lengths.tamed,
        mean_degree: manifest.mean_degree(),
        code_bytes: manifest.spec.storage.quantizer.code_bytes(),
        raw_bytes: manifest.raw_bytes(),
        index_bytes: manifest.file_bytes()?,
        file_bytes: manifest.bytes_by_part()?,
        temporary_bytes: u64::from(plan.cut.runs()) * temporary_bytes(plan),
        memory_bytes: manifest.memory_bytes,
        build_memory_bytes: plan.build_memory(),
        best_recall_at_10: calibration.best(k).unwrap_or(0.0),
        list_size: reachable.ok(),
        warnings,
    })
}
