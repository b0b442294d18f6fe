//! Threads that do what requests ask for, and queues before them: a full one refuses.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// What a thread does.
type Task = Box<dyn FnOnce() + Send>;

/// Threads with one queue.
pub(crate) struct Workers {
    shared: Arc<SharedQueue>,
    threads: Vec<JoinHandle<()>>,
}

struct SharedQueue {
    queue: Mutex<TaskQueue>,
    changed: Condvar,
    most: usize,
}

#[derive(Default)]
struct TaskQueue {
    tasks: VecDeque<Task>,
    ends: bool,
}

impl Workers {
    /// So many threads, and tasks that wait at most.
    pub(crate) fn new(name: &str, (threads, most): (usize, usize)) -> std::io::Result<Self> {
        let shared = Arc::new(SharedQueue {
            queue: Mutex::default(),
            changed: Condvar::new(),
            most,
        });
        let begin = |number| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            thread.spawn(move || shared.work())
        };
        let threads: std::io::Result<_> = (0..threads).map(begin).collect();
        Ok(Self {
            threads: threads?,
            shared,
        })
    }

    /// Puts a task into the queue; whether there was room.
    pub(crate) fn submit(&self, task: impl FnOnce() + Send + 'static) -> bool {
        let mut queue = self.shared.lock();
        if queue.tasks.len() >= self.shared.most || queue.ends {
            return false;
        }
        queue.tasks.push_back(Box::new(task));
        drop(queue);
        self.shared.changed.notify_one();
        true
    }

    /// Tasks that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.watch().waiting()
    }

    /// What tells of the queue without keeping its threads.
    pub(crate) fn watch(&self) -> QueueWatch {
        QueueWatch(Arc::clone(&self.shared))
    }
}

/// The queue of some threads, to be looked at.
pub(crate) struct QueueWatch(Arc<SharedQueue>);

impl QueueWatch {
    /// Tasks that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.0.lock().tasks.len() as u64
    }

    /// Whether the threads are about to end.
    pub(crate) fn ends(&self) -> bool {
        self.0.lock().ends
    }
}

impl Drop for Workers {
    /// Does what waits, and ends the threads.
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, TaskQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut queue = self.lock();
            let task = loop {
                if let Some(task) = queue.tasks.pop_front() {
                    break task;
                }
                if queue.ends {
                    return;
                }
                let waited = self.changed.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            // A task that panics has dropped what its caller waits for.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_full_queue_refuses_and_a_panic_is_borne() {
        let workers = Workers::new("test", (1, 2)).unwrap();
        let (begun, begins) = channel();
        let (go_on, goes_on) = channel::<()>();
        assert!(workers.submit(move || {
            begun.send(()).unwrap();
            goes_on.recv().unwrap();
            panic!("on purpose");
        }));
        begins.recv().unwrap();
        let (done, is_done) = channel();
        for number in 0..2 {
            let done = done.clone();
            assert!(workers.submit(move || done.send(number).unwrap()));
        }
        assert!(!workers.submit(|| ()), "full");
        assert_eq!(workers.waiting(), 2);
        go_on.send(()).unwrap();
        assert_eq!((is_done.recv().unwrap(), is_done.recv().unwrap()), (0, 1));
    }
}
