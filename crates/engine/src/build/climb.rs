//! Measuring a surface by searches that note what lists find for every k, where a design allows
//! that: one search per query for lists of every size, or one for each.
//!
//! All queries walk short lists; only some go on to longer ones, because recalls of long lists
//! differ less between queries. Where queries stop, the misses of all are extrapolated by how those
//! of the rest change from list to list, so that a curve does not jump there.

use std::ops::Range;

use pageway_types::{Progress, Quiet};

use super::level::{NotedMisses, times_missed};
use super::measure::{EXACT_RANKS, MOST_AT_ONCE, first_look};
use super::questions::CalibrationPlan;
use crate::calibration::{
    Calibration, CalibrationCurve, CalibrationRow, DimensionFit, Misses, pool_ranks,
};
use crate::error::Result;
use crate::execution::{Ladder, LadderNote};
use crate::index::{Index, ListNoting};
use crate::options::{Queries, SearchOptions};
use crate::truth::{Truth, recall_p5};

/// List sizes that are noted.
const SIZES: [u32; 27] = [
    1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 45, 68, 100, 150, 225, 340, 500, 750, 1125, 1700,
    2550, 3800, 5700, 6900, 8192,
];

/// What the queries of a pass do.
struct Pass {
    /// One in so many queries takes part.
    step: usize,
    /// Lists are so long that all queries together cost so many expansions per row.
    paid: u64,
    /// What is found of up to so many neighbours is noted. Of more, each query tells more: a third
    /// of the queries are as sure of 200 as all of 30.
    most_neighbors: u32,
}

/// Those with the longest lists come first.
const PASSES: [Pass; 3] = [
    Pass {
        step: 12,
        paid: 2,
        most_neighbors: u32::MAX,
    },
    Pass {
        step: 3,
        paid: 1,
        most_neighbors: u32::MAX,
    },
    Pass {
        step: 1,
        paid: 1,
        most_neighbors: 100,
    },
];
/// Rows that this cost is counted for, at least and at most.
const PAID_ROWS: (u64, u64) = (60_000, 150_000);
/// Where each list is a search of its own they may cost so many times as much.
const ONE_BY_ONE: u64 = 2;

/// Notes of a query on average, at most, and the bytes of one.
pub(super) const NOTES: u64 = 170;
pub(super) const NOTE_BYTES: u64 = size_of::<(usize, LadderNote)>() as u64;

/// Of the lists with less recall than this a curve keeps one.
const TOO_LITTLE: f32 = 0.76;
/// Recall at which longer lists are of no more use.
const ENOUGH: f32 = 0.996;

/// Measures the curves of all ranks of `plan` that memory has room for.
///
/// # Errors
/// As searches.
pub(super) fn calibrate(
    (index, noting): (&Index, ListNoting),
    plan: &CalibrationPlan,
    progress: &dyn Progress,
) -> Result<Calibration> {
    progress.stage("calibrate recall", PASSES.len() as u64);
    let mut calibration = Calibration {
        queries: plan.truth.query_count() as u32,
        held_out: plan.held_out.is_some(),
        apart: plan.apart,
        longest: plan.lift.map(|lift| lift.longest),
        ..Calibration::default()
    };
    let Some(mut climb) = Climb::new((index, noting), plan) else {
        return Ok(calibration);
    };
    for pass in 0..PASSES.len() {
        climb.pass(pass, progress)?;
        progress.advance(1);
    }
    calibration.beam = climb.beam;
    let mut rows = climb.rows();
    pool_ranks(climb.ranks, &mut rows);
    for (rank, rows) in rows.into_iter().enumerate() {
        calibration.curves.extend(climb.curve(rank, rows));
    }
    climb.level(&mut calibration);
    Ok(calibration)
}

/// The notes of the queries so far.
struct Climb<'c> {
    index: &'c Index,
    noting: ListNoting,
    plan: &'c CalibrationPlan,
    /// Numbers of neighbours of the plan that memory has room for.
    ranks: &'c [u32],
    sizes: Vec<u32>,
    beam: u32,
    notes: Vec<(usize, LadderNote)>,
    /// Of each query, how many of the sizes it went up to, for how many of the ranks.
    climbed: Vec<(usize, usize)>,
}

