//! `ground_truth`: exact neighbours of arrays and files.

use std::borrow::Cow;

use numpy::PyArray2;
use pageway::source::{Inspection, VectorSlice, inspect_rows};
use pageway::truth::{ExactOptions, ExactQuestion, Truth, exact, exact_bytes, exact_bytes_min};
use pageway::{Error, ErrorKind, Progress, VectorRead};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::convert::{Source, named, table};
use crate::progress::{Callback, watched};

/// Bytes of the base that are held at once.
const BLOCK_BYTES: usize = 16 << 20;

/// The settings of `pageway.ground_truth`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TruthSettings {
    k: usize,
    metric: String,
    threads: usize,
}

type Found<'py> = (Bound<'py, PyArray2<u64>>, Bound<'py, PyArray2<f32>>);

/// The `k` nearest rows of `base` for each query: row numbers and distances.
#[pyfunction]
pub(crate) fn ground_truth<'py>(
    py: Python<'py>,
    base: Source<'py>,
    queries: Source<'py>,
    options: TruthSettings,
    progress: Callback,
) -> PyResult<Found<'py>> {
    let metric = named(&options.metric)?;
    let names = (base.name("base"), queries.name("queries"));
    let base = base.open()?;
    let queries = queries.open_among(base.shape().element, "queries")?;
    let sets = [(base.as_ref(), &*names.0), (queries.rows(), &*names.1)];
    let [base, queries] = sets.map(|(vectors, name)| Inspection {
        vectors,
        name,
        metric,
    });
    let truth = watched(py, &progress, |watch| {
        nearest(base, queries, &options, watch)
    })?;
    let count = truth.query_count();
    let ids = truth.ids.into_iter().map(u64::from).collect();
    Ok((
        table(py, ids, count, truth.k)?,
        table(py, truth.distances, count, truth.k)?,
    ))
}

fn nearest(
    base: Inspection<'_>,
    queries: Inspection<'_>,
    settings: &TruthSettings,
    watch: &dyn Progress,
) -> pageway::Result<Truth> {
    inspect_rows(base, BLOCK_BYTES, watch)?;
    inspect_rows(queries, BLOCK_BYTES, watch)?;
    let (base, metric, k) = (base.vectors, base.metric, settings.k);
    let rows = rows_of(queries.vectors)?;
    let queries = VectorSlice::new(&rows, queries.vectors.shape())?;
    let question = ExactQuestion {
        queries,
        metric,
        k,
        exclude: None,
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
    let wished_bytes = exact_bytes(queries.count() as usize, k, BLOCK_BYTES as u64);
    let memory_bytes = wished_bytes.max(exact_bytes_min(&question));
    exact(
        base,
        &question,
        &ExactOptions {
            memory_bytes,
            pool: &pool,
        },
        watch,
    )
}

/// All rows: where they lie when they are in memory, a copy of a file otherwise.
fn rows_of(vectors: &dyn VectorRead) -> pageway::Result<Cow<'_, [u8]>> {
    if let Some(rows) = vectors.resident() {
        return Ok(Cow::Borrowed(rows));
    }
    let mut rows = vec![0; vectors.count() as usize * vectors.shape().row_bytes()];
    vectors.read(0, &mut rows)?;
    Ok(Cow::Owned(rows))
}
