//! What searches found, as arrays of numpy: moved, not copied.

use numpy::{PyArray1, PyArray2};
use pageway::{Answers, QueryStats, RangeAnswers, SearchSettings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::table;

type Columns<'py> = Bound<'py, PyDict>;

/// Ids and distances of `k` columns, the counters of each query, what the search resolved to.
pub(crate) type Found<'py> = (
    Bound<'py, PyArray2<u64>>,
    Bound<'py, PyArray2<f32>>,
    Columns<'py>,
    Columns<'py>,
);

/// Limits, ids and distances of all queries in one row; counters and what the search resolved to;
/// queries with no room for more.
pub(crate) type FoundWithin<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f32>>,
    (Columns<'py>, Columns<'py>),
    usize,
);

/// The answers of a search.
pub(crate) fn found(py: Python<'_>, answers: Answers) -> PyResult<Found<'_>> {
    let (queries, k) = (answers.stats.len(), answers.k);
    let stats = columns(py, &answers.stats)?;
    let settings = resolved(py, answers.settings)?;
    let ids = table(py, answers.ids, queries, k)?;
    let distances = table(py, answers.distances, queries, k)?;
    Ok((ids, distances, stats, settings))
}

/// The answers of a range search.
pub(crate) fn found_within(py: Python<'_>, answers: RangeAnswers) -> PyResult<FoundWithin<'_>> {
    let lims = answers.lims.iter().map(|&limit| limit as i64).collect();
    Ok((
        PyArray1::from_vec(py, lims),
        PyArray1::from_vec(py, answers.ids),
        PyArray1::from_vec(py, answers.distances),
        (
            columns(py, &answers.stats)?,
            resolved(py, answers.settings)?,
        ),
        answers.truncated,
    ))
}

/// The settings that a search resolved to.
fn resolved(py: Python<'_>, settings: SearchSettings) -> PyResult<Columns<'_>> {
    let resolved = PyDict::new(py);
    resolved.set_item("list_size", settings.list_size)?;
    resolved.set_item("beam", settings.beam)?;
    resolved.set_item("threads", settings.threads)?;
    resolved.set_item("interleave", settings.interleave)?;
    Ok(resolved)
}

/// The counters of all queries, an array per counter.
fn columns<'py>(py: Python<'py>, stats: &[QueryStats]) -> PyResult<Columns<'py>> {
    let columns = PyDict::new(py);
    let add = |name: &str, counter: fn(&QueryStats) -> u64| {
        let values = stats.iter().map(counter).collect();
        columns.set_item(name, PyArray1::from_vec(py, values))
    };
    add("reads", |query| query.reads)?;
    add("refine_reads", |query| query.refine_reads)?;
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
