//! Making, opening and closing a collection.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use pageway::server::create_directory;
use pageway::{
    CreateOptions, ElementType, Index, MemoryLack, MemoryWish, Metric, OpenOptions, Progress,
    UpdateOptions, VectorShape, Vfs, Writer,
};
use serde_json::json;

use super::journal::Journal;
use super::schema::{DenseField, Schema};
use super::scroll::IdWindow;
use crate::division::Lack;
use crate::failure::{Failure, Outcome};
use crate::partition::Replica;
use crate::upkeep::DeltaRows;
use crate::wire::without_vector;

/// Parts of a delta of which one is large.
const LARGE_DELTA: u64 = 4;
/// Rows of a delta that are few.
const SMALL_DELTA: u64 = 4096;
/// The directory of the journal.
pub(super) const JOURNAL: &str = "JOURNAL";

/// A collection that is open. Shared by threads.
pub(crate) struct OpenCollection {
    pub(super) schema: Schema,
    /// Of each dense vector; one where there is none.
    pub(super) writers: Vec<Writer>,
    /// In their place, where the collection is one of object storage: it does not change.
    fixed: Option<Index>,
    order: Mutex<WriteOrder>,
    /// Whether rows of the first index may have a vector of no meaning.
    pub(super) has_gaps: AtomicBool,
    /// Beginnings and ends of changes since it was opened.
    pub(super) changes: AtomicU64,
    /// Searches since it was opened, and the pages that they read.
    pub(super) searches: AtomicU64,
    pub(super) pages: AtomicU64,
    /// What its memory has become too small for, and whether there is more for rows.
    lack: OnceLock<Lack>,
    can_grow: bool,
    /// Ids that a scroll is about to come to.
    pub(super) window: Mutex<Option<IdWindow>>,
    /// The log that changes go into first, where it is a part of a collection on several nodes.
    pub(super) shared: OnceLock<Arc<Replica>>,
}

/// What changes one after the other.
pub(super) struct WriteOrder {
    pub(super) journal: Option<Journal>,
    /// The last operation.
    pub(super) last: u64,
    /// Why nothing may change before the collection was closed and opened.
    pub(super) broken: Option<Failure>,
}

/// Memory of a collection, and what its searches are to stay within.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpenMemory {
    /// Of the searches of an index, bytes.
    pub(crate) search: u64,
    /// Of the changes of an index, bytes, and those of them that are for flushes and merges, where
    /// the index does not choose these.
    pub(crate) update: u64,
    pub(crate) build: Option<u64>,
    /// Searches at the same time.
    pub(crate) threads: usize,
    /// Latency of searches beside changes, if any.
    pub(crate) latency_target: Option<Duration>,
    /// Whether there is more for rows that wait.
    pub(crate) can_grow: bool,
}

impl OpenMemory {
    fn options(self) -> OpenOptions {
        OpenOptions::default()
            .with_memory(MemoryWish::Bytes(self.search))
            .with_threads(self.threads)
            .with_interleave(1)
    }
}

impl OpenCollection {
    /// Makes an empty collection in a directory that is not there yet.
    pub(crate) fn create(vfs: &Arc<dyn Vfs>, dir: &Path, schema: &Schema) -> Outcome<()> {
        create_directory(vfs.as_ref(), dir)?;
        for number in 0..index_count(schema) {
            let field = schema.dense.get(number);
            let none = VectorShape {
                dimension: 1,
                element: ElementType::F32,
            };
            let shape = field.map_or(none, DenseField::shape);
            let metric = field.map_or(Metric::L2, |field| field.distance.metric());
            let mut options = CreateOptions::new(shape, metric);
            if let Some(degree) = field.and_then(|field| field.degree) {
                options = options.with_degree(degree);
            }
            Writer::create_on(vfs, &dir.join(format!("v{number}")), &options)?;
        }
        if index_count(schema) > 1 {
            Journal::create(vfs, &dir.join(JOURNAL))?;
        }
        Ok(())
    }

