//! `Index`: an open index, until it is closed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pageway::{
    CalibrateOptions, Effort, Error, ErrorKind, Filter, HeldOutRows, IdSet, MemoryWish, NoProgress,
    OpenOptions, OsVfs, Progress, Queries, SearchOptions, Strategy, Vfs,
};
use pageway_object::{CacheMode, RemoteVfs, is_url};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::answers::Answers;
use crate::convert::{Documents, Keys, Rows, json, wish};
use crate::error::to_exception;
use crate::progress::{Callback, watched};
use crate::rows::{EditWish, Scrolled, WhichRows, row_parts, scrolled};
use crate::writer::{Changing, UpdateSettings, durability};

/// Batches up to this size end before Ctrl-C could be missed; they need no thread of their own.
const UNWATCHED_QUERIES: usize = 64;

/// Ids, and the bytes of their vectors.
type Stored<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>);

/// An index that is open for searching. Closing drops it once the searches that run are done.
#[pyclass(frozen, module = "pageway._native")]
pub(crate) struct Index {
    path: PathBuf,
    shape: pageway::VectorShape,
    metric: pageway::Metric,
    opened: Mutex<Option<Opened>>,
}

/// What is open: an index, and where it may be changed, its writer.
#[derive(Clone)]
struct Opened {
    index: Arc<pageway::Index>,
    changing: Option<Changing>,
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
    /// Seconds.
    follow: Option<f64>,
    recent_queries: u32,
    /// Directory of the cache of an index in object storage, its bytes, and its mode.
    cache: Option<(PathBuf, String, String)>,
}

impl OpenSettings {
    fn options(&self) -> PyResult<OpenOptions> {
        Ok(OpenOptions::default()
            .with_memory(self.memory.as_deref().map(wish).transpose()?)
            .with_threads(self.threads)
            .with_interleave(self.interleave)
            .with_effort(self.list_size.map(Effort::ListSize))
            .with_beam(self.beam)
            .with_follow(seconds("follow", self.follow)?)
            .with_recent_queries(self.recent_queries)
            .with_k(self.k))
    }

    /// The file system that has the index, and where it is there.
    fn place(&self, path: &Path) -> pageway::Result<(Arc<dyn Vfs>, PathBuf)> {
        let Some(url) = path.to_str().filter(|_| is_url(path)) else {
            return Ok((Arc::new(OsVfs), path.to_owned()));
        };
        let Some((cache, bytes, mode)) = &self.cache else {
            let words = format!("{url}: name a directory for its blocks: cache=\"DIR\"");
            return Err(Error::invalid(words));
        };
        let MemoryWish::Bytes(bytes) = bytes.parse()? else {
            return Err(Error::invalid("cache_bytes: give bytes, such as \"2GB\""));
        };
        let mode: Result<CacheMode, String> = mode.parse();
        let mode = mode.map_err(Error::invalid)?;
        let remote = RemoteVfs::of_url(url, (cache, bytes), mode)?;
        let root = remote.root().to_owned();
        Ok((Arc::new(remote), root))
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
    tolerance: String,
    /// Seconds.
    timeout: Option<f64>,
    /// How rows that match are searched.
    strategy: Option<String>,
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
            .with_tolerance(wish(&self.tolerance)?)
            .with_timeout(seconds("timeout", self.timeout)?)
            .with_strategy(self.strategy.as_deref().map(wish::<Strategy>).transpose()?))
    }
}

/// What rows must be to be found: a text, and whether it is JSON of Qdrant's and no expression; a
/// mask of ids from 0 on; ids; or a bitmap of them.
#[derive(FromPyObject)]
pub(crate) enum FilterWish<'py> {
    Text(String, bool),
    Mask(PyReadonlyArray1<'py, bool>),
    Ids(PyReadonlyArray1<'py, u64>),
    Bitmap(PyBackedBytes),
}

impl FilterWish<'_> {
    /// The filter.
    pub(crate) fn filter(&self) -> PyResult<Filter> {
        match self {
            Self::Text(json, true) => Filter::qdrant(json).map_err(to_exception),
            Self::Text(text, false) => Filter::expression(text).map_err(to_exception),
            Self::Mask(mask) => Ok(Filter::ids(IdSet::of_mask(mask.as_slice()?))),
            Self::Ids(ids) => Ok(Filter::ids(
                ids.as_slice()?.iter().copied().collect::<IdSet>(),
            )),
            Self::Bitmap(bytes) => Filter::bitmap(bytes).map_err(to_exception),
        }
    }
}

