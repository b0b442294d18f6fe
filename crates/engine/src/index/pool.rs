//! Workers of an open index: kept for the next search, never more than the memory set aside for
//! them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pageway_store::clock;

use crate::error::{Error, Result};
use crate::execution::Segment;
use crate::execution::driver::{self, Job, Outcomes, Worker, WorkerShape, timed_out};
use crate::memory::format_bytes;

/// An idle worker is taken for a search that needs less if it is at most so many times as large: a
/// larger one is left to searches beside it.
const LARGEST_FIT: u64 = 2;

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
    made: u64,
    idle: Vec<Idle>,
}

struct Idle {
    worker: Worker,
    bytes: u64,
}

/// The worker that is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// What it is to search.
    pub(crate) segments: &'w [Segment],
    /// How large it is at least.
    pub(crate) shape: WorkerShape,
    /// Bytes of that.
    pub(crate) bytes: u64,
}

/// How long to wait for a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Not at all.
    None,
    /// Until then.
    Until(Instant),
    /// As long as it takes.
    Endless,
}

/// A worker on loan: given back after a search that went well; dropped, with its bytes free again,
/// after one that failed or panicked.
pub(crate) struct Lease<'p> {
    pool: &'p WorkerPool,
    /// Absent once given back.
    worker: Option<Worker>,
    bytes: u64,
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

    /// Workers that were made so far.
    pub(crate) fn made(&self) -> u64 {
        self.lock().made
    }

    /// A worker that serves what is `wanted`; waits for others to be given back where there is no
    /// room. None where `patience` is, and there is no room.
    ///
    /// # Errors
    /// `InvalidInput` when what is wanted does not fit the budget at all, `TimedOut` when nothing
    /// was given back in time; those of making a worker.
    pub(crate) fn lease(
        &self,
        wanted: Wanted<'_>,
        patience: Patience,
    ) -> Result<Option<Lease<'_>>> {
        if wanted.bytes > self.budget {
            return Err(self.too_large(wanted));
        }
        let mut state = self.lock();
        loop {
            if let Some(Idle { worker, bytes }) = state.take(wanted) {
                return Ok(Some(Lease {
                    pool: self,
                    worker: Some(worker),
                    bytes,
                }));
            }
            if state.make_room(wanted.bytes, self.budget) {
                return self.make(state, wanted).map(Some);
            }
            state = match patience {
                Patience::None => return Ok(None),
                Patience::Endless => self
                    .returned
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Patience::Until(deadline) => {
                    let left = deadline.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        return Err(timed_out());
                    }
                    let waited = self.returned.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn make(&self, mut state: MutexGuard<'_, State>, wanted: Wanted<'_>) -> Result<Lease<'_>> {
        state.held += wanted.bytes;
        state.peak = state.peak.max(state.held);
        state.made += 1;
        drop(state);
        let mut lease = Lease {
            pool: self,
            worker: None,
            bytes: wanted.bytes,
        };
        // Should this fail, the lease is dropped and its bytes are free again.
        lease.worker = Some(Worker::new(wanted.segments, wanted.shape)?);
        Ok(lease)
    }

    fn too_large(&self, wanted: Wanted<'_>) -> Error {
        let bytes = wanted.bytes;
        Error::invalid(format!(
            "this search needs {} ({bytes} B) for a query of list size {}, and the index was \
             opened with {} set aside for searches: open it with this list size, or with {} more \
             memory",
            format_bytes(bytes),
            wanted.shape.sizes.list_limit,
            format_bytes(self.budget),
            format_bytes(bytes - self.budget)
        ))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The smallest idle worker that serves what is wanted and is not much larger.
    fn take(&mut self, wanted: Wanted<'_>) -> Option<Idle> {
        let most = wanted.bytes.saturating_mul(LARGEST_FIT);
        let serves = |idle: &Idle| idle.worker.shape.covers(&wanted.shape) && idle.bytes <= most;
        let fitting = self
            .idle
            .iter()
            .enumerate()
            .filter(|(_, idle)| serves(idle));
        let (at, _) = fitting.min_by_key(|(_, idle)| idle.bytes)?;
        Some(self.idle.swap_remove(at))
    }

    /// Drops idle workers until `bytes` fit; false when lent ones are in the way.
    fn make_room(&mut self, bytes: u64, budget: u64) -> bool {
        while self.held + bytes > budget {
            let Some(idle) = self.idle.pop() else {
                return false;
            };
            self.held -= idle.bytes;
        }
        true
    }
}

impl Lease<'_> {
    /// Notes the nodes that queries expand; see [`Outcomes::visits`].
    pub(crate) fn record_traces(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.record_traces();
        }
    }

    /// Takes queries of `job` until there are none.
    ///
    /// # Errors
    /// The first error of a page, `Cancelled` or `TimedOut`. The worker, which may have reads in
    /// flight, waits for them as it is dropped.
    pub(crate) fn run(mut self, segments: &[Segment], job: &Job<'_>) -> Result<Outcomes> {
        let Some(worker) = &mut self.worker else {
            return Ok(Outcomes::default());
        };
        let outcomes = driver::run(segments, job, worker)?;
        // One that records is not for everybody.
        if !worker.is_traced() {
            self.give_back();
        }
        Ok(outcomes)
    }

    /// Keeps the worker for the next search.
    fn give_back(mut self) {
        if let Some(worker) = self.worker.take() {
            let bytes = std::mem::take(&mut self.bytes);
            self.pool.lock().idle.push(Idle { worker, bytes });
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        drop(self.worker.take());
        self.pool.lock().held -= self.bytes;
        self.pool.returned.notify_all();
    }
}
