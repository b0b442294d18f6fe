//! Changing an index: how it is opened for it, and what its writer is asked.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pageway::source::{TextRead, TextSlice};
use pageway::{
    Acknowledged, Changes, CreateOptions, Durability, Edit, Error, LostRecords, MemoryWish,
    NoProgress, OpenOptions, Progress, UpdateOptions, VectorShape, Which, Writer, describe_changes,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::convert::{Documents, Keys, Rows, named, schema, wish};
use crate::error::to_exception;
use crate::index::seconds;
use crate::progress::watched;

/// Rows up to this size are in before Ctrl-C could be missed; they need no thread of their own.
const UNWATCHED_BYTES: usize = 1 << 20;
/// How often a writer at rest is looked after.
const REST: Duration = Duration::from_secs(1);

/// The settings of a writer, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct UpdateSettings {
    memory: Option<String>,
    build_memory: Option<String>,
    threads: usize,
    salvage: bool,
    /// Seconds.
    latency_target: Option<f64>,
}

impl UpdateSettings {
    fn options(&self) -> PyResult<UpdateOptions> {
        let memory = |wished: &Option<String>| wished.as_deref().map(wish).transpose();
        Ok(UpdateOptions::default()
            .with_memory(memory(&self.memory)?)
            .with_build_memory(memory(&self.build_memory)?)
            .with_threads(self.threads)
            .with_salvage(self.salvage)
            .with_latency_target(seconds("latency_target", self.latency_target)?))
    }
}

/// The settings of `pageway.create`, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CreateSettings {
    dimension: u32,
    element: String,
    metric: String,
    preset: String,
    form: Option<String>,
    memory: Option<String>,
    expected: Option<u64>,
    degree: u32,
    /// A JSON object.
    schema: Option<String>,
}

impl CreateSettings {
    fn options(&self) -> PyResult<CreateOptions> {
        let shape = VectorShape {
            dimension: self.dimension,
            element: named(&self.element)?,
        };
        let memory = match self.memory.as_deref().map(wish).transpose()? {
            None => None,
            Some(MemoryWish::Bytes(bytes)) => Some(bytes),
            Some(_) => {
                let words = "memory is a share of the vectors, and there are none yet: give bytes";
                return Err(to_exception(Error::invalid(words)));
            }
        };
        Ok(CreateOptions::new(shape, named(&self.metric)?)
            .with_preset(wish(&self.preset)?)
            .with_form(self.form.clone())
            .with_memory(memory)
            .with_expected(self.expected)
            .with_degree(self.degree)
            .with_schema(self.schema.as_deref().map(schema).transpose()?))
    }
}

/// Makes an empty index.
#[pyfunction]
pub(crate) fn create(py: Python<'_>, path: PathBuf, options: CreateSettings) -> PyResult<()> {
    let options = options.options()?;
    py.detach(|| Writer::create(&path, &options))
        .map_err(to_exception)
}

/// A writer, with the thread that syncs what was acknowledged to be synced within a time.
#[derive(Clone)]
pub(crate) struct Changing {
    pub(crate) writer: Arc<Writer>,
    keeper: Arc<Keeper>,
    /// What was given up of a damaged log to have it.
    salvaged: Option<LostRecords>,
}

/// What has changed.
#[derive(Serialize)]
pub(crate) struct Changed {
    #[serde(flatten)]
    changes: Changes,
    salvaged: Option<LostRecords>,
}

/// The thread.
struct Keeper {
    ends: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    fn start(kept: Weak<Writer>) -> std::io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = thread::Builder::new()
            .name("pageway-log".to_owned())
            .spawn(move || keep_up(&kept, &told))?;
        Ok(Self {
            ends,
            thread: Mutex::new(Some(thread)),
        })
    }

    fn wake(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.iter().for_each(|thread| thread.thread().unpark());
    }

    /// Returns when the thread has let go of the writer.
    fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.wake();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A thread that panicked has let go as well.
            let _ended = thread.join();
        }
    }
}

impl Changing {
    /// Opens an index to be changed.
    pub(crate) fn open(
        py: Python<'_>,
        path: &Path,
        open: &OpenOptions,
        update: &UpdateSettings,
    ) -> PyResult<Self> {
        let (salvages, update) = (update.salvage, update.options()?);
        let opened = py.detach(|| {
            let before = salvages.then(|| describe_changes(path)).transpose()?;
            let lost = before.flatten().and_then(|before| before.log?.lost);
            Ok((Writer::open(path, open, &update)?, lost))
        });
        let (writer, salvaged) = opened.map_err(to_exception)?;
        let writer = Arc::new(writer);
        let keeper = Keeper::start(Arc::downgrade(&writer));
        let keeper = Arc::new(keeper.map_err(|error| to_exception(error.into()))?);
        Ok(Self {
            writer,
            keeper,
            salvaged,
        })
    }

