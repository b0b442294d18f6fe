//! Measuring a surface: search the finished index for queries whose exact neighbours are known.
//!
//! For each of some k lists grow from one that finds too little to one that finds enough. Every
//! point costs about the same: the longer the lists, the fewer queries, as their recalls differ
//! less then. A list shorter than k holds k and expands fewer.

use pageway_types::{Progress, Quiet};

use super::climb;
use super::level::{NotedMisses, times_missed};
use super::questions::CalibrationPlan;
use crate::calibration::{Calibration, CalibrationCurve, CalibrationRow, Misses};
use crate::error::Result;
use crate::execution::QueryStats;
use crate::index::Index;
use crate::options::{Answers, Effort, Queries, SearchOptions};
use crate::truth::{Found, Truth, recall, recall_p5};

/// A point costs about as many expansions (or page reads, if those are more) as there are rows, but
/// at least and at most so many.
const COSTS: (u64, u64) = (8_000, 24_000);
/// Up to so many neighbours each query tells little, so points may cost so many times as much.
const FEW_NEIGHBORS: (u32, u64) = (30, 3);
/// Queries of a point at least, for k = 1. With more neighbours each query tells more, so fewer do.
const QUERIES: f32 = 500.0;
/// The same for any k.
const LEAST_QUERIES: f32 = 40.0;
/// If a point would cost more than so many times the usual, it has fewer queries, down to half.
const DEAREST: f32 = 4.0;
/// Queries whose rows are copied to be searched for at once, at most.
pub(super) const MOST_AT_ONCE: usize = 128;
/// Answers of a point at most, and the bytes of one.
pub(super) const MAX_ANSWERS: usize = 100_000;
pub(super) const ANSWER_BYTES: u64 = 40;

/// Recall that curves begin below.
const TOO_LITTLE: f32 = 0.76;
/// Recall at which longer lists are of no more use.
const ENOUGH: f32 = 0.996;
/// Gain in recall by lists twice as long below which the graph has no more to give.
const LEAST_GAIN: f32 = 0.0003;
/// Lists up to here are no sign of that.
const SHORT_LIST: u32 = 32;
/// A list half as long is measured if it saves at least this share of the expansions.
const LEAST_SAVING: f32 = 0.05;
/// First list of a curve, as a share of k, and at least so long.
const FIRST_LIST: (f32, u32) = (0.15, 4);
/// Lists at which queries learn their local dimension: one in so many of k, and at least so long.
const FIRST_LOOK: (u32, u32) = (10, 3);
/// Lists grow by a half up to here, where recall rises fast, and double from here on.
const FINE_UP_TO: u32 = 64;
/// Longest list that is measured.
const LONGEST_LIST: u32 = 8192;

/// Up to so many rows all are candidates, whatever recall is asked: misses among so few rows, one
/// of them hidden, tell nothing of queries.
pub(super) const FEW_ROWS: u64 = 100;

/// Neighbours up to which costs are those of exact distances.
pub(super) const EXACT_RANKS: u32 = 10;

/// Measures curves for some k, each until recall is enough, stops growing, or the memory for
/// searches ends it.
pub(crate) fn calibrate(
    index: &Index,
    plan: &CalibrationPlan,
    progress: &dyn Progress,
) -> Result<Calibration> {
    let noting = index.notes_lists().filter(|_| index.len() > FEW_ROWS);
    let mut calibration = match noting {
        Some(noting) => climb::calibrate((index, noting), plan, progress)?,
        None => search_lists(index, plan, progress)?,
    };
    for curve in &mut calibration.curves {
        curve.likeness = plan.likeness(curve.k);
    }
    Ok(calibration)
}

