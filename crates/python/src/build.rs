//! `build`, its steps and `verify`, long work that opens no index, and `presets`.

use std::path::PathBuf;

use pageway::spec::DEFAULTS;
use pageway::{BuildInput, BuildOptions, BuildStep, Preset, StepKind, VectorRead};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{Documents, Ids, Source, json, named, schema, wish};
use crate::error::to_exception;
use crate::overrides::wished;
use crate::progress::{Callback, watched};
use crate::rows_to_store::RowsToStore;

/// What an index is, of the settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct DesignSettings {
    preset: String,
    form: Option<String>,
    degree: u32,
    build_list: u32,
    code_bytes: Option<u32>,
    page_bytes: u32,
    beam: Option<u32>,
    /// A JSON object.
    overrides: Option<String>,
    seed: u64,
}

impl DesignSettings {
    /// The options that these settings are, with the choices of the design.
    fn options(&self) -> PyResult<BuildOptions> {
        Ok(BuildOptions::default()
            .with_preset(wish(&self.preset)?)
            .with_form(self.form.clone())
            .with_degree(self.degree)
            .with_build_list(self.build_list)
            .with_code_bytes(self.code_bytes)
            .with_page_bytes(self.page_bytes)
            .with_beam(self.beam)
            .with_seed(self.seed))
    }
}

/// What may be taken, of the settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Budgets {
    memory: Option<String>,
    build_memory: Option<String>,
    disk: Option<String>,
}

/// Where temporary files go and whether they stay, of the settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ScratchSettings {
    dir: Option<PathBuf>,
    resume: bool,
}

/// How many segments and how rows are cut into them, of the settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SegmentSettings {
    count: u32,
    cut: String,
}

/// The settings of `pageway.build`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct BuildSettings {
    metric: String,
    design: DesignSettings,
    recall: f32,
    budgets: Budgets,
    codebook_from: Option<PathBuf>,
    graph_from: Option<PathBuf>,
    scratch: ScratchSettings,
    threads: usize,
    segments: SegmentSettings,
    calibration_queries: Option<u32>,
    /// A JSON object.
    schema: Option<String>,
    /// Element type that floats are rounded to.
    store: Option<String>,
}

impl BuildSettings {
    /// The options that these settings are for a build over `vectors`.
    fn options(self, vectors: &dyn VectorRead) -> PyResult<BuildOptions> {
        let budget = |wished: &Option<String>| wished.as_deref().map(wish).transpose();
        let options = self
            .design
            .options()?
            .with_metric(named(&self.metric)?)
            .with_memory(budget(&self.budgets.memory)?)
            .with_build_memory(budget(&self.budgets.build_memory)?)
            .with_disk(budget(&self.budgets.disk)?)
            .with_schema(self.schema.as_deref().map(schema).transpose()?)
            .with_recall(self.recall)
            .with_codebook_from(self.codebook_from)
            .with_graph_from(self.graph_from)
            .with_scratch(self.scratch.dir)
            .with_resume(self.scratch.resume)
            .with_threads(self.threads)
            .with_segments(self.segments.count)
            .with_cut(wish(&self.segments.cut)?)
            .with_calibration_queries(self.calibration_queries);
        match &self.design.overrides {
            Some(wishes) => wished(&options, wishes, vectors).map_err(to_exception),
            None => Ok(options),
        }
    }
}

/// Vectors, ids, example queries, attributes.
type BuildRows<'py> = (
    Source<'py>,
    Option<Ids<'py>>,
    Option<Source<'py>>,
    Option<Documents>,
);

/// Builds an index from `input`. Gives the report as JSON, and how far rounding moved a vector.
#[pyfunction]
pub(crate) fn build(
    py: Python<'_>,
    path: PathBuf,
    input: BuildRows<'_>,
    options: BuildSettings,
    progress: Callback,
) -> PyResult<(String, Option<f32>)> {
    with_input(input, options, |input, options| {
        let report = watched(py, &progress, |watch| {
            pageway::Index::build(&path, input, options, watch)
        })?;
        json(&report)
    })
}

/// Does one step of such a build, with what steps finish in `work`. Gives its report as JSON, and
/// how far rounding moved a vector that it read.
#[pyfunction]
pub(crate) fn build_step(
    py: Python<'_>,
    path: PathBuf,
    input: BuildRows<'_>,
    options: BuildSettings,
    step: (PathBuf, String),
    progress: Callback,
) -> PyResult<(String, Option<f32>)> {
    let (work, kind) = step;
    let step = BuildStep::new(work, wish::<StepKind>(&kind)?);
    with_input(input, options, |input, options| {
        let report = watched(py, &progress, |watch| {
            pageway::Index::build_step(&path, input, options, &step, watch)
        })?;
        json(&report)
    })
}

/// Does something with the input and the options of a build; tells too how far rounding moved a
/// vector.
fn with_input<T>(
    (source, ids, queries, attributes): BuildRows<'_>,
    options: BuildSettings,
    act: impl FnOnce(&BuildInput<'_>, &BuildOptions) -> PyResult<T>,
) -> PyResult<(T, Option<f32>)> {
    let name = source.name("data");
    let store = options.store.as_deref().map(named).transpose()?;
    let vectors = RowsToStore::new(source.open()?, &name, store)?;
    let options = options.options(vectors.rows())?;
    let options = options.with_store_as_given(store.is_some());
    let names = ids.as_ref().and_then(Ids::names);
    let ids = ids.as_ref().map(Ids::open).transpose()?.flatten();
    let among = vectors.rows().shape().element;
    let queries = queries.as_ref().map(|own| own.open_among(among, "queries"));
    let queries = queries.transpose()?;
    let attributes = attributes.as_ref().map(Documents::open).transpose()?;
    let input = BuildInput::new(vectors.rows(), &name)
        .with_ids(ids.as_deref())
        .with_names(names.as_ref().map(|names| names as _))
        .with_queries(queries.as_ref().map(RowsToStore::rows))
        .with_attributes(attributes.as_deref());
    Ok((act(&input, &options)?, vectors.worst_error()))
}

/// What builds and searches take where nobody says, by name.
#[pyfunction]
pub(crate) fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let defaults = PyDict::new(py);
    defaults.set_item("degree", DEFAULTS.degree)?;
    defaults.set_item("build_list", DEFAULTS.build_list)?;
    defaults.set_item("page_bytes", DEFAULTS.page_bytes)?;
    // As it is written, not as the next f32.
    let recall = (f64::from(DEFAULTS.recall) * 1e4).round() / 1e4;
    defaults.set_item("recall", recall)?;
    defaults.set_item("seed", DEFAULTS.seed)?;
    Ok(defaults)
}

/// Name and summary of each preset.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str)> {
    Preset::ALL
        .map(|preset| (preset.name(), preset.summary()))
        .to_vec()
}

/// Checks every page of the index at `path`; gives the report as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, path: PathBuf, progress: Callback) -> PyResult<String> {
    json(&watched(py, &progress, |watch| {
        pageway::verify(&path, watch)
    })?)
}

/// Publishes the index at `path` to object storage; gives what was done as JSON.
#[pyfunction]
pub(crate) fn publish(
    py: Python<'_>,
    path: PathBuf,
    url: String,
    progress: Callback,
) -> PyResult<String> {
    json(&watched(py, &progress, |watch| {
        pageway_object::publish(&pageway_object::open_url(&url)?, &path, watch)
    })?)
}
