//! The workers of an open index: kept for further searches, within the memory set aside for them.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pageway_store::{PerProcess, Process, clock};

use super::latency::LatencyControl;
use crate::error::{Error, MemoryLack, Result};
use crate::execution::driver::{self, Job, Outcomes, SearchGaps, Worker, WorkerShape, timed_out};
use crate::execution::{MetRows, Segment};
use crate::memory::format_bytes;

/// An idle worker is taken for a search if it is at most so many times as large as needed; a larger
/// one is left to other searches as long as there is room for a new one.
const LARGEST_FIT: u64 = 2;

/// Lends workers to searches.
///
/// A worker holds lanes over the files of one version of the index, and serves that alone.
///
/// Invariants: `held` is the bytes of all workers that exist, idle and lent, and at most what is
/// set aside for searches in the version that takes most; a worker is used and dropped only in the
/// process that made it.
#[derive(Default)]
pub(crate) struct WorkerPool {
    shared: PerProcess<Shared>,
}

/// What the threads of one process share.
#[derive(Default)]
struct Shared {
    state: Mutex<PoolState>,
    returned: Condvar,
    /// The gaps of lent workers.
    gaps: SearchGaps,
    /// The latency control, if searches have a target.
    latency: OnceLock<Mutex<LatencyControl>>,
}

#[derive(Default)]
struct PoolState {
    /// Version whose workers are kept.
    version: u64,
    held: u64,
    peak: u64,
    made: u64,
    idle: Vec<Idle>,
}

struct Idle {
    worker: Worker,
    version: u64,
    bytes: u64,
}

/// The worker that is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// What it is to search.
    pub(crate) segments: &'w [Segment],
    /// How large it is made.
    pub(crate) shape: WorkerShape,
    /// Bytes of that.
    pub(crate) bytes: u64,
    /// The least shape that will do if there is no room for a new worker; `None` for calls that
    /// want several workers, to which a large one would leave no room.
    pub(crate) least: Option<WorkerShape>,
    /// Bytes of all workers at most.
    pub(crate) budget: u64,
    /// Version of the index that the segments are of.
    pub(crate) version: u64,
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
    owner: Process,
    shared: &'p Shared,
    /// Absent once given back.
    worker: Option<Worker>,
    version: u64,
    bytes: u64,
}

impl WorkerPool {
    /// Keeps workers of this version from now on; drops idle ones of others.
    pub(crate) fn turn_to(&self, version: u64) {
        let shared = self.shared.get();
        let mut state = shared.lock();
        state.version = version;
        let before = std::mem::take(&mut state.idle);
        let (kept, dropped): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|idle| idle.version == version);
        state.idle = kept;
        state.held -= dropped.iter().map(|idle| idle.bytes).sum::<u64>();
        drop(state);
        shared.returned.notify_all();
    }

    /// Most bytes the workers ever held.
    pub(crate) fn peak(&self) -> u64 {
        self.shared.get().lock().peak
    }

    /// The gaps in which searches wait.
    pub(crate) fn gaps(&self) -> &SearchGaps {
        &self.shared.get().gaps
    }

    /// The latency control of searches, if they have a target.
    pub(crate) fn latency(&self) -> Option<MutexGuard<'_, LatencyControl>> {
        let control = self.shared.get().latency.get()?;
        Some(control.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the latency target of searches of this process, once.
    pub(crate) fn aim_at(&self, target: Duration) {
        let control = || Mutex::new(LatencyControl::new(target));
        self.shared.get().latency.get_or_init(control);
    }

    /// Workers that were made so far.
    pub(crate) fn made(&self) -> u64 {
        self.shared.get().lock().made
    }

    /// A worker that serves what is `wanted`. If there is no room, waits for others to be given
    /// back; `None` if `patience` does not allow that.
    ///
    /// # Errors
    /// `InvalidInput` when what is wanted does not fit the budget at all, `TimedOut` when nothing
    /// was given back in time; those of making a worker.
    pub(crate) fn lease(
        &self,
        wanted: Wanted<'_>,
        patience: Patience,
    ) -> Result<Option<Lease<'_>>> {
        if wanted.bytes > wanted.budget {
            return Err(too_large(wanted));
        }
        let shared = self.shared.get();
        let mut state = shared.lock();
        loop {
            if let Some(Idle { worker, bytes, .. }) = state.take(wanted) {
                shared.gaps.begin_search();
                return Ok(Some(Lease {
                    owner: Process::current(),
                    shared,
                    worker: Some(worker),
                    version: wanted.version,
                    bytes,
                }));
            }
            if state.make_room(wanted.bytes, wanted.budget) {
                return shared.make(state, wanted).map(Some);
            }
            let Some(waited) = shared.wait(state, patience)? else {
                return Ok(None);
            };
            state = waited;
        }
    }

    /// Room for something else than a worker: as many of `most` bytes as are free beside lent ones,
    /// at least `least` or all that there is, for which it waits. `None` if `patience` does not
    /// allow that.
    ///
    /// # Errors
    /// `TimedOut` when nothing was given back in time.
    pub(crate) fn room(
        &self,
        (least, most): (u64, u64),
        (budget, patience): (u64, Patience),
    ) -> Result<Option<Lease<'_>>> {
        let shared = self.shared.get();
        let least = least.min(budget);
        let mut state = shared.lock();
        while !state.make_room(least, budget) {
            let Some(waited) = shared.wait(state, patience)? else {
                return Ok(None);
            };
            state = waited;
        }
        let bytes = state.make_most_room((least, most), budget);
        state.held += bytes;
        state.peak = state.peak.max(state.held);
        drop(state);
        shared.gaps.begin_search();
        Ok(Some(Lease {
            owner: Process::current(),
            shared,
            worker: None,
            version: 0,
            bytes,
        }))
    }
}

