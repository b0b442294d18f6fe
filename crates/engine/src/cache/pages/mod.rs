//! Pages kept after a read: payloads by page number, shared by all searches of an open index.
//!
//! ```text
//! page -- hash --> shard (mutex) -- hash --> chain of frames --> payload
//! ```
//!
//! Invariants:
//! * Memory is fixed: [`PageCache::new`] allocates [`PageCache::bytes`], nothing allocates later.
//! * A payload goes in and comes out as a copy under the lock of its shard, so no read sees half of
//!   one or one of another page.
//! * The file behind the pages does not change while the cache lives.
//! * No more than one lock is held at a time.

mod shard;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pageway_types::PageId;

use shard::Shard;

/// Pages per shard below which a further shard saves no waiting worth its imbalance.
const SHARD_PAGES: usize = 64;

/// Most shards: more than threads that search at once.
const SHARDS_MAX: usize = 64;

/// Which page gives way to a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eviction {
    /// None: what was pinned at open stays, and nothing is added later.
    Pinned,
    /// The one whose last use is the longest ago.
    Lru,
    /// CLOCK, the second chance (Corbató 1968): the oldest, unless it was used again since it came
    /// or was last spared; then it is spared once more. A new page has not been used *again*, so
    /// pages that one query meets once make way before those that queries share.
    Clock,
}

/// Alone on its cache line, so that waiting for one shard does not slow the next.
#[repr(align(64))]
struct Locked(Mutex<Shard>);

/// A fixed number of page payloads. See the module for what always holds.
pub(crate) struct PageCache {
    /// A power of two of them; none when the capacity is 0.
    shards: Box<[Locked]>,
    eviction: Eviction,
    /// Bytes held.
    bytes: u64,
}

impl PageCache {
    /// A cache of `capacity_pages` payloads of at most `payload_bytes` each, allocated at once. A
    /// capacity of 0 is a cache that holds nothing and costs nothing.
    pub(crate) fn new(capacity_pages: usize, payload_bytes: usize, eviction: Eviction) -> Self {
        let shards = shard_capacities(capacity_pages)
            .map(|frames| Locked(Mutex::new(Shard::new(frames, payload_bytes))))
            .collect();
        Self {
            shards,
            eviction,
            bytes: Self::bytes(capacity_pages, payload_bytes),
        }
    }

    /// Bytes that such a cache holds.
    pub(crate) fn bytes(capacity_pages: usize, payload_bytes: usize) -> u64 {
        shard_capacities(capacity_pages)
            .map(|frames| size_of::<Locked>() as u64 + Shard::bytes(frames, payload_bytes))
            .sum()
    }

    /// The most pages that `bytes` can hold.
    pub(crate) fn capacity_for(bytes: u64, payload_bytes: usize) -> usize {
        // There are no more pages than numbers for them.
        let (mut low, mut high) = (0, u32::MAX as usize);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if Self::bytes(middle, payload_bytes) <= bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Copies the payload of `page` to the start of `out` and fills the rest with zeros; false when
    /// it is not here, or `out` too short for it. Counts as a use.
    pub(crate) fn read(&self, page: PageId, out: &mut [u8]) -> bool {
        let Some(mut home) = self.lock(page, 0) else {
            return false;
        };
        if home.read(page, self.eviction, out) {
            return true;
        }
        let spill = home.spill;
        drop(home);
        (1..=spill).any(|step| {
            self.lock(page, step)
                .is_some_and(|mut shard| shard.read(page, self.eviction, out))
        })
    }

    /// Offers a payload that was read and verified, after [`PageCache::read`] did not find it. It
    /// takes a free frame or that of a page that gives way; one that is here already counts as used
    /// once more. Nothing is kept when all pages are pinned or the payload is too long.
    pub(crate) fn offer(&self, page: PageId, payload: &[u8]) {
        if self.eviction == Eviction::Pinned {
            return;
        }
        if let Some(mut home) = self.lock(page, 0) {
            home.offer(page, self.eviction, payload);
        }
    }

    /// Puts a page in for good, whatever the eviction. For loading, before anything is offered:
    /// false when no frame is free, or the payload is too long.
    pub(crate) fn pin(&self, page: PageId, payload: &[u8]) -> bool {
        let taken = (0..self.shards.len()).find(|step| {
            self.lock(page, *step)
                .is_some_and(|mut shard| shard.pin(page, payload))
        });
        // Where the home of a page is full the next shard takes it, or the last frames of the
        // cache would stay empty; the home remembers how far to look.
        if let (Some(step @ 1..), Some(mut home)) = (taken, self.lock(page, 0)) {
            home.spill = home.spill.max(step);
        }
        taken.is_some()
    }

    /// Bytes held, full or not.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes
    }

    /// Pages held.
    pub(crate) fn len(&self) -> usize {
        let guards = self.shards.iter().map(Locked::lock);
        guards.map(|shard| shard.len()).sum()
    }

    /// The shard `step` places behind the home of a page; none when the capacity is 0.
    fn lock(&self, page: PageId, step: usize) -> Option<MutexGuard<'_, Shard>> {
        let mask = self.shards.len().wrapping_sub(1);
        // The highest bits of the hash: a shard chooses its chain by those in the middle.
        let home = (hash(page) >> (u64::BITS - SHARDS_MAX.ilog2())) as usize;
        let shard = self.shards.get(home.wrapping_add(step) & mask)?;
        Some(shard.lock())
    }
}

impl Locked {
    fn lock(&self) -> MutexGuard<'_, Shard> {
        // Nothing panics between the first and the last change to a shard.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frames of each shard: a power of two of shards that differ by at most one frame.
fn shard_capacities(capacity_pages: usize) -> impl Iterator<Item = usize> {
    let wanted = (capacity_pages / SHARD_PAGES).clamp(1, SHARDS_MAX);
    let shards = 1 << wanted.ilog2();
    let (frames, longer) = (capacity_pages / shards, capacity_pages % shards);
    let count = if capacity_pages == 0 { 0 } else { shards };
    (0..count).map(move |shard| frames + usize::from(shard < longer))
}

/// A multiplicative hash: mixed from the highest bit down.
fn hash(page: PageId) -> u64 {
    u64::from(page.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
