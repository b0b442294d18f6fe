//! The cache against a list that is searched from end to end, and under threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;

const PAYLOAD_BYTES: usize = 96;
const EVICTIONS: [Eviction; 3] = [Eviction::Pinned, Eviction::Lru, Eviction::Clock];

/// What the file holds: a length and a pattern that belong to the page alone.
fn payload(page: u32) -> Vec<u8> {
    let length = PAYLOAD_BYTES - page as usize % 7;
    (page.to_le_bytes().into_iter().cycle().take(length)).collect()
}

/// Reads a page and checks every byte of it; whether it was there.
fn hit(cache: &FrameCache, page: u32) -> bool {
    let mut out = [0xEE; PAYLOAD_BYTES];
    let found = cache.read(page, &mut out);
    let mut expected = payload(page);
    expected.resize(PAYLOAD_BYTES, 0);
    assert!(!found || out[..] == expected, "page {page}: {out:?}");
    assert!(found || out == [0xEE; PAYLOAD_BYTES]);
    found
}

fn offer(cache: &FrameCache, page: u32) {
    cache.offer(page, &[&payload(page)]);
}

fn pin(cache: &FrameCache, page: u32) -> bool {
    cache.pin(page, &payload(page))
}

struct Held {
    page: u32,
    pinned: bool,
    used: bool,
    last_use: usize,
}

/// The definitions of the policies, over an array with the hand of a clock.
struct Model {
    held: Vec<Held>,
    capacity: usize,
    hand: usize,
    now: usize,
    eviction: Eviction,
}

impl Model {
    fn touch(&mut self, page: u32) -> bool {
        self.now += 1;
        let found = self.held.iter_mut().find(|held| held.page == page);
        found.is_some_and(|held| {
            (held.used, held.last_use) = (true, self.now);
            true
        })
    }

    fn pin(&mut self, page: u32) -> bool {
        if let Some(held) = self.held.iter_mut().find(|held| held.page == page) {
            held.pinned = true;
            return true;
        }
        self.add(page, true)
    }

    fn offer(&mut self, page: u32) {
        if self.eviction == Eviction::Pinned || self.touch(page) || self.add(page, false) {
            return;
        }
        if let Some(victim) = self.victim() {
            self.held[victim] = self.fresh(page, false);
        }
    }

    fn victim(&mut self) -> Option<usize> {
        if self.eviction == Eviction::Lru {
            let unpinned = (0..self.held.len()).filter(|at| !self.held[*at].pinned);
            return unpinned.min_by_key(|at| self.held[*at].last_use);
        }
        for _ in 0..2 * self.held.len() {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.held.len();
            let held = &mut self.held[at];
            if !held.pinned && !std::mem::take(&mut held.used) {
                return Some(at);
            }
        }
        None
    }

    fn add(&mut self, page: u32, pinned: bool) -> bool {
        let room = self.held.len() < self.capacity;
        if room {
            let fresh = self.fresh(page, pinned);
            self.held.push(fresh);
        }
        room
    }

    fn fresh(&self, page: u32, pinned: bool) -> Held {
        Held {
            page,
            pinned,
            used: false,
            last_use: self.now,
        }
    }
}

proptest! {
    #[test]
    fn one_shard_holds_exactly_the_pages_of_its_policy(
        capacity in 0usize..12,
        eviction in prop::sample::select(&EVICTIONS[..]),
        uses in prop::collection::vec((0u32..20, 0u32..16), 1..300),
    ) {
        let cache = FrameCache::new(capacity, PAYLOAD_BYTES, eviction);
        let mut model = Model { held: vec![], capacity, hand: 0, now: 0, eviction };
        for (page, what) in uses {
            match what {
                0 => prop_assert_eq!(pin(&cache, page), model.pin(page)),
                1..8 => {
                    offer(&cache, page);
                    model.offer(page);
                }
                _ => prop_assert_eq!(hit(&cache, page), model.touch(page)),
            }
            prop_assert_eq!(cache.len(), model.held.len());
        }
        for page in 0..20 {
            prop_assert_eq!(hit(&cache, page), model.touch(page));
        }
    }

    #[test]
    fn capacity_is_the_largest_that_fits(bytes in 0u64..1 << 40, payload_bytes in 0usize..70_000) {
        let capacity = FrameCache::capacity_for(bytes, payload_bytes);
        prop_assert!(FrameCache::bytes(capacity, payload_bytes) <= bytes);
        prop_assert!(
            capacity == u32::MAX as usize || FrameCache::bytes(capacity + 1, payload_bytes) > bytes
        );
    }
}