impl<'c> Climb<'c> {
    /// Without notes; `None` if memory has no room for any list.
    fn new((index, noting): (&'c Index, ListNoting), plan: &'c CalibrationPlan) -> Option<Self> {
        let first = *SIZES.first()?;
        let fits = |k: u32, longest: u32| index.has_ladder_room(&options(k, plan), longest);
        let held = plan.ranks.iter().rposition(|k| fits(*k, first))?;
        let ranks = plan.ranks.get(..=held)?;
        // The rank that every list must have room for.
        let most = match noting {
            ListNoting::OnTheWay => ranks.last(),
            ListNoting::OneByOne => ranks.first(),
        };
        let most = *most?;
        let mut sizes = SIZES.to_vec();
        if index.expands_answers() {
            // No list is shorter than k.
            sizes.extend(ranks);
            sizes.sort_unstable();
            sizes.dedup();
        }
        // Up to the first that holds all rows.
        let of_use = sizes.partition_point(|size| u64::from(*size) < index.len());
        sizes.truncate(of_use + 1);
        sizes.truncate(sizes.iter().rposition(|size| fits(most, *size))? + 1);
        Some(Self {
            index,
            noting,
            plan,
            ranks,
            sizes,
            beam: 0,
            notes: Vec::new(),
            climbed: vec![(0, 0); plan.truth.query_count()],
        })
    }

    /// Searches for the queries of a pass that no earlier pass searched for.
    fn pass(&mut self, pass: usize, progress: &dyn Progress) -> Result<()> {
        let Some(Pass {
            step,
            paid,
            most_neighbors,
        }) = PASSES.get(pass)
        else {
            return Ok(());
        };
        let queries = self.climbed.len();
        let places: Vec<usize> = (0..queries)
            .step_by(*step)
            .filter(|place| self.climbed.get(*place) == Some(&(0, 0)))
            .collect();
        let (least, most) = PAID_ROWS;
        let expansions = self.index.len().clamp(least, most) * paid;
        let count = self.affordable(expansions / (queries / step).max(1) as u64);
        let few = self.ranks.partition_point(|k| k <= most_neighbors).max(1);
        let ranks = self.ranks.get(..few).unwrap_or_default();
        let count = match self.noting {
            ListNoting::OnTheWay => {
                self.search(&places, 0..count, ranks, progress)?;
                count
            }
            ListNoting::OneByOne => self.search_each(&places, (count, ranks), progress)?,
        };
        for place in &places {
            if let Some(climbed) = self.climbed.get_mut(*place) {
                *climbed = (count, ranks.len());
            }
        }
        Ok(())
    }

    /// How many of the sizes a query may search with for so many expansions; one at least.
    fn affordable(&self, expansions: u64) -> usize {
        let sizes = self.sizes.iter().map(|size| u64::from(*size));
        let count = match self.noting {
            ListNoting::OnTheWay => sizes.take_while(|size| *size <= expansions).count(),
            ListNoting::OneByOne => {
                let sums = sizes.scan(0, |sum, size| {
                    *sum += size;
                    Some(*sum)
                });
                sums.take_while(|sum| *sum <= ONE_BY_ONE * expansions)
                    .count()
            }
        };
        count.max(1)
    }

    /// Searches with one list after the other: up to `count`, or to one that finds enough and the
    /// next. How many it was.
    fn search_each(
        &mut self,
        places: &[usize],
        (count, ranks): (usize, &[u32]),
        progress: &dyn Progress,
    ) -> Result<usize> {
        let mut enough = count;
        for size in 0..count {
            let list_size = self.sizes.get(size).copied().unwrap_or(1);
            let fits = |k: &u32| {
                self.index
                    .has_ladder_room(&options(*k, self.plan), list_size)
            };
            let held = ranks.iter().rposition(fits).map_or(0, |last| last + 1);
            let before = self.notes.len();
            // Of more neighbours this list and longer ones tell nothing.
            let ranks = ranks.get(..held).unwrap_or_default();
            self.search(places, size..size + 1, ranks, progress)?;
            let notes = self.notes.get(before..).unwrap_or_default();
            if finds_enough(notes, ranks, places.len()) {
                enough = enough.min(size + 1);
            }
            if size >= enough {
                return Ok(size + 1);
            }
        }
        Ok(count)
    }

    /// Searches with lists of some sizes for the numbers of neighbours of `ranks`, the first of
    /// all.
    fn search(
        &mut self,
        places: &[usize],
        sizes: Range<usize>,
        ranks: &[u32],
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut all = places.chunks(MOST_AT_ONCE);
        all.try_for_each(|places| self.search_some(places, sizes.clone(), ranks, progress))
    }

    fn search_some(
        &mut self,
        places: &[usize],
        sizes: Range<usize>,
        ranks: &[u32],
        progress: &dyn Progress,
    ) -> Result<()> {
        let Some(k) = ranks.last().copied() else {
            return Ok(());
        };
        let (rows, held_out) = self.plan.queries(places);
        let mut queries = Queries::new(&rows, self.index.shape());
        queries.held_out = held_out.as_deref();
        let truth = &self.plan.truth;
        let each = |place: &usize| {
            let place = *place;
            ranks.iter().map(move |k| eligible(truth, place, *k))
        };
        let eligible: Vec<u32> = places.iter().flat_map(each).collect();
        let first = sizes.start as u16;
        let ladder = Ladder {
            sizes: self.sizes.get(sizes).unwrap_or_default(),
            ranks,
            truth: &truth.ids,
            each: truth.k,
            places,
            eligible: &eligible,
            exact_up_to: if self.index.harvests_refined() {
                u32::MAX
            } else {
                EXACT_RANKS
            },
            lift: self.plan.lift,
        };
        let options = options(k, self.plan);
        let quiet = Quiet(progress);
        let found = self.index.note_lists(&queries, &options, &ladder, &quiet)?;
        self.beam = found.beam;
        let own = |(query, note): (usize, LadderNote)| {
            let size = first + note.size;
            Some((*places.get(query)?, LadderNote { size, ..note }))
        };
        let count = found.notes.iter().map(Vec::len).sum();
        self.notes.reserve_exact(count);
        let notes = found.notes.into_iter().flatten();
        self.notes.extend(notes.filter_map(own));
        Ok(())
    }

    /// The notes of one k for each list size, of the queries that went up to it.
    fn marks(&self, rank: usize) -> Vec<Vec<MissMark>> {
        let k = self.ranks.get(rank).copied().unwrap_or(1);
        let mut marks = vec![Vec::new(); self.sizes.len()];
        for (query, note) in self
            .notes
            .iter()
            .filter(|(_, note)| usize::from(note.rank) == rank)
        {
            if let Some(marks) = marks.get_mut(usize::from(note.size)) {
                marks.push(MissMark {
                    query: *query,
                    missed: 1.0 - f64::from(note.found) / f64::from(k),
                    note: *note,
                });
            }
        }
        for marks in &mut marks {
            marks.sort_unstable_by_key(|mark| mark.query);
        }
        marks
    }

    /// The misses of each list, for each k.
    fn rows(&self) -> Vec<Vec<CalibrationRow>> {
        let of_rank = |rank| self.rank_rows(rank, &self.marks(rank));
        (0..self.ranks.len()).map(of_rank).collect()
    }

    fn rank_rows(&self, rank: usize, marks: &[Vec<MissMark>]) -> Vec<CalibrationRow> {
        let mut rows: Vec<CalibrationRow> = Vec::new();
        let mut before: Option<(&[MissMark], f64)> = None;
        for (size, marks) in (0..).zip(marks) {
            let climbed = self.climbed.iter();
            let went = climbed.filter(|(sizes, ranks)| *sizes > size && *ranks > rank);
            if marks.is_empty() || marks.len() < went.count() {
                continue;
            }
            let missed = before.map_or_else(|| mean_missed(marks), |own| followed(own, marks));
            before = Some((marks, missed));
            rows.push(self.row((rank, size), marks, missed));
        }
        rows
    }

    /// The curve of one k; `None` if nothing was noted for it.
    fn curve(&self, rank: usize, rows: Vec<CalibrationRow>) -> Option<CalibrationCurve> {
        let k = *self.ranks.get(rank)?;
        let marks = self.marks(rank);
        let mut curve = CalibrationCurve::of(k, of_use(rows));
        curve.make_monotone();
        if curve.rows.is_empty() {
            return None;
        }
        let look = self.sizes.iter().rposition(|size| *size <= first_look(k));
        curve.dimension = look.and_then(|at| self.dimension_fit(at, &marks));
        curve.early = look.and_then(|_| self.dimension_fit(0, &marks));
        Some(curve)
    }

    /// Finds how much the lists that fits choose leave out beside what they say.
    fn level(&self, calibration: &mut Calibration) {
        for rank in 0..self.ranks.len() {
            let Some(k) = self.ranks.get(rank).copied() else {
                continue;
            };
            let marks = self.marks(rank);
            let told = |fit: &DimensionFit| {
                let at = self.sizes.iter().position(|size| *size == fit.first_list)?;
                let noted = self.noted_misses(&self.told(at, &marks), &marks);
                times_missed(&noted, |recall| {
                    calibration.plan_by(fit, (k, recall, Misses::MEASURED), u32::MAX)
                })
            };
            let Some(curve) = calibration.curve(k) else {
                continue;
            };
            let levels = [&curve.dimension, &curve.early].map(|fit| fit.as_ref().and_then(told));
            calibration.set_levels(k, levels);
        }
    }

    /// The misses of each query with each list that it went up to.
    fn noted_misses(&self, told: &[Option<f32>], marks: &[Vec<MissMark>]) -> NotedMisses<'_> {
        let first = marks
            .iter()
            .position(|marks| !marks.is_empty())
            .unwrap_or(0);
        let sizes = self.sizes.get(first..).unwrap_or_default();
        let noted = marks.iter().skip(first);
        let noted = noted.map(|marks| marks.iter().map(|mark| (mark.query, mark.missed)));
        NotedMisses::new(sizes, told, noted)
    }

