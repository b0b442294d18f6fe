//! Sizes that all builders agree on, and the ranges of the parameters that they share.

use pageway_types::NodeId;

use crate::error::GraphError;

/// Tenths of the max degree by which lists may outgrow it during a build.
const SLACK_TENTHS: u32 = 3;

/// A batch is at most the set divided by this. Nodes of a batch do not see each other, so larger
/// batches cost quality: on 50,000 vectors a divisor of 50 takes 0.3 % of the recall at equal list
/// size, 500 nothing that could be measured.
const BATCH_SHARE: u32 = 400;

/// A batch holds at most this many nodes, however large the set: enough for hundreds of threads.
const MAX_BATCH: u32 = 20_000;

/// A batch may hold this many nodes, however small the set: enough for a few threads.
const MIN_BATCH: u32 = 16;

/// Bounds of the parameters. Above them memory or time explode long before the graph improves.
const DEGREE_LIMIT: u32 = 4096;
const LIST_LIMIT: u32 = 1 << 16;

/// Longest list during a build of lists of `max_degree`.
pub(crate) const fn slack_degree(max_degree: u32) -> u32 {
    max_degree + max_degree * SLACK_TENTHS / 10
}

/// Nodes in the largest batch of a build over `count` nodes.
pub(crate) fn max_batch(count: u32) -> u32 {
    (count / BATCH_SHARE)
        .clamp(MIN_BATCH, MAX_BATCH)
        .min(count.max(1))
}

/// Refuses what `accepted` says no to, naming the parameter and what would do.
pub(crate) fn check<T: ToString>(
    accepted: bool,
    name: &'static str,
    value: T,
    expected: &'static str,
) -> Result<(), GraphError> {
    if accepted {
        return Ok(());
    }
    Err(GraphError::Parameter {
        name,
        value: value.to_string(),
        expected,
    })
}

/// Refuses a length of lists that no builder takes.
pub(crate) fn check_degree(name: &'static str, degree: u32) -> Result<(), GraphError> {
    let accepted = (1..=DEGREE_LIMIT).contains(&degree);
    check(accepted, name, degree, "1 to 4096")
}

/// Refuses a tolerance of occlusion that no builder takes.
pub(crate) fn check_alpha(alpha: f32) -> Result<(), GraphError> {
    let accepted = alpha.is_finite() && alpha >= 1.0;
    check(accepted, "alpha", alpha, "a finite number of at least 1")
}

/// Refuses the size of a candidate list that no builder takes.
pub(crate) fn check_list(name: &'static str, size: u32) -> Result<(), GraphError> {
    check((1..=LIST_LIMIT).contains(&size), name, size, "1 to 65536")
}

/// Refuses an entry that is not one of `count` nodes.
pub(crate) const fn check_entry(entry: NodeId, count: u32) -> Result<(), GraphError> {
    if entry.0 < count {
        return Ok(());
    }
    Err(GraphError::EntryOutOfRange { entry, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_a_share_within_bounds() {
        let batches = [1, 10, 1000, 400_000, 2_000_000_000].map(max_batch);
        assert_eq!(batches, [1, 10, 16, 1000, 20_000]);
        assert_eq!([1, 12, 48].map(slack_degree), [1, 15, 62]);
    }
}
