//! Positional calls by a few threads, for systems that deny io_uring.
//!
//! A buffer travels with its request: lane -> queue -> thread -> lane. Whoever has it owns
//! it, so no memory is shared. Threads are started as reads pile up, and end with the lane.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::files::LaneFiles;
use super::slots::Slots;
use super::transfer::{Work, perform};
use super::{IoBackend, IoCounters, LaneRequest, PageDone, PageIo};
use crate::{AlignedBuffers, Process};

/// Most threads of a lane. Deeper queues gain little where each request costs a thread switch.
pub(super) const MAX_THREADS: usize = 16;

/// Stack of such a thread, which does nothing but positional calls.
pub(super) const STACK_BYTES: usize = 32 * 1024;

struct Job {
    buffer: u32,
    file: u32,
    work: Work,
    bytes: AlignedBuffers,
    /// How many of them the unit takes.
    length: usize,
}

struct Finished {
    buffer: u32,
    bytes: AlignedBuffers,
    result: io::Result<()>,
}

#[derive(Default)]
struct ReadQueue {
    jobs: VecDeque<Job>,
    closed: bool,
}

struct Shared {
    files: LaneFiles,
    queue: Mutex<ReadQueue>,
    filled: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, ReadQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, or `None` when the lane is gone.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        while !queue.closed {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn run(&self, mut job: Job) -> Finished {
        let file = self.files.get(job.file).file();
        let bytes = job.bytes.get_mut(0);
        let bytes = bytes.get_mut(..job.length).unwrap_or_default();
        let result = perform(file.as_ref(), job.work, bytes);
        Finished {
            buffer: job.buffer,
            bytes: job.bytes,
            result,
        }
    }
}

pub(super) struct ThreadLane {
    /// The process that its threads run in.
    owner: Process,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    max_threads: usize,
    sender: Sender<Finished>,
    receiver: Receiver<Finished>,
    buffers: Vec<Option<AlignedBuffers>>,
    slots: Slots,
}

impl ThreadLane {
    pub(super) fn new(files: LaneFiles, buffers: u32) -> io::Result<Self> {
        let unit_bytes = files.unit_bytes();
        let slots = Slots::new(buffers, files.seal(), files.units(), files.writable());
        let (sender, receiver) = channel();
        let shared = Shared {
            files,
            queue: Mutex::default(),
            filled: Condvar::new(),
        };
        Ok(Self {
            owner: Process::current(),
            shared: Arc::new(shared),
            threads: Vec::new(),
            max_threads: thread_count(buffers),
            sender,
            receiver,
            buffers: (0..buffers)
                .map(|_| AlignedBuffers::new(1, unit_bytes).map(Some))
                .collect::<io::Result<_>>()?,
            slots,
        })
    }

    /// Starts a thread if there are more requests than threads. When the system has no thread to
    /// give, the ones that run go on; false means that none runs.
    fn grow(&mut self) -> bool {
        if self.threads.len() < self.max_threads.min(self.slots.in_flight()) {
            let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
            let work = move || {
                while let Some(job) = shared.next() {
                    if sender.send(shared.run(job)).is_err() {
                        break;
                    }
                }
            };
            let builder = std::thread::Builder::new().name("pageway-io".into());
            if let Ok(thread) = builder.stack_size(STACK_BYTES).spawn(work) {
                self.threads.push(thread);
            }
        }
        !self.threads.is_empty()
    }

    /// Leaves threads, queue and channel as they are: those of the parent may hold their locks, and
    /// none of its threads is there to be waited for.
    fn abandon(&mut self) {
        let (sender, receiver) = channel();
        std::mem::forget(std::mem::take(&mut self.threads));
        std::mem::forget(Arc::clone(&self.shared));
        std::mem::forget(std::mem::replace(&mut self.sender, sender));
        std::mem::forget(std::mem::replace(&mut self.receiver, receiver));
    }

    fn accept(&mut self, finished: Finished, done: &mut Vec<PageDone>) -> io::Result<()> {
        if let Some(home) = self.buffers.get_mut(finished.buffer as usize) {
            *home = Some(finished.bytes);
        }
        done.push(self.slots.release(finished.buffer, finished.result)?);
        Ok(())
    }
}

/// Threads that a lane with this many buffers may start.
pub(super) fn thread_count(buffers: u32) -> usize {
    MAX_THREADS.min(buffers as usize)
}

impl PageIo for ThreadLane {
    fn request(&mut self, request: LaneRequest) -> io::Result<()> {
        self.owner.check()?;
        let buffer = request.buffer();
        if let LaneRequest::Write(write) = request
            && self.slots.at_rest(buffer)
        {
            self.slots.check_sealed(write, self.buffer(buffer))?;
        }
        self.slots.claim(request)?;
        let work = self.slots.work_of(buffer);
        let bytes = self.buffers.get_mut(buffer as usize).and_then(Option::take);
        let Some(bytes) = bytes else {
            return Err(io::Error::other(
                "a buffer at rest is missing from its lane",
            ));
        };
        let job = Job {
            buffer,
            file: self.slots.file_of(buffer),
            work,
            bytes,
            length: self.slots.bytes_of(buffer),
        };
        if self.grow() {
            self.shared.queue().jobs.push_back(job);
            self.shared.filled.notify_one();
        } else {
            let finished = self.shared.run(job);
            self.sender
                .send(finished)
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }

    fn wait(&mut self, at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        self.owner.check()?;
        for _ in 0..at_least.min(self.slots.in_flight()) {
            let finished = self
                .receiver
                .recv()
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.accept(finished, done)?;
        }
        while let Ok(finished) = self.receiver.try_recv() {
            self.accept(finished, done)?;
        }
        Ok(())
    }

    fn buffer(&self, buffer: u32) -> &[u8] {
        self.slots.assert_at_rest(buffer);
        let bytes = self.buffers.get(buffer as usize).and_then(Option::as_ref);
        bytes.map_or(&[], |bytes| bytes.get(0))
    }

    fn buffer_mut(&mut self, buffer: u32) -> &mut [u8] {
        self.slots.assert_at_rest(buffer);
        let bytes = self
            .buffers
            .get_mut(buffer as usize)
            .and_then(Option::as_mut);
        bytes.map_or(&mut [], |bytes| bytes.get_mut(0))
    }

    fn counters(&self) -> IoCounters {
        self.slots.counters()
    }

    fn backend(&self) -> IoBackend {
        IoBackend::Threads
    }
}

impl Drop for ThreadLane {
    fn drop(&mut self) {
        if !self.owner.is_current() {
            self.abandon();
            return;
        }
        self.shared.queue().closed = true;
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            // Such a thread cannot panic on data; if a test's file did, the lane is gone anyway.
            let _ = thread.join();
        }
    }
}
