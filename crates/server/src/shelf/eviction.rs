//! Room for a collection: that of others, which close when nobody uses them.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pageway::format_bytes;
use pageway::server::clock;

use super::opening::{Wanted, index_count};
use super::{OpenedPlace, PAUSE, Shelf, ShelfPlace, lock};
use crate::division::Share;
use crate::failure::{Failure, Outcome};

/// Part of the budget that stays for collections that are not open, where others grow.
const SPARE_PART: u64 = 8;
/// How long to wait for collections that are in use.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for the requests of one, while those that come wait.
const DRAIN: Duration = Duration::from_millis(500);

impl Shelf {
    pub(super) fn no_room(&self, wanted: &Wanted<'_>, bytes: u64) -> Failure {
        let taken = *self.taken();
        Failure::no_memory(format_args!(
            "opening collection `{}` takes {bytes} B ({}), and {} of {} are in use",
            wanted.name,
            format_bytes(bytes),
            format_bytes(taken),
            format_bytes(self.budget),
        ))
    }

    /// Takes bytes for a collection, and closes others until there are so many.
    pub(super) fn reserve(&self, wanted: &Wanted<'_>, bytes: u64) -> Outcome<()> {
        if bytes > self.budget {
            return Err(self.no_room(wanted, bytes));
        }
        let began = clock::now();
        let mut waits = None;
        loop {
            {
                let mut taken = self.taken();
                if *taken + bytes <= self.budget {
                    *taken += bytes;
                    return Ok(());
                }
            }
            if self.close_oldest((wanted.number, u64::MAX))? {
                continue;
            }
            waits.get_or_insert_with(|| Waits::new(&self.waiting));
            let waited = clock::now().saturating_duration_since(began);
            // Who has grown and is always in use gives way in the end.
            if waited > PATIENCE / 2 && self.close_largest(wanted.number)? {
                continue;
            }
            if waited > PATIENCE {
                return Err(self.no_room(wanted, bytes));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Opens an open collection with twice the memory for the searches of each index; whether it
    /// did. Requests that come meanwhile wait. The memory is what is free, or that of collections
    /// that were not used since a time of the clock of uses.
    pub(crate) fn grow(&self, wanted: &Wanted<'_>, unused_since: u64) -> Outcome<bool> {
        let place = self.places().get(&wanted.number).cloned();
        let Some(place) = place else {
            return Ok(false);
        };
        let mut open = lock(&place.open);
        let Some(each) = open.as_ref().map(|opened| opened.share.search) else {
            return Ok(false);
        };
        let count = index_count(wanted);
        if each >= self.most_each(count) {
            return Ok(false);
        }
        let more = each * count;
        let most = self.budget - self.budget / SPARE_PART;
        while *self.taken() + more > most {
            if !self.close_oldest((wanted.number, unused_since))? {
                return Ok(false);
            }
        }
        let has_large_delta = |opened: &OpenedPlace| opened.collection.has_large_delta();
        if !open.as_ref().is_some_and(is_drained) || open.as_ref().is_none_or(has_large_delta) {
            return Ok(false);
        }
        self.close(&mut open)?;
        *open = Some(self.open(wanted, &place, Some(2 * each))?);
        Ok(true)
    }

    /// Opens a collection again, so that more rows wait in it than before its first flushes;
    /// whether it did. Requests that come meanwhile wait.
    pub(crate) fn divide_again(&self, wanted: &Wanted<'_>) -> Outcome<bool> {
        let place = self.places().get(&wanted.number).cloned();
        let Some(place) = place else {
            return Ok(false);
        };
        let mut open = lock(&place.open);
        if !open.as_ref().is_some_and(is_drained) {
            return Ok(false);
        }
        let known = place.known();
        self.close(&mut open)?;
        place.note(Share {
            search: known.search,
            ..Share::default()
        });
        let opened = self.open(wanted, &place, None);
        *open = Some(opened.inspect_err(|_| place.note(known))?);
        Ok(true)
    }

    /// Closes the collection that has most, once its requests are done, or the next one where they
    /// do not end; whether one closed.
    fn close_largest(&self, but: u64) -> Outcome<bool> {
        let places: Vec<Arc<ShelfPlace>> = {
            let places = self.places();
            let others = places.iter().filter(|(number, _)| **number != but);
            others.map(|(_, place)| Arc::clone(place)).collect()
        };
        let bytes = |place: &ShelfPlace| {
            let open = place.open.try_lock().ok()?;
            open.as_ref().map(|opened| opened.bytes)
        };
        let opened = places
            .iter()
            .filter_map(|place| Some((bytes(place)?, place)));
        let mut by_size: Vec<_> = opened.collect();
        by_size.sort_by_key(|(bytes, _)| Reverse(*bytes));
        for (_, place) in by_size {
            let Ok(mut open) = place.open.try_lock() else {
                continue;
            };
            if open.as_ref().is_some_and(is_drained) {
                self.close(&mut open)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Closes the collection that was not used for longest, not since a time of the clock of uses,
    /// and is not in use; whether there is one.
    pub(super) fn close_oldest(&self, (but, unused_since): (u64, u64)) -> Outcome<bool> {
        let mut places: Vec<(u64, Arc<ShelfPlace>)> = {
            let places = self.places();
            let others = places.iter().filter(|(number, _)| **number != but);
            let used = |place: &ShelfPlace| place.used.load(Ordering::Relaxed);
            others
                .map(|(_, place)| (used(place), Arc::clone(place)))
                .collect()
        };
        places.retain(|(used, _)| *used < unused_since);
        places.sort_by_key(|(used, _)| *used);
        for (_, place) in places {
            let Ok(mut open) = place.open.try_lock() else {
                continue;
            };
            let idle = |opened: &OpenedPlace| Arc::strong_count(&opened.collection) == 1;
            if open.as_ref().is_some_and(idle) {
                self.close(&mut open)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// One who waits, until this is dropped.
pub(super) struct Waits<'w>(&'w AtomicU64);

impl<'w> Waits<'w> {
    pub(super) fn new(waiting: &'w AtomicU64) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until no request uses a collection that no other can get meanwhile; whether none does.
fn is_drained(opened: &OpenedPlace) -> bool {
    let ends = clock::now() + DRAIN;
    while Arc::strong_count(&opened.collection) > 1 {
        if clock::now() >= ends {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}
