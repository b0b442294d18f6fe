//! The queries of a calibration, and their truth.

use pageway_types::{NodeId, Progress, RowId, VectorRead};
use rayon::ThreadPool;

use super::budget::BLOCK_BYTES;
use super::measure::{self, CalibrationPlan};
use super::sample::{read_rows, sample_rows};
use crate::error::Result;
use crate::options::{BuildInput, BuildOptions};
use crate::source::VectorSlice;
use crate::truth::{ExactOptions, ExactQuestion, exact, exact_bytes_min};

/// Rows of the data that stand in for queries, where there are none and more rows than one;
/// ascending.
pub(super) fn held_out_rows(input: &BuildInput<'_>, options: &BuildOptions) -> Option<Vec<RowId>> {
    let held_out = input.queries.is_none() && input.vectors.count() > 1;
    held_out.then(|| {
        let rows = sampled(input.vectors, options);
        rows.into_iter().map(|row| RowId(row as u32)).collect()
    })
}

fn sampled(from: &dyn VectorRead, options: &BuildOptions) -> Vec<u64> {
    let wished = u64::from(options.calibration_queries.max(1));
    // Another seed than the training sample: queries should not be rows the codes were fitted to.
    sample_rows(from.count(), wished, !options.seed)
}

/// Takes queries from the user's examples, or holds rows of the data out, and computes their exact
/// neighbours. `nodes`: those of the rows that are held out.
pub(super) fn plan(
    input: &BuildInput<'_>,
    options: &BuildOptions,
    (pool, nodes): (&ThreadPool, Option<Vec<NodeId>>),
    progress: &dyn Progress,
) -> Result<CalibrationPlan> {
    let count = input.vectors.count();
    let from = input.queries.unwrap_or(input.vectors);
    let rows = read_rows(from, &sampled(from, options))?;
    let held_out = held_out_rows(input, options);
    let ranks = measure::ranks(&[], count - u64::from(held_out.is_some()));
    let k = ranks.last().map_or(1, |rank| *rank as usize);
    let truth = {
        let question = ExactQuestion {
            queries: VectorSlice::new(&rows, input.vectors.shape())?,
            metric: options.metric,
            k,
            exclude: held_out.as_deref(),
        };
        let memory_bytes = exact_bytes_min(&question) + BLOCK_BYTES as u64;
        exact(
            input.vectors,
            &question,
            &ExactOptions { memory_bytes, pool },
            progress,
        )?
    };
    Ok(CalibrationPlan {
        rows,
        held_out: nodes,
        truth,
        of_nodes: false,
        ranks,
        threads: pool.current_num_threads(),
    })
}