    /// What has changed since the index was built, and what was given up to open it.
    pub(crate) fn changed(&self, py: Python<'_>) -> PyResult<Changed> {
        let changes = py.detach(|| self.writer.changes()).map_err(to_exception)?;
        Ok(Changed {
            changes,
            salvaged: self.salvaged.clone(),
        })
    }

    /// Puts rows in, with their ids or names and attributes where they are given.
    pub(crate) fn put(
        &self,
        py: Python<'_>,
        rows: &Rows<'_>,
        (keys, attributes): (Option<&Keys<'_>>, Option<&Documents>),
        (upsert, durability): (bool, Durability),
    ) -> PyResult<Acknowledged> {
        let (ids, names) = match keys {
            None => (None, None),
            Some(Keys::Ids(ids)) => (Some(ids.as_slice()?), None),
            Some(Keys::Names(names)) => (None, Some(TextSlice::names(names))),
        };
        let attributes = attributes.map(Documents::open).transpose()?;
        let rows = pageway::Rows::new(rows.bytes()?, rows.shape()?)
            .with_ids(ids)
            .with_names(names.as_ref().map(|names| names as &dyn TextRead))
            .with_attributes(attributes.as_deref())
            .with_durability(durability);
        let put = |progress: &dyn Progress| {
            if upsert {
                self.writer.upsert_with(&rows, progress)
            } else {
                self.writer.insert_with(&rows, progress)
            }
        };
        let done = if rows.rows.len() <= UNWATCHED_BYTES {
            py.detach(|| put(&NoProgress)).map_err(to_exception)
        } else {
            watched(py, &None, put)
        };
        self.wake(durability);
        done
    }

    /// Deletes rows.
    pub(crate) fn delete(
        &self,
        py: Python<'_>,
        which: Which<'_>,
        durability: Durability,
    ) -> PyResult<Acknowledged> {
        let deleted = py.detach(|| self.writer.delete_rows(which, durability));
        self.wake(durability);
        deleted.map_err(to_exception)
    }

    /// Changes the attributes of rows.
    pub(crate) fn edit(
        &self,
        py: Python<'_>,
        which: Which<'_>,
        (edit, durability): (&Edit, Durability),
    ) -> PyResult<Acknowledged> {
        let done = py.detach(|| self.writer.edit_attributes(which, edit, durability));
        self.wake(durability);
        done.map_err(to_exception)
    }

    /// Whether it was opened by this process, and not by one that it was forked from.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.writer.is_of_this_process()
    }

    /// Makes everything durable, flushes and merges what memory and disk hold another segment for,
    /// so that readers elsewhere see it, and ends the log unless a call of another thread still
    /// runs. Who cancels leaves what is not flushed yet in the log. In a child of a fork it lets go
    /// of what the child has of it, and changes nothing.
    pub(crate) fn close(self, progress: &dyn Progress) -> pageway::Result<()> {
        let Self { writer, keeper, .. } = self;
        if !writer.is_of_this_process() {
            return Ok(());
        }
        keeper.end();
        writer.sync()?;
        // What cannot be flushed stays in the log, for who opens the index to change it.
        let _ = writer.settle(progress);
        Arc::into_inner(writer).map_or(Ok(()), |writer| writer.close().map(drop))
    }

    /// Tells the thread that there is something to be synced within a time.
    fn wake(&self, durability: Durability) {
        if matches!(durability, Durability::Batched(_)) {
            self.keeper.wake();
        }
    }
}

/// Looks after a writer until it is gone, or fails: then the next change says why.
fn keep_up(kept: &Weak<Writer>, ends: &AtomicBool) {
    while !ends.load(Ordering::Acquire)
        && let Some(writer) = kept.upgrade()
    {
        let Ok(left) = writer.keep_up() else {
            return;
        };
        drop(writer);
        thread::park_timeout(left.unwrap_or(REST).min(REST));
    }
}

/// A durability by its name: `synced`, `deferred`, or `batched:` with milliseconds.
pub(crate) fn durability(text: &str) -> PyResult<Durability> {
    let milliseconds = |text: &str| {
        let digits = text.strip_prefix("batched:")?.strip_suffix("ms")?;
        digits.parse().ok().map(Duration::from_millis)
    };
    match text {
        "synced" => Ok(Durability::Synced),
        "deferred" => Ok(Durability::Deferred),
        _ => milliseconds(text).map(Durability::Batched).ok_or_else(|| {
            let words =
                format!("durability is {text:?}: give 'synced', 'deferred' or 'batched:10ms'");
            to_exception(Error::invalid(words))
        }),
    }
}
