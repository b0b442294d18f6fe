//! A candidate in the course of a plan: guessed, tried on few rows, tried on more.
//!
//! What it costs over all vectors follows from the best that is known of it: its last trials, grown
//! to all vectors; else its guess, corrected by what trials of its family, or of all, showed.

use crate::candidate::Candidate;
use crate::cost::Cost;
use crate::device::Device;
use crate::growth::{Growth, SCANNED_EXPONENT, exponent_of};
use crate::model::{Counts, Factors, Statistics, code_share, guess};
use crate::planner::SMALL_PART;
use crate::trial::Tried;
use crate::wish::Goal;

/// A candidate, and what is known of it.
pub(crate) struct Draft {
    pub(crate) candidate: Candidate,
    pub(crate) guess: Counts,
    /// On the small sample, by beam.
    pub(crate) small: Vec<Tried>,
    /// On the large one.
    pub(crate) large: Vec<Tried>,
    /// Why a trial failed.
    pub(crate) failed: Option<String>,
    /// Whether the decision tree advises it.
    pub(crate) of_tree: bool,
}

/// What is known of all of them.
#[derive(Clone)]
pub(crate) struct Knowledge {
    pub(crate) rows: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) device: Device,
    pub(crate) threads: usize,
    pub(crate) statistics: Statistics,
    /// Growth exponents that were measured, by those that are usual with codes as long; a median.
    pub(crate) growth_ratio: f64,
    pub(crate) goal: Goal,
}

impl Draft {
    /// A candidate of which nothing is known.
    pub(crate) fn new(candidate: Candidate, of_tree: bool) -> Self {
        Self {
            candidate,
            guess: Counts::default(),
            small: Vec::new(),
            large: Vec::new(),
            failed: None,
            of_tree,
        }
    }

    /// Guesses its counts.
    pub(crate) fn guess(&mut self, known: &Knowledge) {
        let one = &self.candidate;
        let (memory, statistics) = (known.memory_bytes, &known.statistics);
        self.guess = guess(&one.spec, &one.footprint, memory, statistics);
    }

    /// What it costs over all vectors, by the best that is known; none where it cannot serve.
    pub(crate) fn cost(&self, known: &Knowledge, all: &[Self]) -> Option<Cost> {
        if self.failed.is_some() {
            return None;
        }
        if self.is_tried() {
            return self.predicted(known).map(|(cost, _)| cost);
        }
        let counts = correction(known, all, &self.candidate.family()).apply(&self.guess);
        Some(Cost::of(counts, &known.device, known.threads))
    }

    /// Whether it was built and searched.
    pub(crate) fn is_tried(&self) -> bool {
        !self.small.is_empty() || !self.large.is_empty()
    }

    /// All its trials.
    pub(crate) fn trials(&self) -> impl Iterator<Item = &Tried> {
        self.small.iter().chain(&self.large)
    }

    /// What it costs over all vectors by its trials, with the beam that serves best; none where
    /// there were none, or the recall was out of reach.
    pub(crate) fn predicted(&self, known: &Knowledge) -> Option<(Cost, u32)> {
        let cost = |tried: &Tried| {
            let counts = tried.counts?;
            let counts = counts.grown(self.factors(known, tried.rows));
            let cost = Cost::of(counts, &known.device, known.threads);
            Some((cost, tried.beam))
        };
        let tried = if self.large.is_empty() {
            &self.small
        } else {
            &self.large
        };
        let costs = tried.iter().filter_map(cost);
        costs.min_by(|(a, _), (b, _)| a.score(known.goal).total_cmp(&b.score(known.goal)))
    }

    /// By what factors counts grow from `rows` to all. In a walk all counts grow alike; of clusters
    /// reads and hops grow each on their own, and so does what bounds leave undecided.
    fn factors(&self, known: &Knowledge, rows: u64) -> Factors {
        let sizes = (rows / SMALL_PART, rows);
        let measured = |count: fn(&Counts) -> f64| {
            let own = self.growth_of(count).map(Growth::towards_scanned);
            let usual = || Growth::with_exponent(sizes, SCANNED_EXPONENT);
            own.unwrap_or_else(usual).power(known.rows)
        };
        if self.has_clusters() {
            let reads = measured(|counts| counts.reads);
            return Factors {
                walk: reads,
                refine: reads,
                rounds: 1.0,
                hops: measured(|counts| counts.hops),
            };
        }
        let walk = self.walk_factor(known, rows);
        let refine = self.candidate.spec.execution.refine;
        let refine = if refine.is_bounded() {
            measured(|counts| counts.refine_reads)
        } else {
            walk
        };
        Factors {
            walk,
            refine,
            rounds: walk,
            hops: walk,
        }
    }

    fn walk_factor(&self, known: &Knowledge, rows: u64) -> f64 {
        let exponent = known.growth_ratio * self.usual_exponent();
        let growth = match self.measured_growth() {
            Some(own) => own.towards(exponent),
            None => Growth::with_exponent((rows / SMALL_PART, rows), exponent),
        };
        growth.factor(known.rows)
    }

    /// The exponent of its hops between both samples, by the one that is usual; none of clusters,
    /// where none is.
    pub(crate) fn growth_ratio(&self) -> Option<f64> {
        let measured = self.measured_growth()?.exponent();
        (!self.has_clusters()).then(|| measured / self.usual_exponent())
    }

    fn has_clusters(&self) -> bool {
        !self.candidate.spec.graph.has_lists()
    }

