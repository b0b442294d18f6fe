//! How fast rows come while a closed delta is flushed.
//!
//! Callers fill a delta faster than a flush empties one. Unpaced, they would fill the next delta,
//! and then wait for the rest of the flush at once. So the second half of a delta is filled over
//! the time that the flush still takes, as foretold by the last flush.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pageway_store::clock;

/// Longest rest of a call, as a forecast may be wrong.
const LONGEST: Duration = Duration::from_secs(1);
/// A flush that is overdue is expected to take this share of its time so far in addition.
const OVERDUE: f64 = 0.125;

/// The pace of rows.
#[derive(Default)]
pub(super) struct Pace(Mutex<PaceState>);

#[derive(Default)]
struct PaceState {
    /// Seconds that the last flush took for each of its rows.
    each: Option<f64>,
    /// When a delta of so many rows was closed.
    closed: Option<(Instant, u32)>,
    /// When the next row may come.
    next: Option<Instant>,
}

impl Pace {
    fn lock(&self) -> MutexGuard<'_, PaceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A delta of so many rows was closed, to be flushed.
    pub(super) fn begin(&self, rows: u32) {
        self.lock().closed = Some((clock::now(), rows));
    }

    /// It was flushed, or that failed.
    pub(super) fn end(&self, is_flushed: bool) {
        let mut state = self.lock();
        if let Some((closed, rows)) = state.closed.take().filter(|_| is_flushed) {
            let took = (clock::now() - closed).as_secs_f64();
            state.each = Some(took / f64::from(rows.max(1)));
        }
        state.next = None;
    }

    /// Whether a flush is under way, or wanted.
    pub(super) fn is_set(&self) -> bool {
        self.lock().closed.is_some()
    }

    /// How long a call of so many rows rests before it puts them into a delta that has so many of
    /// the most that it may have.
    pub(super) fn rest(&self, rows: u32, (filled, most): (u32, u32)) -> Duration {
        let mut state = self.lock();
        let Some((closed, flushed)) = state.closed else {
            return Duration::ZERO;
        };
        if filled < most / 2 {
            return Duration::ZERO;
        }
        let now = clock::now();
        let took = (now - closed).as_secs_f64();
        // The first flush is expected to take as long again as it took so far.
        let foretold = state.each.map(|each| each * f64::from(flushed) - took);
        let left = foretold.unwrap_or(took).max(took * OVERDUE);
        let share = f64::from(rows) / f64::from(most.saturating_sub(filled).max(rows).max(1));
        let turn = state.next.map_or(now, |next| next.max(now));
        let latest = now + LONGEST;
        let rest = Duration::try_from_secs_f64(left * share).unwrap_or(LONGEST);
        state.next = Some((turn + rest.min(LONGEST)).min(latest));
        turn.min(latest) - now
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// After a flush that took about so long for each of 100 rows, and closed again.
    fn paced(took: Duration) -> Pace {
        let pace = Pace::default();
        pace.begin(100);
        thread::sleep(took);
        pace.end(true);
        pace
    }

    #[test]
    fn rows_of_the_second_half_come_over_the_rest_of_the_flush() {
        let pace = paced(Duration::from_millis(100));
        assert!(!pace.is_set());
        assert_eq!(pace.rest(1, (90, 100)), Duration::ZERO);
        pace.begin(100);
        assert!(pace.is_set());
        assert_eq!(pace.rest(1, (49, 100)), Duration::ZERO);
        // The first at once, each of the others a fiftieth of what is left behind the one before.
        let rests: Vec<Duration> = (50..100)
            .map(|filled| pace.rest(1, (filled, 100)))
            .collect();
        assert_eq!(rests[0], Duration::ZERO);
        assert!(rests.is_sorted(), "{rests:?}");
        assert!(rests[10] >= Duration::from_millis(10), "{rests:?}");
        assert!(rests.iter().all(|rest| *rest <= LONGEST), "{rests:?}");
        pace.end(true);
        assert_eq!(pace.rest(1, (90, 100)), Duration::ZERO);
    }

    #[test]
    fn the_first_flush_is_held_to_take_as_long_again() {
        let pace = Pace::default();
        assert_eq!(pace.rest(50, (99, 100)), Duration::ZERO);
        pace.begin(100);
        thread::sleep(Duration::from_millis(40));
        assert_eq!(pace.rest(50, (50, 100)), Duration::ZERO);
        let rest = pace.rest(50, (50, 100));
        assert!((40..500).contains(&rest.as_millis()), "{rest:?}");
        pace.end(false);
        assert_eq!(pace.rest(50, (99, 100)), Duration::ZERO);
    }
}
