//! HashPrune: candidates of all nodes, as they come, in a fixed number of slots per node.
//!
//! A candidate has a hash: on which side of each of twelve random planes through the node it lies.
//! Of candidates with one hash, which lie in one direction, the nearest stays; when all slots are
//! taken the farthest goes.
//!
//! What is left in the end are the nearest of the nearest per hash, whatever the order of the
//! offers: a candidate that belongs to them is refused only while as many others, all nearer and
//! with hashes of their own, are there, and these would still be nearer in the end.
//!
//! ```text
//! slot   20 bits of distance | 32 bits of node | 12 bits of hash
//! ```
//! Compared as one number, slots are in the order of distances, then of nodes.
//!
//! Invariants: the slots of a node ascend strictly, empty ones last; no two hashes are equal.
#![expect(
    clippy::indexing_slicing,
    reason = "reservoirs are cut by their capacity; a slip must stop"
)]

use std::sync::{Mutex, PoisonError};

use pageway_types::NodeId;

use crate::error::{GraphError, try_filled, try_reserved};

/// Bits of a hash: one per plane.
pub(super) const HASH_BITS: usize = 12;

const HASH_MASK: u32 = (1 << HASH_BITS) - 1;

/// Lowest bits of a distance that a slot has no room for; its sign, which is 0, goes too.
const DROPPED_BITS: u32 = 11;

/// Nodes under one lock. Threads meet at one rarely, and locks take no space worth counting.
const NODES_PER_LOCK: usize = 64;

/// A candidate as it is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot(u64);

impl Slot {
    /// No candidate; behind all others.
    pub(super) const EMPTY: Self = Self(u64::MAX);

    pub(super) fn new(distance: f32, node: NodeId, hash: u16) -> Self {
        let distance = u64::from(distance.max(0.0).to_bits() >> DROPPED_BITS);
        Self((distance << u32::BITS | u64::from(node.0)) << HASH_BITS | u64::from(hash))
    }

    pub(super) const fn node(self) -> NodeId {
        NodeId((self.0 >> HASH_BITS) as u32)
    }

    const fn has_hash_of(self, other: Self) -> bool {
        (self.0 as u32 ^ other.0 as u32) & HASH_MASK == 0
    }
}

/// The slots of all nodes.
pub(super) struct Reservoirs {
    capacity: usize,
    blocks: Vec<Mutex<Vec<Slot>>>,
}

impl Reservoirs {
    /// Empty ones with `capacity` slots each, at least 1.
    pub(super) fn new(count: usize, capacity: usize) -> Result<Self, GraphError> {
        let locks = count.div_ceil(NODES_PER_LOCK);
        let mut blocks = try_reserved(locks, "reservoirs")?;
        for _ in 0..locks {
            let slots = try_filled(NODES_PER_LOCK * capacity, Slot::EMPTY, "reservoirs")?;
            blocks.push(Mutex::new(slots));
        }
        Ok(Self { capacity, blocks })
    }

    /// Slots of each node.
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that `new` with the same arguments takes.
    pub(super) fn bytes(count: u64, capacity: usize) -> u64 {
        let slots = NODES_PER_LOCK * capacity * size_of::<Slot>();
        let block = (slots + size_of::<Mutex<Vec<Slot>>>()) as u64;
        count.div_ceil(NODES_PER_LOCK as u64).saturating_mul(block)
    }

    /// Offers candidates to a node.
    pub(super) fn offer(&self, node: NodeId, candidates: &[Slot]) {
        self.with(node, |slots| {
            for &candidate in candidates {
                keep(slots, candidate);
            }
        });
    }

    /// Replaces `out` by the candidates of a node, nearest first.
    pub(super) fn copy_to(&self, node: NodeId, out: &mut Vec<NodeId>) {
        self.with(node, |slots| {
            let taken = slots.iter().take_while(|slot| **slot != Slot::EMPTY);
            out.clear();
            out.extend(taken.map(|slot| slot.node()));
        });
    }

    /// Whether a node has candidates, but fewer than `few`, and the least number of them all: of
    /// nodes that are one another's only candidates one is.
    pub(super) fn leads_few(&self, node: NodeId, few: usize) -> bool {
        self.with(node, |slots| {
            let count = slots.partition_point(|slot| *slot != Slot::EMPTY);
            let mut candidates = slots[..count].iter();
            (1..few).contains(&count) && candidates.all(|slot| slot.node() > node)
        })
    }

