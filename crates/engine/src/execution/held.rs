//! Pages that a query keeps after it read them: to work on them while the next reads are in flight,
//! to take them in the order they were asked for, or to expand what they hold when its turn comes.
//!
//! A fixed number of slots, used in turn: a slot is assigned when a page is asked for, so what is
//! kept does not depend on the order in which reads complete.

use crate::error::Result;
use crate::memory::Reservation;
use pageway_types::{NodeId, PageId};

const NO_PAGE: u32 = u32::MAX;
const EMPTY: u32 = u32::MAX;

/// Where a list of another node is packed: in the page that was kept in `slot`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Replica {
    node: u32,
    pub(super) page: PageId,
    pub(super) slot: u16,
    pub(super) at: u16,
}

/// Copies of pages.
#[derive(Debug, Default)]
pub(crate) struct HeldPages {
    payload_bytes: usize,
    bytes: Vec<u8>,
    /// Page in each slot, once it has arrived.
    pages: Vec<u32>,
    /// When each slot was assigned last: a number that rises.
    turns: Vec<u32>,
    turn: u32,
    next: usize,
    /// Slots that are used.
    used: usize,
}

/// Which lists are packed into the pages that are kept.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    /// Open addressing; a replica that finds no room within a few steps is forgotten.
    places: Vec<Replica>,
    /// Places that are used: a power of two, or none.
    used: usize,
}

/// Steps from its place at which a replica is looked for.
const PROBES: usize = 16;

impl HeldPages {
    /// Room for `slots` pages, before the first query.
    pub(crate) fn lay_out(
        (slots, payload_bytes): (usize, usize),
        reservation: &mut Reservation,
    ) -> Result<Self> {
        Ok(Self {
            payload_bytes,
            bytes: reservation.filled(slots.saturating_mul(payload_bytes), 0)?,
            pages: reservation.filled(slots, NO_PAGE)?,
            turns: reservation.filled(slots, 0)?,
            turn: 0,
            next: 0,
            used: slots,
        })
    }

    /// Pages that there is room for.
    pub(crate) fn room(&self) -> usize {
        self.pages.len()
    }

    /// Lets go of all pages, and keeps at most `slots` from now on.
    pub(crate) fn reset(&mut self, slots: usize) {
        debug_assert!(slots <= self.pages.len());
        self.used = slots;
        self.pages.fill(NO_PAGE);
        self.next = 0;
        self.turn = 0;
    }

    /// Assigns the next slot; the page in it is let go.
    pub(crate) fn assign(&mut self) -> u16 {
        let slot = self.next;
        if let Some(page) = self.pages.get_mut(slot) {
            *page = NO_PAGE;
        }
        self.turn = self.turn.wrapping_add(1);
        if let Some(turn) = self.turns.get_mut(slot) {
            *turn = self.turn;
        }
        self.next = (slot + 1) % self.used.max(1);
        slot as u16
    }

    /// When a slot was assigned, as a number that rises.
    pub(crate) fn turn_of(&self, slot: u16) -> u32 {
        self.turns.get(usize::from(slot)).copied().unwrap_or(0)
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

    /// The page that `replica` lies in, unless it was let go.
    #[inline]
    pub(super) fn page_with(&self, replica: Replica) -> Option<(PageId, &[u8])> {
        let held = self.get(replica.slot);
        held.filter(|(page, _)| *page == replica.page)
    }
}

impl Replicas {
    fn places(lists: usize) -> usize {
        if lists == 0 {
            return 0;
        }
        (lists * 2).next_power_of_two()
    }

    /// Room for `lists` packed lists, before the first query.
    pub(crate) fn lay_out(lists: usize, reservation: &mut Reservation) -> Result<Self> {
        let none = Replica {
            node: EMPTY,
            page: PageId(NO_PAGE),
            slot: 0,
            at: 0,
        };
        Ok(Self {
            places: reservation.filled(Self::places(lists), none)?,
            used: Self::places(lists),
        })
    }