#[test]
fn least_recently_used_and_second_chance_differ_as_they_should() {
    let survivors = |eviction| {
        let cache = FrameCache::new(3, PAYLOAD_BYTES, eviction);
        (1..=3).for_each(|page| offer(&cache, page));
        // 2 and 1 are used again, so that 3 is the oldest use, and the only one without a second.
        assert!(hit(&cache, 2) && hit(&cache, 1));
        offer(&cache, 4);
        offer(&cache, 5);
        [1, 2, 3, 4, 5].map(|page| hit(&cache, page))
    };
    assert_eq!(survivors(Eviction::Lru), [true, false, false, true, true]);
    // The hand spares 1 and 2 and takes 3; then it meets 1 again, no longer used.
    assert_eq!(survivors(Eviction::Clock), [false, true, false, true, true]);
}

#[test]
fn every_frame_can_be_pinned_and_stays() {
    for (capacity, eviction) in [0, 1, 63, 200, 1000, 5000]
        .into_iter()
        .zip(EVICTIONS.into_iter().cycle())
    {
        let cache = FrameCache::new(capacity, PAYLOAD_BYTES, eviction);
        let pages = |first: u32| first..first + capacity as u32;
        assert!(pages(0).all(|page| pin(&cache, page)));
        assert!(!pin(&cache, u32::MAX), "{capacity} of {eviction:?}");
        pages(1 << 20).for_each(|page| offer(&cache, page));
        assert_eq!(cache.len(), capacity);
        assert!(pages(0).all(|page| hit(&cache, page) && pin(&cache, page)));
        assert!(!pages(1 << 20).any(|page| hit(&cache, page)));
    }
}

#[test]
fn what_does_not_fit_is_not_kept() {
    for eviction in EVICTIONS {
        let cache = FrameCache::new(4, 8, eviction);
        assert!(!cache.pin(1, &[1; 9]));
        cache.offer(1, &[&[1; 9]]);
        assert_eq!(cache.len(), 0);
        assert!(cache.pin(1, &[1; 8]));
        assert!(!cache.read(1, &mut [0; 7]));
        assert!(cache.read(1, &mut [0; 8]));
    }
}

#[test]
fn large_caches_fill_up_and_cost_what_they_say() {
    for capacity in [1, 64, 127, 128, 1000, 4095, 100_000] {
        let cache = FrameCache::new(capacity, 16, Eviction::Lru);
        assert!(cache.shards.len().is_power_of_two() && cache.shards.len() <= SHARDS_MAX);
        assert!(cache.shards.len() == 1 || capacity / cache.shards.len() >= SHARD_PAGES);
        let lock = |shard: &Locked| shard.lock(cache.owner).unwrap().held_bytes();
        let shards = cache.shards.iter().map(lock);
        let held = shards.sum::<usize>() + size_of_val(&*cache.shards);
        assert_eq!(held as u64, FrameCache::bytes(capacity, 16));
        let count = 4 * capacity as u32;
        (0..count).for_each(|page| cache.offer(page, &[&page.to_le_bytes()]));
        assert!(cache.len() <= capacity && cache.len() >= capacity * 15 / 16);
        let mut out = [9; 16];
        let last = (count - 1).to_le_bytes();
        assert!(cache.read(count - 1, &mut out) && out[..4] == last && out[4..] == [0; 12]);
    }
    assert_eq!(FrameCache::bytes(0, 4096), 0);
}

#[test]
fn threads_read_whole_payloads_of_their_page() {
    for (capacity, eviction) in [
        (40, Eviction::Lru),
        (300, Eviction::Lru),
        (300, Eviction::Clock),
    ] {
        let cache = FrameCache::new(capacity, PAYLOAD_BYTES, eviction);
        let hits = AtomicUsize::new(0);
        let search = |seed: u32| {
            let mut state = seed;
            for _ in 0..20_000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let page = (state >> 8) % (3 * capacity as u32);
                if hit(&cache, page) {
                    hits.fetch_add(1, Ordering::Relaxed);
                } else {
                    offer(&cache, page);
                }
            }
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|seed| drop(scope.spawn(move || search(seed))));
        });
        // A third of the pages is held, so about a third of the reads are hits.
        let hits = hits.into_inner();
        assert!((20_000..35_000).contains(&hits), "{hits} of 80,000");
        assert!(cache.len() <= capacity);
    }
}