/// The same by searches with lists of one size after the other.
fn search_lists(
    index: &Index,
    plan: &CalibrationPlan,
    progress: &dyn Progress,
) -> Result<Calibration> {
    let queries = plan.truth.query_count();
    let mut calibration = Calibration {
        queries: queries as u32,
        held_out: plan.held_out.is_some(),
        apart: plan.apart,
        longest: plan.lift.map(|lift| lift.longest),
        ..Calibration::default()
    };
    progress.stage("calibrate recall", plan.ranks.len() as u64);
    let mut measuring = Measuring {
        index,
        plan,
        k: 1,
        progress: &Quiet(progress),
        beam: 0,
        hops: 0.0,
        pages: 0.0,
        first_pages: 0.0,
        searched: Vec::new(),
    };
    for k in plan.ranks.iter().copied() {
        measuring.turn_to(k);
        let curve = measuring.curve()?;
        if !curve.rows.is_empty() {
            calibration.beam = measuring.beam;
            calibration.curves.push(curve);
        }
        progress.advance(1);
    }
    Ok(calibration)
}

/// The list at which queries for `k` neighbours learn their local dimension.
pub(super) fn first_look(k: u32) -> u32 {
    let (share, least) = FIRST_LOOK;
    (k / share).max(least)
}

/// Queries for `k` neighbours that a point has, at most.
fn most_queries(k: u32) -> usize {
    (MAX_ANSWERS / k as usize).max(1)
}

/// Those of them that are searched for at once: their answers are held together.
fn at_once(k: u32) -> usize {
    most_queries(k).min(MOST_AT_ONCE)
}

/// The list that is measured next.
fn longer(list_size: u32) -> u32 {
    if list_size < FINE_UP_TO {
        list_size + list_size.div_ceil(2)
    } else {
        list_size.saturating_mul(2)
    }
}

/// The measurement of a curve.
struct Measuring<'m> {
    index: &'m Index,
    plan: &'m CalibrationPlan,
    k: u32,
    progress: &'m dyn Progress,
    beam: u32,
    /// Expansions and pages read per query of the last point.
    hops: f32,
    pages: f32,
    /// Pages of the first.
    first_pages: f32,
    /// The list of each point of the curve, which queries it was measured with, and their recalls.
    searched: Vec<(u32, Vec<usize>, Vec<f64>)>,
}

