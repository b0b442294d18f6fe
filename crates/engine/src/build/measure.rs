//! Measuring a ladder: search the finished index for queries whose exact neighbours are known.

use pageway_types::{NodeId, Progress};

use crate::calibration::{Calibration, CalibrationRow, RANKS};
use crate::error::Result;
use crate::index::Index;
use crate::options::{Answers, Effort, Queries, SearchOptions};
use crate::truth::{Found, Truth, recall};

/// List sizes that are measured, until recall is as good as it gets.
const LADDER: [u32; 14] = [
    8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 675, 1000, 1500,
];
/// Recall@10 and recall@100 at which longer lists are of no more use.
const ENOUGH: [f32; 2] = [0.998, 0.98];
/// Gain in recall@10 and recall@100 together below which the graph has no more to give.
const LEAST_GAIN: f32 = 0.0002;

/// Place in `RANKS` of the rank whose costs are told.
const COST_RANK: usize = 1;

/// Queries of a calibration with their truth.
pub(crate) struct CalibrationPlan {
    /// Raw rows of the index's shape.
    pub(crate) rows: Vec<u8>,
    /// Where the queries are rows of the data: their nodes, which must not be found.
    pub(crate) held_out: Option<Vec<NodeId>>,
    /// Exact neighbours, as many as the largest rank where there are so many.
    pub(crate) truth: Truth,
    /// Threads that search. They share the memory of one, so that what is cached, and with it what
    /// is measured, does not depend on how many there are.
    pub(crate) threads: usize,
}

/// Climbs the ladder until recall is enough, stops growing, or the memory for searches ends it.
pub(crate) fn calibrate(
    index: &Index,
    plan: &CalibrationPlan,
    progress: &dyn Progress,
) -> Result<Calibration> {
    let mut queries = Queries::new(&plan.rows, index.shape());
    queries.held_out = plan.held_out.as_deref();
    let count = plan.truth.query_count();
    let most = plan.truth.k as u32;
    // A refinement reads more for more neighbours: each rank is then measured by a search for it.
    let ranks: Vec<u32> = if index.reads_depend_on_k() {
        RANKS.map(|rank| rank.min(most)).to_vec()
    } else {
        vec![most]
    };
    let searches = count * LADDER.len() * ranks.len();
    progress.stage("calibrate recall", searches as u64);
    let options = SearchOptions {
        k: most,
        threads: plan.threads,
        ..SearchOptions::default()
    };
    let mut calibration = Calibration {
        queries: count as u32,
        held_out: plan.held_out.is_some(),
        ..Calibration::default()
    };
    for list_size in LADDER {
        let effort = Effort::ListSize(list_size);
        let options = SearchOptions { effort, ..options };
        // Longer lists than the memory for searches holds are of no use to its owner.
        if !calibration.rows.is_empty() && !index.has_memory_for(&options, list_size)? {
            break;
        }
        let search = |k: &u32| {
            let options = SearchOptions { k: *k, ..options };
            index.search_below_k(&queries, &options, list_size, progress)
        };
        let answers = ranks.iter().map(search).collect::<Result<Vec<_>>>()?;
        let row = measure(&answers, &plan.truth, list_size)?;
        calibration.beam = answers.first().map_or(0, |answers| answers.settings.beam);
        let before = calibration.rows.last().copied();
        calibration.rows.push(row);
        if finished(&row, before.as_ref()) || u64::from(list_size) >= index.len() {
            break;
        }
    }
    Ok(calibration)
}

fn finished(row: &CalibrationRow, before: Option<&CalibrationRow>) -> bool {
    let [_, at_10, at_100] = row.recall;
    let [enough_10, enough_100] = ENOUGH;
    let flat = before.is_some_and(|before| {
        let [_, before_10, before_100] = before.recall;
        at_10 - before_10 + at_100 - before_100 < LEAST_GAIN
    });
    (at_10 >= enough_10 && at_100 >= enough_100) || flat
}

/// A row of the ladder, from searches for each rank, or one for all.
fn measure(answers: &[Answers], truth: &Truth, list_size: u32) -> Result<CalibrationRow> {
    let of_rank = |at: usize| answers.get(at).or(answers.first());
    let queries = truth.query_count().max(1) as f64;
    let costs = of_rank(COST_RANK).map_or(&[][..], |answers| &answers.stats);
    let mean = |count: fn(&crate::QueryStats) -> u64| {
        (costs.iter().map(count).sum::<u64>() as f64 / queries) as f32
    };
    let mut row = CalibrationRow {
        list_size,
        recall: [0.0; 3],
        standard_error: [0.0; 3],
        pages: mean(|stats| stats.pages),
        rounds: mean(|stats| stats.rounds),
    };
    let columns = row.recall.iter_mut().zip(&mut row.standard_error);
    for ((at, rank), (recall, error)) in RANKS.iter().enumerate().zip(columns) {
        let k = (*rank as usize).min(truth.k);
        if let Some(answers) = of_rank(at) {
            (*recall, *error) = mean_recall(answers, truth, k)?;
        }
    }
    Ok(row)
}

/// Mean of the per-query recalls, and its standard error.
fn mean_recall(answers: &Answers, truth: &Truth, k: usize) -> Result<(f32, f32)> {
    let count = truth.query_count();
    let mut each = Vec::with_capacity(count);
    let rows = answers
        .rows
        .chunks_exact(answers.k)
        .zip(answers.distances.chunks_exact(answers.k));
    for (query, (ids, distances)) in rows.enumerate() {
        let one = Truth {
            k: truth.k,
            ids: truth.ids_of(query).to_vec(),
            distances: truth.distances_of(query).to_vec(),
        };
        each.push(recall(
            &Found {
                ids,
                distances,
                width: answers.k,
            },
            &one,
            k,
        )?);
    }
    let n = each.len().max(1) as f64;
    let mean = each.iter().sum::<f64>() / n;
    let variance = each.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / n;
    Ok((mean as f32, (variance / n).sqrt() as f32))
}
