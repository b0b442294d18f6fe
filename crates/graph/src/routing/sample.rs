//! A sample of the nodes of a set.

use pageway_types::{NodeId, SplitMix64};

/// `sample` of `count` nodes, at least one, or all: one drawn from each of as many runs of ids
/// whose lengths differ by one at most. Ascending and distinct.
pub(crate) fn sample_nodes(count: u32, sample: u32, seed: u64) -> Vec<NodeId> {
    let runs = u64::from(sample.max(1).min(count));
    let begin = |run: u64| run * u64::from(count) / runs.max(1);
    let mut random = SplitMix64::new(seed);
    (0..runs)
        .map(|run| begin(run) + random.below(begin(run + 1) - begin(run)))
        .map(|node| NodeId(node as u32))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_of_ids_gives_one_node() {
        for (count, sample) in [(10, 3), (1000, 999), (u32::MAX, 4), (7, 7), (1, 1)] {
            let nodes = sample_nodes(count, sample, 3);
            assert_eq!(nodes.len(), sample as usize);
            assert_eq!(nodes, sample_nodes(count, sample, 3));
            for (run, node) in (0..).zip(&nodes) {
                let end = |run: u64| run * u64::from(count) / u64::from(sample);
                assert!((end(run)..end(run + 1)).contains(&u64::from(node.0)));
            }
        }
        assert_ne!(sample_nodes(1000, 10, 1), sample_nodes(1000, 10, 2));
    }

    #[test]
    fn a_sample_is_never_larger_than_the_set_or_empty() {
        assert_eq!(sample_nodes(3, 9, 0), [NodeId(0), NodeId(1), NodeId(2)]);
        assert_eq!(sample_nodes(3, 0, 0).len(), 1);
        assert_eq!(sample_nodes(0, 9, 0), []);
    }
}
