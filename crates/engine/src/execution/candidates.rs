//! The candidate list: the `list_size` (L) best nodes seen so far by estimated distance, and which
//! of them were expanded.
//!
//! Invariant: keys ascend strictly. A key is the distance in sortable bits above the node id, so
//! the list after a set of insertions does not depend on their order, and a node that is offered
//! twice is recognised by its key.

use pageway_types::NodeId;

/// Sorted, bounded candidates.
#[derive(Debug, Default)]
pub(crate) struct CandidateList {
    keys: Vec<u64>,
    expanded: Vec<bool>,
    capacity: usize,
    cursor: usize,
}

/// Distance and node as one integer that sorts by distance (total order), then by node.
#[inline]
pub(crate) fn sort_key(distance: f32, node: NodeId) -> u64 {
    let bits = distance.to_bits();
    let sortable = bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    u64::from(sortable) << 32 | u64::from(node.0)
}

/// The distance inside a key.
#[inline]
pub(crate) fn key_distance(key: u64) -> f32 {
    let sortable = (key >> 32) as u32;
    f32::from_bits(
        sortable
            ^ if sortable >> 31 == 1 {
                1 << 31
            } else {
                u32::MAX
            },
    )
}

impl CandidateList {
    /// Bytes a list of `capacity` holds.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * (size_of::<u64>() + size_of::<bool>())
    }

    /// Empties the list and sets its size.
    pub(crate) fn reset(&mut self, capacity: usize) {
        self.keys.clear();
        self.expanded.clear();
        self.keys.reserve_exact(capacity);
        self.expanded.reserve_exact(capacity);
        self.capacity = capacity;
        self.cursor = 0;
    }

    /// Offers a node; false when it is there already or too far.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId, distance: f32) -> bool {
        let key = sort_key(distance, node);
        if self.keys.len() >= self.capacity {
            match self.keys.last() {
                Some(worst) if key < *worst => {}
                _ => return false,
            }
        }
        let at = self.keys.partition_point(|other| *other < key);
        if self.keys.get(at) == Some(&key) {
            return false;
        }
        if self.keys.len() >= self.capacity {
            self.keys.pop();
            self.expanded.pop();
        }
        self.keys.insert(at, key);
        self.expanded.insert(at, false);
        self.cursor = self.cursor.min(at);
        true
    }

    /// Takes the best node that was not expanded yet, and marks it expanded.
    #[inline]
    pub(crate) fn pop_unexpanded(&mut self) -> Option<NodeId> {
        while let Some(expanded) = self.expanded.get_mut(self.cursor) {
            let at = self.cursor;
            self.cursor += 1;
            if !std::mem::replace(expanded, true) {
                return self.keys.get(at).map(|key| NodeId(*key as u32));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_sort_as_distances_do() {
        let distances = [
            f32::NEG_INFINITY,
            -3.5,
            -0.0,
            0.0,
            1e-30,
            2.0,
            f32::INFINITY,
        ];
        for pair in distances.windows(2) {
            assert!(sort_key(pair[0], NodeId(9)) < sort_key(pair[1], NodeId(1)));
        }
        for distance in distances {
            assert_eq!(
                key_distance(sort_key(distance, NodeId(7))).to_bits(),
                distance.to_bits()
            );
        }
    }

    proptest! {
        #[test]
        fn holds_the_best_whatever_the_order(
            mut offers in prop::collection::vec((0u32..50, 0u8..20), 0..100),
            capacity in 1usize..20,
            rotation in 0usize..100,
        ) {
            // A node has one distance, as in a query.
            let distance = |node: u32, salt: u8| f32::from(node as u8 % 7) + f32::from(salt) * 0.0;
            let mut expected: Vec<u64> =
                offers.iter().map(|(n, s)| sort_key(distance(*n, *s), NodeId(*n))).collect();
            expected.sort_unstable();
            expected.dedup();
            expected.truncate(capacity);
            if !offers.is_empty() {
                let by = rotation % offers.len();
                offers.rotate_left(by);
            }
            let mut list = CandidateList::default();
            list.reset(capacity);
            for (node, salt) in offers {
                list.insert(NodeId(node), distance(node, salt));
            }
            prop_assert_eq!(&list.keys, &expected);
            let order: Vec<u32> =
                std::iter::from_fn(|| list.pop_unexpanded()).map(|n| n.0).collect();
            let wanted: Vec<u32> = expected.iter().map(|key| *key as u32).collect();
            prop_assert_eq!(order, wanted);
        }
    }

    #[test]
    fn a_better_candidate_comes_next_and_none_comes_twice() {
        let mut list = CandidateList::default();
        list.reset(3);
        list.insert(NodeId(1), 1.0);
        list.insert(NodeId(2), 2.0);
        assert_eq!(list.pop_unexpanded(), Some(NodeId(1)));
        assert!(list.insert(NodeId(0), 0.5));
        assert!(!list.insert(NodeId(1), 1.0));
        assert_eq!(list.pop_unexpanded(), Some(NodeId(0)));
        assert_eq!(list.pop_unexpanded(), Some(NodeId(2)));
        assert_eq!(list.pop_unexpanded(), None);
    }
}
