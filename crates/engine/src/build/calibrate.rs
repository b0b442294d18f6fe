//! The queries of a calibration, and their truth.

use std::ops::Range;

use pageway_types::{NodeId, Progress, RowId, VectorRead};
use rayon::ThreadPool;

use super::measure::{self, CalibrationPlan};
use super::sample::{read_rows, sample_rows};
use crate::error::Result;
use crate::index::Index;
use crate::options::{BuildInput, BuildOptions, Queries};

/// Rows of the data that stand in for queries, where there are none and more rows than one;
/// ascending.
pub(super) fn held_out_rows(input: &BuildInput<'_>, options: &BuildOptions) -> Option<Vec<RowId>> {
    let held_out = input.queries.is_none() && input.vectors.count() > 1;
    held_out.then(|| {
        let rows = sampled(input.vectors, options);
        rows.into_iter().map(|row| RowId(row as u32)).collect()
    })
}

/// Rows of a graph for each that stands in for a query, at least, for those to be linked last.
const ROWS_PER_GUEST: u64 = 40;

/// Those of the rows that stand in for queries that are in the rows of a segment, as its nodes
/// before placement: the graph is built without them, so that it is searched for them as for
/// queries. None where that would be too much of it.
pub(super) fn guests(held_out: &[RowId], segment: &Range<u32>) -> Vec<NodeId> {
    let own = held_out.iter().filter(|row| segment.contains(&row.0));
    let guests: Vec<NodeId> = own.map(|row| NodeId(row.0 - segment.start)).collect();
    if guests.len() as u64 * ROWS_PER_GUEST > u64::from(segment.end - segment.start) {
        return Vec::new();
    }
    guests
}

fn sampled(from: &dyn VectorRead, options: &BuildOptions) -> Vec<u64> {
    let wished = u64::from(options.calibration_queries.max(1));
    // Another seed than the training sample: queries should not be rows the codes were fitted to.
    sample_rows(from.count(), wished, !options.seed)
}

/// Takes queries from the user's examples, or holds rows of the data out, and finds their exact
/// neighbours among the rows of `index`. `nodes`: those of the rows that are held out.
pub(super) fn plan(
    input: &BuildInput<'_>,
    options: &BuildOptions,
    (index, nodes): (&Index, Option<Vec<NodeId>>),
    (pool, progress): (&ThreadPool, &dyn Progress),
) -> Result<CalibrationPlan> {
    let from = input.queries.unwrap_or(input.vectors);
    let rows = read_rows(from, &sampled(from, options))?;
    let ranks = measure::ranks(&[], index.len() - u64::from(nodes.is_some()));
    let mut asked = Queries::new(&rows, index.shape());
    asked.held_out = nodes.as_deref();
    let most = ranks.last().copied().unwrap_or(0);
    let truth = index.exact(&asked, most, (pool, progress))?;
    Ok(CalibrationPlan {
        rows,
        held_out: nodes,
        truth,
        ranks,
        threads: pool.current_num_threads(),
    })
}
