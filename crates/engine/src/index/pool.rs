//! Workers of an open index: kept for the next search, never more than the memory set aside for
//! them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::execution::Searcher;
use crate::execution::driver::{Worker, WorkerShape};
use crate::memory::format_bytes;

/// Lends workers out.
///
/// Invariant: `held` is the bytes of all workers that exist, idle and lent, and at most `budget`.
#[derive(Default)]
pub(crate) struct WorkerPool {
    budget: u64,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    held: u64,
    peak: u64,
    idle: Vec<(Worker, u64)>,
}

impl WorkerPool {
    /// A pool that may hold `budget` bytes of workers.
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// Bytes the workers may hold.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    /// Most bytes the workers ever held.
    pub(crate) fn peak(&self) -> u64 {
        self.lock().peak
    }

    /// A worker of `shape`; waits until others are returned when there is no room.
    ///
    /// # Errors
    /// `InvalidInput` when the shape does not fit the budget at all.
    pub(crate) fn acquire(&self, searcher: &dyn Searcher, shape: WorkerShape) -> Result<Worker> {
        let bytes = searcher.worker_bytes(&shape);
        if bytes > self.budget {
            return Err(Error::invalid(format!(
                "this search needs {} ({bytes} B) for a query of list size {}, and the index was \
                 opened with {} set aside for searches: open it with this list size, or with {} \
                 more memory",
                format_bytes(bytes),
                shape.scratch.list_limit,
                format_bytes(self.budget),
                format_bytes(bytes - self.budget)
            )));
        }
        let mut state = self.lock();
        loop {
            if let Some(worker) = state.take(shape) {
                return Ok(worker);
            }
            if state.make_room(bytes, self.budget) {
                return self.create(state, searcher, shape, bytes);
            }
            state = self
                .returned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker of `shape` if one can be had without waiting.
    pub(crate) fn try_acquire(
        &self,
        searcher: &dyn Searcher,
        shape: WorkerShape,
    ) -> Result<Option<Worker>> {
        let bytes = searcher.worker_bytes(&shape);
        let mut state = self.lock();
        if let Some(worker) = state.take(shape) {
            return Ok(Some(worker));
        }
        if !state.make_room(bytes, self.budget) {
            return Ok(None);
        }
        self.create(state, searcher, shape, bytes).map(Some)
    }

    /// Takes a worker back. One that failed is dropped by its user, who says so by `forget`.
    pub(crate) fn put_back(&self, searcher: &dyn Searcher, worker: Worker) {
        let bytes = searcher.worker_bytes(&worker.shape);
        self.lock().idle.push((worker, bytes));
        self.returned.notify_all();
    }

    /// Notes that a lent worker of `shape` no longer exists.
    pub(crate) fn forget(&self, searcher: &dyn Searcher, shape: WorkerShape) {
        self.lock().held -= searcher.worker_bytes(&shape);
        self.returned.notify_all();
    }

    fn create(
        &self,
        mut state: MutexGuard<'_, State>,
        searcher: &dyn Searcher,
        shape: WorkerShape,
        bytes: u64,
    ) -> Result<Worker> {
        state.held += bytes;
        state.peak = state.peak.max(state.held);
        drop(state);
        let made = searcher.worker(shape);
        if made.is_err() {
            self.forget(searcher, shape);
        }
        made
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, shape: WorkerShape) -> Option<Worker> {
        let at = self
            .idle
            .iter()
            .position(|(worker, _)| worker.shape == shape)?;
        Some(self.idle.swap_remove(at).0)
    }

    /// Drops idle workers until `bytes` fit; false when lent ones are in the way.
    fn make_room(&mut self, bytes: u64, budget: u64) -> bool {
        while self.held + bytes > budget {
            let Some((_, freed)) = self.idle.pop() else {
                return false;
            };
            self.held -= freed;
        }
        true
    }
}
