//! Collections that are open, within one budget of memory: those that were not used for longest
//! close when another needs their room.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pageway::server::clock;
use pageway::{MemoryLack, format_bytes};

use crate::collection::{OpenCollection, OpenMemory, Schema};
use crate::division::{Bounds, Share};
use crate::failure::{Failure, Outcome};
use crate::registry::Registry;
use crate::remote::RemoteShard;
use crate::service::memory_for;

/// Memory of the searches of an index that is tried first, at least.
const SEARCH_LEAST: u64 = 4 << 20;
/// Part of the budget that the searches of a collection are given at first, or half of an equal
/// share of it, where there are many collections.
const SEARCH_PART: u64 = 16;
/// Part of the budget that collections are given for their changes, an equal share of it each.
const UPDATE_PART: u64 = 4;
/// What the changes of an index get at least, where that is enough for them and there is room.
const UPDATE_USUAL: u64 = 20 << 20;
/// Part of the budget that stays for collections that are not open, where others grow.
const SPARE_PART: u64 = 8;
/// How long to wait for collections that are in use.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for the requests of one, while those that come wait.
const DRAIN: Duration = Duration::from_millis(500);
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
}

/// A collection to open.
pub(crate) struct Wanted<'w> {
    pub(crate) registry: &'w Registry,
    pub(crate) name: &'w str,
    pub(crate) number: u64,
    pub(crate) schema: &'w Schema,
    /// No name leads to it yet.
    pub(crate) is_new: bool,
    /// Where it lies, where that is object storage.
    pub(crate) remote: Option<&'w RemoteShard>,
}