    /// Forgets all, and makes room for `lists` packed lists.
    pub(crate) fn reset(&mut self, lists: usize) {
        debug_assert!(Self::places(lists) <= self.places.len());
        self.used = Self::places(lists);
        for place in self.places.iter_mut().take(self.used) {
            place.node = EMPTY;
        }
    }

    /// Notes that list number `at` of `page`, kept in `slot`, is that of `node`.
    pub(crate) fn add(&mut self, node: NodeId, (page, slot): (PageId, u16), at: usize) {
        let (start, mask) = self.start(node);
        for step in 0..PROBES {
            let Some(place) = self.places.get_mut((start + step) & mask) else {
                return;
            };
            if place.node == EMPTY || place.node == node.0 {
                *place = Replica {
                    node: node.0,
                    page,
                    slot,
                    at: at as u16,
                };
                return;
            }
        }
    }

    /// Where a list of `node` is packed. Its page may be let go by now.
    #[inline]
    pub(super) fn find(&self, node: NodeId) -> Option<Replica> {
        let (start, mask) = self.start(node);
        for step in 0..PROBES {
            let place = self.places.get((start + step) & mask)?;
            if place.node == node.0 {
                return Some(*place);
            }
            if place.node == EMPTY {
                return None;
            }
        }
        None
    }

    #[inline]
    fn start(&self, node: NodeId) -> (usize, usize) {
        let mask = self.used.wrapping_sub(1);
        let bits = self.used.trailing_zeros().min(32);
        let hash = u64::from(node.0.wrapping_mul(0x9E37_79B1));
        ((hash >> (32 - bits)) as usize, mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_in_turn() {
        let mut held = HeldPages::lay_out((2, 4), &mut Reservation::taking()).unwrap();
        let (first, second) = (held.assign(), held.assign());
        held.keep(second, PageId(7), &[7; 4]);
        held.keep(first, PageId(9), &[9; 3]);
        assert_eq!(held.slot_of(PageId(9)), Some(first));
        assert_eq!(held.get(first), Some((PageId(9), &[9, 9, 9, 0][..])));
        assert_eq!(held.assign(), first);
        assert_eq!((held.slot_of(PageId(9)), held.get(first)), (None, None));
        assert_eq!(held.slot_of(PageId(7)), Some(second));
        held.reset(2);
        assert_eq!(held.slot_of(PageId(7)), None);
    }

    #[test]
    fn replicas_are_found_by_node() {
        let mut replicas = Replicas::lay_out(15, &mut Reservation::taking()).unwrap();
        let page = |n| (PageId(n / 5 + 70), (n / 5) as u16);
        for n in 0..15u32 {
            replicas.add(NodeId(n * 31), page(n), n as usize % 5);
        }
        for n in 0..15u32 {
            let found = replicas.find(NodeId(n * 31)).unwrap();
            assert_eq!((found.page, found.slot), page(n));
            assert_eq!(u32::from(found.at), n % 5);
        }
        assert_eq!(replicas.find(NodeId(1)), None);
        assert_eq!(Replicas::default().find(NodeId(1)), None);
    }

    #[test]
    fn a_replica_goes_with_its_page() {
        let room = &mut Reservation::taking();
        let mut held = HeldPages::lay_out((1, 4), room).unwrap();
        let mut replicas = Replicas::lay_out(2, room).unwrap();
        let slot = held.assign();
        held.keep(slot, PageId(7), &[7; 4]);
        replicas.add(NodeId(3), (PageId(7), slot), 0);
        let replica = replicas.find(NodeId(3)).unwrap();
        assert_eq!(held.page_with(replica), Some((PageId(7), &[7; 4][..])));
        assert_eq!(held.assign(), slot);
        assert_eq!(held.page_with(replica), None);
        held.keep(slot, PageId(8), &[8; 4]);
        assert_eq!(held.page_with(replica), None, "another page lies there");
    }
}
