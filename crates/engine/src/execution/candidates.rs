//! The candidate list: the `list_size` (L) best nodes seen so far by estimated distance, and which
//! of them were expanded.
//!
//! Invariant: keys ascend strictly, so the list after a set of insertions does not depend on their
//! order, and a node that is offered twice is recognised by its key. For range search the list can
//! be told to remember what it turned away, up to a bound, and to grow by it.
//!
//! Candidates may be taken off its first places alone: of a list that holds more than is walked.
//! The walk ends when no candidate is left to take. With a horizon that is before all were
//! expanded: what lies much farther than the best promises little. Only the candidates in the
//! list decide where the horizon is, so this does not depend on their order either. Stopping by a
//! ratio of distances: Al-Jazzazi et al., "Distance Adaptive Beam Search for Provably Accurate
//! Graph-Based Nearest Neighbor Search", NeurIPS 2025.

use pageway_types::NodeId;

use super::key::{key_distance, key_node, sort_key};
use crate::error::Result;
use crate::memory::Reservation;

/// Offers that are put in together.
const AT_ONCE: usize = 32;

/// Sorted, bounded candidates.
#[derive(Debug, Default)]
pub(crate) struct CandidateList {
    keys: Vec<u64>,
    expanded: Vec<bool>,
    capacity: usize,
    /// Candidates are taken off so many of the first places.
    depth: usize,
    cursor: usize,
    /// Candidates behind it are not taken.
    farthest: u64,
    /// Nor are those behind this, which moves with the best candidates.
    horizon: Horizon,
    /// Keys that did not fit: at least the best half as many as `turned_away_limit`, and never
    /// more. None is better than a candidate of a full list.
    turned_away: Vec<u64>,
    turned_away_limit: usize,
    /// Keys behind it are not remembered: there are enough before it.
    turned_away_last: u64,
}

/// Candidates lie within it or are not taken: so far beyond the candidate at a place of the list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Horizon {
    /// Place in the list.
    pub(crate) place: usize,
    /// Share of that candidate's distance.
    pub(crate) slack: f32,
}

/// One that holds everything.
impl Default for Horizon {
    fn default() -> Self {
        Self {
            place: 0,
            slack: f32::INFINITY,
        }
    }
}

/// The last key that is at most a share of `slack` farther.
#[inline]
fn beyond(key: u64, slack: f32) -> u64 {
    let distance = key_distance(key);
    sort_key(distance + slack * distance.abs(), NodeId(u32::MAX))
}

impl CandidateList {
    /// A list with room for `capacity`, and for so many that are turned away.
    pub(crate) fn lay_out(
        (capacity, turned_away): (usize, usize),
        reservation: &mut Reservation,
    ) -> Result<Self> {
        Ok(Self {
            keys: reservation.room(capacity)?,
            expanded: reservation.room(capacity)?,
            turned_away: reservation.room(turned_away)?,
            ..Self::default()
        })
    }

    /// Empties the list and sets how many it holds, and how many of those turned away it remembers.
    /// All that it holds may be taken.
    pub(crate) fn reset(&mut self, capacity: usize, turned_away_limit: usize) {
        self.keys.clear();
        self.expanded.clear();
        self.turned_away.clear();
        self.keys.reserve_exact(capacity);
        self.expanded.reserve_exact(capacity);
        self.turned_away.reserve_exact(turned_away_limit);
        self.capacity = capacity;
        self.depth = capacity;
        self.turned_away_limit = turned_away_limit;
        self.turned_away_last = u64::MAX;
        self.cursor = 0;
        self.farthest = u64::MAX;
        self.horizon = Horizon::default();
    }

    /// Takes only candidates within a horizon from now on.
    pub(crate) fn look_to(&mut self, horizon: Horizon) {
        self.horizon = horizon;
    }

    /// Measures the horizon by the candidate at `place` from now on; whether that is further down
    /// the list than before.
    pub(crate) fn measure_by(&mut self, place: usize) -> bool {
        let before = std::mem::replace(&mut self.horizon.place, place);
        place > before
    }

    /// Candidates that the list holds at most.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Places that candidates are taken off.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Takes candidates off so many of the first places from now on.
    pub(crate) fn take_off(&mut self, depth: usize) {
        self.depth = depth.min(self.capacity);
    }

