//! What bounds decide without a read: which candidates are among the answers for sure, and which
//! are not.
//!
//! ```text
//!            |--a--|                              a, b: in, whatever the others are
//!               |--b--|
//!                    |--c--|   |--d--|            k = 3: c or d; only an exact distance can tell
//!                         |------e------|
//!                                        |--f--|  beyond the third smallest upper bound: out
//!   distance  ------------------------------->
//! ```
//!
//! Re-ranking by bounds: Gao and Long, "`RaBitQ`", SIGMOD 2024; here all candidates are judged at
//! once, so that what has to be read can be read together.

use super::query::Goal;

/// What is known of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is among the answers.
    In,
    /// It is not.
    Out,
    /// Its bounds do not tell.
    Open,
}

/// Bounds of the candidates of one query.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    /// Estimate and half width of the interval, candidate by candidate.
    intervals: Vec<(f32, f32)>,
    sorted: Vec<f32>,
    /// An upper bound up to here is good enough for `In`.
    sure: f32,
    /// A lower bound up to here is needed for anything but `Out`.
    limit: f32,
}

impl Bounds {
    /// Bytes that bounds of `capacity` candidates hold.
    pub(super) const fn bytes(capacity: usize) -> usize {
        capacity * (size_of::<(f32, f32)>() + size_of::<f32>())
    }

    /// Takes the candidates of a query: estimates, and by how much they may be off.
    pub(super) fn take(&mut self, intervals: impl Iterator<Item = (f32, f32)>) {
        self.intervals.clear();
        self.intervals.extend(intervals);
    }

    /// Judges all candidates: of the `k` nearest, or of those within a radius.
    pub(super) fn judge(&mut self, goal: Goal, k: usize) {
        match goal {
            Goal::Nearest => {
                self.limit = self.nth(k.saturating_sub(1), |(estimate, error)| estimate + error);
                // At most k intervals begin before the k + 1st does, its own among them.
                self.sure = self.nth(k, |(estimate, error)| estimate - error);
            }
            Goal::Within { radius } => (self.sure, self.limit) = (radius, radius),
        }
    }

    /// What was taken of candidate number `at`: its estimate, and by how much that may be off.
    pub(super) fn interval(&self, at: usize) -> (f32, f32) {
        let unknown = (f32::INFINITY, f32::INFINITY);
        self.intervals.get(at).copied().unwrap_or(unknown)
    }

    /// The verdict on candidate number `at`.
    pub(super) fn verdict(&self, at: usize) -> Verdict {
        let (estimate, error) = self.interval(at);
        if estimate - error > self.limit {
            Verdict::Out
        } else if estimate + error <= self.sure {
            Verdict::In
        } else {
            Verdict::Open
        }
    }

    /// Whether candidate number `at` lies outside even of an interval so many times as wide.
    pub(super) fn is_beyond(&self, at: usize, times: f32) -> bool {
        let interval = self.intervals.get(at);
        interval.is_some_and(|(estimate, error)| estimate - times.max(1.0) * error > self.limit)
    }

    /// The `n`th smallest of an end of the intervals, counted from 0; infinite where there are
    /// fewer.
    fn nth(&mut self, n: usize, end: impl Fn((f32, f32)) -> f32) -> f32 {
        self.sorted.clear();
        self.sorted
            .extend(self.intervals.iter().map(|one| end(*one)));
        if n >= self.sorted.len() {
            return f32::INFINITY;
        }
        *self.sorted.select_nth_unstable_by(n, f32::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdicts(intervals: &[(f32, f32)], goal: Goal, k: usize) -> Vec<Verdict> {
        let mut bounds = Bounds::default();
        bounds.take(intervals.iter().copied());
        bounds.judge(goal, k);
        (0..intervals.len()).map(|at| bounds.verdict(at)).collect()
    }

    #[test]
    fn only_what_overlaps_the_border_is_open() {
        use Verdict::{In, Open, Out};
        let intervals = [
            (1.0, 0.5),
            (1.4, 0.5),
            (3.0, 0.5),
            (3.8, 0.5),
            (4.0, 0.9),
            (9.0, 1.0),
        ];
        let found = verdicts(&intervals, Goal::Nearest, 3);
        assert_eq!(found, [In, In, Open, Open, Open, Out]);
        assert_eq!(verdicts(&intervals, Goal::Nearest, 6), [In; 6]);
        assert_eq!(verdicts(&intervals[..2], Goal::Nearest, 6), [In; 2]);
        let exact = [(2.0, 0.0), (1.0, 0.0), (3.0, 0.0)];
        assert_eq!(verdicts(&exact, Goal::Nearest, 2), [In, In, Out]);
        let unknown = [(1.0, f32::INFINITY), (2.0, f32::INFINITY)];
        assert_eq!(verdicts(&unknown, Goal::Nearest, 1), [Open; 2]);
        let mut bounds = Bounds::default();
        bounds.take(intervals.into_iter());
        bounds.judge(Goal::Nearest, 3);
        let beyond = |times| (0..6).filter(|at| bounds.is_beyond(*at, times)).count();
        assert_eq!([0.1, 1.0, 5.0, 6.0].map(beyond), [1, 1, 1, 0]);
        let within = Goal::Within { radius: 3.2 };
        assert_eq!(
            verdicts(&intervals, within, 1),
            [In, In, Open, Out, Open, Out]
        );
    }

    proptest! {
        #[test]
        fn no_verdict_is_wrong_while_distances_lie_within_their_bounds(
            candidates in prop::collection::vec((0.0f32..10.0, 0.0f32..2.0, -1.0f32..1.0), 1..40),
            k in 1usize..12,
        ) {
            let intervals: Vec<_> = candidates.iter().map(|c| (c.0, c.1)).collect();
            let exact: Vec<f32> = candidates.iter().map(|c| c.0 + c.1 * c.2 * 0.999).collect();
            for (at, verdict) in verdicts(&intervals, Goal::Nearest, k).into_iter().enumerate() {
                let nearer = exact.iter().filter(|other| **other < exact[at]).count();
                match verdict {
                    Verdict::In => prop_assert!(nearer < k, "{nearer} are nearer"),
                    Verdict::Out => prop_assert!(nearer >= k, "{nearer} are nearer"),
                    Verdict::Open => {}
                }
            }
        }
    }
}