    fn usual_exponent(&self) -> f64 {
        let spec = &self.candidate.spec;
        exponent_of(spec, code_share(spec))
    }

    fn measured_growth(&self) -> Option<Growth> {
        self.growth_of(|counts| counts.hops.max(counts.reads))
    }

    /// Growth of a count between both samples.
    fn growth_of(&self, count: fn(&Counts) -> f64) -> Option<Growth> {
        let small = self.small.first()?;
        let large = self.large.iter().find(|one| one.beam == small.beam)?;
        let reads = |tried: &Tried| tried.counts.map(|counts| count(&counts));
        let differ = large.rows > small.rows;
        let sizes = (small.rows, large.rows);
        differ.then_some(Growth::between(sizes, reads(small)?, reads(large)?))
    }
}

/// By what factors guesses were off.
struct Correction {
    reads: f64,
    rounds: f64,
    hops: f64,
}

impl Correction {
    fn apply(&self, guess: &Counts) -> Counts {
        Counts {
            rounds: guess.rounds * self.rounds,
            ..guess.scaled(self.reads, self.hops)
        }
    }
}

/// Of guesses of a family by its own trials, or by all where it has none.
fn correction(known: &Knowledge, all: &[Draft], family: &str) -> Correction {
    let ratios = |of: &dyn Fn(&Draft) -> bool| -> Vec<[f64; 3]> {
        let ratio = |draft: &Draft| {
            let (cost, _) = draft.predicted(known)?;
            let (found, guess) = (cost.counts, draft.guess);
            let ratio = |found: f64, guess: f64| (found + 1.0) / (guess + 1.0);
            Some([
                ratio(found.reads, guess.reads),
                ratio(found.rounds, guess.rounds),
                ratio(found.hops, guess.hops),
            ])
        };
        let of_kind = all.iter().filter(|draft| of(draft));
        of_kind.filter_map(ratio).collect()
    };
    let own = ratios(&|draft| draft.candidate.family() == family);
    let used = if own.is_empty() {
        ratios(&|_| true)
    } else {
        own
    };
    let middle = |part: fn(&[f64; 3]) -> f64| {
        let found = median(used.iter().map(part).collect());
        found.unwrap_or(1.0)
    };
    Correction {
        reads: middle(|[reads, _, _]| *reads),
        rounds: middle(|[_, rounds, _]| *rounds),
        hops: middle(|[_, _, hops]| *hops),
    }
}

/// The middle value; of two, the larger.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{drafts, knowledge, tried, unreached};

    #[test]
    fn a_trial_corrects_all_sizes_of_its_family() {
        let known = knowledge(Goal::Reads);
        let (mut all, _) = drafts(&known);
        let family = all[0].candidate.family();
        let others: Vec<usize> = (1..all.len())
            .filter(|at| all[*at].candidate.family() == family)
            .collect();
        let cost = |all: &[Draft], at: usize| all[at].cost(&known, all).unwrap().counts.reads;
        let before: Vec<f64> = others.iter().map(|at| cost(&all, *at)).collect();
        all[0].small = vec![tried(1_000_000, 3.0 * all[0].guess.reads)];
        for (at, before) in others.iter().zip(before) {
            let ratio = cost(&all, *at) / before;
            assert!((2.5..3.1).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn trials_grow_to_all_vectors_and_the_last_count() {
        let known = knowledge(Goal::Latency);
        let (mut all, _) = drafts(&known);
        let draft = &mut all[0];
        draft.small = vec![tried(5_000, 20.0)];
        let (once, _) = draft.predicted(&known).unwrap();
        assert!(once.counts.reads > 25.0, "{once:?}");
        draft.large = vec![
            tried(20_000, 24.0),
            Tried {
                beam: 8,
                ..unreached(20_000)
            },
        ];
        let (twice, beam) = draft.predicted(&known).unwrap();
        assert_eq!(beam, 4);
        assert!((26.0..60.0).contains(&twice.counts.reads), "{twice:?}");
        let expected = (1.2_f64).ln() / (4.0_f64).ln();
        let ratio = draft.growth_ratio().unwrap() * draft.usual_exponent();
        assert!((ratio - expected).abs() < 1e-9);
    }

    #[test]
    fn reads_of_clusters_grow_on_their_own() {
        let known = knowledge(Goal::Reads);
        let (mut all, _) = drafts(&known);
        let draft = all.iter_mut().find(|draft| draft.has_clusters()).unwrap();
        assert!(draft.candidate.family().ends_with(", clusters"));
        draft.small = vec![tried(5_000, 8.0)];
        draft.large = vec![tried(20_000, 10.5)];
        let (cost, _) = draft.predicted(&known).unwrap();
        let growth = Growth::between((5_000, 20_000), 8.0, 10.5).towards_scanned();
        let factor = growth.power(known.rows);
        assert!((cost.counts.reads - 10.5 * factor).abs() < 1e-9);
        assert_eq!(draft.growth_ratio(), None);
    }

    #[test]
    fn what_failed_or_falls_short_costs_nothing_known() {
        let known = knowledge(Goal::Latency);
        let (mut all, _) = drafts(&known);
        all[0].small = vec![unreached(5_000)];
        all[1].failed = Some("no".to_owned());
        assert!(all[0].cost(&known, &all).is_none());
        assert!(all[1].cost(&known, &all).is_none());
        assert!(all[2].cost(&known, &all).is_some());
    }

    #[test]
    fn medians_are_of_what_there_is() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![1.0, 2.0]), Some(2.0));
    }
}
