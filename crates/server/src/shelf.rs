//! Collections that are open, within one budget of memory: those that were not used for longest
//! close when another needs their room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pageway::format_bytes;
use pageway::server::clock;

use crate::collection::{OpenCollection, OpenMemory, Schema};
use crate::failure::{Failure, Outcome};
use crate::registry::Registry;

/// Memory of the searches of an index that is tried first, at least and at most.
const SEARCH_LEAST: u64 = 4 << 20;
const SEARCH_MOST: u64 = 256 << 20;
/// Part of the budget that the searches of a collection are given at first, or half of an equal
/// share of it, where there are many collections.
const SEARCH_PART: u64 = 16;
/// Part of the budget that collections are given for their changes, an equal share of it each,
/// where that is much for an index; else the engine gives them what thousands of rows take.
const UPDATE_PART: u64 = 4;
const UPDATE_LEAST: u64 = 48 << 20;
/// What the changes of an index take then, about.
const UPDATE_USUAL: u64 = 20 << 20;
/// How long to wait for collections that are in use.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Open collections, by their numbers.
pub(crate) struct Shelf {
    budget: u64,
    threads: usize,
    places: Mutex<HashMap<u64, Arc<ShelfPlace>>>,
    /// Bytes of all that is open or opening.
    taken: Mutex<u64>,
    clock: AtomicU64,
}

#[derive(Default)]
struct ShelfPlace {
    open: Mutex<Option<OpenedPlace>>,
    used: AtomicU64,
    /// Memory of the searches of an index that it opened with last.
    bytes: AtomicU64,
}

struct OpenedPlace {
    collection: Arc<OpenCollection>,
    bytes: u64,
}

/// A collection to open.
pub(crate) struct Wanted<'w> {
    pub(crate) registry: &'w Registry,
    pub(crate) name: &'w str,
    pub(crate) number: u64,
    pub(crate) schema: &'w Schema,
}

impl Shelf {
    /// With so much memory, for so many searches at a time.
    pub(crate) fn new(budget: u64, threads: usize) -> Self {
        Self {
            budget,
            threads,
            places: Mutex::default(),
            taken: Mutex::new(0),
            clock: AtomicU64::new(0),
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
        let places = self.places();
        let own = places.iter().filter_map(|(number, place)| {
            let open = place.open.try_lock().ok()?;
            Some((*number, Arc::clone(&open.as_ref()?.collection)))
        });
        own.collect()
    }

    /// The collection, opened if need be.
    ///
    /// # Errors
    /// 507 where memory is missing, with how much; as opening is.
    pub(crate) fn get(&self, wanted: &Wanted<'_>) -> Outcome<Arc<OpenCollection>> {
        let place = Arc::clone(self.places().entry(wanted.number).or_default());
        let tick = self.clock.fetch_add(1, Ordering::Relaxed);
        place.used.store(tick, Ordering::Relaxed);
        let mut open = lock(&place.open);
        if let Some(opened) = &*open {
            let idle = Arc::strong_count(&opened.collection) == 1;
            let is_tight = opened.collection.is_tight();
            if !(idle && (is_tight || opened.collection.is_broken())) {
                return Ok(Arc::clone(&opened.collection));
            }
            if is_tight {
                let bytes = place.bytes.load(Ordering::Relaxed);
                place.bytes.store(2 * bytes, Ordering::Relaxed);
            }
            self.close(&mut open)?;
        }
        let opened = self.open(wanted, &place)?;
        let collection = Arc::clone(&opened.collection);
        *open = Some(opened);
        Ok(collection)
    }

    fn open(&self, wanted: &Wanted<'_>, place: &ShelfPlace) -> Outcome<OpenedPlace> {
        let count = wanted.schema.dense.len().max(1) as u64;
        let known = place.bytes.load(Ordering::Relaxed);
        let most = (self.budget / count / 2).clamp(SEARCH_LEAST, SEARCH_MOST);
        let shared = wanted.registry.names().collections.len().max(1) as u64;
        let part = SEARCH_PART.max(2 * shared);
        let first = (self.budget / part / count).clamp(SEARCH_LEAST, most);
        let update = self.budget / UPDATE_PART / shared / count;
        let update = Some(update).filter(|own| *own >= UPDATE_LEAST);
        let mut each = known.max(first).min(most);
        loop {
            let needed = (each + update.unwrap_or(UPDATE_USUAL)) * count;
            self.reserve(wanted, needed)?;
            let memory = OpenMemory {
                search: each,
                update,
                threads: self.threads,
            };
            let dir = wanted.registry.dir_of(wanted.number);
            let opened = OpenCollection::open(wanted.registry.vfs(), &dir, wanted.schema, memory);
            match opened {
                Ok(collection) => {
                    place.bytes.store(each, Ordering::Relaxed);
                    let bytes = collection.memory_bytes();
                    self.give_back(needed);
                    *self.taken() += bytes;
                    return Ok(OpenedPlace {
                        collection: Arc::new(collection),
                        bytes,
                    });
                }
                // Too little memory is wrong input to the engine.
                Err(failure) if failure.status == 400 && each < most => {
                    self.give_back(needed);
                    each = (2 * each).min(most);
                }
                Err(failure) if failure.status == 400 => {
                    self.give_back(needed);
                    let words = format!("collection `{}`: {}", wanted.name, failure.text);
                    return Err(Failure::no_memory(words));
                }
                Err(failure) => {
                    self.give_back(needed);
                    return Err(failure);
                }
            }
        }
    }

    /// Takes bytes for a collection, and closes others until there are so many.
    fn reserve(&self, wanted: &Wanted<'_>, bytes: u64) -> Outcome<()> {
        let began = clock::now();
        loop {
            {
                let mut taken = self.taken();
                if *taken + bytes <= self.budget {
                    *taken += bytes;
                    return Ok(());
                }
            }
            if self.close_oldest(wanted.number)? {
                continue;
            }
            if clock::now().saturating_duration_since(began) > PATIENCE {
                let taken = *self.taken();
                return Err(Failure::no_memory(format_args!(
                    "opening collection `{}` takes {bytes} B ({}), and {} of {} are in use",
                    wanted.name,
                    format_bytes(bytes),
                    format_bytes(taken),
                    format_bytes(self.budget),
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Closes the collection that was not used for longest and is not in use; whether there is one.
    fn close_oldest(&self, but: u64) -> Outcome<bool> {
        let mut places: Vec<(u64, Arc<ShelfPlace>)> = {
            let places = self.places();
            let others = places.iter().filter(|(number, _)| **number != but);
            let used = |place: &ShelfPlace| place.used.load(Ordering::Relaxed);
            others
                .map(|(_, place)| (used(place), Arc::clone(place)))
                .collect()
        };
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
