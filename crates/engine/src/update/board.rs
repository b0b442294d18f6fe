//! What a background thread and the callers of a writer tell each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pageway_types::Progress;

use super::options::Background;
use crate::error::{Error, ErrorKind, Result};

/// How often a caller that waits checks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// The state of one kind of background work.
pub(super) struct Board {
    /// What is done: `flush` or `merge`.
    work: &'static str,
    state: Mutex<BoardState>,
    /// Something ended, or failed.
    changed: Condvar,
    /// Callers for whose sake what is under way is to stop.
    cancelling: AtomicU64,
    /// Callers that wait for its end.
    waiting: AtomicU64,
    total: AtomicU64,
    done: AtomicU64,
}

#[derive(Default)]
struct BoardState {
    /// Whether there may be something to do.
    wanted: bool,
    running: bool,
    /// Counts how often the thread was started.
    started: u64,
    /// Whether the writer closes: no thread is started any more.
    ends: bool,
    /// Counts runs that ended well.
    ended: u64,
    failure: Option<Error>,
    refused: Option<String>,
    /// The stage of what is under way.
    stage: Option<&'static str>,
}

impl Board {
    pub(super) fn new(work: &'static str) -> Self {
        Self {
            work,
            state: Mutex::default(),
            changed: Condvar::new(),
            cancelling: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work begins.
    pub(super) fn begin(&self) -> Begun<'_> {
        self.lock().stage = Some("");
        Begun(self)
    }

    /// Runs that ended well so far.
    pub(super) fn ended(&self) -> u64 {
        self.lock().ended
    }

    /// Counts a run that ended well.
    pub(super) fn end(&self) {
        self.lock().ended += 1;
        self.changed.notify_all();
    }

    /// Notes why the work was refused; `None` if it was not.
    pub(super) fn refuse(&self, why: Option<String>) {
        self.lock().refused = why;
    }

    pub(super) fn refused(&self) -> Option<String> {
        self.lock().refused.clone()
    }

    /// The error in the background that no caller was told yet.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.as_ref().map(ToString::to_string)
    }

    /// Returns an error in the background, once.
    ///
    /// # Errors
    /// That error.
    pub(super) fn report(&self) -> Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn fail(&self, error: Error) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// What is under way.
    pub(super) fn background(&self) -> Option<Background> {
        let stage = self.lock().stage?;
        Some(Background {
            work: self.work,
            stage,
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        })
    }

    /// Whether somebody waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits until more than `ended` runs have ended, or none is to come.
    ///
    /// # Errors
    /// Why the run failed; `Cancelled` if the caller's `progress` says so.
    pub(super) fn wait_for_more(&self, ended: u64, progress: &dyn Progress) -> Result<()> {
        let none_came = |state: &BoardState| state.ended == ended && state.failure.is_none();
        self.wait_while(|state| none_came(state) && !progress.cancelled());
        self.report()?;
        Ok(progress.check()?)
    }

    /// Waits until a condition holds no more, or the thread has ended.
    pub(super) fn wait_out(&self, holds: impl Fn() -> bool) {
        self.wait_while(|_| holds());
    }

    fn wait_while(&self, holds: impl Fn(&BoardState) -> bool) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        while state.running && holds(&state) {
            state = wait_a_while(&self.changed, state);
        }
        drop(state);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Asks the thread to look for something to do; true if a thread has to be started for that.
    pub(super) fn want(&self) -> bool {
        let mut state = self.lock();
        state.wanted = true;
        if state.running || state.ends {
            return false;
        }
        state.running = true;
        state.started += 1;
        true
    }

    /// Whether there may be something to do; if not, the thread counts as ended.
    pub(super) fn take(&self) -> bool {
        let mut state = self.lock();
        let goes_on = state.wanted && !state.ends;
        state.wanted = false;
        if !goes_on {
            state.running = false;
            drop(state);
            self.changed.notify_all();
        }
        goes_on
    }

    /// No thread could be started, or it ended: nobody waits for it.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        if state.running && thread::panicking() {
            let words = format!("the thread of a {} panicked", self.work);
            state.failure = Some(Error::new(ErrorKind::Internal, words));
        }
        state.running = false;
        drop(state);
        self.changed.notify_all();
    }

    /// Asks what is under way to stop, and what begins until the returned value is dropped.
    fn ask_to_stop(&self) -> Asked<'_> {
        self.cancelling.fetch_add(1, Ordering::Relaxed);
        self.lock().wanted = false;
        Asked(self)
    }

    /// Waits until the thread has ended.
    fn wait_for_end(&self) {
        let mut state = self.lock();
        let started = state.started;
        // A caller that was waiting may start the thread again at once.
        while state.running && state.started == started {
            state = wait(&self.changed, state);
        }
    }

    /// Asks what is under way to stop, waits until it has, and lets no thread start after that.
    pub(super) fn close(&self) {
        self.lock().ends = true;
        cancel(&[self]);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelling.load(Ordering::Relaxed) > 0
    }

    /// A stage of so many units begins.
    pub(super) fn stage(&self, name: &'static str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if let Some(stage) = &mut self.lock().stage {
            *stage = name;
        }
    }

    /// So many units more are done.
    pub(super) fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}

/// Asks what is under way on all these boards to stop, and waits until it has. One that wakes
/// another as it ends stands before that.
pub(super) fn cancel(boards: &[&Board]) {
    // Asked first: one may be waiting for another.
    let _asked: Vec<Asked<'_>> = boards.iter().map(|board| board.ask_to_stop()).collect();
    for board in boards {
        board.wait_for_end();
    }
}

/// What is under way on this board is to stop as long as this lives.
struct Asked<'b>(&'b Board);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.cancelling.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Something that is under way.
pub(super) struct Begun<'b>(&'b Board);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.lock().stage = None;
    }
}

/// Waits until something changed, or it is time to check whether to go on waiting.
fn wait_a_while<'g>(
    changed: &Condvar,
    guard: MutexGuard<'g, BoardState>,
) -> MutexGuard<'g, BoardState> {
    let waited = changed.wait_timeout(guard, LOOK);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

fn wait<'g>(changed: &Condvar, guard: MutexGuard<'g, BoardState>) -> MutexGuard<'g, BoardState> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works on a board until it is cancelled.
    fn work(board: &Board) {
        while board.take() {
            while !board.is_cancelled() {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn what_cancelled_work_wakes_as_it_ends_is_cancelled_too() {
        let (flush, merge) = (&Board::new("flush"), &Board::new("merge"));
        for _ in 0..100 {
            thread::scope(|scope| {
                assert!(flush.want() && flush.take());
                scope.spawn(move || {
                    while !flush.is_cancelled() {
                        thread::yield_now();
                    }
                    assert!(merge.want());
                    scope.spawn(move || work(merge));
                    assert!(!flush.take());
                });
                cancel(&[flush, merge]);
                assert!(!flush.lock().running && !merge.lock().running);
            });
        }
    }
}