pub(crate) fn seconds(name: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let duration = |seconds| {
        Duration::try_from_secs_f64(seconds).map_err(|_| {
            let words = format!("{name} is {seconds}: give seconds, 0 or more");
            to_exception(Error::invalid(words))
        })
    };
    seconds.map(duration).transpose()
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
    fn new(path: PathBuf, index: Arc<pageway::Index>, changing: Option<Changing>) -> Self {
        Self {
            path,
            shape: index.shape(),
            metric: index.metric(),
            opened: Mutex::new(Some(Opened { index, changing })),
        }
    }

    /// The engine's index, held until the caller is done with it.
    fn opened(&self) -> PyResult<Arc<pageway::Index>> {
        Ok(self.held()?.index)
    }

    /// The writer, held until the caller is done with it.
    fn changing(&self) -> PyResult<Changing> {
        self.held()?.changing.ok_or_else(|| {
            let path = self.path.display();
            let words = format!(
                "{path} is open for searches alone: open it with pageway.open(.., writable=True)"
            );
            to_exception(Error::new(ErrorKind::ReadOnly, words))
        })
    }

    /// Shape and metric: of the version that searches turned to last, or once closed of the first.
    fn now(&self) -> (pageway::VectorShape, pageway::Metric) {
        let of_open = |opened: Opened| (opened.index.shape(), opened.index.metric());
        self.held().map_or((self.shape, self.metric), of_open)
    }

    fn held(&self) -> PyResult<Opened> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.clone().ok_or_else(|| {
            let path = self.path.display();
            to_exception(Error::invalid(format!(
                "the index {path} is closed; open it again with pageway.open"
            )))
        })
    }
}

/// Closes what was open; makes durable what was changed.
fn close(opened: Option<Opened>, progress: &dyn Progress) -> pageway::Result<()> {
    let changing = opened.and_then(|opened| opened.changing);
    changing.map_or(Ok(()), |changing| changing.close(progress))
}

impl Drop for Index {
    fn drop(&mut self) {
        let opened = self
            .opened
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // Who collects an index has nobody left to tell.
        let _closed = close(opened.take(), &NoProgress);
    }
}

