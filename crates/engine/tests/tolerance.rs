//! What is said of distances holds: every metric, form and number of segments, against brute force.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use common::{Random, Rows, distance};
use pageway::{
    Answers, BuildOptions, Effort, ElementType, Index, MemoryWish, Metric, OpenOptions, Queries,
    SearchOptions, Tolerance, VectorShape,
};
use proptest::prelude::*;

const K: usize = 10;
const DIMENSION: u32 = 32;
const ROWS: usize = 1500;
const QUERIES: usize = 40;

/// Rows that get narrower from component to component.
fn cloud(count: usize, seed: u64) -> Rows {
    let mut random = Random(seed);
    let mut bytes = Vec::new();
    for _ in 0..count {
        for component in 0..DIMENSION {
            let noise = (0..4).map(|_| random.below(2001) as f32 - 1000.0);
            let value = noise.sum::<f32>() / (3 + component) as f32 + 20.0;
            bytes.extend(value.to_le_bytes());
        }
    }
    let element = ElementType::F32;
    let shape = VectorShape {
        dimension: DIMENSION,
        element,
    };
    Rows { bytes, shape }
}

/// An index, what it holds, and queries.
struct Subject {
    _dir: tempfile::TempDir,
    index: Index,
    metric: Metric,
    base: Rows,
    queries: Rows,
}

/// What is built.
#[derive(Clone, Copy, Debug)]
struct Made {
    form: &'static str,
    metric: Metric,
    segments: u32,
    code_bytes: u32,
    seed: u64,
}

impl Subject {
    fn new(made: Made) -> Self {
        let (base, queries) = (cloud(ROWS, made.seed), cloud(QUERIES, !made.seed));
        let dir = tempfile::tempdir().unwrap();
        let options = BuildOptions::default()
            .with_form(made.form.to_owned())
            .with_metric(made.metric)
            .with_segments(made.segments)
            .with_code_bytes(made.code_bytes)
            .with_memory(MemoryWish::Bytes(2_000_000))
            .with_degree(16)
            .with_build_list(32)
            .with_seed(made.seed)
            .with_calibration_queries(2);
        base.build(dir.path(), &options).unwrap();
        let least = Index::open(dir.path(), &memory(1)).err().unwrap();
        // Next to no room for vectors: most answers can only come from codes without a read.
        let least = common::smallest_that_works(&least) + 100_000;
        let index = Index::open(dir.path(), &memory(least)).unwrap();
        Self {
            _dir: dir,
            index,
            metric: made.metric,
            base,
            queries,
        }
    }

    fn search(&self, tolerance: Tolerance, list_size: u32) -> Answers {
        let options = SearchOptions::nearest(K as u32)
            .with_effort(Effort::ListSize(list_size))
            .with_tolerance(tolerance);
        let queries = Queries::new(&self.queries.bytes, self.queries.shape);
        self.index.search(&queries, &options).unwrap()
    }

    /// True distances of the answers.
    fn truth(&self, answers: &Answers) -> Vec<f64> {
        let of = |(at, row): (usize, &u32)| {
            let target = self.queries.values(at / K);
            distance(&target, &self.base.values(*row as usize), self.metric)
        };
        answers.rows.iter().enumerate().map(of).collect()
    }

    /// Answers that are off by more than they say, after everything else was checked. Returns how
    /// many are estimates, too.
    fn check(&self, answers: &Answers, tolerance: Tolerance) -> (usize, usize) {
        let truth = self.truth(answers);
        let (mut wrong, mut estimates) = (0, 0);
        for (query, own) in truth.chunks(K).enumerate() {
            let at = query * K..(query + 1) * K;
            let (told, errors) = (&answers.distances[at.clone()], &answers.errors[at]);
            assert!(told.is_sorted());
            let counted = errors.iter().filter(|error| **error > 0.0).count();
            assert_eq!(answers.stats[query].estimated, counted as u64);
            estimates += counted;
            let off = |at: usize| {
                let rounding = 1e-5 * (1.0 + own[at].abs());
                (f64::from(told[at]) - own[at]).abs() > f64::from(errors[at]) + rounding
            };
            wrong += (0..K).filter(|at| off(*at)).count();
            for (told, error) in told.iter().zip(errors) {
                let share = tolerance.share();
                // Any share of a distance of 0 is 0, an infinite one too.
                let most = if share.is_finite() {
                    share * told.abs()
                } else {
                    share
                };
                assert!(
                    (0.0..=most).contains(error),
                    "{told}, off by {error} at {share}"
                );
            }
            for (one, next) in (0..K).zip(1..K) {
                let slack = f64::from(errors[one] + errors[next]) + 1e-5 * (1.0 + own[one].abs());
                assert!(off(one) || off(next) || own[one] <= own[next] + slack);
            }
        }
        (wrong, estimates)
    }
}

fn memory(bytes: u64) -> OpenOptions {
    OpenOptions::default().with_memory(MemoryWish::Bytes(bytes))
}

fn made() -> impl Strategy<Value = Made> {
    let forms = prop::sample::select(vec!["resident", "clustered", "on-disk"]);
    let metrics = prop::sample::select(vec![Metric::L2, Metric::Cosine, Metric::InnerProduct]);
    let sizes = (1u32..=2, 6u32..=40, any::<u64>());
    (forms, metrics, sizes).prop_map(|(form, metric, (segments, code_bytes, seed))| Made {
        form,
        metric,
        segments,
        code_bytes,
        seed,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    })]
    #[test]
    fn distances_are_off_by_no_more_than_they_say_and_may(made in made()) {
        let subject = Subject::new(made);
        for share in [0.0, 1e-3, 0.01, 0.1, f32::INFINITY] {
            let tolerance = Tolerance::new(share).unwrap();
            for list_size in [20, 80] {
                let answers = subject.search(tolerance, list_size);
                let (wrong, estimates) = subject.check(&answers, tolerance);
                // One of 16,000 at four deviations of normal errors. Those of few rows are not
                // quite normal, and a row that is off is so for several queries.
                let allowed = 2 + estimates / 100;
                prop_assert!(wrong <= allowed, "{wrong} of {estimates} at {share}");
                prop_assert!(share > 0.0 || estimates + wrong == 0, "{estimates}, {wrong}");
            }
        }
    }
}

#[test]
fn the_more_may_be_off_the_less_is_read() {
    let made = Made {
        form: "resident",
        metric: Metric::L2,
        segments: 1,
        code_bytes: 36,
        seed: 3,
    };
    let subject = Subject::new(made);
    let cost = |share| {
        let answers = subject.search(Tolerance::new(share).unwrap(), 40);
        let pages: u64 = answers.stats.iter().map(|stats| stats.pages).sum();
        let estimates: u64 = answers.stats.iter().map(|stats| stats.estimated).sum();
        (pages, estimates)
    };
    let costs = [0.0, 0.01, 0.03, f32::INFINITY].map(cost);
    assert!(
        costs.is_sorted_by(|a, b| a.0 >= b.0 && a.1 <= b.1),
        "{costs:?}"
    );
    assert!(costs[0].1 == 0 && costs[3].0 < costs[0].0 / 2, "{costs:?}");
    assert!(costs[3].1 > (QUERIES * K / 2) as u64, "{costs:?}");
}
