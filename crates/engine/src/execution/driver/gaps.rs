//! The gaps of searches, for work that goes on in them: while a thread that searches waits for the
//! disk, its core has nothing to do.
//!
//! Invariants: a thread is counted as waiting by what it holds meanwhile, so one that panics ends
//! its gap as well; while nobody watches, a wait costs one load. Who rests has told so before it
//! looks, and who waits has counted itself before it looks for one that rests: one of the two sees
//! the other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many threads search an index, and which of them wait for pages.
#[derive(Default)]
pub(crate) struct SearchGaps {
    searching: AtomicU32,
    /// Those of them that wait, as far as somebody watches.
    waiting: AtomicU32,
    /// Works that go on in gaps.
    watching: AtomicU32,
    /// Those that rest until there is one.
    resting: AtomicU32,
    gate: Mutex<()>,
    begun: Condvar,
}

impl SearchGaps {
    /// One thread more searches.
    pub(crate) fn begin_search(&self) {
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    /// One thread fewer does.
    pub(crate) fn end_search(&self) {
        self.searching.fetch_sub(1, Ordering::SeqCst);
        self.wake();
    }

    /// The thread waits for pages for as long as it holds this.
    pub(super) fn wait(&self) -> Gap<'_> {
        if self.watching.load(Ordering::Relaxed) == 0 {
            return Gap(None);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.wake();
        Gap(Some(self))
    }

    /// Counts who waits for as long as this is held, for work that has a part of so many cores.
    pub(crate) fn watch(&self, cores: u32) -> Watching<'_> {
        self.watching.fetch_add(1, Ordering::Relaxed);
        Watching { gaps: self, cores }
    }

    fn wake(&self) {
        if self.resting.load(Ordering::SeqCst) > 0 {
            // Who rests has looked, and hears what comes now.
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
            self.begun.notify_all();
        }
    }

    /// Threads that search and do not wait.
    fn computing(&self) -> u32 {
        let searching = self.searching.load(Ordering::SeqCst);
        searching.saturating_sub(self.waiting.load(Ordering::SeqCst))
    }
}

/// A wait for pages.
pub(super) struct Gap<'g>(Option<&'g SearchGaps>);

impl Drop for Gap<'_> {
    fn drop(&mut self) {
        if let Some(gaps) = self.0 {
            gaps.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Work that goes on in gaps.
pub(crate) struct Watching<'g> {
    gaps: &'g SearchGaps,
    cores: u32,
}

impl Watching<'_> {
    /// Whether searches are under way.
    pub(crate) fn is_searched(&self) -> bool {
        self.gaps.searching.load(Ordering::Relaxed) > 0
    }

    /// Rests while as many threads compute as there are cores, for up to `most`; whether a core is
    /// free then.
    pub(crate) fn rest(&self, most: Duration) -> bool {
        let Self { gaps, cores } = self;
        if gaps.computing() < *cores {
            return true;
        }
        let gate = gaps.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gaps.resting.fetch_add(1, Ordering::SeqCst);
        let are_busy = |(): &mut ()| gaps.computing() >= *cores;
        let rested = gaps.begun.wait_timeout_while(gate, most, are_busy);
        gaps.resting.fetch_sub(1, Ordering::SeqCst);
        !rested.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.gaps.watching.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    /// Long enough that nobody waits it out.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_core_is_free_while_a_search_waits() {
        let gaps = SearchGaps::default();
        let (one, two) = (gaps.watch(1), gaps.watch(2));
        let are_free = || [&one, &two].map(|watching| watching.rest(Duration::ZERO));
        assert_eq!(are_free(), [true, true]);
        gaps.begin_search();
        assert!(one.is_searched());
        assert_eq!(are_free(), [false, true]);
        let gap = gaps.wait();
        assert_eq!(are_free(), [true, true]);
        gaps.begin_search();
        assert_eq!(are_free(), [false, true]);
        drop(gap);
        assert_eq!(are_free(), [false, false]);
        gaps.end_search();
        gaps.end_search();
        assert!(!one.is_searched());
        assert_eq!(are_free(), [true, true]);
    }

    #[test]
    fn nothing_is_counted_while_nobody_watches() {
        let gaps = SearchGaps::default();
        gaps.begin_search();
        let unseen = gaps.wait();
        let watching = gaps.watch(1);
        assert!(!watching.rest(Duration::ZERO));
        drop(unseen);
        let seen = gaps.wait();
        drop(watching);
        drop(seen);
        assert_eq!(gaps.computing(), 1);
    }

    #[test]
    fn no_wakeup_is_lost() {
        let gaps = SearchGaps::default();
        let watching = gaps.watch(1);
        // Wherever the two meet, the one that rests hears of the gap.
        for _ in 0..2000 {
            gaps.begin_search();
            thread::scope(|scope| {
                let rests = scope.spawn(|| watching.rest(LONG));
                let gap = gaps.wait();
                assert!(rests.join().unwrap());
                drop(gap);
            });
            gaps.end_search();
        }
    }

    #[test]
    fn the_end_of_a_search_wakes_and_so_does_a_panic() {
        let gaps = SearchGaps::default();
        let watching = gaps.watch(1);
        gaps.begin_search();
        thread::scope(|scope| {
            let rests = scope.spawn(|| watching.rest(LONG));
            gaps.end_search();
            assert!(rests.join().unwrap());
        });
        gaps.begin_search();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _gap = gaps.wait();
            panic!("a search");
        }));
        assert!(panicked.is_err());
        assert_eq!(gaps.computing(), 1);
        gaps.end_search();
        assert_eq!(gaps.computing(), 0);
    }
}
