//! Pages that a query keeps after it read them: to work on them while the next reads are in flight,
//! to take them in the order they were asked for, or to expand what they hold when its turn comes.
//!
//! A fixed number of slots, used in turn: a slot is assigned when a page is asked for, so what is
//! kept does not depend on the order in which reads complete.

use pageway_types::{NodeId, PageId};

const NO_PAGE: u32 = u32::MAX;
const EMPTY: u32 = u32::MAX;

/// Where a list of another node is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Replica {
    node: u32,
    slot: u16,
    at: u16,
}

/// Copies of pages.
#[derive(Debug, Default)]
pub(crate) struct HeldPages {
    payload_bytes: usize,
    bytes: Vec<u8>,
    /// Page in each slot, once it has arrived.
    pages: Vec<u32>,
    next: usize,
    /// Open addressing; a replica that finds no room within a few steps is forgotten.
    replicas: Vec<Replica>,
}

/// Steps from its place at which a replica is looked for.
const PROBES: usize = 16;

impl HeldPages {
    /// Bytes of `slots` pages with `replicas` packed lists each.
    pub(crate) fn bytes(slots: usize, payload_bytes: usize, replicas: usize) -> usize {
        slots * (payload_bytes + size_of::<u32>())
            + Self::replica_slots(slots * replicas) * size_of::<Replica>()
    }

    fn replica_slots(replicas: usize) -> usize {
        if replicas == 0 {
            return 0;
        }
        (replicas * 2).next_power_of_two()
    }

    /// Pages to hold, before the first query.
    pub(crate) fn new(slots: usize, payload_bytes: usize, replicas: usize) -> Self {
        let none = Replica {
            node: EMPTY,
            slot: 0,
            at: 0,
        };
        Self {
            payload_bytes,
            bytes: vec![0; slots * payload_bytes],
            pages: vec![NO_PAGE; slots],
            next: 0,
            replicas: vec![none; Self::replica_slots(slots * replicas)],
        }
    }

    /// Lets go of all pages.
    pub(crate) fn reset(&mut self) {
        self.pages.fill(NO_PAGE);
        self.replicas
            .iter_mut()
            .for_each(|replica| replica.node = EMPTY);
        self.next = 0;
    }

    /// Assigns the next slot; the page in it is let go.
    pub(crate) fn assign(&mut self) -> u16 {
        let slot = self.next;
        if let Some(page) = self.pages.get_mut(slot) {
            *page = NO_PAGE;
        }
        self.next = (slot + 1) % self.pages.len().max(1);
        slot as u16
    }

    /// Keeps a page in its slot.
    pub(crate) fn keep(&mut self, slot: u16, page: PageId, payload: &[u8]) {
        let start = usize::from(slot) * self.payload_bytes;
        let room = self.bytes.get_mut(start..start + self.payload_bytes);
        if let (Some(room), Some(held)) = (room, self.pages.get_mut(usize::from(slot))) {
            let length = payload.len().min(room.len());
            let (head, tail) = room.split_at_mut(length);
            head.copy_from_slice(payload.get(..length).unwrap_or_default());
            tail.fill(0);
            *held = page.0;
        }
    }

    /// The page in a slot.
    pub(crate) fn get(&self, slot: u16) -> Option<(PageId, &[u8])> {
        let page = *self.pages.get(usize::from(slot))?;
        let start = usize::from(slot) * self.payload_bytes;
        let payload = self.bytes.get(start..start + self.payload_bytes)?;
        (page != NO_PAGE).then_some((PageId(page), payload))
    }

    /// Slot of a page, if it is held.
    #[inline]
    pub(crate) fn slot_of(&self, page: PageId) -> Option<u16> {
        let at = self.pages.iter().position(|held| *held == page.0)?;
        (page.0 != NO_PAGE).then_some(at as u16)
    }

    /// Notes that list number `at` of the page in `slot` is that of `node`.
    pub(crate) fn add_replica(&mut self, node: NodeId, slot: u16, at: usize) {
        let (start, mask) = self.start(node);
        for step in 0..PROBES {
            let Some(place) = self.replicas.get_mut((start + step) & mask) else {
                return;
            };
            if place.node == EMPTY || place.node == node.0 {
                *place = Replica {
                    node: node.0,
                    slot,
                    at: at as u16,
                };
                return;
            }
        }
    }

    /// Slot and number of a packed list of `node`. The slot may hold another page by now.
    #[inline]
    pub(crate) fn replica_of(&self, node: NodeId) -> Option<(u16, usize)> {
        let (start, mask) = self.start(node);
        for step in 0..PROBES {
            let place = self.replicas.get((start + step) & mask)?;
            if place.node == node.0 {
                return Some((place.slot, place.at.into()));
            }
            if place.node == EMPTY {
                return None;
            }
        }
        None
    }

    #[inline]
    fn start(&self, node: NodeId) -> (usize, usize) {
        let mask = self.replicas.len().wrapping_sub(1);
        let bits = self.replicas.len().trailing_zeros().min(32);
        let hash = u64::from(node.0.wrapping_mul(0x9E37_79B1));
        ((hash >> (32 - bits)) as usize, mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_in_turn() {
        let mut held = HeldPages::new(2, 4, 0);
        let (first, second) = (held.assign(), held.assign());
        held.keep(second, PageId(7), &[7; 4]);
        held.keep(first, PageId(9), &[9; 3]);
        assert_eq!(held.slot_of(PageId(9)), Some(first));
        assert_eq!(held.get(first), Some((PageId(9), &[9, 9, 9, 0][..])));
        assert_eq!(held.assign(), first);
        assert_eq!((held.slot_of(PageId(9)), held.get(first)), (None, None));
        assert_eq!(held.slot_of(PageId(7)), Some(second));
        held.reset();
        assert_eq!(held.slot_of(PageId(7)), None);
    }

    #[test]
    fn replicas_are_found_by_node() {
        let mut held = HeldPages::new(3, 4, 5);
        for n in 0..15u32 {
            held.add_replica(NodeId(n * 31), (n / 5) as u16, n as usize % 5);
        }
        for n in 0..15u32 {
            let expected = Some(((n / 5) as u16, n as usize % 5));
            assert_eq!(held.replica_of(NodeId(n * 31)), expected);
        }
        assert_eq!(held.replica_of(NodeId(1)), None);
        assert_eq!(HeldPages::default().replica_of(NodeId(1)), None);
    }
}
