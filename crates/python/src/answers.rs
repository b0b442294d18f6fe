//! What searches found, as arrays of numpy: moved, not copied.

use numpy::PyArray1;
use pageway::{QueryStats, SearchSettings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{json, table};

/// The answers of all queries in one row: those of query `q` are `lims[q] .. lims[q + 1]`. Without
/// a radius each has `k` of them.
#[pyclass(frozen, get_all, module = "pageway._native")]
pub(crate) struct Answers {
    lims: Py<PyArray1<i64>>,
    ids: Py<PyArray1<u64>>,
    distances: Py<PyArray1<f32>>,
    errors: Py<PyArray1<f32>>,
    /// The counters of all queries, an array per counter.
    stats: Py<PyDict>,
    /// What the search resolved to.
    settings: Py<PyDict>,
    /// Queries within a radius with no room for more.
    truncated: usize,
    /// Mean recall that the calibration expects.
    expected_recall: Option<f32>,
    /// Share of the queries that are unlike those of the calibration.
    unlike: f32,
    /// Attributes in step with ids, as JSON; empty where they were not wanted.
    attributes: Vec<Option<String>>,
    /// Names in step with ids; empty where no row has one.
    names: Vec<Option<String>>,
    /// What the filter did, as JSON.
    filter: Option<String>,
}

impl Answers {
    pub(crate) fn new(py: Python<'_>, found: pageway::Answers) -> PyResult<Self> {
        let lims = found.lims.iter().map(|&limit| limit as i64).collect();
        Ok(Self {
            lims: PyArray1::from_vec(py, lims).unbind(),
            ids: PyArray1::from_vec(py, found.ids).unbind(),
            distances: PyArray1::from_vec(py, found.distances).unbind(),
            errors: PyArray1::from_vec(py, found.errors).unbind(),
            stats: columns(py, &found.stats)?.unbind(),
            settings: resolved(py, found.settings)?.unbind(),
            truncated: found.truncated,
            expected_recall: found.expected_recall,
            unlike: found.unlike,
            attributes: found.attributes,
            names: if found.names.iter().any(Option::is_some) {
                found.names
            } else {
                Vec::new()
            },
            filter: found.filter.as_ref().map(json).transpose()?,
        })
    }
}

/// The settings that a search resolved to.
fn resolved(py: Python<'_>, settings: SearchSettings) -> PyResult<Bound<'_, PyDict>> {
    let resolved = PyDict::new(py);
    resolved.set_item("list_size", settings.list_size)?;
    resolved.set_item("beam", settings.beam)?;
    resolved.set_item("threads", settings.threads)?;
    resolved.set_item("interleave", settings.interleave)?;
    Ok(resolved)
}

/// The counters of all queries, an array per counter.
fn columns<'py>(py: Python<'py>, stats: &[QueryStats]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let add = |name: &str, counter: fn(&QueryStats) -> u64| {
        let values = stats.iter().map(counter).collect();
        columns.set_item(name, PyArray1::from_vec(py, values))
    };
    add("reads", |query| query.reads)?;
    add("refine_reads", |query| query.refine_reads)?;
    add("early_reads", |query| query.early_reads)?;
    add("unused_reads", |query| query.unused_reads)?;
    add("page_hits", |query| query.page_hits)?;
    add("pages", |query| query.pages)?;
    add("bytes_read", |query| query.bytes_read)?;
    add("bytes_used", |query| query.bytes_used)?;
    add("rounds", |query| query.rounds)?;
    add("hops", |query| query.hops)?;
    add("exact_distances", |query| query.exact_distances)?;
    add("approximate_distances", |query| query.approximate_distances)?;
    add("estimated", |query| query.estimated)?;
    add("wait_ns", |query| query.wait_ns)?;
    add("compute_ns", |query| query.compute_ns)?;
    add("latency_ns", |query| query.latency_ns)?;
    let hits: Vec<u64> = stats.iter().flat_map(|query| query.cache_hits).collect();
    let buckets = QueryStats::default().cache_hits.len();
    columns.set_item("cache_hits", table(py, hits, stats.len(), buckets)?)?;
    Ok(columns)
}
