//! The best nodes that a search has seen, sorted, each marked when it has been expanded.
//!
//! An entry is one 64-bit key: the distance in an order-preserving form, the node, and the mark in
//! the lowest bit. Keys compare like candidates (distance, then node), so finding a place costs
//! one integer comparison per step and inserting moves eight bytes per entry.
//!
//! Invariants: keys ascend strictly; there are at most `limit` of them; every entry before
//! `cursor` is expanded.
#![expect(
    clippy::indexing_slicing,
    reason = "positions are bounded by the list itself; a slip must stop"
)]

use pageway_types::{Candidate, NodeId};

use crate::error::{GraphError, try_filled};

const EXPANDED: u64 = 1;
const SIGN: u32 = 1 << 31;

/// A sorted list of at most `limit` candidates.
pub(crate) struct CandidateList {
    keys: Vec<u64>,
    length: usize,
    limit: usize,
    cursor: usize,
}

impl CandidateList {
    pub(crate) fn new(limit: usize) -> Result<Self, GraphError> {
        let keys = try_filled(limit, 0, "candidate list")?;
        Ok(Self {
            keys,
            length: 0,
            limit,
            cursor: 0,
        })
    }

    /// Bytes that `new` with the same limit takes.
    pub(crate) fn bytes(limit: u64) -> u64 {
        limit * size_of::<u64>() as u64
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.cursor = 0;
    }

    /// Empties the list and keeps at most `limit` candidates from now on: one at least, and no
    /// more than it was made for.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.clear();
        self.limit = limit.min(self.keys.len()).max(1);
    }

    /// Offers nodes that were never offered before.
    #[inline]
    pub(crate) fn offer_many(&mut self, nodes: &[NodeId], distances: &[f32]) {
        for (&node, &distance) in nodes.iter().zip(distances) {
            self.offer(key_of(node, distance));
        }
    }

    #[inline]
    fn offer(&mut self, key: u64) {
        let full = self.length == self.limit;
        if full && key > self.keys[self.length - 1] {
            return;
        }
        let place = self.keys[..self.length].partition_point(|&other| other < key);
        let last = self.length - usize::from(full);
        self.keys.copy_within(place..last, place + 1);
        self.keys[place] = key;
        self.length = last + 1;
        self.cursor = self.cursor.min(place);
    }

    /// The nearest candidate that is not expanded yet; marks it as expanded.
    #[inline]
    pub(crate) fn expand_next(&mut self) -> Option<Candidate> {
        let rest = &mut self.keys[self.cursor..self.length];
        let skip = rest.iter().position(|key| key & EXPANDED == 0)?;
        let key = &mut rest[skip];
        *key |= EXPANDED;
        self.cursor += skip + 1;
        Some(candidate_of(*key))
    }

    /// The `count` nearest candidates, nearest first.
    pub(crate) fn nearest(&self, count: usize) -> impl Iterator<Item = Candidate> {
        self.keys[..self.length]
            .iter()
            .take(count)
            .map(|&key| candidate_of(key))
    }
}

/// Distance, node and a clear mark. The node is below 2^31.
#[inline]
fn key_of(node: NodeId, distance: f32) -> u64 {
    let bits = distance.to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    u64::from(ordered) << 32 | u64::from(node.0) << 1
}

#[inline]
fn candidate_of(key: u64) -> Candidate {
    let ordered = (key >> 32) as u32;
    let bits = if ordered & SIGN == 0 {
        !ordered
    } else {
        ordered & !SIGN
    };
    Candidate::new(NodeId(key as u32 >> 1), f32::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted vector cut at the limit, expanding now and then.
        #[test]
        fn behaves_like_sort_and_cut(
            offers in prop::collection::vec((-4_i8..4, any::<bool>()), 1..60),
            limit in 1_usize..8,
        ) {
            let mut list = CandidateList::new(limit).expect("memory");
            let mut model: Vec<(Candidate, bool)> = Vec::new();
            for (id, (distance, expand)) in offers.into_iter().enumerate() {
                let candidate = Candidate::new(NodeId(id as u32), f32::from(distance) / 3.0);
                list.offer_many(&[candidate.node], &[candidate.distance]);
                model.push((candidate, false));
                model.sort();
                model.truncate(limit);
                if expand {
                    let next = model.iter_mut().find(|(_, expanded)| !expanded);
                    let expected = next.map(|entry| { entry.1 = true; entry.0 });
                    prop_assert_eq!(list.expand_next(), expected);
                }
                let all: Vec<_> = list.nearest(limit).collect();
                prop_assert_eq!(all, model.iter().map(|entry| entry.0).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn keys_keep_the_whole_node_and_distance() {
        for distance in [-1.5_f32, -0.0, 0.0, f32::MIN_POSITIVE, 7.25, f32::MAX] {
            let node = NodeId((1 << 31) - 1);
            let back = candidate_of(key_of(node, distance));
            assert_eq!(
                (back.node, back.distance.to_bits()),
                (node, distance.to_bits())
            );
        }
    }
}
