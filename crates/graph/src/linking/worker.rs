//! Scratch memory of the threads that build.
//!
//! Each thread of the pool owns one scratch and keeps it for the whole build. The lock around it
//! is never contended, since no task hands work to the pool while it holds one; it is there
//! because the compiler cannot know.

use std::sync::{Mutex, PoisonError};

use super::thinning::Thinning;
use crate::error::GraphError;
use crate::search::{Bounds, SearchScratch};

/// One scratch per thread of a pool.
pub(crate) struct Workers<S> {
    scratches: Vec<Mutex<S>>,
}

impl<S> Workers<S> {
    /// A scratch for every thread of the current pool.
    pub(crate) fn new(scratch: impl Fn() -> Result<S, GraphError>) -> Result<Self, GraphError> {
        let threads = rayon::current_num_threads().max(1);
        let scratches = (0..threads).map(|_| scratch().map(Mutex::new));
        Ok(Self {
            scratches: scratches.collect::<Result<_, _>>()?,
        })
    }

    /// Bytes of scratches that take `each` on their own.
    pub(crate) fn bytes(threads: usize, each: u64) -> u64 {
        let locked = each.saturating_add(size_of::<Mutex<S>>() as u64);
        locked.saturating_mul(threads.max(1) as u64)
    }

    /// Runs `work` with the scratch of the current thread. `work` must not use the pool.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.scratches.len();
        #[expect(clippy::indexing_slicing, reason = "reduced by the length above")]
        let mut scratch = self.scratches[thread]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        work(&mut scratch)
    }
}

/// What one thread needs to search and prune.
pub(crate) struct LinkScratch {
    pub(crate) search: SearchScratch,
    pub(crate) thinning: Thinning,
}

impl LinkScratch {
    /// For searches within `bounds` and prunes of at most `candidates`.
    pub(crate) fn new(bounds: Bounds, candidates: usize) -> Result<Self, GraphError> {
        Ok(Self {
            search: SearchScratch::new(bounds)?,
            thinning: Thinning::new(candidates)?,
        })
    }

    /// Bytes that `new` with the same arguments takes.
    pub(crate) fn bytes(bounds: Bounds, candidates: usize) -> u64 {
        SearchScratch::bytes(bounds) + Thinning::bytes(candidates)
    }
}
