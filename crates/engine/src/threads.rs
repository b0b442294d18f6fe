//! Threads of our own: how many, and pools of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::{Error, ErrorKind, Result};

/// Threads for each core beyond which more of them help nobody: what waits for the disk is had by
/// queries in flight.
const MOST_PER_CORE: usize = 8;

/// As many are started on any machine.
const MOST_ON_FEW_CORES: usize = 64;

/// 0 means all cores; more than help are as many as help.
pub(crate) fn thread_count(wished: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    threads_on(cores, wished)
}

fn threads_on(cores: usize, wished: usize) -> usize {
    let most = MOST_ON_FEW_CORES.max(cores.saturating_mul(MOST_PER_CORE));
    match wished {
        0 => cores,
        wished => wished.min(most),
    }
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

/// Calls `make` for each part, on up to `most` threads; results in the order of parts.
pub(crate) fn each_at_once<T: Sync, R: Send>(
    most: usize,
    parts: &[T],
    make: &(dyn Fn(&T) -> R + Sync),
) -> Vec<R> {
    let threads = most.min(parts.len());
    if threads <= 1 {
        return parts.iter().map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else {
                return made;
            };
            made.push((at, make(part)));
        }
    };
    let mut all = thread::scope(|scope| {
        // If the system gives no more threads, the others do the work.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = work();
        for other in others {
            let own = other.join();
            all.extend(own.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_wished_is_one_per_core() {
        assert_eq!(threads_on(3, 0), 3);
    }

    #[test]
    fn more_than_help_are_not_started() {
        assert_eq!(threads_on(2, 64), 64);
        assert_eq!(threads_on(2, 65), 64);
        assert_eq!(threads_on(48, 100_000), 384);
        assert_eq!(threads_on(usize::MAX, usize::MAX), usize::MAX);
    }

    #[test]
    fn a_pool_of_any_size_starts() {
        let pool = thread_pool(100_000).unwrap();
        assert_eq!(pool.current_num_threads(), thread_count(usize::MAX));
    }
}