impl Measuring<'_> {
    /// Measures for `k` from now on.
    fn turn_to(&mut self, k: u32) {
        self.pages = self.first_pages * k as f32 / self.k as f32;
        self.k = k;
    }

    fn curve(&mut self) -> Result<CalibrationCurve> {
        self.searched.clear();
        if self.index.len() <= FEW_ROWS {
            let all = self.point(self.index.len() as u32)?;
            return Ok(CalibrationCurve::of(self.k, all.into_iter().collect()));
        }
        let (share, least) = FIRST_LIST;
        let first = ((self.k as f32 * share) as u32).max(least);
        // Answers that must be expanded are read whatever the list.
        let expanded = self.expanded_answers();
        let first = first.max(expanded);
        let mut rows = Vec::new();
        let mut list_size = first;
        let mut before = f32::INFINITY;
        // Down to a list that finds too little or saves nothing, then up from the first.
        while let Some(point) = self.point(list_size)? {
            if rows.is_empty() {
                self.first_pages = self.pages;
            }
            rows.push(point);
            let saves = self.hops < (1.0 - LEAST_SAVING) * before;
            if point.recall < TOO_LITTLE || list_size <= expanded.max(1) || !saves {
                break;
            }
            before = self.hops;
            list_size /= 2;
        }
        rows.reverse();
        list_size = longer(first);
        while let Some(last) = rows.last().copied()
            && !self.is_finished(&rows)
            && last.list_size < LONGEST_LIST
            && u64::from(last.list_size) < self.index.len()
        {
            let Some(point) = self.point(list_size)? else {
                break;
            };
            rows.push(point);
            list_size = longer(list_size);
        }
        let mut curve = CalibrationCurve::of(self.k, rows);
        curve.make_monotone();
        if !curve.rows.is_empty() {
            self.fit_dimensions(&mut curve)?;
        }
        Ok(curve)
    }

    /// Fits the dependence of misses on local dimensions, in designs that choose lists by these.
    fn fit_dimensions(&mut self, curve: &mut CalibrationCurve) -> Result<()> {
        if !self.index.chooses_lists() {
            return Ok(());
        }
        let first = first_look(self.k);
        let options = SearchOptions {
            k: self.k,
            threads: self.plan.threads,
            ..SearchOptions::default()
        };
        let places: Vec<usize> = (0..self.plan.truth.query_count()).collect();
        let mut own = Vec::with_capacity(places.len());
        for places in places.chunks(at_once(self.k)) {
            let (rows, held_out) = self.plan.queries(places);
            let mut queries = Queries::new(&rows, self.index.shape());
            queries.held_out = held_out.as_deref();
            let told = (first, self.plan.lift);
            own.extend(
                self.index
                    .dimensions(&queries, &options, told, self.progress)?,
            );
        }
        self.searched.sort_by_key(|(size, ..)| *size);
        let missed = |(_, places, recalls): &(u32, Vec<usize>, Vec<f64>)| -> Vec<(usize, f64)> {
            let pairs = places.iter().zip(recalls);
            pairs
                .map(|(place, recall)| (*place, 1.0 - recall))
                .collect()
        };
        let missed: Vec<_> = self.searched.iter().map(missed).collect();
        curve.dimension = self.plan.dimension_fit(first, &own, &missed);
        let times = self.times_missed(curve, &own, &missed);
        if let Some((fit, times)) = curve.dimension.as_mut().zip(times) {
            fit.correct(&times);
        }
        Ok(())
    }

    /// The ratio of noted misses to those that the fit of a curve foretells, for queries of these
    /// dimensions whose lists it chooses.
    fn times_missed(
        &self,
        curve: &CalibrationCurve,
        told: &[Option<f32>],
        missed: &[Vec<(usize, f64)>],
    ) -> Option<Vec<f64>> {
        let fit = curve.dimension.as_ref()?;
        let sizes: Vec<u32> = self.searched.iter().map(|(size, ..)| *size).collect();
        let noted = NotedMisses::new(&sizes, told, missed.iter().map(|own| own.iter().copied()));
        let surface = Calibration {
            queries: told.len() as u32,
            held_out: self.plan.held_out.is_some(),
            curves: vec![curve.clone()],
            ..Calibration::default()
        };
        times_missed(&noted, |recall| {
            surface.plan_by(fit, (self.k, recall, Misses::MEASURED), u32::MAX)
        })
    }

    /// Answers that have to be expanded, if nothing else gives an exact distance.
    fn expanded_answers(&self) -> u32 {
        if self.index.expands_answers() {
            self.k
        } else {
            0
        }
    }

    fn is_finished(&self, rows: &[CalibrationRow]) -> bool {
        let [.., before, last] = rows else {
            return false;
        };
        // With other queries the recall differs by chance, so once is no sign; and of few
        // neighbours one that is found is more than the least gain.
        let told = 1.0 / (last.queries as f32 * self.k as f32);
        let times = if last.queries != before.queries {
            2
        } else if told > LEAST_GAIN {
            3
        } else {
            1
        };
        let gains = rows.windows(2).rev().take(times);
        let is_flat = gains.len() == times
            && gains.into_iter().all(|pair| match pair {
                [before, after] => after.recall - before.recall < LEAST_GAIN,
                _ => false,
            });
        last.recall >= ENOUGH || (is_flat && last.list_size > self.k.max(SHORT_LIST))
    }

    /// Searches with lists of one size; `None` if memory for searches has no room for them.
    fn point(&mut self, list_size: u32) -> Result<Option<CalibrationRow>> {
        let exact = self.k <= EXACT_RANKS || self.index.harvests_refined();
        let options = SearchOptions {
            k: self.k,
            effort: Effort::ListSize(list_size),
            threads: self.plan.threads,
            tolerance: if exact {
                crate::Tolerance::EXACT
            } else {
                crate::Tolerance::ANY
            },
            ..SearchOptions::default()
        };
        if !self.index.has_memory_for(&options, list_size)? {
            return Ok(None);
        }
        let places = self.places(list_size);
        let (mut recalls, mut stats) = (Vec::with_capacity(places.len()), Vec::new());
        for places in places.chunks(at_once(self.k)) {
            let (rows, held_out) = self.plan.queries(places);
            let mut queries = Queries::new(&rows, self.index.shape());
            queries.held_out = held_out.as_deref();
            let answers =
                self.index
                    .search_below_k(&queries, &options, list_size, self.progress)?;
            self.beam = answers.settings.beam;
            recalls.extend(self.recalls(&answers, places)?);
            stats.extend(answers.stats);
        }
        Ok(Some(self.judge((list_size, places), recalls, &stats)))
    }

    /// The queries that a point is measured with, evenly drawn from all.
    fn places(&self, list_size: u32) -> Vec<usize> {
        let all = self.plan.truth.query_count();
        let (least, most) = COSTS;
        let (few, times) = FEW_NEIGHBORS;
        let most = if self.k <= few { times * most } else { most };
        let budget = self.index.len().clamp(least, most) as f32;
        let expanded = list_size.max(self.expanded_answers()) as f32;
        let affordable = budget / expanded.max(self.pages);
        let least = (QUERIES / (self.k as f32).sqrt()).max(LEAST_QUERIES);
        let least = least.min((DEAREST * affordable).max(LEAST_QUERIES / 2.0));
        let count = affordable.max(least) as usize;
        let count = count.min(most_queries(self.k)).min(all);
        (0..count).map(|at| at * all / count).collect()
    }

    fn judge(
        &mut self,
        (list_size, places): (u32, Vec<usize>),
        recalls: Vec<f64>,
        stats: &[QueryStats],
    ) -> CalibrationRow {
        let n = recalls.len().max(1) as f64;
        let mean = recalls.iter().sum::<f64>() / n;
        let variance = recalls.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / n;
        let cost = |count: fn(&QueryStats) -> u64| {
            (stats.iter().map(count).sum::<u64>() as f64 / n) as f32
        };
        (self.hops, self.pages) = (cost(|stats| stats.hops), cost(|stats| stats.pages));
        let row = CalibrationRow {
            list_size,
            queries: recalls.len() as u32,
            recall: mean as f32,
            lost_by_codes: 0.0,
            standard_error: (variance / n).sqrt() as f32,
            recall_p5: recall_p5(&recalls).unwrap_or(0.0) as f32,
            pages: self.pages,
            rounds: cost(|stats| stats.rounds),
        };
        self.searched.push((list_size, places, recalls));
        row
    }

    /// Recall of each query.
    fn recalls(&self, answers: &Answers, places: &[usize]) -> Result<Vec<f64>> {
        let truth = &self.plan.truth;
        let nodes = answers.nodes.chunks_exact(answers.k);
        let found = nodes.zip(answers.distances.chunks_exact(answers.k));
        let one = |(place, (ids, distances)): (&usize, (&[u32], &[f32]))| {
            let own = Truth {
                k: truth.k,
                ids: truth.ids_of(*place).to_vec(),
                distances: truth.distances_of(*place).to_vec(),
            };
            let found = Found {
                ids,
                distances,
                width: answers.k,
            };
            recall(&found, &own, self.k as usize)
        };
        places.iter().zip(found).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::RANKS;

    #[test]
    fn no_more_answers_are_held_than_memory_is_counted_for() {
        for k in RANKS {
            let queries = at_once(k);
            assert!((1..=MOST_AT_ONCE).contains(&queries), "{k}");
            assert!(queries * k as usize <= MAX_ANSWERS, "{k}");
        }
    }
}
