//! Calls by their microseconds, searches by the second.

use serde::Serialize;

/// How long calls took, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Latency {
    /// Calls.
    pub calls: u64,
    /// Mean.
    pub mean: f64,
    /// Half of them took no longer,
    pub p50: u64,
    /// 99 of 100,
    pub p99: u64,
    /// all of them.
    pub max: u64,
}

impl Latency {
    pub(super) fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let at = |percent: usize| times.get(last * percent / 100).copied().unwrap_or(0);
        let sum: u64 = times.iter().sum();
        Self {
            calls: times.len() as u64,
            mean: sum as f64 / times.len().max(1) as f64,
            p50: at(50),
            p99: at(99),
            max: at(100),
        }
    }
}

/// Searches that ended in each second since a moment.
#[derive(Clone, Default, Debug)]
pub(super) struct BySecond(Vec<u64>);

impl BySecond {
    pub(super) fn note(&mut self, second: u64) {
        let second = second as usize;
        if self.0.len() <= second {
            self.0.resize(second + 1, 0);
        }
        if let Some(count) = self.0.get_mut(second) {
            *count += 1;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (sum, own) in self.0.iter_mut().zip(&other.0) {
            *sum += own;
        }
    }

    pub(super) fn into_counts(self) -> Vec<u64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_summed_up_by_rank() {
        let latency = Latency::of((1..=1000).rev().collect());
        assert_eq!((latency.calls, latency.p50, latency.p99), (1000, 500, 990));
        assert_eq!((latency.max, latency.mean), (1000, 500.5));
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }

    #[test]
    fn searches_fall_into_seconds() {
        let (mut one, mut other) = (BySecond::default(), BySecond::default());
        for second in [0, 0, 2] {
            one.note(second);
        }
        for second in [1, 4] {
            other.note(second);
        }
        one.add(&other);
        assert_eq!(one.into_counts(), [2, 1, 1, 0, 1]);
    }
}