    fn row(&self, (rank, size): (usize, usize), marks: &[MissMark], missed: f64) -> CalibrationRow {
        let k = self.ranks.get(rank).copied().unwrap_or(1);
        let n = marks.len() as f64;
        let own = mean_missed(marks);
        let apart = |mark: &MissMark| (mark.missed - own) * (mark.missed - own);
        let variance = marks.iter().map(apart).sum::<f64>() / n;
        let recalls: Vec<f64> = marks.iter().map(|mark| 1.0 - mark.missed).collect();
        let cost = |count: fn(&LadderNote) -> u32| {
            let all = marks.iter().map(|mark| f64::from(count(&mark.note)));
            (all.sum::<f64>() / n) as f32
        };
        CalibrationRow {
            list_size: self.sizes.get(size).copied().unwrap_or(1),
            queries: marks.len() as u32,
            recall: (1.0 - missed).clamp(0.0, 1.0) as f32,
            lost_by_codes: cost(|note| note.found - note.found_by_codes) / k as f32,
            standard_error: (variance / n).sqrt() as f32,
            recall_p5: recall_p5(&recalls).unwrap_or(0.0) as f32,
            pages: cost(|note| note.pages),
            rounds: cost(|note| note.rounds),
        }
    }

    /// The dependence of misses on local dimensions, as told by the list at a place, in designs
    /// that choose lists by dimensions.
    fn dimension_fit(&self, at: usize, marks: &[Vec<MissMark>]) -> Option<DimensionFit> {
        if !self.index.chooses_lists() {
            return None;
        }
        let first = *self.sizes.get(at)?;
        let told = self.told(at, marks);
        let missed = |marks: &Vec<MissMark>| -> Vec<(usize, f64)> {
            let each = marks.iter().map(|mark| (mark.query, mark.missed));
            each.collect()
        };
        let missed: Vec<_> = marks.iter().map(missed).collect();
        self.plan.dimension_fit(first, &told, &missed)
    }

