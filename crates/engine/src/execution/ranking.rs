//! The answer in the making: the best nodes by exact distance, equally near ones by id, with what a
//! search returns for each.

use pageway_types::NodeId;

use super::key::{key_distance, key_node, sort_key};
use crate::error::Result;
use crate::layout::VectorPart;
use crate::memory::Reservation;

/// One result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Neighbor {
    pub(crate) node: NodeId,
    pub(crate) row: u32,
    pub(crate) user_id: u64,
    pub(crate) distance: f32,
    /// By how much it may be off; 0 where it is exact.
    pub(crate) error: f32,
}

/// What answers are sorted by: distance in total order, id, number.
pub(crate) type AnswerOrder = (u32, u64, u32);

/// The place of an answer among others, nearest first and equally near ones by id.
#[inline]
pub(crate) fn answer_order(distance: f32, id: u64, number: u32) -> AnswerOrder {
    (
        (sort_key(distance, NodeId(number)) >> 32) as u32,
        id,
        number,
    )
}

impl Neighbor {
    pub(super) fn order(&self) -> AnswerOrder {
        answer_order(self.distance, self.user_id, self.node.0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Ranked {
    key: u64,
    /// By how much the distance may be off.
    error: f32,
    row: u32,
    user_id: u64,
}

impl Ranked {
    fn order(&self) -> AnswerOrder {
        ((self.key >> 32) as u32, self.user_id, self.key as u32)
    }
}

/// Sorted, bounded results within a radius.
#[derive(Debug)]
pub(crate) struct Ranking {
    best: Vec<Ranked>,
    capacity: usize,
    results: usize,
    radius: f32,
}

impl Default for Ranking {
    fn default() -> Self {
        Self {
            best: Vec::new(),
            capacity: 0,
            results: 0,
            radius: f32::INFINITY,
        }
    }
}

impl Ranking {
    /// A ranking with room for `capacity`.
    pub(crate) fn lay_out(capacity: usize, reservation: &mut Reservation) -> Result<Self> {
        Ok(Self {
            best: reservation.room(capacity)?,
            ..Self::default()
        })
    }

    /// Empties the ranking, sets how many it holds and how many of them are results, and the
    /// distance beyond which nothing counts.
    pub(crate) fn reset(&mut self, (capacity, results): (usize, usize), radius: f32) {
        self.best.clear();
        self.best.reserve_exact(capacity);
        self.capacity = capacity;
        self.results = results;
        self.radius = radius;
    }

    /// Offers a node with its distance, and by how much that may be off. A node may be offered
    /// again (a page read twice): it counts once at one distance.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        node: NodeId,
        (distance, error): (f32, f32),
        vector: &VectorPart<'_>,
    ) {
        if distance - error > self.radius {
            return;
        }
        let key = sort_key(distance, node);
        let (row, user_id) = (vector.row, vector.user_id);
        let entry = Ranked {
            key,
            error,
            row,
            user_id,
        };
        let order = entry.order();
        let at = self.best.partition_point(|other| other.order() < order);
        if at >= self.capacity || self.best.get(at).is_some_and(|other| other.key == key) {
            return;
        }
        if self.best.len() >= self.capacity {
            self.best.pop();
        }
        self.best.insert(at, entry);
    }

    /// Results so far.
    pub(crate) fn len(&self) -> usize {
        self.best.len().min(self.results)
    }

    /// Whether a node is among those held.
    pub(super) fn holds(&self, node: NodeId) -> bool {
        self.best.iter().any(|entry| key_node(entry.key) == node)
    }

    /// All that is held, best first: distance, and by how much it may be off.
    pub(super) fn intervals(&self) -> impl Iterator<Item = (f32, f32)> {
        let entries = self.best.iter();
        entries.map(|entry| (key_distance(entry.key), entry.error))
    }

    /// Takes a node out, so that it can be offered at another distance.
    pub(super) fn forget(&mut self, node: NodeId) {
        let mut held = self.best.iter();
        if let Some(at) = held.position(|entry| key_node(entry.key) == node) {
            self.best.remove(at);
        }
    }

    /// Takes out those that `leaves` wants, which is shown place and node.
    pub(super) fn remove(&mut self, mut leaves: impl FnMut(usize, NodeId) -> bool) {
        let mut at = 0;
        self.best.retain(|entry| {
            at += 1;
            !leaves(at - 1, key_node(entry.key))
        });
    }

    /// The neighbours, nearest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Neighbor> + '_ {
        let results = self.best.iter().take(self.results);
        results.map(|entry| Neighbor {
            node: key_node(entry.key),
            row: entry.row,
            user_id: entry.user_id,
            distance: key_distance(entry.key),
            error: entry.error,
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
        ranking.insert(NodeId(node), (distance, 0.0), &vector);
    }

    #[test]
    fn what_is_offered_again_at_another_distance_is_forgotten_first() {
        let mut ranking = Ranking::default();
        ranking.reset((4, 3), f32::INFINITY);
        for (node, distance) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
            offer(&mut ranking, node, distance);
        }
        ranking.forget(NodeId(1));
        ranking.forget(NodeId(9));
        offer(&mut ranking, 1, 2.5);
        let found: Vec<_> = ranking.iter().map(|n| (n.node.0, n.distance)).collect();
        assert_eq!(found, [(2, 2.0), (1, 2.5), (3, 3.0)]);
    }

    #[test]
    fn keeps_the_k_nearest_once_each() {
        let mut ranking = Ranking::default();
        ranking.reset((2, 2), f32::INFINITY);
        for (node, distance) in [(5, 3.0), (1, 2.0), (1, 2.0), (9, 1.0), (4, 2.0)] {
            offer(&mut ranking, node, distance);
        }
        let found: Vec<_> = ranking
            .iter()
            .map(|n| (n.node.0, n.row, n.user_id, n.distance))
            .collect();
        assert_eq!(found, [(9, 19, 109, 1.0), (1, 11, 101, 2.0)]);
        ranking.reset((1, 1), f32::INFINITY);
        assert_eq!(ranking.len(), 0);
    }

    #[test]
    fn nothing_beyond_the_radius_counts() {
        let mut ranking = Ranking::default();
        ranking.reset((10, 10), 2.0);
        for (node, distance) in [(1, 2.5), (2, 2.0), (3, 1.0)] {
            offer(&mut ranking, node, distance);
        }
        let found: Vec<_> = ranking.iter().map(|n| n.node.0).collect();
        assert_eq!(found, [3, 2]);
    }
}