    /// Opens a collection, and does again what may be missing in some of its indexes.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        schema: &Schema,
        memory: OpenMemory,
    ) -> Outcome<Self> {
        let open = memory.options();
        let update = UpdateOptions::default()
            .with_memory(MemoryWish::Bytes(memory.update))
            .with_build_memory(memory.build.map(MemoryWish::Bytes))
            .with_threads(1)
            .with_latency_target(memory.latency_target);
        let writer = |number| {
            let dir = dir.join(format!("v{number}"));
            Writer::open_on(vfs, &dir, &open, &update)
        };
        let writers: Vec<Writer> = (0..index_count(schema))
            .map(writer)
            .collect::<pageway::Result<_>>()?;
        let last = writers.first().map(Writer::changes).transpose()?;
        let last = last.map_or(0, |changes| changes.lsn);
        let collection = Self::holding(schema, (writers, None), (last, memory.can_grow));
        if collection.writers.len() > 1 {
            collection.recover(vfs, &dir.join(JOURNAL))?;
        }
        collection.look_for_gaps()?;
        Ok(collection)
    }

    /// Opens a collection that does not change: an index of object storage.
    pub(crate) fn open_fixed(
        (vfs, dir): (&Arc<dyn Vfs>, &Path),
        schema: &Schema,
        memory: OpenMemory,
    ) -> Outcome<Self> {
        let index = Index::open_on(vfs, dir, &memory.options())?;
        let collection = Self::holding(schema, (Vec::new(), Some(index)), (0, false));
        collection.look_for_gaps()?;
        Ok(collection)
    }

    fn holding(
        schema: &Schema,
        (writers, fixed): (Vec<Writer>, Option<Index>),
        (last, can_grow): (u64, bool),
    ) -> Self {
        Self {
            schema: schema.clone(),
            writers,
            fixed,
            order: Mutex::new(WriteOrder {
                journal: None,
                last,
                broken: None,
            }),
            has_gaps: AtomicBool::new(true),
            changes: AtomicU64::new(0),
            searches: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            lack: OnceLock::new(),
            can_grow,
            window: Mutex::new(None),
            shared: OnceLock::new(),
        }
    }

    /// Has its changes go into the log of a partition first.
    pub(crate) fn share(&self, replica: &Arc<Replica>) {
        self.shared.get_or_init(|| Arc::clone(replica));
    }

    fn look_for_gaps(&self) -> Outcome<()> {
        let (Some(field), Some(index)) = (self.schema.dense.first(), self.first()) else {
            return Ok(());
        };
        let whole = without_vector(None, &field.name);
        let with_vector = pageway::Filter::qdrant(&whole.to_string())?;
        let gaps = !index.is_empty() && index.count(&with_vector)? < index.len();
        self.has_gaps.store(gaps, Ordering::Release);
        Ok(())
    }

    /// Makes every index durable.
    pub(crate) fn sync_indexes(&self) -> Outcome<()> {
        for writer in &self.writers {
            writer.sync()?;
        }
        Ok(())
    }

    /// Makes everything durable and ends the logs.
    pub(crate) fn close(self) -> Outcome<()> {
        self.sync_indexes()?;
        self.forget_journal()?;
        for writer in self.writers {
            writer.close()?;
        }
        Ok(())
    }

    /// The index that has a row for every point.
    pub(super) fn first(&self) -> Option<&Index> {
        self.index(0)
    }

    /// The index of a dense vector.
    pub(super) fn index(&self, number: usize) -> Option<&Index> {
        let own = self.writers.get(number);
        let own = own.map(|writer| writer.index().as_ref());
        own.or(self.fixed.as_ref().filter(|_| number == 0))
    }

    /// 403 where it does not change.
    pub(super) fn check_changes(&self) -> Outcome<()> {
        match &self.fixed {
            None => Ok(()),
            Some(_) => Err(Failure::is_fixed()),
        }
    }

    /// The right to change points.
    pub(super) fn order(&self) -> MutexGuard<'_, WriteOrder> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its memory has become too small for, if anything.
    pub(crate) fn lack(&self) -> Option<Lack> {
        self.lack.get().copied()
    }

    /// What a refusal of an index means, of rows that were checked: they do not fit its memory.
    pub(super) fn refused(&self, failure: Failure) -> Failure {
        if failure.lack == Some(MemoryLack::Rows) && !self.can_grow {
            return Failure::no_memory(failure.text);
        }
        self.interrupted(failure)
    }

    /// The same of rows that may be in some indexes already: opening puts them into all.
    pub(super) fn interrupted(&self, failure: Failure) -> Failure {
        if failure.status != 400 {
            return failure;
        }
        let lack = if failure.lack == Some(MemoryLack::Rows) {
            Lack::Rows
        } else {
            Lack::Other
        };
        self.lack.get_or_init(|| lack);
        Failure::reopening(failure.text)
    }

    /// Whether it has to be closed and opened before anything changes again; not while something
    /// does.
    pub(crate) fn is_broken(&self) -> bool {
        match self.order.try_lock() {
            Ok(order) => order.broken.is_some(),
            // Something panicked on its way into the indexes.
            Err(TryLockError::Poisoned(_)) => true,
            Err(TryLockError::WouldBlock) => false,
        }
    }

    /// The number of its last change, the same wherever a snapshot of it is; where changes go into
    /// the log of a partition, that of the last record.
    pub(crate) fn sequence(&self) -> Outcome<u64> {
        if let Some(replica) = self.shared.get() {
            return Ok(replica.sign().sequence);
        }
        let changes = self.writers.first().map(Writer::changes).transpose()?;
        Ok(changes.map_or(0, |changes| changes.lsn))
    }

    /// Beginnings and ends of changes since it was opened.
    pub(crate) fn change_count(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Flushes the rows of indexes that are not in a segment yet, where so many may be; the most
    /// that stay, and how many there can be.
    pub(crate) fn settle(
        &self,
        may: &dyn Fn(DeltaRows) -> bool,
        progress: &dyn Progress,
    ) -> Outcome<Option<DeltaRows>> {
        let mut stays = None;
        for writer in &self.writers {
            let changes = writer.changes()?;
            let delta = (changes.delta_rows, changes.delta_capacity);
            // What has no segment yet is searched exactly, and stays so.
            if delta.0 == 0 || changes.segments == 0 {
                continue;
            }
            if may(delta) {
                writer.flush(progress)?;
            } else {
                stays = stays.max(Some(delta));
            }
        }
        Ok(stays)
    }

    /// Whether a good part of its delta is in use, which opening it again would have to read.
    pub(crate) fn has_large_delta(&self) -> bool {
        let is_large = |writer: &Writer| {
            let changes = writer.changes();
            changes.is_ok_and(|own| LARGE_DELTA * own.delta_rows > own.delta_capacity)
        };
        self.writers.iter().any(is_large)
    }

    /// Whether few rows fit into a delta.
    pub(crate) fn has_small_delta(&self) -> bool {
        let is_small = |writer: &Writer| {
            let changes = writer.changes();
            changes.is_ok_and(|own| own.delta_capacity < SMALL_DELTA)
        };
        self.writers.iter().any(is_small)
    }

    /// Whether each of its indexes has rows in segments: flushes train no codes then.
    pub(crate) fn is_flushed(&self) -> bool {
        let has_segments = |writer: &Writer| writer.changes().is_ok_and(|own| own.segments > 0);
        self.writers.iter().all(has_segments)
    }

    /// Points that there are.
    pub(crate) fn len(&self) -> u64 {
        self.first().map_or(0, Index::len)
    }

    /// Bytes of memory that its indexes may take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let indexes = (0..index_count(&self.schema)).filter_map(|number| self.index(number));
        indexes.map(|index| index.memory().budget_bytes).sum()
    }

    /// What its indexes hold in memory, and what has changed in them, by the names of vectors.
    pub(crate) fn state(&self) -> Outcome<CollectionState> {
        let mut state = CollectionState {
            points: self.len(),
            ..CollectionState::default()
        };
        for (number, writer) in self.writers.iter().enumerate() {
            let changes = writer.changes()?;
            state.segments += changes.segments;
            state.log_bytes += changes.work.log_bytes;
            for own in &changes.background {
                let ratio = own.done as f64 / own.total.max(1) as f64;
                state.builds.push((own.work, ratio.min(1.0)));
            }
            state.failed = state.failed.or(changes.background_failed.clone());
            let rows = changes.rows.saturating_sub(changes.delta_rows);
            self.add_index(&mut state, (number, writer.index()), rows);
            if let Some(own) = state.indexes.last_mut() {
                own["changes"] = json!(changes);
            }
        }
        if let Some(index) = &self.fixed {
            state.segments = index.segments().len();
            self.add_index(&mut state, (0, index), index.len());
        }
        Ok(state)
    }

    /// Adds what an index holds, with so many rows that are in segments.
    fn add_index(&self, state: &mut CollectionState, (number, index): (usize, &Index), rows: u64) {
        let memory = index.memory();
        for (part, bytes) in &memory.parts {
            state.memory.push((part.name(), *bytes));
        }
        let field = self.schema.dense.get(number);
        state.indexed += field.map_or(0, |_| rows);
        state.indexes.push(json!({
            "vector": field.map_or("", |field| &field.name),
            "memory": memory,
            "calibration": index.calibration(),
            "segments": index.segments(),
        }));
    }
}

/// What a collection says of itself.
#[derive(Default)]
pub(crate) struct CollectionState {
    pub(crate) points: u64,
    /// Rows that are in segments, over all indexes.
    pub(crate) indexed: u64,
    pub(crate) segments: usize,
    /// Bytes that logs have written.
    pub(crate) log_bytes: u64,
    /// Memory by part, of each index.
    pub(crate) memory: Vec<(&'static str, u64)>,
    /// Flushes and merges that run, and the part of their stage that is done.
    pub(crate) builds: Vec<(&'static str, f64)>,
    /// What went wrong while they were.
    pub(crate) failed: Option<String>,
    /// Of each index.
    pub(crate) indexes: Vec<serde_json::Value>,
}

pub(super) fn index_count(schema: &Schema) -> usize {
    schema.dense.len().max(1)
}