    /// The local dimension of each query, as told by the list at a place.
    fn told(&self, at: usize, marks: &[Vec<MissMark>]) -> Vec<Option<f32>> {
        let mut told = vec![None; self.climbed.len()];
        // Lists that hold fewer than k tell dimensions too.
        let others = self
            .notes
            .iter()
            .filter(|(_, note)| usize::from(note.size) == at);
        let own = marks.get(at).into_iter().flatten();
        let own = own.map(|own| (own.query, own.note));
        for (query, note) in others.copied().chain(own) {
            if let Some(told) = told.get_mut(query) {
                *told = note.dimension;
            }
        }
        told
    }
}

/// The misses of one query with a list.
#[derive(Clone, Copy)]
struct MissMark {
    query: usize,
    missed: f64,
    note: LadderNote,
}

fn options(k: u32, plan: &CalibrationPlan) -> SearchOptions {
    SearchOptions {
        k,
        threads: plan.threads,
        ..SearchOptions::default()
    }
}

/// How many of the true neighbours of a query are as near as the `k`th.
fn eligible(truth: &Truth, query: usize, k: u32) -> u32 {
    let distances = truth.distances_of(query);
    let Some(farthest) = distances.get(k as usize - 1) else {
        return k;
    };
    distances.partition_point(|distance| distance <= farthest) as u32
}

