//! What a calibration asks: queries, or rows that stand for them, and their true neighbours.

use pageway_types::{Metric, NodeId, Progress};
use rayon::ThreadPool;

use super::held_out::HeldOutRows;
use super::measure::FEW_ROWS;
use crate::calibration::{DimensionFit, Likeness, Marks, Missed, RANKS, marks};
use crate::error::Result;
use crate::execution::{HeldOut, LOOKED_AT, Lift, MOST_COPIES, local_dimension};
use crate::index::{CopyTest, Index};
use crate::resolve;
use crate::truth::Truth;

/// Ranks that are measured beside [`RANKS`] where one search notes what is found of all: lists go
/// from shorter to longer than k there, which no line between two ranks follows.
const RANKS_BETWEEN: [u32; 3] = [5, 200, 500];

/// Rows whose lengths are looked at.
const LENGTH_ROWS: u32 = 500;

/// Queries of a calibration with their truth.
pub(crate) struct CalibrationPlan {
    /// Raw rows of the index's shape.
    pub(crate) rows: Vec<u8>,
    /// Where the queries are rows of the index: those, which must not be found.
    pub(crate) held_out: Option<Vec<HeldOut>>,
    /// Whether those have pages of their own.
    pub(super) apart: bool,
    /// Exact neighbours, nodes of the index, as many as the largest rank.
    pub(crate) truth: Truth,
    /// How far queries lie from so many neighbours, for each number.
    likeness: Vec<(u32, Option<Likeness>)>,
    /// Numbers of neighbours to measure, ascending.
    pub(crate) ranks: Vec<u32>,
    /// Threads that search. They share the memory of one, so that what is cached, and with it what
    /// is measured, does not depend on how many there are.
    pub(crate) threads: usize,
    /// Under the inner product, what makes distances tell local dimensions.
    pub(crate) lift: Option<Lift>,
}

impl CalibrationPlan {
    /// Of raw rows, those of `nodes` where they stand for queries, beside the usual ranks `others`
    /// too. Finds their exact neighbours among the rows of an index.
    ///
    /// # Errors
    /// As reads; `Cancelled`.
    pub(super) fn new(
        index: &Index,
        (rows, nodes): (Vec<u8>, Option<Vec<NodeId>>),
        (others, seed): (&[u32], u64),
        (pool, progress): (&ThreadPool, &dyn Progress),
    ) -> Result<Self> {
        let nodes = nodes.filter(|_| index.len() > FEW_ROWS);
        let neighbors = index.len() - u64::from(nodes.is_some());
        let wished = ranks(index, others, neighbors);
        let most = wished.last().copied().unwrap_or(0);
        let beside = nodes.as_ref().map_or(0, |_| MOST_COPIES as u32 + 1);
        let wide = u64::from(most + beside).min(neighbors) as u32;
        let truth = index.exact((&rows, nodes.as_deref()), wide, (pool, progress))?;
        let mut plan = Self {
            lift: lift_of_rows(index, (nodes.is_some().then_some(&*rows), seed))?,
            rows,
            held_out: None,
            apart: nodes
                .as_ref()
                .map_or(Ok(false), |own| index.have_own_pages(own))?,
            truth,
            likeness: Vec::new(),
            ranks: wished,
            threads: pool.current_num_threads(),
        };
        let likeness = |k: &u32| (*k, plan.likeness_now(*k as usize));
        plan.likeness = plan.ranks.iter().map(likeness).collect();
        if let Some(nodes) = nodes {
            plan.hold_out(&nodes, &CopyTest::of(index)?, most)?;
            plan.ranks = ranks(index, others, plan.truth.k as u64);
        }
        Ok(plan)
    }

    /// Takes the queries for rows with these nodes, which with their copies are no answers. Keeps
    /// `most` neighbours at most.
    fn hold_out(&mut self, nodes: &[NodeId], test: &CopyTest<'_>, most: u32) -> Result<()> {
        let row_bytes = self.rows.len() / nodes.len().max(1);
        let own = nodes.iter().zip(self.rows.chunks_exact(row_bytes.max(1)));
        let of_query = own.enumerate().map(|(query, (node, row))| {
            let near = self.truth.ids_of(query).iter().map(|id| NodeId(*id));
            let near = near.zip(self.truth.distances_of(query).iter().copied());
            test.held_out((*node, row), near)
        });
        let held_out = of_query.collect::<Result<Vec<HeldOut>>>()?;
        self.truth.leave_out(most as usize, |query, node| {
            held_out
                .get(query)
                .is_some_and(|own| own.contains(NodeId(node)))
        });
        self.held_out = Some(held_out);
        Ok(())
    }

