//! Keeps the latency of searches at a target, by the share of time that background work gets.
//!
//! Latencies are judged by windows. If the high quantile of a window is within the target, the
//! share rises by a step; otherwise it shrinks in proportion to the excess, at most by half. It
//! never falls below a floor, so that the work always ends.

use std::time::{Duration, Instant};

/// Latencies of a window: so many that the 99th percentile is not just the highest.
const WINDOW: usize = 128;
/// A window that lasts this long ends with so many latencies.
const SPARSE: (usize, Duration) = (16, Duration::from_secs(1));
/// Time without searches after which background work is not held back.
const QUIET: Duration = Duration::from_secs(1);
/// The least share.
pub(crate) const FLOOR: f64 = 1.0 / 32.0;
/// The step by which the share rises.
const RISE: f64 = 1.0 / 16.0;

/// The share of time of the work beside searches.
#[derive(Debug)]
pub(crate) struct LatencyControl {
    target: Duration,
    share: f64,
    /// The 99th percentile of the last window.
    p99: Option<Duration>,
    window: Vec<Duration>,
    /// When the window began, and when the last search was noted.
    span: Option<(Instant, Instant)>,
}

impl LatencyControl {
    /// Begins with half of the time.
    pub(crate) fn new(target: Duration) -> Self {
        Self {
            target,
            share: 0.5,
            p99: None,
            window: Vec::with_capacity(WINDOW),
            span: None,
        }
    }

    /// Notes a search that ended now.
    pub(crate) fn note(&mut self, latency: Duration, now: Instant) {
        let (begun, _) = *self.span.get_or_insert((now, now));
        self.span = Some((begun, now));
        self.window.push(latency);
        let (few, long) = SPARSE;
        let is_old = now.saturating_duration_since(begun) >= long;
        if self.window.len() < WINDOW && !(is_old && self.window.len() >= few) {
            return;
        }
        let last = (self.window.len() * 99).div_ceil(100).saturating_sub(1);
        let (_, p99, _) = self.window.select_nth_unstable(last);
        let p99 = *p99;
        self.share = next_share(self.share, p99.as_secs_f64() / self.target.as_secs_f64());
        self.p99 = Some(p99);
        self.window.clear();
        self.span = Some((now, now));
    }

    /// The share at this time.
    pub(crate) fn share(&self, now: Instant) -> f64 {
        match self.span {
            Some((_, last)) if now.saturating_duration_since(last) < QUIET => self.share,
            _ => 1.0,
        }
    }

    /// The share while searches come.
    pub(crate) fn last_share(&self) -> f64 {
        self.share
    }

    pub(crate) fn target(&self) -> Duration {
        self.target
    }

    /// The 99th percentile of the last window of searches.
    pub(crate) fn p99(&self) -> Option<Duration> {
        self.p99
    }
}

/// The share after a window whose quantile is `excess` times the target.
fn next_share(share: f64, excess: f64) -> f64 {
    let next = if excess <= 1.0 {
        share + RISE
    } else {
        share * (1.0 / excess).max(0.5)
    };
    next.clamp(FLOOR, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TARGET: Duration = Duration::from_millis(2);

    /// A control that has seen searches one after the other.
    fn after(latencies: impl IntoIterator<Item = u64>) -> (LatencyControl, Instant) {
        let mut control = LatencyControl::new(TARGET);
        let mut now = pageway_store::clock::now();
        for latency in latencies {
            let latency = Duration::from_micros(latency);
            now += latency;
            control.note(latency, now);
        }
        (control, now)
    }

    #[test]
    fn one_slow_search_in_a_hundred_is_within_the_target() {
        let window = |slow: usize| (0..WINDOW).map(move |at| if at < slow { 9000 } else { 1000 });
        let (control, now) = after(window(1));
        assert_eq!(control.p99(), Some(Duration::from_millis(1)));
        assert!((control.share(now) - 0.5 - RISE).abs() < 1e-9);
        let (control, now) = after(window(2));
        assert_eq!(control.p99(), Some(Duration::from_millis(9)));
        assert!((control.share(now) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn an_impossible_target_leaves_the_floor_and_quiet_leaves_everything() {
        let (control, now) = after(std::iter::repeat_n(50_000, 20 * WINDOW));
        assert!((control.share(now) - FLOOR).abs() < 1e-9);
        assert!((control.share(now + QUIET) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn few_searches_are_looked_at_after_a_while() {
        let (control, now) = after(std::iter::repeat_n(70_000, 16));
        assert!(control.share(now) < 0.5);
        let (control, _) = after(std::iter::repeat_n(50_000, 15));
        assert_eq!(control.p99(), None);
    }

    proptest! {
        #[test]
        fn shares_fall_above_the_target_and_rise_below(share in FLOOR..1.0, excess in 0.0..100.0) {
            let next = next_share(share, excess);
            prop_assert!((FLOOR..=1.0).contains(&next));
            if excess <= 1.0 {
                prop_assert!(next > share);
            } else {
                prop_assert!(next < share || next <= FLOOR);
                prop_assert!(next >= share / 2.0);
            }
        }

        #[test]
        fn shares_stay_in_bounds(latencies in prop::collection::vec(1_u64..200_000, 0..2000)) {
            let (control, now) = after(latencies);
            prop_assert!((FLOOR..=1.0).contains(&control.share(now)));
        }
    }
}
