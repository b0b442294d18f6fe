//! The threads that asynchronous requests run on. Callers wait without a stack of theirs in it.

use std::future::Future;
use std::io;
use std::sync::mpsc::sync_channel;

use pageway_store::Process;
use tokio::runtime::{Builder, Runtime};

/// Threads that wait for sockets; each request is mostly waiting.
const THREADS: usize = 2;

/// Runs futures for threads that are not asynchronous.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The process that its threads run in.
    owner: Process,
    runtime: Option<Runtime>,
}

impl Runner {
    /// Starts the threads.
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("pageway-object")
            .enable_all()
            .build()?;
        Ok(Self {
            owner: Process::current(),
            runtime: Some(runtime),
        })
    }

    /// Waits for a future.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        if !self.owner.is_current() {
            return Err(io::Error::other(
                "an index in object storage is not used after a fork: open it again",
            ));
        }
        let ended = || io::Error::other("the threads of requests have ended");
        let (sender, receiver) = sync_channel(1);
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        runtime.spawn(async move {
            // Nobody waits any more where this fails.
            let _ = sender.send(future.await);
        });
        receiver.recv().map_err(|_| ended())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        if self.owner.is_current() {
            runtime.shutdown_background();
        } else {
            // None of its threads is in this process.
            std::mem::forget(runtime);
        }
    }
}