    fn with<T>(&self, node: NodeId, work: impl FnOnce(&mut [Slot]) -> T) -> T {
        let (block, at) = (node.index() / NODES_PER_LOCK, node.index() % NODES_PER_LOCK);
        let block = self.blocks[block].lock();
        let mut block = block.unwrap_or_else(PoisonError::into_inner);
        work(&mut block[at * self.capacity..][..self.capacity])
    }
}

/// Puts a candidate into sorted slots: in place of one with its hash that is farther, or else of
/// the last.
#[inline]
fn keep(slots: &mut [Slot], candidate: Slot) {
    let last = slots.len() - 1;
    if candidate >= slots[last] {
        return;
    }
    let rival = find_rival(slots, candidate).unwrap_or(last);
    if candidate >= slots[rival] {
        return;
    }
    let place = slots[..rival].partition_point(|slot| *slot < candidate);
    slots.copy_within(place..rival, place + 1);
    slots[place] = candidate;
}

/// The slot with the hash of a candidate; an empty one has the hash of ones, and may be taken for
/// it. Many slots are compared before the first branch.
#[inline]
fn find_rival(slots: &[Slot], candidate: Slot) -> Option<usize> {
    const AT_ONCE: usize = 16;
    for (block, slots) in slots.chunks(AT_ONCE).enumerate() {
        let known = |known: bool, slot: &Slot| known | slot.has_hash_of(candidate);
        if slots.iter().fold(false, known) {
            let at = slots.iter().position(|slot| slot.has_hash_of(candidate))?;
            return Some(block * AT_ONCE + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against the definition: the nearest per hash, and the nearest of those.
        #[test]
        fn content_does_not_depend_on_the_order_of_offers(
            offers in prop::collection::vec((0_u8..20, 0_u32..9, 0_u16..12), 0..60),
            capacity in 1_usize..20,
        ) {
            let slot = |&(distance, node, hash): &(u8, u32, u16)| {
                // The last hash is that of an empty slot.
                let hash = if hash == 11 { HASH_MASK as u16 } else { hash };
                Slot::new(f32::from(distance) / 8.0, NodeId(node), hash)
            };
            let mut slots: Vec<Slot> = offers.iter().map(slot).collect();
            let mut best: BTreeMap<u64, Slot> = BTreeMap::new();
            for &slot in &slots {
                let kept = best.entry(slot.0 & u64::from(HASH_MASK)).or_insert(slot);
                *kept = slot.min(*kept);
            }
            let mut expected: Vec<Slot> = best.into_values().collect();
            expected.sort();
            let expected: Vec<NodeId> =
                expected.iter().take(capacity).map(|slot| slot.node()).collect();
            for _ in 0..2 {
                let reservoirs = Reservoirs::new(70, capacity).expect("memory");
                reservoirs.offer(NodeId(66), &slots);
                let mut found = vec![NodeId(7)];
                reservoirs.copy_to(NodeId(66), &mut found);
                prop_assert_eq!(&found, &expected);
                reservoirs.copy_to(NodeId(65), &mut found);
                prop_assert!(found.is_empty());
                slots.reverse();
            }
        }
    }

    #[test]
    fn one_node_of_a_few_leads_them() {
        let reservoirs = Reservoirs::new(8, 6).expect("memory");
        let know = |node: u32, others: &[u32]| {
            let slot = |other: &u32| Slot::new(0.0, NodeId(*other), *other as u16);
            let slots: Vec<Slot> = others.iter().map(slot).collect();
            reservoirs.offer(NodeId(node), &slots);
        };
        know(2, &[3, 5]);
        know(3, &[2, 5]);
        know(5, &[2, 3]);
        know(1, &[2, 3, 4, 5]);
        let leaders = (0..8).filter(|node| reservoirs.leads_few(NodeId(*node), 4));
        assert_eq!(leaders.collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn slots_keep_the_node_and_the_order_of_distances() {
        let node = NodeId((1 << 31) - 1);
        let distances = [0.0, 1e-30, 0.5, 1.0, 1.001, 7.0, 1e30, f32::MAX];
        let slots = distances.map(|distance| Slot::new(distance, node, 5));
        assert!(slots.is_sorted_by(|a, b| a < b));
        assert!(
            slots
                .iter()
                .all(|slot| slot.node() == node && *slot < Slot::EMPTY)
        );
        assert_eq!(Slot::new(-1e-9, node, 5), slots[0]);
    }
}
