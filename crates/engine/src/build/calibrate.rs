//! The queries of a calibration, and their truth.

use pageway_types::{NodeId, Progress};
use rayon::ThreadPool;

use super::budget::BLOCK_BYTES;
use super::measure::CalibrationPlan;
use super::order::NodeOrder;
use super::sample::{read_rows, sample_rows};
use crate::calibration::RANKS;
use crate::error::Result;
use crate::options::{BuildInput, BuildOptions};
use crate::source::VectorSlice;
use crate::truth::{ExactOptions, ExactQuestion, exact, exact_bytes_min};

/// Takes queries from the user's examples, or holds rows of the data out, and computes their exact
/// neighbours.
pub(super) fn plan(
    input: &BuildInput<'_>,
    options: &BuildOptions,
    (pool, order): (&ThreadPool, &NodeOrder),
    progress: &dyn Progress,
) -> Result<CalibrationPlan> {
    let count = input.vectors.count();
    let wished = u64::from(options.calibration_queries.max(1));
    let from = input.queries.unwrap_or(input.vectors);
    // Another seed than the training sample: queries should not be rows the codes were fitted to.
    let sampled = sample_rows(from.count(), wished, !options.seed);
    let rows = read_rows(from, &sampled)?;
    let held_out = (input.queries.is_none() && count > 1).then(|| {
        sampled
            .iter()
            .map(|row| NodeId(*row as u32))
            .collect::<Vec<_>>()
    });
    let rank = RANKS.into_iter().max().map_or(1, u64::from);
    let k = rank.min(count - u64::from(held_out.is_some())) as usize;
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
    let node_of = |rows: Vec<NodeId>| rows.iter().map(|row| order.node_of(*row)).collect();
    Ok(CalibrationPlan {
        rows,
        held_out: held_out.map(node_of),
        truth,
        threads: pool.current_num_threads(),
    })
}
