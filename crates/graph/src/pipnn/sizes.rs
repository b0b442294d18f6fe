//! What follows from the parameters of a build, and bounds its buffers.

use super::spec::PiPnnSpec;

/// Groups of the second level that each member of a group goes to. Further levels only cut what
/// has outgrown a leaf: their members go to one group.
const SECOND_FANOUT: usize = 2;

/// The mean leaf is a leaf divided by this, so that few groups outgrow it.
const LEAF_SHARE: usize = 2;

/// Groups smaller than a leaf divided by this share one.
const LEAST_SHARE: usize = 8;

/// Leaders of one group.
const LEADERS: std::ops::RangeInclusive<usize> = 16..=1000;

/// Reservoirs hold the max degree times this. With one and a half in its place a build takes a
/// tenth less time, and searches over vectors of text take a tenth more hops for their recall.
const RESERVOIR_FACTOR: u32 = 2;

/// Where nodes have lists already, what is missing are neighbours of other graphs: these parts of
/// the fanout find them, and reservoirs hold no more than a list.
const JOINED_FANOUT: (u32, u32) = (2, 3);

/// Sizes of a build over `count` nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafSizes {
    /// Most members of a leaf.
    pub(super) leaf: usize,
    /// Nearest that a node takes from a leaf.
    pub(super) knn: usize,
    /// Groups of the first level that each node goes to.
    pub(super) fanout: usize,
    /// Leaders of a group, at most.
    pub(super) max_leaders: usize,
    /// Candidates of a node.
    pub(super) reservoir: usize,
    /// Components of an embedded row.
    pub(super) dimension: usize,
}

impl LeafSizes {
    pub(super) fn new(count: u64, dimension: usize, spec: &PiPnnSpec) -> Self {
        Self::of(
            (count, dimension),
            spec,
            (spec.fanout, spec.max_degree * RESERVOIR_FACTOR),
        )
    }

    /// Of graphs that are joined.
    pub(super) fn of_joined(count: u64, dimension: usize, spec: &PiPnnSpec) -> Self {
        let (of, all) = JOINED_FANOUT;
        let fanout = (spec.fanout * of).div_ceil(all);
        Self::of((count, dimension), spec, (fanout, spec.max_degree))
    }

    fn of(
        (count, dimension): (u64, usize),
        spec: &PiPnnSpec,
        (fanout, reservoir): (u32, u32),
    ) -> Self {
        let (leaf, fanout) = (spec.leaf as usize, fanout as usize);
        let leaves = count as f64 * (fanout * SECOND_FANOUT * LEAF_SHARE) as f64 / leaf as f64;
        // Twice the square root: the groups of the second level differ in size.
        let max_leaders = (2.0 * leaves.sqrt()) as usize;
        Self {
            leaf,
            knn: spec.knn as usize,
            fanout,
            max_leaders: max_leaders.clamp(*LEADERS.start(), *LEADERS.end()),
            reservoir: reservoir as usize,
            dimension,
        }
    }

    /// Groups that a member of a group of some level goes to.
    pub(super) const fn fanout(&self, level: usize) -> usize {
        match level {
            0 => self.fanout,
            1 => SECOND_FANOUT,
            _ => 1,
        }
    }

    /// Leaders of a group of so many members. Those of the first level are the square root of the
    /// leaves: it costs least where both levels have as many.
    pub(super) fn leaders(&self, members: usize, level: usize) -> usize {
        let most = self.max_leaders / if level == 0 { 2 } else { 1 };
        let wanted = (members * self.fanout(level) * LEAF_SHARE).div_ceil(self.leaf);
        wanted.clamp(2, most).min(members)
    }

    /// Members of a group that is not merged with others.
    pub(super) const fn least_group(&self) -> usize {
        self.leaf / LEAST_SHARE
    }

    /// Leaves that each node is in, at most.
    pub(super) const fn copies(&self) -> usize {
        self.fanout * SECOND_FANOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_reach_the_leaves() {
        let spec = PiPnnSpec::new(32, 1.2, 0);
        for count in [20_000, 1_000_000, 100_000_000] {
            let sizes = LeafSizes::new(count, 8, &spec);
            let first = sizes.leaders(count as usize, 0);
            let group = count as usize * sizes.fanout(0) / first;
            let second = sizes.leaders(group, 1);
            let leaf = group * sizes.fanout(1) / second;
            assert!(first <= 500 && second <= 1000);
            assert!(leaf <= sizes.leaf || count > 10_000_000, "{count}: {leaf}");
        }
    }
}
