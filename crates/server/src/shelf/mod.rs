//! Collections that are open, within one budget of memory: those that were not used for longest
//! close when another needs their room.
//!
//! ```text
//! opening   in how much memory one opens
//! eviction  whose memory it takes
//! ```

mod eviction;
mod opening;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eviction::Waits;
pub(crate) use opening::Wanted;

use crate::collection::OpenCollection;
use crate::division::Share;
use crate::failure::{Failure, Outcome};

/// Pause while a collection is in use.
const PAUSE: Duration = Duration::from_millis(5);

/// Open collections, by their numbers.
pub(crate) struct Shelf {
    budget: u64,
    threads: usize,
    latency_target: Option<Duration>,
    places: Mutex<HashMap<u64, Arc<ShelfPlace>>>,
    /// Bytes of all that is open or opening.
    taken: Mutex<u64>,
    clock: AtomicU64,
    /// Who waits for collections to be let go.
    waiting: AtomicU64,
}

#[derive(Default)]
struct ShelfPlace {
    open: Mutex<Option<OpenedPlace>>,
    used: AtomicU64,
    /// Memory of an index that is enough to open it, as far as is known.
    known: Mutex<Share>,
}

impl ShelfPlace {
    fn known(&self) -> Share {
        *lock(&self.known)
    }

    fn note(&self, share: Share) {
        *lock(&self.known) = share;
    }
}

struct OpenedPlace {
    collection: Arc<OpenCollection>,
    bytes: u64,
    /// Memory of an index.
    share: Share,
    /// Whether few rows wait in it, as first flushes train codes and take more than others.
    is_for_first: bool,
}

impl Shelf {
    /// With so much memory, for so many searches at a time, that are to stay within a latency.
    pub(crate) fn new(budget: u64, threads: usize, latency_target: Option<Duration>) -> Self {
        Self {
            budget,
            threads,
            latency_target,
            places: Mutex::default(),
            taken: Mutex::new(0),
            clock: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
        }
    }

    /// Memory of all collections, and what of it is taken.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.budget, *self.taken())
    }

    /// How many collections are open.
    pub(crate) fn open_count(&self) -> usize {
        let places: Vec<_> = self.places().values().cloned().collect();
        let is_open =
            |place: &Arc<ShelfPlace>| place.open.try_lock().map_or(true, |open| open.is_some());
        places.iter().filter(|place| is_open(place)).count()
    }

    /// Memory of a collection, where it is open and nobody is opening or closing it.
    pub(crate) fn bytes_of(&self, number: u64) -> Option<u64> {
        let place = self.places().get(&number).cloned()?;
        let open = place.open.try_lock().ok()?;
        open.as_ref().map(|opened| opened.bytes)
    }

    /// Collections that are open and that nobody is opening or closing, by their numbers.
    pub(crate) fn opened(&self) -> Vec<(u64, Arc<OpenCollection>)> {
        let numbers = self.numbers().into_iter();
        numbers
            .filter_map(|number| Some((number, self.opened_of(number)?)))
            .collect()
    }

    /// The numbers of all that were ever open and are there.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.places().keys().copied().collect()
    }

    /// A collection, if it is open and nobody is opening or closing it.
    pub(crate) fn opened_of(&self, number: u64) -> Option<Arc<OpenCollection>> {
        let place = self.places().get(&number).cloned()?;
        let open = place.open.try_lock().ok()?;
        Some(Arc::clone(&open.as_ref()?.collection))
    }

    /// Whether somebody waits for a collection to be let go.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The collection, opened if need be.
    ///
    /// # Errors
    /// 404 where it was deleted meanwhile; 507 where memory is missing, with how much; as opening.
    pub(crate) fn get(&self, wanted: &Wanted<'_>) -> Outcome<Arc<OpenCollection>> {
        let place = Arc::clone(self.places().entry(wanted.number).or_default());
        let tick = self.clock.fetch_add(1, Ordering::Relaxed);
        place.used.store(tick, Ordering::Relaxed);
        let mut open = lock(&place.open);
        let known = place.known();
        if let Some(opened) = &*open {
            let idle = Arc::strong_count(&opened.collection) == 1;
            let lack = opened.collection.lack();
            if !(idle && (lack.is_some() || opened.collection.is_broken())) {
                return Ok(Arc::clone(&opened.collection));
            }
            if let Some(lack) = lack {
                place.note(self.bounds(wanted).more_of(opened.share, lack));
            }
            self.close(&mut open)?;
        }
        // One that was deleted since its name was looked up: its files are being removed.
        let is_named = || wanted.registry.names().name_of(wanted.number).is_some();
        if !wanted.is_new && !is_named() {
            return Err(Failure::no_collection(wanted.name));
        }
        let opened = self.open(wanted, &place, None);
        // Where others have what it wanted, it opens with what it had.
        let opened = opened.inspect_err(|_| place.note(known))?;
        let collection = Arc::clone(&opened.collection);
        *open = Some(opened);
        Ok(collection)
    }

    /// Where the clock of uses is.
    pub(crate) fn uses(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Whether few rows wait in an open collection for first flushes, which were.
    pub(crate) fn is_divided_for_first(&self, number: u64) -> bool {
        let place = self.places().get(&number).cloned();
        let is_past = |opened: &OpenedPlace| opened.is_for_first && opened.collection.is_flushed();
        place.is_some_and(|place| {
            let open = place.open.try_lock();
            open.is_ok_and(|open| open.as_ref().is_some_and(is_past))
        })
    }

    /// Closes a collection that nobody uses.
    fn close(&self, open: &mut MutexGuard<'_, Option<OpenedPlace>>) -> Outcome<()> {
        if let Some(opened) = open.take() {
            let bytes = opened.bytes;
            let closed = Arc::into_inner(opened.collection).map(OpenCollection::close);
            self.give_back(bytes);
            closed.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Forgets a collection that was deleted: waits until nobody uses it.
    pub(crate) fn forget(&self, number: u64) {
        let Some(place) = self.places().remove(&number) else {
            return;
        };
        let _waits = Waits::new(&self.waiting);
        let mut open = lock(&place.open);
        while let Some(opened) = &*open {
            if Arc::strong_count(&opened.collection) > 1 {
                std::thread::sleep(PAUSE);
                continue;
            }
            // What becomes of its logs is of no use any more.
            let _ = self.close(&mut open);
        }
    }

    /// Closes all, whoever uses them.
    pub(crate) fn close_all(&self) -> Outcome<()> {
        let places: Vec<Arc<ShelfPlace>> = self.places().drain().map(|(_, place)| place).collect();
        let mut outcome = Ok(());
        for place in places {
            let closed = self.close(&mut lock(&place.open));
            outcome = outcome.and(closed);
        }
        outcome
    }

    fn give_back(&self, bytes: u64) {
        let mut taken = self.taken();
        *taken = taken.saturating_sub(bytes);
    }

    fn places(&self) -> MutexGuard<'_, HashMap<u64, Arc<ShelfPlace>>> {
        lock(&self.places)
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        lock(&self.taken)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
