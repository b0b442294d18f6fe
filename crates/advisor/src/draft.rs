//! A candidate in the course of a plan: guessed, tried on few rows, tried on more.
//!
//! What it costs over all vectors follows from the best that is known of it: its last trials, grown
//! to all vectors; else its guess, corrected by what trials of its family, or of all, showed.

use crate::candidate::Candidate;
use crate::cost::Cost;
use crate::device::Device;
use crate::growth::{Growth, usual_exponent};
use crate::model::{Counts, Statistics, code_share, guess};
use crate::planner::SMALL_PART;
use crate::trial::Tried;
use crate::wish::Goal;

/// A candidate, and what is known of it.
pub(crate) struct Draft {
    pub(crate) candidate: Candidate,
    pub(crate) guess: Counts,
    pub(crate) small: Option<Tried>,
    /// By beam.
    pub(crate) large: Vec<Tried>,
    /// Why a trial failed.
    pub(crate) failed: Option<String>,
    /// Whether the decision tree advises it.
    pub(crate) of_tree: bool,
}

/// What is known of all of them.
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
            small: None,
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
        if !self.large.is_empty() || self.small.is_some() {
            return self.predicted(known).map(|(cost, _)| cost);
        }
        let (reads, hops) = correction(known, all, self.candidate.family());
        let counts = self.guess.scaled(reads, hops);
        Some(Cost::of(counts, &known.device, known.threads))
    }

    /// What it costs over all vectors by its trials, with the beam that serves best; none where
    /// there were none, or the recall was out of reach.
    pub(crate) fn predicted(&self, known: &Knowledge) -> Option<(Cost, u32)> {
        let cost = |tried: &Tried| {
            let counts = tried.counts?;
            let factor = self.factor(known, tried.rows);
            let counts = counts.scaled(factor, factor);
            let cost = Cost::of(counts, &known.device, known.threads);
            Some((cost, tried.beam))
        };
        let tried: Vec<&Tried> = if self.large.is_empty() {
            self.small.iter().collect()
        } else {
            self.large.iter().collect()
        };
        let costs = tried.into_iter().filter_map(cost);
        costs.min_by(|(a, _), (b, _)| a.score(known.goal).total_cmp(&b.score(known.goal)))
    }

    /// By what factor its costs grow from `rows` to all.
    fn factor(&self, known: &Knowledge, rows: u64) -> f64 {
        let exponent = known.growth_ratio * usual_exponent(self.code_share());
        let growth = match self.measured_growth() {
            Some(own) => own.towards(exponent),
            None => Growth::with_exponent((rows / SMALL_PART, rows), exponent),
        };
        growth.factor(known.rows)
    }

    /// The exponent of its hops between both samples, by the one that is usual.
    pub(crate) fn growth_ratio(&self) -> Option<f64> {
        let measured = self.measured_growth()?.exponent();
        Some(measured / usual_exponent(self.code_share()))
    }

    fn code_share(&self) -> f64 {
        code_share(&self.candidate.spec)
    }

    fn measured_growth(&self) -> Option<Growth> {
        let small = self.small.as_ref()?;
        let large = self.large.iter().find(|one| one.beam == small.beam)?;
        let reads = |tried: &Tried| tried.counts.map(|counts| counts.hops.max(counts.reads));
        let differ = large.rows > small.rows;
        let sizes = (small.rows, large.rows);
        differ.then_some(Growth::between(sizes, reads(small)?, reads(large)?))
    }
}

/// By what factor guesses of a family were off, in reads and hops: of its own trials, or of all.
fn correction(known: &Knowledge, all: &[Draft], family: &str) -> (f64, f64) {
    let ratios = |of: &dyn Fn(&Draft) -> bool| -> Vec<(f64, f64)> {
        let ratio = |draft: &Draft| {
            let (cost, _) = draft.predicted(known)?;
            let (found, guess) = (cost.counts, draft.guess);
            let reads = (found.reads + 1.0) / (guess.reads + 1.0);
            Some((reads, (found.hops + 1.0) / (guess.hops + 1.0)))
        };
        all.iter()
            .filter(|draft| of(draft))
            .filter_map(ratio)
            .collect()
    };
    let own = ratios(&|draft| draft.candidate.family() == family);
    let used = if own.is_empty() {
        ratios(&|_| true)
    } else {
        own
    };
    let reads = median(used.iter().map(|(reads, _)| *reads).collect());
    let hops = median(used.iter().map(|(_, hops)| *hops).collect());
    (reads.unwrap_or(1.0), hops.unwrap_or(1.0))
}

/// The middle value; of two, the larger.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_what_there_is() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![1.0, 2.0]), Some(2.0));
    }
}