    /// Rows of some queries, and their nodes where those are held out.
    pub(super) fn queries(&self, places: &[usize]) -> (Vec<u8>, Option<Vec<HeldOut>>) {
        let row_bytes = self.rows.len() / self.truth.query_count().max(1);
        let row = |place: &usize| self.rows.get(place * row_bytes..(place + 1) * row_bytes);
        let rows = places.iter().filter_map(row).flatten().copied().collect();
        let own = |held_out: &Vec<HeldOut>| {
            let each = places.iter().filter_map(|place| held_out.get(*place));
            each.cloned().collect()
        };
        (rows, self.held_out.as_ref().map(own))
    }

    /// How what queries missed goes with the dimensions that a list of size `first` tells, beside
    /// how it goes with those of true neighbours. `missed`: of some list sizes, queries and what
    /// each missed.
    pub(super) fn dimension_fit(
        &self,
        first: u32,
        told: &[Option<f32>],
        missed: &[Vec<(usize, f64)>],
    ) -> Option<DimensionFit> {
        let by_truth = fit_of(first, &self.true_dimensions(), missed);
        Some(fit_of(first, told, missed)?.beside(by_truth.as_ref()))
    }

    /// Local dimensions of the queries by their true neighbours.
    fn true_dimensions(&self) -> Vec<Option<f32>> {
        let dimension = |query| {
            let nearest = self.truth.distances_of(query).get(..=LOOKED_AT)?.iter();
            let lift = self.lift_of(query);
            local_dimension(&nearest.map(|own| own + lift).collect::<Vec<f32>>())
        };
        (0..self.truth.query_count()).map(dimension).collect()
    }

    /// How far the queries lie from their `k` nearest neighbours, copies among them.
    pub(super) fn likeness(&self, k: u32) -> Option<Likeness> {
        let own = self.likeness.iter().find(|(rank, _)| *rank == k);
        own.and_then(|(_, own)| *own)
    }

    fn likeness_now(&self, k: usize) -> Option<Likeness> {
        let own = |query| {
            let (nearest, lift) = (
                self.truth.distances_of(query).get(..k)?,
                self.lift_of(query),
            );
            marks(&nearest.iter().map(|own| own + lift).collect::<Vec<f32>>())
        };
        let all: Vec<Marks> = (0..self.truth.query_count()).filter_map(own).collect();
        Likeness::of(&all)
    }

    /// What is added to distances from the query at a place.
    fn lift_of(&self, place: usize) -> f32 {
        self.lift.map_or(0.0, |lift| {
            let (row, _) = self.queries(&[place]);
            lift.of(&row)
        })
    }
}

/// How what queries missed goes with their dimensions.
fn fit_of(
    first: u32,
    dimensions: &[Option<f32>],
    missed: &[Vec<(usize, f64)>],
) -> Option<DimensionFit> {
    let of_dimensions = |each: &Vec<(usize, f64)>| {
        let told = each.iter().filter_map(|(query, missed)| {
            let dimension = dimensions.get(*query).copied().flatten()?;
            Some((f64::from(dimension).ln(), *missed))
        });
        let (logs, misses) = told.unzip();
        Missed { logs, misses }
    };
    let missed: Vec<Missed> = missed.iter().map(of_dimensions).collect();
    let known: Vec<f32> = dimensions.iter().flatten().copied().collect();
    DimensionFit::of(first, &known, &missed)
}

/// How distances to rows of an index tell local dimensions: under the inner product by the longest
/// of some, or of those that are `held_out`.
///
/// # Errors
/// As reads.
fn lift_of_rows(index: &Index, (held_out, seed): (Option<&[u8]>, u64)) -> Result<Option<Lift>> {
    if index.metric() != Metric::InnerProduct {
        return Ok(None);
    }
    let drawn = match held_out {
        Some(_) => None,
        None => Some(index.held_out_rows(LENGTH_ROWS, seed)?),
    };
    let rows = held_out.or(drawn.as_ref().map(HeldOutRows::raw));
    let rows = rows
        .unwrap_or_default()
        .chunks_exact(index.shape().row_bytes());
    let squared_norm = resolve::kernels()?.squared_norm(index.shape().element);
    let longest = rows.map(squared_norm).fold(0.0, f32::max).sqrt();
    Ok(Some(Lift {
        longest,
        squared_norm,
    }))
}

/// The usual ranks and `others`, as far as there are so many neighbours; ascending.
fn ranks(index: &Index, others: &[u32], neighbors: u64) -> Vec<u32> {
    let most = u32::try_from(neighbors).unwrap_or(u32::MAX).max(1);
    let between: &[u32] = if index.notes_lists().is_some() {
        &RANKS_BETWEEN
    } else {
        &[]
    };
    let all = RANKS.iter().chain(between).chain(others);
    let mut ranks: Vec<u32> = all.map(|rank| (*rank).clamp(1, most)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}