    /// Makes room for `capacity` candidates and takes back the best of those turned away. Those
    /// that may be taken grow in proportion. From now on only candidates up to `farthest` are.
    pub(crate) fn grow(&mut self, capacity: usize, farthest: f32) {
        self.farthest = sort_key(farthest, NodeId(u32::MAX));
        let before = self.capacity.max(1);
        self.capacity = self.capacity.max(capacity);
        self.depth = self.depth.saturating_mul(self.capacity).div_ceil(before);
        let room = self.capacity - self.keys.len();
        self.keys.reserve_exact(room);
        self.expanded.reserve_exact(room);
        self.keep_best_turned_away();
        let back = room.min(self.turned_away.len());
        self.keys.extend(self.turned_away.drain(..back));
        self.turned_away_last = u64::MAX;
        self.expanded.resize(self.keys.len(), false);
    }

    /// Holds `capacity` candidates, no more than before, and takes them off the first `depth`
    /// places, from now on.
    pub(crate) fn settle(&mut self, capacity: usize, depth: usize) {
        while self.keys.len() > capacity {
            self.drop_last();
        }
        self.capacity = capacity;
        self.cursor = self.cursor.min(self.keys.len());
        self.take_off(depth);
    }

    /// The distance beyond which offers change nothing.
    pub(crate) fn limit(&self) -> f32 {
        let last = if self.turned_away_limit == 0 {
            self.keys.last().copied()
        } else {
            Some(self.turned_away_last).filter(|last| *last < u64::MAX)
        };
        let last = last.filter(|_| self.keys.len() >= self.capacity);
        last.map_or(f32::INFINITY, key_distance)
    }

    /// Offers a node; false when it is there already or too far.
    #[cfg(test)]
    pub(crate) fn insert(&mut self, node: NodeId, distance: f32) -> bool {
        let key = sort_key(distance, node);
        let was_there = self.contains(key);
        self.insert_key(key);
        !was_there && self.contains(key)
    }

    /// Offers nodes. What lies behind those that fit moves once for 32 of them.
    #[inline]
    pub(crate) fn insert_all(&mut self, offers: impl Iterator<Item = (NodeId, f32)>) {
        let mut fitting = [0; AT_ONCE];
        let mut count = 0;
        for (node, distance) in offers {
            let key = sort_key(distance, node);
            if !self.has_room_for(key) {
                continue;
            }
            if count == AT_ONCE {
                self.insert_keys(&mut fitting);
                count = 0;
            }
            if let Some(place) = fitting.get_mut(count) {
                *place = key;
                count += 1;
            }
        }
        self.insert_keys(fitting.get_mut(..count).unwrap_or_default());
    }

    /// Whether a key is nearer than the last of a full list; it is turned away otherwise.
    #[inline]
    fn has_room_for(&mut self, key: u64) -> bool {
        if self.keys.len() < self.capacity {
            return true;
        }
        match self.keys.last() {
            Some(worst) if key < *worst => return true,
            Some(worst) if key == *worst => {}
            _ => self.turn_away(key),
        }
        false
    }

