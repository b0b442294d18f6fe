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

use super::Tolerance;
use super::query::Goal;
use super::refine::FAR_DEVIATIONS;
use crate::error::Result;
use crate::memory::Reservation;

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

/// What all candidates of a query decide together, those of every segment among them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Limits {
    /// An upper bound up to here is good enough for `In`.
    sure: f32,
    /// A lower bound up to here is needed for anything but `Out`.
    limit: f32,
}

/// Bounds of the candidates of one query in one segment.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    /// Estimate and error, candidate by candidate.
    intervals: Vec<(f32, f32)>,
    /// Half width of the interval that decides, as a share of the error.
    share: f32,
    sorted: Vec<f32>,
    limits: Limits,
}

impl Limits {
    /// What decides who is among the `k` nearest, or within a radius, of the candidates of all
    /// `segments`. `sorted` is room to sort in.
    pub(super) fn of<'b>(
        goal: Goal,
        k: usize,
        segments: impl Iterator<Item = &'b Bounds> + Clone,
        sorted: &mut Vec<f32>,
    ) -> Self {
        let mut nth = |n: usize, end: fn((f32, f32)) -> f32| {
            let intervals = segments.clone().flat_map(Bounds::deciding);
            sorted.clear();
            sorted.extend(intervals.map(end));
            nth_smallest(sorted, n)
        };
        match goal {
            Goal::Nearest => Self {
                limit: nth(k.saturating_sub(1), |(estimate, half)| estimate + half),
                // At most k intervals begin before the k + 1st does, its own among them.
                sure: nth(k, |(estimate, half)| estimate - half),
            },
            Goal::Within { radius } => Self {
                sure: radius,
                limit: radius,
            },
        }
    }
}

/// Steps by which intervals are widened, of which the last is that of sure bounds.
const STEPS: usize = 8;
/// Halvings that find where so many candidates are expected to lie within.
const HALVINGS: usize = 16;
/// Standard deviations beyond which a chance is none.
const NO_CHANCE: f32 = 4.0;

/// The chance that a distance is at most `limit`, where it lies about an estimate by a normal
/// distribution: by a logistic one whose tails, of which there are many, are as thin (Page, "An
/// Approximation to the Cumulative Normal Function", Applied Statistics 26, 1977).
fn chance((estimate, error): (f32, f32), limit: f32) -> f32 {
    let deviations = (limit - estimate) * (Tolerance::DEVIATIONS / error.max(f32::MIN_POSITIVE));
    if deviations.abs() > NO_CHANCE || !deviations.is_finite() {
        return f32::from(deviations > 0.0);
    }
    let scaled = deviations * (1.5976 + 0.070_566 * deviations * deviations);
    1.0 / (1.0 + (-scaled).exp())
}

/// The `n`th smallest, counted from 0; infinite where there are fewer.
fn nth_smallest(values: &mut [f32], n: usize) -> f32 {
    if n >= values.len() {
        return f32::INFINITY;
    }
    *values.select_nth_unstable_by(n, f32::total_cmp).1
}

impl Bounds {
    /// Bounds with room for `capacity` candidates.
    pub(super) fn lay_out(capacity: usize, reservation: &mut Reservation) -> Result<Self> {
        Ok(Self {
            intervals: reservation.room(capacity)?,
            sorted: reservation.room(capacity)?,
            ..Self::default()
        })
    }

    /// Forgets the candidates of the query before: what decides is told by every segment together,
    /// and some segments tell theirs at a later stage than others.
    pub(super) fn forget(&mut self) {
        self.intervals.clear();
    }

    /// Takes the candidates of a query, estimates and errors: who is an answer is decided by
    /// intervals of a `share` of the error on either side.
    pub(super) fn take(&mut self, share: f32, intervals: impl Iterator<Item = (f32, f32)>) {
        self.share = share;
        self.intervals.clear();
        self.intervals.extend(intervals);
    }

