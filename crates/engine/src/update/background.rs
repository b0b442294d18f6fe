//! Flushes and merges beside the threads that change the index: a thread for each, which begins
//! when there is something to do and ends when there is not.
//!
//! ```text
//! insert finds the delta full -> closes it, opens the next, wakes the flusher -> goes on
//! insert finds that half full -> rests, so that it fills over the rest of the flush
//! insert finds that full too  -> waits for the flush
//! flusher  -> waits out a merge where segments pile up -> flush -> wakes the merger
//! merger   -> merges while there are too many segments
//! ```
//!
//! A merge works on segments that are there, and a flush adds one behind them, so neither waits
//! for the other but to commit. Invariants: what goes wrong here poisons nothing; it is told by
//! the next call that puts rows in, and stands in [`Changes`](super::Changes) until then. A child
//! of a fork has no such threads, and is refused before it could wait for one.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pageway_store::clock;
use pageway_store::machine::yield_to_others;
use pageway_types::Progress;

use super::board::Board;
use super::common::Common;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::Watching;
use crate::index::Index;

/// Longest rest of a flush or merge before it checks again whether to rest, and longest wait for
/// a gap between searches.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest rest for the sake of a latency.
const LONGEST: Duration = Duration::from_millis(200);
/// Shortest work between two rests.
const SPELL: Duration = Duration::from_millis(1);
/// Segments at which flushes wait for the merge that is under way.
const PILE: usize = 32;

/// What is done in the background.
#[derive(Clone, Copy)]
enum Upkeep {
    Flush,
    Merge,
}

/// The thread of one kind of work, if it was started, and its state.
pub(super) struct BackgroundThread {
    work: Upkeep,
    pub(super) board: Board,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Upkeep {
    fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Merge => "merge",
        }
    }

    /// Its least share of time: a flush held back for longer would make changes wait, and then
    /// hurry.
    fn least_share(self) -> f64 {
        match self {
            Self::Flush => 0.5,
            Self::Merge => 0.0,
        }
    }

    fn thread(self, common: &Common) -> &BackgroundThread {
        match self {
            Self::Flush => &common.upkeep.flusher,
            Self::Merge => &common.upkeep.merger,
        }
    }

    /// Does what there is to do.
    fn run(self, common: &Arc<Common>, progress: &dyn Progress) -> Result<()> {
        match self {
            Self::Flush => {
                let piles_up = || common.index.version().segments.len() >= PILE;
                common.upkeep.merger.board.wait_out(piles_up);
                common.flush_closed(progress)?;
                if common.options.merge_by_hand || common.is_tidy() {
                    return Ok(());
                }
                common.upkeep.merger.wake(common)
            }
            Self::Merge => common.merge_tiers(progress),
        }
    }
}

impl BackgroundThread {
    fn new(work: Upkeep) -> Self {
        Self {
            work,
            board: Board::new(work.name()),
            handle: Mutex::default(),
        }
    }

    /// The one that flushes.
    pub(super) fn flusher() -> Self {
        Self::new(Upkeep::Flush)
    }

    /// The one that merges.
    pub(super) fn merger() -> Self {
        Self::new(Upkeep::Merge)
    }

    /// Wakes the thread, or starts it.
    ///
    /// # Errors
    /// `Io` when the system starts no thread.
    pub(super) fn wake(&self, common: &Arc<Common>) -> Result<()> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.board.want() {
            return Ok(());
        }
        // The previous thread has ended.
        if let Some(before) = handle.take() {
            let _ended = before.join();
        }
        let (work, shared) = (self.work, Arc::clone(common));
        let started = thread::Builder::new()
            .name(format!("pageway-{}", work.name()))
            .spawn(move || run(work, &shared));
        match started {
            Ok(started) => {
                *handle = Some(started);
                Ok(())
            }
            Err(error) => {
                self.board.stop();
                let words = format!("the thread of a {}", work.name());
                Err(Error::from(error).within(words))
            }
        }
    }

    /// Cancels what is under way, and ends the thread for good.
    pub(super) fn end(&self) {
        self.board.close();
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            // A thread that panicked has ended too.
            let _ended = handle.join();
        }
    }
}

/// Works until nothing is to be done.
fn run(work: Upkeep, common: &Arc<Common>) {
    if let Upkeep::Merge = work {
        yield_to_others();
    }
    let board = &work.thread(common).board;
    let _ended = Ended(board);
    while board.take() {
        match work.run(common, &Paced::new(work, board, &common.index)) {
            Ok(()) => {}
            // Whoever cancelled it knows.
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            Err(error) => board.fail(error),
        }
    }
}

/// Marks the board when it is dropped, so that nobody waits for a thread that panicked.
struct Ended<'b>(&'b Board);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Progress that callers can look at, of work whose steps run in the gaps between searches.
struct Paced<'w> {
    work: Upkeep,
    board: &'w Board,
    index: &'w Index,
    watching: Watching<'w>,
    /// When it last rested, or had no reason to.
    since: Mutex<Instant>,
}

impl<'w> Paced<'w> {
    fn new(work: Upkeep, board: &'w Board, index: &'w Index) -> Self {
        Self {
            work,
            board,
            index,
            watching: index.watch(),
            since: Mutex::new(clock::now()),
        }
    }

    /// Rests after a step, as long as its share of time says; then waits for a gap between
    /// searches, but not for longer than the step took.
    fn rest(&self) {
        let Ok(mut since) = self.since.try_lock() else {
            return;
        };
        let begun = clock::now();
        let worked = begun.saturating_duration_since(*since);
        if worked < SPELL {
            return;
        }
        let rest = self.rest_after(worked);
        while !self.is_urgent() {
            let left = rest.saturating_sub(clock::now().saturating_duration_since(begun));
            if left.is_zero() {
                self.watching.rest(worked.min(PAUSE).saturating_sub(rest));
                break;
            }
            thread::sleep(left.min(PAUSE));
        }
        *since = clock::now();
    }

    /// The rest after a step: as the latency target says; without one, as long as the step, while
    /// there are searches.
    fn rest_after(&self, worked: Duration) -> Duration {
        match self.index.rest_after(worked, self.work.least_share()) {
            Some(rest) => rest.min(LONGEST),
            None if self.watching.is_searched() => worked.min(PAUSE),
            None => Duration::ZERO,
        }
    }

    /// Whether others wait for the work, or for its end.
    fn is_urgent(&self) -> bool {
        self.board.is_awaited() || self.board.is_cancelled()
    }
}

impl Progress for Paced<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.board.stage(name, total);
    }

    fn advance(&self, units: u64) {
        self.board.advance(units);
        self.rest();
    }

    fn cancelled(&self) -> bool {
        self.board.is_cancelled()
    }
}