    /// Puts in up to 32 keys that there was room for, in any order.
    #[expect(
        clippy::indexing_slicing,
        reason = "a place for each of at most as many keys; places within the list"
    )]
    fn insert_keys(&mut self, offers: &mut [u64]) {
        if let [key] = offers {
            self.insert_key(*key);
            return;
        }
        offers.sort_unstable();
        // Places in the list of the keys that it does not hold.
        let mut fresh = [(0, 0); AT_ONCE];
        let (mut count, mut at) = (0, 0);
        for (place, key) in offers.iter().enumerate() {
            at += self.keys[at..].partition_point(|other| other < key);
            let is_known = self.keys.get(at) == Some(key);
            if !is_known && (place == 0 || offers[place - 1] != *key) {
                fresh[count] = (at, *key);
                count += 1;
            }
        }
        while self.keys.len() + count > self.capacity {
            match count.checked_sub(1).map(|last| fresh[last].1) {
                Some(farthest) if self.keys.last().is_none_or(|worst| farthest > *worst) => {
                    self.turn_away(farthest);
                    count -= 1;
                }
                _ => self.drop_last(),
            }
        }
        let Some((first, _)) = fresh[..count].first() else {
            return;
        };
        self.cursor = self.cursor.min(*first);
        let mut end = self.keys.len();
        self.keys.resize(end + count, 0);
        self.expanded.resize(end + count, false);
        for (nearer, (at, key)) in fresh[..count].iter().enumerate().rev() {
            self.keys.copy_within(*at..end, at + nearer + 1);
            self.expanded.copy_within(*at..end, at + nearer + 1);
            self.keys[at + nearer] = *key;
            self.expanded[at + nearer] = false;
            end = *at;
        }
    }

    /// Drops the last candidate, and remembers it unless it was expanded: then it has nothing left
    /// to give.
    fn drop_last(&mut self) {
        if let (Some(worst), Some(false)) = (self.keys.pop(), self.expanded.pop()) {
            self.turn_away(worst);
        }
    }

    fn insert_key(&mut self, key: u64) {
        if !self.has_room_for(key) {
            return;
        }
        let at = self.keys.partition_point(|other| *other < key);
        if self.keys.get(at) == Some(&key) {
            return;
        }
        if self.keys.len() >= self.capacity {
            self.drop_last();
        }
        self.keys.insert(at, key);
        self.expanded.insert(at, false);
        self.cursor = self.cursor.min(at);
    }

    #[inline]
    fn turn_away(&mut self, key: u64) {
        if self.turned_away_limit == 0 || key > self.turned_away_last {
            return;
        }
        if self.turned_away.len() >= self.turned_away_limit {
            self.keep_best_turned_away();
        }
        self.turned_away.push(key);
    }

    /// Sorts, and keeps each key once and only so many that which ones those are does not depend on
    /// the order of the offers.
    fn keep_best_turned_away(&mut self) {
        self.turned_away.sort_unstable();
        self.turned_away.dedup();
        let kept = self.turned_away_limit / 2;
        self.turned_away.truncate(kept);
        if let Some(last) = kept.checked_sub(1).and_then(|at| self.turned_away.get(at)) {
            self.turned_away_last = *last;
        }
    }

    /// Takes the best candidate that was not expanded yet, and marks it expanded.
    #[inline]
    pub(crate) fn pop_unexpanded(&mut self) -> Option<u64> {
        self.take(|_| true)
    }

    /// Takes the best candidate that was not expanded yet and that `accept` likes, and marks it
    /// expanded.
    #[inline]
    pub(crate) fn take(&mut self, accept: impl FnMut(NodeId) -> bool) -> Option<u64> {
        self.take_up_to(self.farthest(), accept)
    }

    /// The same among those that are at most a share of `slack` farther than the best that was not
    /// expanded yet.
    pub(crate) fn take_near(
        &mut self,
        slack: f32,
        accept: impl FnMut(NodeId) -> bool,
    ) -> Option<u64> {
        let pairs = self.keys.iter().zip(&self.expanded).take(self.depth);
        let mut waiting = pairs.skip(self.cursor);
        let (best, _) = waiting.find(|(_, expanded)| !**expanded)?;
        let farthest = self.farthest().min(beyond(*best, slack));
        self.take_up_to(farthest, accept)
    }

    #[inline]
    fn take_up_to(&mut self, farthest: u64, mut accept: impl FnMut(NodeId) -> bool) -> Option<u64> {
        let mut unexpanded = None;
        let pairs = self.keys.iter().zip(&mut self.expanded);
        let pairs = pairs.take(self.depth).enumerate();
        for (at, (key, expanded)) in pairs.skip(self.cursor) {
            if *key > farthest {
                break;
            }
            if *expanded {
                continue;
            }
            if accept(key_node(*key)) {
                *expanded = true;
                self.cursor = unexpanded.unwrap_or(at + 1);
                return Some(*key);
            }
            unexpanded = unexpanded.or(Some(at));
        }
        self.cursor = unexpanded.unwrap_or(self.cursor);
        None
    }

    /// How many candidates that were not expanded yet `accept` likes, counted up to `enough`.
    pub(crate) fn count(&self, enough: usize, accept: impl Fn(NodeId) -> bool) -> usize {
        let farthest = self.farthest();
        let pairs = self.keys.iter().zip(&self.expanded).take(self.depth);
        pairs
            .skip(self.cursor)
            .take_while(|(key, _)| **key <= farthest)
            .filter(|(key, expanded)| !**expanded && accept(key_node(**key)))
            .take(enough)
            .count()
    }

    /// The last key that is taken.
    fn farthest(&self) -> u64 {
        let Horizon { place, slack } = self.horizon;
        match self.keys.get(place) {
            Some(key) if slack < f32::INFINITY => self.farthest.min(beyond(*key, slack)),
            _ => self.farthest,
        }
    }

    /// Place of the best candidate that may not be expanded yet.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// True while a candidate is still among the best.
    pub(crate) fn contains(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }

    /// All candidates, best first.
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Whether there is no room left.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.len() >= self.capacity
    }

    /// How many candidates are at most so far away.
    pub(crate) fn count_within(&self, distance: u32) -> usize {
        self.keys
            .partition_point(|key| (key >> 32) as u32 <= distance)
    }

    /// How many of them lie within the horizon.
    pub(crate) fn within_horizon(&self) -> usize {
        let farthest = self.farthest();
        self.keys.partition_point(|key| *key <= farthest)
    }
}

#[cfg(test)]
mod tests;
