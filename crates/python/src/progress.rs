//! Long work: on a thread of its own, while the calling thread reports progress and sees Ctrl-C.
//!
//! ```text
//! calling thread   every POLL: attach to Python, run signal handlers, call the callback
//!                  either raises -> Watch::cancel, wait for the work to stop, raise it again
//! worker thread    the engine; counts into Watch, asks it whether to stop
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use pageway::{Error, ErrorKind, Progress};
use pyo3::prelude::*;

use crate::error::to_exception;

/// How long Ctrl-C may go unseen.
const POLL: Duration = Duration::from_millis(100);

/// `callback(stage, done, total, share)` of the caller; `share` of the whole, or None where the
/// work does not know it.
pub(crate) type Callback = Option<Py<PyAny>>;

/// A stage of the work.
#[derive(Clone, Copy)]
struct Stage {
    name: &'static str,
    total: u64,
    done: u64,
    /// Of the whole, by the end of the stage; see [`Watch::share`].
    share: u64,
}

impl Stage {
    fn known_share(self) -> Option<f64> {
        (self.share != 0).then(|| f64::from_bits(self.share))
    }
}

/// What the worker counts and the calling thread reads.
#[derive(Default)]
struct Watch {
    /// Stages begun since the last report, after the one it ended with.
    stages: Mutex<Vec<Stage>>,
    /// Units done of the last stage.
    done: AtomicU64,
    /// Bits of the share of the whole, where it is known: then it is not 0.
    share: AtomicU64,
    cancelled: AtomicBool,
}

impl Watch {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The stages to report: those that ended since the last call, and the one that runs.
    fn take(&self) -> Vec<Stage> {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = stages.last_mut() {
            last.done = self.done.load(Ordering::Relaxed);
            last.share = self.share.load(Ordering::Relaxed);
        }
        let running = stages.last().copied();
        std::mem::replace(&mut *stages, running.into_iter().collect())
    }

    /// Runs pending signal handlers and tells the callback where the work is.
    fn attend(&self, py: Python<'_>, callback: &Callback) -> PyResult<()> {
        py.check_signals()?;
        if let Some(callback) = callback {
            for stage in self.take() {
                let share = stage.known_share();
                callback.call1(py, (stage.name, stage.done, stage.total, share))?;
            }
        }
        Ok(())
    }

    /// Attends until the worker drops its end of the channel; gives what Python raised.
    fn attend_until_done(&self, work: &Receiver<()>, callback: &Callback) -> Option<PyErr> {
        let mut raised = None;
        while work.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none() {
                raised = Python::attach(|py| self.attend(py, callback)).err();
            }
            if raised.is_some() {
                self.cancel();
            }
        }
        raised.or_else(|| Python::attach(|py| self.attend(py, callback)).err())
    }
}

impl Progress for Watch {
    fn stage(&self, name: &'static str, total: u64) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.done.swap(0, Ordering::Relaxed);
        if let Some(last) = stages.last_mut() {
            last.done = done;
            last.share = self.share.load(Ordering::Relaxed);
        }
        stages.push(Stage {
            name,
            total,
            done: 0,
            share: 0,
        });
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn share(&self, done: f64) {
        self.share.store(done.to_bits(), Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Runs `work` without the GIL; Ctrl-C and whatever `callback` raises stop it.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    callback: &Callback,
    work: impl FnOnce(&dyn Progress) -> pageway::Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel();
            let worker = scope.spawn(|| run(&watch, alive, work));
            match watch.attend_until_done(&ended, callback) {
                Some(raised) => Err((join(worker), raised).1),
                None => join(worker).map_err(to_exception),
            }
        })
    })
}

/// The worker; dropping `alive` at the end, also of a panic, wakes the calling thread.
fn run<T>(
    watch: &Watch,
    alive: Sender<()>,
    work: impl FnOnce(&dyn Progress) -> pageway::Result<T>,
) -> pageway::Result<T> {
    let _alive = alive;
    work(watch)
}

fn join<T>(worker: ScopedJoinHandle<'_, pageway::Result<T>>) -> pageway::Result<T> {
    worker.join().unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Internal,
            "the work stopped at a defect; see stderr",
        ))
    })
}