    /// Widens the intervals until candidates that they leave out are expected to hold no more than
    /// a share of `left_out` of the `k` nearest, or until bounds are sure.
    pub(super) fn widen(&mut self, k: usize, left_out: f32) {
        let Some(kth) = self.expected_kth(k) else {
            return;
        };
        let sure = FAR_DEVIATIONS / Tolerance::DEVIATIONS;
        let first = self.share.max(sure / 16.0);
        let wider = (sure / first).max(1.0).powf(1.0 / (STEPS - 1) as f32);
        for step in 0..STEPS {
            let share = first * wider.powi(step as i32);
            let mut sorted = std::mem::take(&mut self.sorted);
            sorted.clear();
            let ends = self.intervals.iter();
            sorted.extend(ends.map(|(estimate, error)| estimate + share * error));
            let limit = nth_smallest(&mut sorted, k.saturating_sub(1));
            self.sorted = sorted;
            self.share = self.share.max(share);
            let beyond = self.intervals.iter();
            let beyond = beyond.filter(|(estimate, error)| estimate - share * error > limit);
            let missed: f32 = beyond.map(|own| chance(*own, kth)).sum();
            if missed <= left_out * k as f32 {
                return;
            }
        }
    }

    /// The distance within which as many as `k` candidates are expected; none where there are no
    /// more.
    fn expected_kth(&self, k: usize) -> Option<f32> {
        if self.intervals.len() <= k || k == 0 {
            return None;
        }
        let ends = |sign: f32| {
            let own = self.intervals.iter();
            own.map(move |(estimate, error)| estimate + sign * error)
                .filter(|end| end.is_finite())
        };
        let mut low = ends(-1.0).reduce(f32::min)?;
        let mut high = ends(1.0).reduce(f32::max)?;
        for _ in 0..HALVINGS {
            let middle = f32::midpoint(low, high);
            let own = self.intervals.iter();
            let within: f32 = own.map(|own| chance(*own, middle)).sum();
            if within < k as f32 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    /// Estimates, and half widths of the intervals that decide.
    fn deciding(&self) -> impl Iterator<Item = (f32, f32)> {
        let intervals = self.intervals.iter();
        intervals.map(|(estimate, error)| (*estimate, error * self.share))
    }

    /// Room to sort in; to be given back.
    pub(super) fn lend_room(&mut self) -> Vec<f32> {
        std::mem::take(&mut self.sorted)
    }

    /// Takes back what was lent.
    pub(super) fn take_back(&mut self, room: Vec<f32>) {
        self.sorted = room;
    }

    /// Judges all candidates by what those of every segment decide.
    pub(super) fn judge(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What was taken of candidate number `at`: its estimate and error.
    pub(super) fn interval(&self, at: usize) -> (f32, f32) {
        let unknown = (f32::INFINITY, f32::INFINITY);
        self.intervals.get(at).copied().unwrap_or(unknown)
    }

    /// The verdict on candidate number `at`.
    pub(super) fn verdict(&self, at: usize) -> Verdict {
        let (estimate, error) = self.interval(at);
        let half = error * self.share;
        if estimate - half > self.limits.limit {
            Verdict::Out
        } else if estimate + half <= self.limits.sure && estimate.is_finite() {
            Verdict::In
        } else {
            Verdict::Open
        }
    }

    /// Whether candidate number `at` lies outside even where `share` of its error decides, if that
    /// is more.
    pub(super) fn is_beyond(&self, at: usize, share: f32) -> bool {
        let share = share.max(self.share);
        let interval = self.intervals.get(at);
        interval.is_some_and(|(estimate, error)| estimate - share * error > self.limits.limit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdicts(intervals: &[(f32, f32)], goal: Goal, k: usize) -> Vec<Verdict> {
        let mut bounds = Bounds::default();
        bounds.take(1.0, intervals.iter().copied());
        bounds.judge(Limits::of(goal, k, [&bounds].into_iter(), &mut Vec::new()));
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
        let nothing = [(f32::INFINITY, 0.0), (f32::NAN, 1.0), (2.0, 1.0)];
        assert_eq!(verdicts(&nothing, Goal::Nearest, 9), [Open, Open, In]);
        let mut bounds = Bounds::default();
        bounds.take(1.0, intervals.into_iter());
        bounds.judge(Limits::of(
            Goal::Nearest,
            3,
            [&bounds].into_iter(),
            &mut Vec::new(),
        ));
        let beyond = |times| (0..6).filter(|at| bounds.is_beyond(*at, times)).count();
        assert_eq!([0.1, 1.0, 5.0, 6.0].map(beyond), [1, 1, 1, 0]);
        let within = Goal::Within { radius: 3.2 };
        assert_eq!(
            verdicts(&intervals, within, 1),
            [In, In, Open, Out, Open, Out]
        );
    }

    /// Of the `k` nearest of candidates whose distances err by a normal distribution, the share
    /// that is left out, and of the candidates the share that is open.
    fn left_out_by(left_out: Option<f32>, spread: f32) -> (f32, f32) {
        let (k, count, rounds) = (10, 200, 60);
        let mut state = 7_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        };
        let (mut missed, mut open) = (0, 0);
        for _ in 0..rounds {
            let exact: Vec<f32> = (0..count).map(|_| 10.0 + spread * uniform()).collect();
            // The sum of twelve has a variance of one.
            let noise = |_: &f32| (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
            let noise: Vec<f32> = exact.iter().map(noise).collect();
            let pairs = exact.iter().zip(&noise);
            let mut bounds = Bounds::default();
            let intervals = pairs.map(|(own, error)| (own + error, Tolerance::DEVIATIONS));
            bounds.take(0.3 / Tolerance::DEVIATIONS, intervals);
            if let Some(left_out) = left_out {
                bounds.widen(k, left_out);
            }
            bounds.judge(Limits::of(
                Goal::Nearest,
                k,
                [&bounds].into_iter(),
                &mut Vec::new(),
            ));
            let kth = nth_smallest(&mut exact.clone(), k - 1);
            let out = |at: &usize| bounds.verdict(*at) == Verdict::Out;
            missed += (0..count).filter(|at| exact[*at] <= kth && out(at)).count();
            open += (0..count)
                .filter(|at| bounds.verdict(*at) == Verdict::Open)
                .count();
        }
        let queries = rounds as f32;
        (
            missed as f32 / (queries * k as f32),
            open as f32 / (queries * count as f32),
        )
    }

    #[test]
    fn wider_bounds_leave_out_no_more_than_they_may() {
        for spread in [20.0, 100.0, 400.0] {
            let (narrow, few) = left_out_by(None, spread);
            let (wide, more) = left_out_by(Some(0.02), spread);
            assert!(wide <= 0.03, "{spread}: {wide}");
            assert!(wide <= narrow && more >= few);
            let (loose, _) = left_out_by(Some(1.0), spread);
            assert_eq!(loose, narrow, "nothing is widened for nothing");
        }
        assert!(left_out_by(None, 20.0).0 > 0.1);
        let mut few = Bounds::default();
        few.take(0.1, [(1.0, 1.0), (2.0, 1.0)].into_iter());
        few.widen(2, 0.0);
        assert_eq!(few.share, 0.1, "all are answers");
        few.widen(1, 0.0);
        assert!(few.share > 0.5, "none may be left out: {}", few.share);
    }

    proptest! {
        #[test]
        fn no_verdict_is_wrong_while_distances_lie_within_their_bounds(
            candidates in prop::collection::vec((0.0f32..10.0, 0.0f32..2.0, -1.0f32..1.0), 1..40),
            k in 1usize..12,
        ) {
            let intervals: Vec<_> = candidates.iter().map(|c| (c.0, c.1)).collect();
            let exact: Vec<f32> = candidates.iter().map(|c| c.0 + c.1 * c.2 * 0.999).collect();
            let (one, other) = intervals.split_at(intervals.len() / 2);
            let mut parts = [Bounds::default(), Bounds::default()];
            parts[0].take(1.0, one.iter().copied());
            let wide = other.iter().map(|(estimate, half)| (*estimate, 4.0 * half));
            parts[1].take(0.25, wide);
            let limits = Limits::of(Goal::Nearest, k, parts.iter(), &mut Vec::new());
            let mut judged = Vec::new();
            for (part, length) in parts.iter_mut().zip([one.len(), other.len()]) {
                part.judge(limits);
                judged.extend((0..length).map(|at| part.verdict(at)));
            }
            let verdicts = verdicts(&intervals, Goal::Nearest, k);
            prop_assert_eq!(&judged, &verdicts, "two segments judge as one");
            for (at, verdict) in verdicts.into_iter().enumerate() {
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