impl Wanted<'_> {
    fn opened(&self, memory: OpenMemory) -> Outcome<OpenCollection> {
        if let Some(remote) = self.remote {
            return OpenCollection::open_fixed(remote.place(), self.schema, memory);
        }
        let dir = self.registry.dir_of(self.number);
        OpenCollection::open(self.registry.vfs(), &dir, self.schema, memory)
    }
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

    /// Memory of the searches of an index at most, of so many.
    fn most_each(&self, count: u64) -> u64 {
        (self.budget / count / 2).max(SEARCH_LEAST)
    }

    /// Bounds of the memory of an index.
    fn bounds(&self, wanted: &Wanted<'_>) -> Bounds {
        let count = index_count(wanted);
        let room = self.budget / count;
        Bounds {
            search: self.most_each(count),
            room,
            fair: room / shared_by(wanted).min(2),
        }
    }

    /// Memory that is tried for an index first, where so much is known to be needed.
    fn first_share(&self, wanted: &Wanted<'_>, known: Share) -> Share {
        let (count, shared) = (index_count(wanted), shared_by(wanted));
        let bounds = self.bounds(wanted);
        let part = SEARCH_PART.max(2 * shared);
        let search = (self.budget / part / count).clamp(SEARCH_LEAST, bounds.search);
        let update = (bounds.room / UPDATE_PART / shared).max(UPDATE_USUAL);
        let share = bounds.clamp(Share {
            search: search.max(known.search),
            update: update.max(known.update),
            ..known
        });
        let update = if wanted.remote.is_some() {
            0
        } else {
            share.update
        };
        Share { update, ..share }
    }

    fn memory_of(&self, share: Share, bounds: Bounds) -> OpenMemory {
        OpenMemory {
            search: share.search,
            update: share.update,
            build: share.build_bytes(),
            threads: self.threads,
            latency_target: self.latency_target,
            can_grow: bounds.more_rows(share).is_some(),
        }
    }

    /// Opens a collection: with so much for the searches of an index, or with what is enough.
    fn open(
        &self,
        wanted: &Wanted<'_>,
        place: &ShelfPlace,
        grown: Option<u64>,
    ) -> Outcome<OpenedPlace> {
        let (known, bounds) = (place.known(), self.bounds(wanted));
        let search = grown.unwrap_or(known.search);
        let mut share = self.first_share(wanted, Share { search, ..known });
        loop {
            let needed = share.bytes() * index_count(wanted);
            self.reserve(wanted, needed)?;
            let opened = wanted.opened(self.memory_of(share, bounds));
            let opened = opened.and_then(|collection| self.settled(wanted, collection, needed));
            let failure = match opened {
                Ok((collection, bytes)) => {
                    if grown.is_none() {
                        place.note(share);
                    }
                    return Ok(OpenedPlace {
                        collection: Arc::new(collection),
                        bytes,
                        share,
                    });
                }
                Err(failure) => failure,
            };
            self.give_back(needed);
            // Too little memory is wrong input to the engine.
            if failure.status != 400 {
                return Err(failure);
            }
            let more = bounds.more(share, &failure);
            share = more.ok_or_else(|| too_little(wanted, &failure))?;
        }
    }

    /// Puts the memory of a collection that is open in place of what was reserved for it.
    fn settled(
        &self,
        wanted: &Wanted<'_>,
        collection: OpenCollection,
        reserved: u64,
    ) -> Outcome<(OpenCollection, u64)> {
        let bytes = collection.memory_bytes();
        let mut taken = self.taken();
        let others = taken.saturating_sub(reserved);
        if others + bytes <= self.budget {
            *taken = others + bytes;
            return Ok((collection, bytes));
        }
        drop(taken);
        collection.close()?;
        Err(self.no_room(wanted, bytes))
    }

    fn no_room(&self, wanted: &Wanted<'_>, bytes: u64) -> Failure {
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
    fn reserve(&self, wanted: &Wanted<'_>, bytes: u64) -> Outcome<()> {
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

    /// Where the clock of uses is.
    pub(crate) fn uses(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
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
    fn close_oldest(&self, (but, unused_since): (u64, u64)) -> Outcome<bool> {
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

/// 507 for a collection that does not open in all of the memory, with what would do.
fn too_little(wanted: &Wanted<'_>, failure: &Failure) -> Failure {
    let (name, count) = (wanted.name, index_count(wanted));
    let Some(MemoryLack::Updates(least)) = failure.lack else {
        return Failure::no_memory(format_args!("collection `{name}`: {}", failure.text));
    };
    // What is asked for searches first is a part of all, or the least.
    let each = (least + SEARCH_LEAST).max(least.div_ceil(SEARCH_PART - 1) * SEARCH_PART);
    let memory = memory_for(each.saturating_mul(count));
    Failure::no_memory(format_args!(
        "collection `{name}` takes {} for each of its {count} dense vectors: start the server with \
         --memory {memory} ({})",
        format_bytes(each),
        format_bytes(memory),
    ))
}

/// How many collections share the memory.
fn shared_by(wanted: &Wanted<'_>) -> u64 {
    wanted.registry.names().collections.len().max(1) as u64
}

fn index_count(wanted: &Wanted<'_>) -> u64 {
    wanted.schema.dense.len().max(1) as u64
}

/// One who waits, until this is dropped.
struct Waits<'w>(&'w AtomicU64);

impl<'w> Waits<'w> {
    fn new(waiting: &'w AtomicU64) -> Self {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use serde_json::json;

    use super::*;
    use crate::collection::created;
    use crate::service::{Service, ServiceOptions};

    /// A service with collections of these names, and room for two of them.
    fn service(dir: &Path, names: &[&str]) -> Service {
        service_of(dir, (names, 4), 64 << 20)
    }

    /// A service with collections of these names and vectors of a size, and so much memory.
    fn service_of(dir: &Path, (names, size): (&[&str], u32), memory: u64) -> Service {
        let options = ServiceOptions {
            memory,
            threads: 1,
            recall: 0.9,
            slow: Duration::from_secs(1),
            latency_target: None,
        };
        let service = Service::open(dir, options).unwrap();
        let body = json!({"vectors": {"size": size, "distance": "Dot"}});
        let config = created(body.as_object().unwrap()).unwrap();
        let registry = &service.registry;
        let turn = registry.turn();
        for name in names {
            let add = |names: &mut crate::registry::Names| {
                let dir = registry.dir_of(names.add(name, config.clone()));
                let schema = Schema::of(&config)?;
                OpenCollection::create(registry.vfs(), &dir, &schema)
            };
            registry.change(&turn, add).unwrap();
        }
        drop(turn);
        service
    }

    fn bytes_of(service: &Service, name: &str) -> Option<u64> {
        service
            .shelf
            .bytes_of(service.entry(name).unwrap().1.number)
    }

    fn grow(service: &Service, name: &str, unused_since: u64) -> bool {
        let (name, entry) = service.entry(name).unwrap();
        service.grow(&name, &entry, unused_since).unwrap()
    }

    #[test]
    fn memory_grows_out_of_what_nobody_uses() {
        let dir = tempfile::tempdir().unwrap();
        let service = service(dir.path(), &["a", "b"]);
        let used = service.collection("a").unwrap();
        let before = bytes_of(&service, "a").unwrap();
        assert!(!grow(&service, "a", 0), "in use");
        drop(used);
        drop(service.collection("b").unwrap());
        let since = service.shelf.uses();
        drop(service.collection("a").unwrap());
        assert!(!grow(&service, "a", 0), "no room beside another");
        assert_eq!(bytes_of(&service, "a"), Some(before));
        assert!(grow(&service, "a", since));
        assert_eq!(bytes_of(&service, "a"), Some(before + SEARCH_LEAST));
        assert_eq!(bytes_of(&service, "b"), None);
        let (budget, taken) = service.shelf.memory();
        assert!(taken <= budget && taken == before + SEARCH_LEAST);
    }

    #[test]
    fn writers_of_long_vectors_stay_within_the_budget() {
        let dir = tempfile::tempdir().unwrap();
        let service = service_of(dir.path(), (&["a", "b"], 1536), 256 << 20);
        let held = (service.collection("a"), service.collection("b"));
        assert!(held.0.is_ok() && held.1.is_ok(), "{:?}", held.1.err());
        let bytes = ["a", "b"].map(|name| bytes_of(&service, name).unwrap());
        let (budget, taken) = service.shelf.memory();
        assert!(taken == bytes[0] + bytes[1] && taken <= budget, "{bytes:?}");
    }

    #[test]
    fn who_has_grown_gives_way_to_who_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let service = service(dir.path(), &["a", "b", "c"]);
        // What one had that is closed by now is no reason to give it as much again.
        drop(service.collection("b").unwrap());
        assert!(grow(&service, "b", 0) && grow(&service, "b", 0));
        assert!(service.shelf.close_oldest((u64::MAX, u64::MAX)).unwrap());
        drop(service.collection("a").unwrap());
        assert!(grow(&service, "a", 0));
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for pause in [17, 23] {
                let (ends, service) = (&ends, &service);
                scope.spawn(move || {
                    while !ends.load(Ordering::Acquire) {
                        // Whether it can be opened again later is of no interest.
                        let own = service.collection("a");
                        std::thread::sleep(Duration::from_millis(pause));
                        drop(own);
                    }
                });
            }
            let held = (service.collection("b").unwrap(), service.collection("c"));
            ends.store(true, Ordering::Release);
            assert!(held.1.is_ok(), "{:?}", held.1.err());
        });
    }
}