impl Shared {
    /// Waits for something to be given back; `None` if `patience` does not allow that.
    fn wait<'s>(
        &'s self,
        state: MutexGuard<'s, PoolState>,
        patience: Patience,
    ) -> Result<Option<MutexGuard<'s, PoolState>>> {
        let waited = match patience {
            Patience::None => return Ok(None),
            Patience::Endless => self.returned.wait(state),
            Patience::Until(deadline) => {
                let left = deadline.saturating_duration_since(clock::now());
                if left.is_zero() {
                    return Err(timed_out());
                }
                let waited = self.returned.wait_timeout(state, left);
                return Ok(Some(waited.unwrap_or_else(PoisonError::into_inner).0));
            }
        };
        Ok(Some(waited.unwrap_or_else(PoisonError::into_inner)))
    }

    fn make(&self, mut state: MutexGuard<'_, PoolState>, wanted: Wanted<'_>) -> Result<Lease<'_>> {
        state.held += wanted.bytes;
        state.peak = state.peak.max(state.held);
        state.made += 1;
        drop(state);
        self.gaps.begin_search();
        let mut lease = Lease {
            owner: Process::current(),
            shared: self,
            worker: None,
            version: wanted.version,
            bytes: wanted.bytes,
        };
        // If this fails, the lease is dropped and its bytes are free again.
        lease.worker = Some(Worker::new(wanted.segments, wanted.shape)?);
        Ok(lease)
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_large(wanted: Wanted<'_>) -> Error {
    let bytes = wanted.bytes;
    let words = format!(
        "this search needs {} ({bytes} B) for a query of list size {}, and the index was opened \
         with {} set aside for searches: open it with this list size, or with {} more memory",
        format_bytes(bytes),
        wanted.shape.sizes.list_limit,
        format_bytes(wanted.budget),
        format_bytes(bytes - wanted.budget)
    );
    Error::lacking(MemoryLack::Searches, words)
}

impl PoolState {
    /// The smallest idle worker that serves what is wanted and is not much larger. If there is no
    /// room for a new one, any that serves as many queries, even with fewer reads in flight;
    /// otherwise two shapes that alternate would be made again and again.
    fn take(&mut self, wanted: Wanted<'_>) -> Option<Idle> {
        let is_full = self.held + wanted.bytes > wanted.budget;
        let (shape, most) = match wanted.least.filter(|_| is_full) {
            Some(least) => (least, u64::MAX),
            None => (wanted.shape, wanted.bytes.saturating_mul(LARGEST_FIT)),
        };
        let serves = |idle: &Idle| {
            let fits = idle.worker.shape.covers(&shape) && idle.bytes <= most;
            fits && idle.version == wanted.version
        };
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

    /// Drops idle workers until `most` bytes fit or none is left, where `least` do; how many fit.
    fn make_most_room(&mut self, (least, most): (u64, u64), budget: u64) -> u64 {
        self.make_room(most, budget);
        budget
            .saturating_sub(self.held)
            .clamp(least, most.max(least))
    }
}

impl Lease<'_> {
    /// Bytes that are lent.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes the nodes that queries expand; see [`Outcomes::visits`].
    pub(crate) fn record_traces(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.record_traces();
        }
    }

    /// Keeps the vectors that a job of one query compares; see [`Outcomes::met`].
    pub(crate) fn record_met(&mut self, met: MetRows) {
        if let Some(worker) = &mut self.worker {
            worker.record_met(met);
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
        let mut outcomes = driver::run(segments, job, worker, &self.shared.gaps)?;
        outcomes.met = worker.take_met();
        // A worker that records is not kept for other searches.
        if !worker.is_traced() {
            self.give_back();
        }
        Ok(outcomes)
    }

    /// Keeps the worker for the next search of its version.
    fn give_back(mut self) {
        if !self.owner.is_current() {
            return;
        }
        let mut state = self.shared.lock();
        if state.version == self.version
            && let Some(worker) = self.worker.take()
        {
            let bytes = std::mem::take(&mut self.bytes);
            let version = self.version;
            state.idle.push(Idle {
                worker,
                version,
                bytes,
            });
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let worker = self.worker.take();
        if !self.owner.is_current() {
            // A forked child: the parent owns the worker.
            std::mem::forget(worker);
            return;
        }
        drop(worker);
        self.shared.gaps.end_search();
        self.shared.lock().held -= self.bytes;
        self.shared.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn room_is_what_is_free_and_waits_for_the_least() {
        let pool = WorkerPool::default();
        let room = |most, patience| pool.room((10, most), (60, patience));
        let first = room(45, Patience::None).unwrap().unwrap();
        let second = room(45, Patience::None).unwrap().unwrap();
        assert_eq!((first.bytes(), second.bytes()), (45, 15));
        assert!(room(45, Patience::None).unwrap().is_none());
        let late = room(45, Patience::Until(clock::now()));
        assert_eq!(
            late.err().map(|error| error.kind()),
            Some(ErrorKind::TimedOut)
        );
        drop(second);
        assert_eq!(room(5, Patience::Endless).unwrap().unwrap().bytes(), 10);
        drop(first);
        // More than there is waits for all of it.
        let whole = pool.room((100, 100), (60, Patience::Endless)).unwrap();
        assert_eq!(whole.map(|room| room.bytes()), Some(60));
        assert_eq!(pool.peak(), 60);
    }
}
