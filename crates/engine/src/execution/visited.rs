//! Which nodes a query has scored, or pages it has seen: a filter that saves work.
//!
//! A node always gets the same key, so the candidate list recognises a node that comes twice, and a
//! node that fell out of the list cannot come back (the list only improves). So this set may
//! forget: its memory is fixed, and once it is three quarters full it stops remembering, which
//! costs repeated scoring and nothing else.

use std::marker::PhantomData;

use crate::error::Result;
use crate::memory::Reservation;
use pageway_types::Number;

const EMPTY: u32 = u32::MAX;

/// Fixed-size set of numbers of one kind.
#[derive(Debug)]
pub(crate) struct Visited<N> {
    slots: Vec<u32>,
    free: usize,
    shift: u32,
    kind: PhantomData<N>,
}

impl<N> Default for Visited<N> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: 0,
            shift: 0,
            kind: PhantomData,
        }
    }
}

impl<N: Number> Visited<N> {
    /// Slots for a query that may score `nodes` nodes: a power of two in a fixed range.
    pub(crate) fn slots_for(nodes: usize) -> usize {
        nodes.clamp(1 << 10, 1 << 18).next_power_of_two()
    }

    /// A set with room for `slots`.
    pub(crate) fn lay_out(slots: usize, reservation: &mut Reservation) -> Result<Self> {
        Ok(Self {
            slots: reservation.room(slots)?,
            ..Self::default()
        })
    }

    /// Forgets everything; `slots` is a power of two.
    pub(crate) fn reset(&mut self, slots: usize) {
        debug_assert!(slots.is_power_of_two());
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        self.free = slots / 4 * 3;
        self.shift = 32 - slots.trailing_zeros();
    }

    /// True when the set remembers a number.
    #[inline]
    pub(crate) fn contains(&self, number: N) -> bool {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = self.start(number);
        loop {
            match self.slots.get(at & mask) {
                Some(slot) if *slot == number.number() => return true,
                None | Some(&EMPTY) => return false,
                Some(_) => at += 1,
            }
        }
    }

    #[inline]
    fn start(&self, number: N) -> usize {
        (number.number().wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    /// True when a number was not seen before, as far as the set remembers.
    #[inline]
    pub(crate) fn insert(&mut self, number: N) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = self.start(number);
        loop {
            let Some(slot) = self.slots.get_mut(at & mask) else {
                return true;
            };
            if *slot == EMPTY {
                if self.free > 0 {
                    *slot = number.number();
                    self.free -= 1;
                }
                return true;
            }
            if *slot == number.number() {
                return false;
            }
            at += 1;
        }
    }
}

impl<N: Number> Visited<N> {
    /// Inserts numbers, and leaves in `new` those that [`Visited::insert`] would call new, each
    /// with its place. Has no branch on that, for nothing predicts it.
    #[inline]
    pub(crate) fn insert_all(
        &mut self,
        numbers: impl ExactSizeIterator<Item = N>,
        new: &mut Vec<(u32, N)>,
    ) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut count = 0;
        new.clear();
        new.resize(numbers.len(), (0, N::of(0)));
        for (at, number) in (0..).zip(numbers) {
            let start = self.start(number) & mask;
            let is_new = match self.slots.get_mut(start) {
                Some(slot) if self.free > 0 && (*slot == EMPTY || *slot == number.number()) => {
                    let is_new = *slot == EMPTY;
                    *slot = number.number();
                    self.free -= usize::from(is_new);
                    is_new
                }
                _ => self.insert(number),
            };
            if let Some(place) = new.get_mut(count) {
                *place = (at, number);
            }
            count += usize::from(is_new);
        }
        new.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pageway_types::{NodeId, SplitMix64};

    use super::*;

    #[test]
    fn remembers_exactly_until_three_quarters_full() {
        let mut visited = Visited::default();
        visited.reset(1024);
        let mut oracle = HashSet::new();
        let mut node = 1u32;
        while oracle.len() < 768 {
            node = node.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % 100_000;
            assert_eq!(visited.insert(NodeId(node)), oracle.insert(node), "{node}");
        }
        assert!(visited.insert(NodeId(200_000)));
        assert!(visited.insert(NodeId(200_000)), "a full set forgets");
        assert!(!visited.insert(NodeId(node)), "what it knows it keeps");
        assert!(visited.contains(NodeId(node)) && !visited.contains(NodeId(200_000)));
        visited.reset(2048);
        assert!(visited.insert(NodeId(node)));
    }

    #[test]
    fn many_are_inserted_as_one_by_one() {
        let (mut one, mut many) = (Visited::default(), Visited::default());
        one.reset(1024);
        many.reset(1024);
        let mut random = SplitMix64::new(3);
        let mut new = Vec::new();
        for length in 0..60 {
            let nodes: Vec<NodeId> = (0..length)
                .map(|_| NodeId(random.below(3000) as u32))
                .collect();
            let wanted = (0..).zip(&nodes).filter(|(_, node)| one.insert(**node));
            let wanted: Vec<(u32, NodeId)> = wanted.map(|(at, node)| (at, *node)).collect();
            many.insert_all(nodes.iter().copied(), &mut new);
            assert_eq!(new, wanted);
        }
        assert_eq!((one.free, &one.slots), (0, &many.slots));
    }
}
