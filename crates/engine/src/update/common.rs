//! What a writer and its background thread share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pageway_store::{DirectoryLock, GroupCommit, LogWriter, Process, Vfs};

use super::linking::LinkTurns;
use super::options::{Changes, LatencyState, UpdateOptions, Work};
use super::state::State;
use super::upkeep::{BuildLease, UpkeepState};
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
    pub(super) upkeep: UpkeepState,
    pub(super) counters: Counters,
    /// Turns to search for neighbours of rows.
    pub(super) linking: LinkTurns,
    pub(super) owner: Process,
    pub(super) _lock: DirectoryLock,
}

/// What was done since the index was opened.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) flushes: AtomicU64,
    pub(super) merges: AtomicU64,
    pub(super) patches: AtomicU64,
    pub(super) segment_bytes: AtomicU64,
    pub(super) temporary_bytes: AtomicU64,
    pub(super) replayed: AtomicU64,
    /// Rows whose neighbours inserts searched for.
    pub(super) linked: AtomicU64,
    /// Pages that those searches read.
    pub(super) link_pages: AtomicU64,
    /// Dead rows when the writer last checked whether to merge.
    pub(super) dead: AtomicU64,
}

impl Common {
    /// Begins to build a segment; the files of the returned version stay until the lease ends.
    pub(super) fn begin_build(&self) -> (BuildLease<'_>, Arc<Version>) {
        // No checkpoint removes files between taking the version and the lease.
        let _maintenance = self.upkeep.maintenance();
        let version = self.index.version();
        let files = version.manifest.files();
        let read = files.iter().map(|file| file.name.clone()).collect();
        let generation = self.upkeep.builds().begin(read);
        let common = self;
        (BuildLease { common, generation }, version)
    }

    /// Cancels background work; none begins after that.
    pub(super) fn end_background(&self) {
        if self.owner.is_current() {
            self.upkeep.merger.end();
            self.upkeep.flusher.end();
        }
    }

    /// Returns an error in the background, once.
    ///
    /// # Errors
    /// That error.
    pub(super) fn report(&self) -> Result<()> {
        self.upkeep.flusher.board.report()?;
        self.upkeep.merger.board.report()
    }

    /// Refuses a forked child of the process that opened the index: it has neither its threads nor
    /// its log.
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

    /// The state of changes, and the memory they take.
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
        let boards = [&self.upkeep.flusher.board, &self.upkeep.merger.board];
        Ok(Changes {
            rows: version.living(),
            segments: version.segments.len(),
            delta_rows,
            delta_capacity: capacity.into(),
            dead: version.dead_count(),
            lsn: log.last,
            durable_lsn: log.durable,
            floor: version.manifest.changes.map_or(0, |changes| changes.floor),
            code_drift: version.manifest.code_drift(),
            changed_rows: version
                .manifest
                .changes
                .map_or(0, |changes| changes.changed_rows),
            work: Work {
                flushes: count(&self.counters.flushes),
                merges: count(&self.counters.merges),
                patches: count(&self.counters.patches),
                bytes_written: log.bytes + segment_bytes + temporary_bytes,
                log_bytes: log.bytes,
                segment_bytes,
                temporary_bytes,
                replayed: count(&self.counters.replayed),
                linked: count(&self.counters.linked),
                link_pages: count(&self.counters.link_pages),
            },
            merge_refused: self.upkeep.merger.board.refused(),
            patch_refused: self.upkeep.flusher.board.refused(),
            background: boards
                .iter()
                .filter_map(|board| board.background())
                .collect(),
            latency: self.latency(),
            background_failed: boards.iter().find_map(|board| board.failure()),
        })
    }

    /// The latency of searches, if they have a target.
    fn latency(&self) -> Option<LatencyState> {
        let control = self.index.latency()?;
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        Some(LatencyState {
            target_us: microseconds(control.target()),
            p99_us: control.p99().map(microseconds),
            background_share: control.last_share(),
        })
    }
}

/// The position of a log.
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
