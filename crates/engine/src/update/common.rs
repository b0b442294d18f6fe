//! What a writer and its background thread share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pageway_store::{DirectoryLock, GroupCommit, LogWriter, Process, Vfs};

use super::background::BackgroundThread;
use super::options::{Changes, UpdateOptions, Work};
use super::state::State;
use crate::build::AdditionLimits;
use crate::delta::Delta;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Index, Version};

/// An index that is locked and open to be changed.
pub(super) struct Common {
    pub(super) vfs: Arc<dyn Vfs>,
    pub(super) dir: PathBuf,
    pub(super) index: Arc<Index>,
    pub(super) commit: GroupCommit<State>,
    pub(super) options: UpdateOptions,
    /// What flushes and merges may take together.
    pub(super) limits: AdditionLimits,
    /// Rows that a delta may have.
    pub(super) capacity: u32,
    pub(super) turns: Turns,
    /// Held while a checkpoint is committed.
    pub(super) maintenance: Mutex<Maintenance>,
    pub(super) builds: Mutex<Builds>,
    pub(super) flusher: BackgroundThread,
    pub(super) merger: BackgroundThread,
    pub(super) counters: Counters,
    pub(super) owner: Process,
    pub(super) _lock: DirectoryLock,
}

/// One flush and one merge at a time. Who holds both takes the merge first.
#[derive(Default)]
pub(super) struct Turns {
    flush: Mutex<()>,
    merge: Mutex<()>,
}

/// What checkpoints know of each other.
pub(super) struct Maintenance {
    /// Dead rows of each segment that its file knows, by the name of its records.
    pub(super) persisted: HashMap<String, u32>,
}

/// Segments that are being made.
pub(super) struct Builds {
    /// Number of the next build in the directory, or of the next manifest.
    pub(super) next: u64,
    /// Those under way: their numbers, which are in the names of their files, and the files that
    /// they read.
    under_way: Vec<(u64, Vec<String>)>,
}

/// A segment that is being made: its files stay, and those that it is made of.
pub(super) struct Lease<'c> {
    common: &'c Common,
    pub(super) generation: u64,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut builds = self.common.builds();
        builds
            .under_way
            .retain(|(generation, _)| *generation != self.generation);
    }
}

impl Builds {
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            under_way: Vec::new(),
        }
    }

    /// A number that no file and no manifest has.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Whether a file is one that a build writes or reads. Of two names that differ in a number
    /// alone it may keep both.
    pub(super) fn need(&self, name: &str) -> bool {
        let has = |generation: &u64| {
            let generation = generation.to_string();
            name.split(['-', '.']).any(|part| part == generation)
        };
        let mut under_way = self.under_way.iter();
        under_way.any(|(generation, read)| has(generation) || read.iter().any(|one| one == name))
    }
}

impl Turns {
    /// The turn of a flush.
    pub(super) fn flush(&self) -> MutexGuard<'_, ()> {
        self.flush.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a merge.
    pub(super) fn merge(&self) -> MutexGuard<'_, ()> {
        self.merge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless a merge is under way.
    pub(super) fn try_merge(&self) -> Option<MutexGuard<'_, ()>> {
        match self.merge.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// What was done since the index was opened.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) flushes: AtomicU64,
    pub(super) merges: AtomicU64,
    pub(super) segment_bytes: AtomicU64,
    pub(super) temporary_bytes: AtomicU64,
    pub(super) replayed: AtomicU64,
    /// Dead rows when merges were last looked for.
    pub(super) dead: AtomicU64,
}

impl Common {
    pub(super) fn maintenance(&self) -> MutexGuard<'_, Maintenance> {
        let guard = self.maintenance.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn builds(&self) -> MutexGuard<'_, Builds> {
        self.builds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to make a segment beside those of a version, whose files stay for as long.
    pub(super) fn begin_build(&self) -> (Lease<'_>, Arc<Version>) {
        // No checkpoint removes files between the two.
        let _maintenance = self.maintenance();
        let version = self.index.version();
        let files = version.manifest.files();
        let read = files.iter().map(|file| file.name.clone()).collect();
        let mut builds = self.builds();
        let generation = builds.number();
        builds.under_way.push((generation, read));
        drop(builds);
        let common = self;
        (Lease { common, generation }, version)
    }

    /// Cancels what is under way in the background, and lets nothing begin any more.
    pub(super) fn end_background(&self) {
        if self.owner.is_current() {
            self.merger.end();
            self.flusher.end();
        }
    }

    /// Tells once what went wrong in the background.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn report(&self) -> Result<()> {
        self.flusher.board.report()?;
        self.merger.board.report()
    }

    /// Refuses a process that came of the one that opened the index: its threads and its log are
    /// not there.
    ///
    /// # Errors
    /// `Unsupported` in another process.
    pub(super) fn check_process(&self) -> Result<()> {
        if self.owner.is_current() {
            return Ok(());
        }
        let words = "this process was forked after the index was opened to be changed: change it \
                     in the process that opened it";
        Err(Error::new(ErrorKind::Unsupported, words))
    }

    /// What has changed, and what that takes.
    pub(super) fn changes(&self) -> Result<Changes> {
        self.check_process()?;
        let version = self.index.version();
        let log = |state: &mut State, log: &mut LogWriter| {
            let rows = |delta: &Delta| u64::from(delta.len());
            let frozen = state.frozen.as_ref().map_or(0, |(delta, _)| rows(delta));
            (
                rows(&state.active) + frozen,
                state.capacity,
                LogState::of(log),
            )
        };
        let (delta_rows, capacity, log) = self.commit.exclusive(log)?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let segment_bytes = count(&self.counters.segment_bytes);
        let temporary_bytes = count(&self.counters.temporary_bytes);
        let boards = [&self.flusher.board, &self.merger.board];
        Ok(Changes {
            rows: version.living(),
            segments: version.segments.len(),
            delta_rows,
            delta_capacity: capacity.into(),
            dead: version.dead_count(),
            lsn: log.last,
            durable_lsn: log.durable,
            floor: version.manifest.changes.map_or(0, |changes| changes.floor),
            work: Work {
                flushes: count(&self.counters.flushes),
                merges: count(&self.counters.merges),
                bytes_written: log.bytes + segment_bytes + temporary_bytes,
                log_bytes: log.bytes,
                segment_bytes,
                temporary_bytes,
                replayed: count(&self.counters.replayed),
            },
            merge_refused: self.merger.board.refused(),
            background: boards
                .iter()
                .filter_map(|board| board.background())
                .collect(),
            background_failed: boards.iter().find_map(|board| board.failure()),
        })
    }
}

/// How far a log is.
struct LogState {
    last: u64,
    durable: u64,
    bytes: u64,
}

impl LogState {
    fn of(log: &LogWriter) -> Self {
        Self {
            last: log.last().0,
            durable: log.durable().0,
            bytes: log.written_bytes(),
        }
    }
}
