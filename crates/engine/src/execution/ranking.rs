//! The answer in the making: the `k` best nodes by exact distance, with what a search returns for
//! each.

use pageway_types::NodeId;

use super::candidates::{key_distance, sort_key};

/// One result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Neighbor {
    pub(crate) node: NodeId,
    pub(crate) user_id: u64,
    pub(crate) distance: f32,
}

impl Neighbor {
    /// Fills up the row of a query that found fewer than k.
    pub(crate) const NONE: Self = Self {
        node: NodeId(u32::MAX),
        user_id: u64::MAX,
        distance: f32::INFINITY,
    };
}

/// Sorted, bounded results.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    best: Vec<(u64, u64)>,
    capacity: usize,
}

impl Ranking {
    /// Bytes a ranking of `k` holds.
    pub(crate) const fn bytes(k: usize) -> usize {
        k * size_of::<(u64, u64)>()
    }

    /// Empties the ranking and sets its size.
    pub(crate) fn reset(&mut self, k: usize) {
        self.best.clear();
        self.best.reserve_exact(k);
        self.capacity = k;
    }

    /// Offers a node with its exact distance. A node may be offered again (a page read twice): it
    /// counts once.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId, distance: f32, user_id: u64) {
        let key = sort_key(distance, node);
        let at = self.best.partition_point(|(other, _)| *other < key);
        if at >= self.capacity || self.best.get(at).is_some_and(|(other, _)| *other == key) {
            return;
        }
        if self.best.len() >= self.capacity {
            self.best.pop();
        }
        self.best.insert(at, (key, user_id));
    }

    /// The neighbours, nearest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Neighbor> + '_ {
        self.best.iter().map(|(key, user_id)| Neighbor {
            node: NodeId(*key as u32),
            user_id: *user_id,
            distance: key_distance(*key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_k_nearest_once_each() {
        let mut ranking = Ranking::default();
        ranking.reset(2);
        for (node, distance) in [(5, 3.0), (1, 2.0), (1, 2.0), (9, 1.0), (4, 2.0)] {
            ranking.insert(NodeId(node), distance, u64::from(node) + 100);
        }
        let found: Vec<_> = ranking
            .iter()
            .map(|n| (n.node.0, n.user_id, n.distance))
            .collect();
        assert_eq!(found, [(9, 109, 1.0), (1, 101, 2.0)]);
        ranking.reset(1);
        assert_eq!(ranking.iter().len(), 0);
    }
}
