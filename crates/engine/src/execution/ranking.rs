//! The answer in the making: the best nodes by exact distance, with what a search returns for each.

use pageway_types::NodeId;

use super::candidates::{key_distance, key_node, sort_key};
use crate::layout::VectorPart;

/// One result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Neighbor {
    pub(crate) node: NodeId,
    pub(crate) row: u32,
    pub(crate) user_id: u64,
    pub(crate) distance: f32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    row: u32,
    user_id: u64,
}

/// Sorted, bounded results within a radius.
#[derive(Debug)]
pub(crate) struct Ranking {
    best: Vec<Entry>,
    capacity: usize,
    radius: f32,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            best: Vec::new(),
            capacity: 0,
            radius: f32::INFINITY,
        }
    }
}

impl Ranking {
    /// Bytes a ranking of `capacity` holds.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<Entry>()
    }

    /// Empties the ranking, sets its size, and the distance beyond which nothing counts.
    pub(crate) fn reset(&mut self, capacity: usize, radius: f32) {
        self.best.clear();
        self.best.reserve_exact(capacity);
        self.capacity = capacity;
        self.radius = radius;
    }

    /// Offers a node with its exact distance. A node may be offered again (a page read twice): it
    /// counts once.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId, distance: f32, vector: &VectorPart<'_>) {
        if distance > self.radius {
            return;
        }
        let key = sort_key(distance, node);
        let at = self.best.partition_point(|other| other.key < key);
        if at >= self.capacity || self.best.get(at).is_some_and(|other| other.key == key) {
            return;
        }
        if self.best.len() >= self.capacity {
            self.best.pop();
        }
        let (row, user_id) = (vector.row, vector.user_id);
        self.best.insert(at, Entry { key, row, user_id });
    }

    /// Results so far.
    pub(crate) fn len(&self) -> usize {
        self.best.len()
    }

    /// The neighbours, nearest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Neighbor> + '_ {
        self.best.iter().map(|entry| Neighbor {
            node: key_node(entry.key),
            row: entry.row,
            user_id: entry.user_id,
            distance: key_distance(entry.key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(ranking: &mut Ranking, node: u32, distance: f32) {
        let vector = VectorPart {
            bytes: &[],
            row: node + 10,
            user_id: u64::from(node) + 100,
        };
        ranking.insert(NodeId(node), distance, &vector);
    }

    #[test]
    fn keeps_the_k_nearest_once_each() {
        let mut ranking = Ranking::default();
        ranking.reset(2, f32::INFINITY);
        for (node, distance) in [(5, 3.0), (1, 2.0), (1, 2.0), (9, 1.0), (4, 2.0)] {
            offer(&mut ranking, node, distance);
        }
        let found: Vec<_> = ranking
            .iter()
            .map(|n| (n.node.0, n.row, n.user_id, n.distance))
            .collect();
        assert_eq!(found, [(9, 19, 109, 1.0), (1, 11, 101, 2.0)]);
        ranking.reset(1, f32::INFINITY);
        assert_eq!(ranking.len(), 0);
    }

    #[test]
    fn nothing_beyond_the_radius_counts() {
        let mut ranking = Ranking::default();
        ranking.reset(10, 2.0);
        for (node, distance) in [(1, 2.5), (2, 2.0), (3, 1.0)] {
            offer(&mut ranking, node, distance);
        }
        let found: Vec<_> = ranking.iter().map(|n| n.node.0).collect();
        assert_eq!(found, [3, 2]);
    }
}
