//! `Index`: an open index, until it is closed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pageway::{Effort, Error, OpenOptions, Queries, SearchOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::answers::Answers;
use crate::convert::{Rows, json, wish};
use crate::error::to_exception;
use crate::progress::{Callback, watched};

/// Batches up to this size end before Ctrl-C could be missed; they need no thread of their own.
const UNWATCHED_QUERIES: usize = 64;

/// An index that is open for searching. Closing drops it once the searches that run are done.
#[pyclass(frozen, module = "pageway._native")]
pub(crate) struct Index {
    path: PathBuf,
    shape: pageway::VectorShape,
    metric: pageway::Metric,
    count: usize,
    opened: Mutex<Option<Arc<pageway::Index>>>,
}

/// The settings of `pageway.open` and `Index.switch`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct OpenSettings {
    memory: Option<String>,
    threads: usize,
    interleave: u32,
    k: u32,
    list_size: Option<u32>,
    beam: Option<u32>,
}

impl OpenSettings {
    fn options(&self) -> PyResult<OpenOptions> {
        Ok(OpenOptions::default()
            .with_memory(self.memory.as_deref().map(wish).transpose()?)
            .with_threads(self.threads)
            .with_interleave(self.interleave)
            .with_effort(self.list_size.map(Effort::ListSize))
            .with_beam(self.beam)
            .with_k(self.k))
    }
}

/// The settings of `Index.search` and `Index.range`, by name; exactly one of `recall` and
/// `list_size` is given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SearchSettings {
    /// Neighbours; within a radius, results at most.
    k: u32,
    radius: Option<f32>,
    recall: Option<f32>,
    list_size: Option<u32>,
    beam: Option<u32>,
    threads: usize,
    exact: bool,
    /// Seconds.
    timeout: Option<f64>,
}

impl SearchSettings {
    fn options(&self) -> PyResult<SearchOptions> {
        let default = SearchOptions::nearest(self.k);
        let wished = self.recall.map(Effort::Recall);
        let effort = self.list_size.map(Effort::ListSize).or(wished);
        Ok(default
            .with_radius(self.radius)
            .with_effort(effort.unwrap_or(default.effort))
            .with_beam(self.beam)
            .with_threads(self.threads)
            .with_exact(self.exact)
            .with_timeout(self.timeout.map(seconds).transpose()?))
    }
}

fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        let words = format!("timeout is {seconds}: give seconds, 0 or more");
        to_exception(Error::invalid(words))
    })
}

/// What `report` gives: the description with what is open on top.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    description: pageway::Description,
    memory: pageway::MemoryReport,
    backend: pageway::BackendReport,
}

impl Index {
    fn new(path: PathBuf, index: pageway::Index) -> Self {
        Self {
            path,
            shape: index.shape(),
            metric: index.metric(),
            count: index.len() as usize,
            opened: Mutex::new(Some(Arc::new(index))),
        }
    }

    /// The engine's index, held until the caller is done with it.
    fn opened(&self) -> PyResult<Arc<pageway::Index>> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.clone().ok_or_else(|| {
            let path = self.path.display();
            to_exception(Error::invalid(format!(
                "the index {path} is closed; open it again with pageway.open"
            )))
        })
    }
}

#[pymethods]
impl Index {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, options: OpenSettings) -> PyResult<Self> {
        let options = options.options()?;
        let index = py
            .detach(|| pageway::Index::open(&path, &options))
            .map_err(to_exception)?;
        Ok(Self::new(path, index))
    }

    fn switch(&self, py: Python<'_>, path: PathBuf, options: OpenSettings) -> PyResult<Self> {
        let current = self.opened()?;
        let options = options.options()?;
        let index = py
            .detach(|| current.switch(&path, &options))
            .map_err(to_exception)?;
        Ok(Self::new(path, index))
    }

    /// The nearest, or all within a radius.
    fn search(
        &self,
        py: Python<'_>,
        queries: Rows<'_>,
        options: SearchSettings,
    ) -> PyResult<Answers> {
        let index = self.opened()?;
        let queries = Queries::new(queries.bytes()?, queries.shape()?);
        let options = options.options()?;
        let count = queries.rows.len() / queries.shape.row_bytes().max(1);
        let found = if count <= UNWATCHED_QUERIES && options.radius.is_none() {
            py.detach(|| index.search(&queries, &options))
                .map_err(to_exception)?
        } else {
            watched(py, &None, |watch| {
                index.search_with(&queries, &options, watch)
            })?
        };
        Answers::new(py, found)
    }

    fn measure_recall<'py>(
        &self,
        py: Python<'py>,
        queries: Rows<'py>,
        options: SearchSettings,
        progress: Callback,
    ) -> PyResult<Bound<'py, PyDict>> {
        let index = self.opened()?;
        let queries = Queries::new(queries.bytes()?, queries.shape()?);
        let options = options.options()?;
        let report = watched(py, &progress, |watch| {
            index.measure_recall(&queries, &options, watch)
        })?;
        let fields = PyDict::new(py);
        fields.set_item("recall", report.recall)?;
        fields.set_item("k", report.k)?;
        fields.set_item("list_size", report.list_size)?;
        fields.set_item("queries", report.queries)?;
        fields.set_item("pages_per_query", report.pages_per_query)?;
        Ok(fields)
    }

    fn report(&self) -> PyResult<String> {
        let index = self.opened()?;
        json(&Report {
            description: index.description().map_err(to_exception)?,
            memory: index.memory(),
            backend: index.backend(),
        })
    }

    fn calibration(&self) -> PyResult<String> {
        json(self.opened()?.calibration())
    }

    fn close(&self, py: Python<'_>) {
        let opened = self
            .opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        py.detach(|| drop(opened));
    }

    fn __len__(&self) -> usize {
        self.count
    }

    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    #[getter]
    fn dimension(&self) -> u32 {
        self.shape.dimension
    }

    #[getter]
    fn element(&self) -> &'static str {
        self.shape.element.name()
    }

    #[getter]
    fn metric(&self) -> &'static str {
        self.metric.name()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }
}
