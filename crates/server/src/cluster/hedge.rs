//! When to ask a second replica although the first may still answer, and how often that may be.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Times that are remembered of each operation.
const KEPT: usize = 256;
/// Times before which nothing is known of an operation.
const LEAST: usize = 32;
/// Times after which what is known is worked out again.
const EACH: u32 = 16;
/// Part of calls that are faster.
const QUANTILE: f64 = 0.95;
/// The shortest time that is waited.
const SHORTEST: Duration = Duration::from_millis(2);

/// What may be spent, as a part of what is earned.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Budget {
    share: f64,
    most: f64,
    left: f64,
}

impl Budget {
    /// So much for each that is earned, and so much in hand at most, and at first.
    pub(crate) const fn new(share: f64, most: f64) -> Self {
        let left = most;
        Self { share, most, left }
    }

    /// One call more, of which some are for this.
    pub(crate) fn earn(&mut self) {
        self.left = (self.left + self.share).min(self.most);
    }

    /// Spends one; whether it was there.
    pub(crate) fn spend(&mut self) -> bool {
        let is_there = self.left >= 1.0;
        if is_there {
            self.left -= 1.0;
        }
        is_there
    }
}

/// How long calls take, by operation.
#[derive(Default, Debug)]
pub(crate) struct Latencies(BTreeMap<&'static str, Window>);

#[derive(Default, Debug)]
struct Window {
    last: VecDeque<Duration>,
    since: u32,
    quantile: Option<Duration>,
}

impl Latencies {
    /// Notes a call that was answered.
    pub(crate) fn note(&mut self, operation: &'static str, took: Duration) {
        let own = self.0.entry(operation).or_default();
        own.last.push_back(took);
        if own.last.len() > KEPT {
            own.last.pop_front();
        }
        own.since += 1;
        if own.last.len() < LEAST || (own.since < EACH && own.quantile.is_some()) {
            return;
        }
        own.since = 0;
        let mut sorted: Vec<Duration> = own.last.iter().copied().collect();
        sorted.sort_unstable();
        let at = (QUANTILE * sorted.len() as f64) as usize;
        own.quantile = sorted.get(at.min(sorted.len() - 1)).copied();
    }

    /// The time after which most calls are answered; none where too few are known.
    pub(crate) fn usual(&self, operation: &str) -> Option<Duration> {
        let own = self.0.get(operation)?.quantile?;
        Some(own.max(SHORTEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_part_of_what_is_earned() {
        let mut budget = Budget::new(0.05, 2.0);
        assert!(budget.spend() && budget.spend() && !budget.spend());
        let mut spent = 0;
        for _ in 0..1000 {
            budget.earn();
            spent += u32::from(budget.spend());
        }
        assert!((49..=50).contains(&spent), "{spent}");
        for _ in 0..1000 {
            budget.earn();
        }
        assert!(budget.spend() && budget.spend() && !budget.spend());
    }

    #[test]
    fn what_is_usual_is_known_after_some_calls_and_forgotten_after_many() {
        let mut latencies = Latencies::default();
        for number in 0..LEAST as u64 {
            assert_eq!(latencies.usual("a"), None);
            latencies.note("a", Duration::from_millis(10 + number));
        }
        assert_eq!(latencies.usual("a"), Some(Duration::from_millis(10 + 30)));
        assert_eq!(latencies.usual("b"), None);
        for _ in 0..2 * KEPT {
            latencies.note("a", Duration::from_micros(5));
        }
        assert_eq!(latencies.usual("a"), Some(SHORTEST));
    }
}
