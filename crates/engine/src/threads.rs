//! Threads of our own: how many, and pools of them.

use crate::error::{Error, ErrorKind, Result};

/// 0 means all cores.
pub(crate) fn thread_count(wished: usize) -> usize {
    if wished > 0 {
        return wished;
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// A pool of our own, of `threads` threads or one per core for 0: the process that embeds us keeps
/// control of its global one.
///
/// # Errors
/// `Io` when the system starts no more threads.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let threads = thread_count(threads);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("{threads} threads cannot be started: {error}"),
            )
        })
}
