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
            if *slot == number.number() {
                return false;
            }
            if *slot == EMPTY {
                if self.free > 0 {
                    *slot = number.number();
                    self.free -= 1;
                }
                return true;
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pageway_types::NodeId;

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
}