/// Whether as many queries as there are have found enough of each number of neighbours.
fn finds_enough(notes: &[(usize, LadderNote)], ranks: &[u32], queries: usize) -> bool {
    let enough = |(rank, k): (usize, &u32)| {
        let own = notes
            .iter()
            .filter(|(_, note)| usize::from(note.rank) == rank);
        let found: u64 = own.map(|(_, note)| u64::from(note.found)).sum();
        found as f32 >= ENOUGH * (queries as u64 * u64::from(*k)) as f32
    };
    ranks.iter().enumerate().all(enough)
}

fn mean_missed(marks: &[MissMark]) -> f64 {
    marks.iter().map(|mark| mark.missed).sum::<f64>() / marks.len().max(1) as f64
}

/// The misses of all queries with a list that only some searched with: those of all with the list
/// before, times the ratio by which those of the others changed.
fn followed((before, missed): (&[MissMark], f64), marks: &[MissMark]) -> f64 {
    let own = |query: usize| {
        let at = before.binary_search_by_key(&query, |mark| mark.query);
        at.ok().and_then(|at| before.get(at)).map(|own| own.missed)
    };
    let theirs: f64 = marks.iter().filter_map(|mark| own(mark.query)).sum();
    let now: f64 = marks.iter().map(|mark| mark.missed).sum();
    if theirs > 0.0 {
        (missed * now / theirs).min(1.0)
    } else {
        mean_missed(marks)
    }
}

/// Rows from the last that finds too little to the first that finds enough by codes too.
fn of_use(mut rows: Vec<CalibrationRow>) -> Vec<CalibrationRow> {
    let finds_enough = |row: &CalibrationRow| row.recall - row.lost_by_codes >= ENOUGH;
    if let Some(enough) = rows.iter().position(finds_enough) {
        rows.truncate(enough + 1);
    }
    let first = rows.iter().rposition(|row| row.recall < TOO_LITTLE);
    rows.split_off(first.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(missed: &[(usize, f64)]) -> Vec<MissMark> {
        let note = LadderNote {
            rank: 0,
            size: 0,
            found: 0,
            found_by_codes: 0,
            pages: 0,
            rounds: 0,
            dimension: None,
        };
        let mark = |(query, missed): &(usize, f64)| MissMark {
            query: *query,
            missed: *missed,
            note,
        };
        missed.iter().map(mark).collect()
    }

    #[test]
    fn a_curve_does_not_jump_where_most_queries_stop() {
        let all = marks(&[(0, 0.1), (1, 0.1), (2, 0.4), (3, 0.4)]);
        let missed = mean_missed(&all);
        assert!((missed - 0.25).abs() < 1e-9);
        // Those that go on are the easy ones, and miss half of what they did.
        let easy = marks(&[(0, 0.05), (1, 0.05)]);
        assert!((followed((&all, missed), &easy) - 0.125).abs() < 1e-9);
        let none = marks(&[(0, 0.0), (1, 0.0)]);
        assert_eq!(followed((&all, missed), &none), 0.0);
        assert_eq!(followed((&none, 0.0), &marks(&[(1, 0.2)])), 0.2);
    }

    #[test]
    fn rows_that_nobody_asks_for_are_left_out() {
        let row = |recall: f32| CalibrationRow {
            recall,
            ..CalibrationRow::default()
        };
        let kept = |recalls: &[f32]| -> Vec<f32> {
            let rows = of_use(recalls.iter().map(|recall| row(*recall)).collect());
            rows.iter().map(|row| row.recall).collect()
        };
        assert_eq!(kept(&[0.1, 0.5, 0.9, 0.997, 1.0]), [0.5, 0.9, 0.997]);
        assert_eq!(kept(&[0.8, 0.9]), [0.8, 0.9]);
        assert_eq!(kept(&[0.2, 0.3]), [0.3]);
        assert!(kept(&[]).is_empty());
    }

    #[test]
    fn neighbours_as_near_as_the_kth_count_as_one() {
        let truth = Truth {
            k: 4,
            ids: vec![1, 2, 3, 4],
            distances: vec![1.0, 2.0, 2.0, 3.0],
        };
        let all = [1, 2, 3, 4].map(|k| eligible(&truth, 0, k));
        assert_eq!(all, [1, 3, 3, 4]);
    }
}