#[pymethods]
impl Index {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, options: OpenSettings) -> PyResult<Self> {
        let open = options.options()?;
        let index = py.detach(|| {
            let (vfs, dir) = options.place(&path)?;
            pageway::Index::open_on(&vfs, &dir, &open)
        });
        Ok(Self::new(
            path,
            Arc::new(index.map_err(to_exception)?),
            None,
        ))
    }

    #[staticmethod]
    fn open_writable(
        py: Python<'_>,
        path: PathBuf,
        options: OpenSettings,
        update: UpdateSettings,
    ) -> PyResult<Self> {
        let changing = Changing::open(py, &path, &options.options()?, &update)?;
        let index = Arc::clone(changing.writer.index());
        Ok(Self::new(path, index, Some(changing)))
    }

    /// Inserts rows, or puts them in place of others. Gives what was done as JSON.
    fn put(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        beside: (Option<Keys<'_>>, Option<Documents>),
        how: (bool, String),
    ) -> PyResult<String> {
        let how = (how.0, durability(&how.1)?);
        let beside = (beside.0.as_ref(), beside.1.as_ref());
        json(&self.changing()?.put(py, &rows, beside, how)?)
    }

    /// Changes attributes of rows. Gives what was done as JSON.
    fn edit(
        &self,
        py: Python<'_>,
        which: WhichRows<'_>,
        edit: EditWish,
        how: String,
    ) -> PyResult<String> {
        let how = (&edit.edit()?, durability(&how)?);
        let changing = self.changing()?;
        json(&which.with(|which| changing.edit(py, which, how))?)
    }

    /// Rows in the order of their ids: from an id on, so many, with vectors and with attributes if
    /// so. Gives ids, attributes, bytes of vectors, and the next id.
    fn scroll<'py>(
        &self,
        py: Python<'py>,
        matching: Option<FilterWish<'_>>,
        start: (u64, usize),
        parts: (bool, bool),
    ) -> PyResult<Scrolled<'py>> {
        let index = self.opened()?;
        let filter = matching.as_ref().map(FilterWish::filter).transpose()?;
        let page = py.detach(|| index.scroll(filter.as_ref(), start, row_parts(parts)));
        Ok(scrolled(py, page.map_err(to_exception)?))
    }

    /// The rows of some ids or names, likewise.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        keys: Keys<'py>,
        parts: (bool, bool),
    ) -> PyResult<Scrolled<'py>> {
        let (index, parts) = (self.opened()?, row_parts(parts));
        let rows = match &keys {
            Keys::Ids(ids) => {
                let ids = ids.as_slice()?;
                py.detach(|| index.rows(ids, parts))
            }
            Keys::Names(names) => py.detach(|| index.rows_named(names, parts)),
        };
        Ok(scrolled(py, rows.map_err(to_exception)?.into()))
    }

    /// Deletes rows. Gives what was done as JSON.
    fn delete(&self, py: Python<'_>, which: WhichRows<'_>, how: String) -> PyResult<String> {
        let (changing, how) = (self.changing()?, durability(&how)?);
        json(&which.with(|which| changing.delete(py, which, how))?)
    }

    fn sync(&self, py: Python<'_>) -> PyResult<u64> {
        let changing = self.changing()?;
        py.detach(|| changing.writer.sync()).map_err(to_exception)
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let changing = self.changing()?;
        py.detach(|| changing.writer.cancel());
        Ok(())
    }

    fn flush(&self, py: Python<'_>, progress: Callback) -> PyResult<()> {
        let changing = self.changing()?;
        watched(py, &progress, |watch| changing.writer.flush(watch))
    }

    fn merge(&self, py: Python<'_>, full: bool, progress: Callback) -> PyResult<String> {
        let changing = self.changing()?;
        json(&watched(py, &progress, |watch| {
            changing.writer.merge(full, watch)
        })?)
    }

    fn snapshot(&self, py: Python<'_>, path: PathBuf, progress: Callback) -> PyResult<()> {
        let changing = self.changing()?;
        watched(py, &progress, |watch| {
            changing.writer.snapshot(&path, watch)
        })
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let index = self.opened()?;
        py.detach(|| index.refresh()).map_err(to_exception)
    }

    fn changes(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.changing()?.changed(py)?)
    }

    fn switch(&self, py: Python<'_>, path: PathBuf, options: OpenSettings) -> PyResult<Self> {
        let current = self.opened()?;
        let options = options.options()?;
        let index = py
            .detach(|| current.switch(&path, &options))
            .map_err(to_exception)?;
        Ok(Self::new(path, Arc::new(index), None))
    }

    /// The nearest, or all within a radius.
    fn search(
        &self,
        py: Python<'_>,
        queries: Rows<'_>,
        options: SearchSettings,
        among: (Option<FilterWish<'_>>, bool),
    ) -> PyResult<Answers> {
        let index = self.opened()?;
        // A copy: other threads of Python may write to the array meanwhile.
        let (rows, shape) = (queries.bytes()?.to_vec(), queries.shape()?);
        let filter = among.0.as_ref().map(FilterWish::filter).transpose()?;
        let queries = Queries::new(&rows, shape)
            .with_filter(filter.as_ref())
            .with_wants_names(true)
            .with_wants_attributes(among.1);
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

    /// How many rows match a filter.
    fn count(&self, py: Python<'_>, matching: FilterWish<'_>) -> PyResult<u64> {
        let (index, filter) = (self.opened()?, matching.filter()?);
        py.detach(|| index.count(&filter)).map_err(to_exception)
    }

    /// Paths at which attributes have values, their kinds, and how many different values.
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<&'static str>, u64)>> {
        let index = self.opened()?;
        let fields = py.detach(|| index.fields()).map_err(to_exception)?;
        let fields = fields.into_iter();
        Ok(fields
            .map(|field| (field.path, field.kinds, field.values))
            .collect())
    }

    fn measure_recall<'py>(
        &self,
        py: Python<'py>,
        queries: Option<Rows<'py>>,
        how: (SearchSettings, u32),
        matching: Option<FilterWish<'_>>,
        progress: Callback,
    ) -> PyResult<Bound<'py, PyDict>> {
        let index = self.opened()?;
        let given =
            |queries: Rows<'py>| PyResult::Ok((queries.bytes()?.to_vec(), queries.shape()?));
        let given = queries.map(given).transpose()?;
        let (options, drawn) = (how.0.options()?, how.1);
        let filter = matching.as_ref().map(FilterWish::filter).transpose()?;
        let report = watched(py, &progress, |watch| {
            let drawn = match &given {
                Some(_) => None,
                None => Some(index.held_out_rows(drawn, 1)?),
            };
            let given = given.as_ref();
            let queries = given.map(|(rows, shape)| Queries::new(rows, *shape));
            let drawn = drawn.as_ref().map(HeldOutRows::queries);
            let queries = queries
                .or(drawn)
                .unwrap_or_else(|| Queries::new(&[], index.shape()));
            index.measure_recall(&queries.with_filter(filter.as_ref()), &options, watch)
        })?;
        let fields = PyDict::new(py);
        fields.set_item("recall", report.recall)?;
        fields.set_item("recall_p5", report.recall_p5)?;
        fields.set_item("k", report.k)?;
        fields.set_item("list_size", report.list_size)?;
        fields.set_item("queries", report.queries)?;
        fields.set_item("pages_per_query", report.pages_per_query)?;
        Ok(fields)
    }

    /// The new calibration, as JSON, and what to say of it. Options: numbers of neighbours, queries
    /// at most, and the seed.
    fn calibrate(
        &self,
        py: Python<'_>,
        queries: Option<Rows<'_>>,
        options: (Vec<u32>, u32, u64),
        progress: Callback,
    ) -> PyResult<(String, Option<String>)> {
        let (k, most, seed) = options;
        let index = self.opened()?;
        let rows =
            queries.map(|queries| PyResult::Ok((queries.bytes()?.to_vec(), queries.shape()?)));
        let rows = rows.transpose()?;
        let queries = rows
            .as_ref()
            .map(|(rows, shape)| Queries::new(rows, *shape));
        let options = CalibrateOptions::default()
            .with_k(k)
            .with_queries(most)
            .with_seed(seed);
        let calibration = watched(py, &progress, |watch| {
            index.calibrate(queries.as_ref(), &options, watch)
        })?;
        Ok((json(&calibration)?, calibration.few_warning()))
    }

    /// The bytes of the vectors of `ids`, one after the other.
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        ids: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let (index, ids) = (self.opened()?, ids.as_slice()?);
        let found = py.detach(|| index.vectors(ids)).map_err(to_exception)?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// The bytes of queries that were asked lately, one after the other.
    fn recent_queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        Ok(PyArray1::from_vec(py, self.opened()?.recent_queries()))
    }

    /// Ids and bytes of `count` vectors from `first` on, in the order they lie on disk.
    fn stored<'py>(&self, py: Python<'py>, first: u64, count: u64) -> PyResult<Stored<'py>> {
        let index = self.opened()?;
        let (mut ids, mut rows) = (Vec::new(), Vec::new());
        let end = first.saturating_add(count);
        py.detach(|| {
            index.visit_stored(first..end, &mut |stored| {
                ids.push(stored.id);
                rows.extend_from_slice(stored.bytes);
                Ok(())
            })
        })
        .map_err(to_exception)?;
        Ok((PyArray1::from_vec(py, ids), PyArray1::from_vec(py, rows)))
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
        json(&self.opened()?.calibration())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let opened = self
            .opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let changes = opened.as_ref().and_then(|opened| opened.changing.as_ref());
        // A child of a fork starts no thread: handles of those of its parent may name it.
        if changes.is_some_and(Changing::is_of_this_process) {
            return watched(py, &None, |progress| close(opened, progress));
        }
        py.detach(|| close(opened, &NoProgress))
            .map_err(to_exception)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.held()?.index.len() as usize)
    }

    #[getter]
    fn writable(&self) -> bool {
        self.held().is_ok_and(|opened| opened.changing.is_some())
    }

    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    #[getter]
    fn dimension(&self) -> u32 {
        self.now().0.dimension
    }

    #[getter]
    fn element(&self) -> &'static str {
        self.now().0.element.name()
    }

    #[getter]
    fn metric(&self) -> &'static str {
        self.now().1.name()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }
}
