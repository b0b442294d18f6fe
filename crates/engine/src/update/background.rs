//! Flushes and merges beside the threads that change the index: one at a time, in one thread, which
//! begins when there is something to do and ends when there is not.
//!
//! ```text
//! insert finds the delta full -> closes it, opens the next, wakes the thread -> goes on
//! insert finds that full too  -> waits for the flush
//! thread                      -> flush -> merges while there are too many segments -> ends
//! ```
//!
//! Invariants: what goes wrong here poisons nothing; it is told by the next call that puts rows in,
//! and stands in [`Changes`](super::Changes) until then. A child of a fork has no such thread, and
//! is refused before it could wait for one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pageway_store::clock;
use pageway_types::Progress;

use super::common::Common;
use super::options::Background;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;

/// Longest pause of a flush or merge for the sake of searches, at a time.
const PAUSE: Duration = Duration::from_millis(5);
/// Shortest work between two pauses.
const SPELL: Duration = Duration::from_millis(1);

/// What the thread and its callers tell each other.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<BoardState>,
    /// Something ended, or failed.
    changed: Condvar,
    /// Whether what is under way is to stop.
    cancelled: AtomicBool,
    /// Callers that wait for a flush.
    waiting: AtomicU64,
    total: AtomicU64,
    done: AtomicU64,
}

#[derive(Default)]
struct BoardState {
    /// Whether there may be something to do.
    wanted: bool,
    running: bool,
    /// Whether the writer is going.
    ends: bool,
    /// Counts flushes that ended.
    flushed: u64,
    failure: Option<Error>,
    merge_refused: Option<String>,
    /// What is under way, and its stage.
    work: Option<(&'static str, &'static str)>,
}

/// The thread of a writer, if one was started.
#[derive(Default)]
pub(super) struct BackgroundThread {
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many flushes ended so far.
    pub(super) fn flushed(&self) -> u64 {
        self.lock().flushed
    }

    /// A flush ended well.
    pub(super) fn end_flush(&self) {
        self.lock().flushed += 1;
        self.changed.notify_all();
    }

    /// Notes why segments were not merged, or that they were.
    pub(super) fn refuse_merge(&self, why: Option<String>) {
        self.lock().merge_refused = why;
    }

    pub(super) fn merge_refused(&self) -> Option<String> {
        self.lock().merge_refused.clone()
    }

    /// What went wrong in the background, and was not told yet.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.as_ref().map(ToString::to_string)
    }

    /// Tells once what went wrong in the background.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn report(&self) -> Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    /// What is under way.
    pub(super) fn background(&self) -> Option<Background> {
        let (work, stage) = self.lock().work?;
        Some(Background {
            work,
            stage,
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        })
    }

    /// Waits until a flush has ended since there were `flushed`, or none will.
    ///
    /// # Errors
    /// Why the flush failed.
    pub(super) fn wait_for_flush(&self, flushed: u64) -> Result<()> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        while state.flushed == flushed && state.running && state.failure.is_none() {
            state = wait(&self.changed, state);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let failure = state.failure.take();
        failure.map_or(Ok(()), Err)
    }

    /// Asks what is under way to stop, and waits until it has.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        if !state.running {
            return;
        }
        self.cancelled.store(true, Ordering::Relaxed);
        state.wanted = false;
        while state.running {
            state = wait(&self.changed, state);
        }
        self.cancelled.store(false, Ordering::Relaxed);
    }

    /// Whether there is something to do; ends the thread where there is not.
    fn take(&self) -> bool {
        let mut state = self.lock();
        let goes_on = state.wanted && !state.ends;
        state.wanted = false;
        state.work = None;
        if !goes_on {
            state.running = false;
            drop(state);
            self.changed.notify_all();
        }
        goes_on
    }

    fn fail(&self, error: Error) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }
}

impl BackgroundThread {
    /// Sees to it that the thread looks for something to do.
    ///
    /// # Errors
    /// `Io` when the system starts no thread.
    pub(super) fn wake(&self, common: &Arc<Common>) -> Result<()> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = common.board.lock();
        state.wanted = true;
        if state.running || state.ends {
            return Ok(());
        }
        state.running = true;
        drop(state);
        // The one before has ended.
        if let Some(before) = handle.take() {
            let _ended = before.join();
        }
        let shared = Arc::clone(common);
        let started = thread::Builder::new()
            .name("pageway-merge".to_owned())
            .spawn(move || run(&shared));
        match started {
            Ok(started) => *handle = Some(started),
            Err(error) => {
                common.board.lock().running = false;
                return Err(Error::from(error).within("the thread of flushes and merges"));
            }
        }
        Ok(())
    }

    /// Cancels what is under way, and ends the thread for good.
    pub(super) fn end(&self, common: &Common) {
        if !common.owner.is_current() {
            return;
        }
        common.board.lock().ends = true;
        common.board.cancel();
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            // A thread that panicked has let go as well.
            let _ended = handle.join();
        }
    }
}

/// Does what there is to do.
fn run(common: &Common) {
    let guard = Ended(&common.board);
    while common.board.take() {
        let progress = Paced::new(&common.board, &common.index);
        match common.keep_small(&progress) {
            Ok(()) => {}
            // Who cancelled knows.
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            Err(error) => common.board.fail(error),
        }
    }
    drop(guard);
}

/// Lets nobody wait for a thread that panicked.
struct Ended<'b>(&'b Board);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.running && thread::panicking() {
            state.running = false;
            let words = "the thread of flushes and merges panicked";
            state.failure = Some(Error::new(ErrorKind::Internal, words));
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Progress that callers can look at; work that rests while others search.
struct Paced<'w> {
    board: &'w Board,
    index: &'w Index,
    /// When it last rested, or had no reason to.
    since: Mutex<Instant>,
}

impl<'w> Paced<'w> {
    fn new(board: &'w Board, index: &'w Index) -> Self {
        Self {
            board,
            index,
            since: Mutex::new(clock::now()),
        }
    }

    /// Gives searches as much time as was worked since the last time, up to a limit: half of the
    /// processor and of the disk. Not while changes wait.
    fn rest(&self) {
        let Ok(mut since) = self.since.try_lock() else {
            return;
        };
        let worked = clock::now().saturating_duration_since(*since);
        if worked < SPELL {
            return;
        }
        if self.index.is_searched() && self.board.waiting.load(Ordering::Relaxed) == 0 {
            thread::sleep(worked.min(PAUSE));
        }
        *since = clock::now();
    }
}

impl Progress for Paced<'_> {
    fn stage(&self, name: &'static str, total: u64) {
        self.board.done.store(0, Ordering::Relaxed);
        self.board.total.store(total, Ordering::Relaxed);
        if let Some((_, stage)) = &mut self.board.lock().work {
            *stage = name;
        }
    }

    fn advance(&self, units: u64) {
        self.board.done.fetch_add(units, Ordering::Relaxed);
        self.rest();
    }

    fn cancelled(&self) -> bool {
        self.board.cancelled.load(Ordering::Relaxed)
    }
}

impl Board {
    /// Says what is begun.
    pub(super) fn begin(&self, work: &'static str) -> Begun<'_> {
        self.lock().work = Some((work, ""));
        Begun(self)
    }
}

/// Something that is under way.
pub(super) struct Begun<'b>(&'b Board);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.lock().work = None;
    }
}

fn wait<'g>(changed: &Condvar, guard: MutexGuard<'g, BoardState>) -> MutexGuard<'g, BoardState> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
