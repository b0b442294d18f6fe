//! What is kept after a read: payloads by the number of their page or node, shared by all searches
//! of an open index.
//!
//! ```text
//! number -- hash --> shard (mutex) -- hash --> chain of frames --> payload
//! ```
//!
//! Invariants:
//! * Memory is fixed: [`FrameCache::new`] allocates [`FrameCache::bytes`], nothing allocates later.
//! * A payload goes in and comes out as a copy under the lock of its shard, so no read sees half of
//!   one or that of another number.
//! * The file behind the payloads does not change while the cache lives.
//! * No more than one lock is held at a time.
//! * A child of a fork waits for no lock: a thread of its parent may have held it. What it cannot
//!   lock it does not find.

mod shard;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pageway_store::Process;

use shard::Shard;

use crate::memory::largest;

/// Frames per shard below which a further shard saves no waiting worth its imbalance.
const SHARD_PAGES: usize = 64;

/// Most shards: more than threads that search at once.
const SHARDS_MAX: usize = 64;

/// Which payload gives way to a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eviction {
    /// None: what was pinned at open stays, and nothing is added later.
    Pinned,
    /// The one whose last use is the longest ago.
    Lru,
    /// CLOCK, the second chance (Corbató 1968): the oldest, unless it was used again since it came
    /// or was last spared; then it is spared once more. A new one has not been used *again*,
    /// so those that one query meets once make way before those that queries share.
    Clock,
}

/// Alone on its cache line, so that waiting for one shard does not slow the next.
#[repr(align(64))]
struct Locked(Mutex<Shard>);

/// A fixed number of payloads. See the module for what always holds.
pub(crate) struct FrameCache {
    /// A power of two of them; none when the capacity is 0.
    shards: Box<[Locked]>,
    owner: Process,
    eviction: Eviction,
    capacity: usize,
    /// Bytes held.
    bytes: u64,
}

impl FrameCache {
    /// A cache of `capacity` payloads of at most `payload_bytes` each, allocated at once. A
    /// capacity of 0 is a cache that holds nothing and costs nothing.
    pub(crate) fn new(capacity: usize, payload_bytes: usize, eviction: Eviction) -> Self {
        let shards = shard_capacities(capacity)
            .map(|frames| Locked(Mutex::new(Shard::new(frames, payload_bytes))))
            .collect();
        Self {
            shards,
            owner: Process::current(),
            eviction,
            capacity,
            bytes: Self::bytes(capacity, payload_bytes),
        }
    }

    /// Bytes that such a cache holds.
    pub(crate) fn bytes(capacity: usize, payload_bytes: usize) -> u64 {
        shard_capacities(capacity)
            .map(|frames| size_of::<Locked>() as u64 + Shard::bytes(frames, payload_bytes))
            .sum()
    }

    /// The most payloads that `bytes` can hold.
    pub(crate) fn capacity_for(bytes: u64, payload_bytes: usize) -> usize {
        // There are no more than numbers for them.
        let fits = |capacity| Self::bytes(capacity as usize, payload_bytes) <= bytes;
        largest(0, u32::MAX, fits) as usize
    }

    /// Copies the payload of `number` to the start of `out` and fills the rest with zeros; false
    /// when it is not here, or `out` too short for it. Counts as a use.
    pub(crate) fn read(&self, number: u32, out: &mut [u8]) -> bool {
        let Some(mut home) = self.lock(number, 0) else {
            return false;
        };
        if home.read(number, self.eviction, out) {
            return true;
        }
        let spill = home.spill;
        drop(home);
        (1..=spill).any(|step| {
            self.lock(number, step)
                .is_some_and(|mut shard| shard.read(number, self.eviction, out))
        })
    }

    /// Offers a payload that was read and verified, after [`FrameCache::read`] did not find it. It
    /// takes a free frame or that of one that gives way; one that is here already counts as used
    /// once more. Nothing is kept when all are pinned or the payload is too long. It comes in parts
    /// that follow each other.
    pub(crate) fn offer(&self, number: u32, parts: &[&[u8]]) {
        if self.eviction == Eviction::Pinned {
            return;
        }
        if let Some(mut home) = self.lock(number, 0) {
            home.offer(number, self.eviction, parts);
        }
    }

    /// Puts a payload in for good, whatever the eviction. For loading, before anything is offered:
    /// false when no frame is free, or the payload is too long.
    pub(crate) fn pin(&self, number: u32, payload: &[u8]) -> bool {
        let taken = (0..self.shards.len()).find(|step| {
            self.lock(number, *step)
                .is_some_and(|mut shard| shard.pin(number, payload))
        });
        // Where the home of a number is full the next shard takes it, or the last frames of the
        // cache would stay empty; the home remembers how far to look.
        if let (Some(step @ 1..), Some(mut home)) = (taken, self.lock(number, 0)) {
            home.spill = home.spill.max(step);
        }
        taken.is_some()
    }

    /// Whether the payload of `number` is here. Counts as no use.
    pub(crate) fn contains(&self, number: u32) -> bool {
        let Some(home) = self.lock(number, 0) else {
            return false;
        };
        let (found, spill) = (home.contains(number), home.spill);
        drop(home);
        let elsewhere = |step| self.lock(number, step);
        found || (1..=spill).any(|step| elsewhere(step).is_some_and(|shard| shard.contains(number)))
    }

    /// Which payload gives way.
    pub(crate) fn eviction(&self) -> Eviction {
        self.eviction
    }

    /// Payloads held at most.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes held, full or not.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.bytes
    }

    /// Payloads held.
    pub(crate) fn len(&self) -> usize {
        let guards = self.shards.iter().filter_map(|own| own.lock(self.owner));
        guards.map(|shard| shard.len()).sum()
    }

    /// The shard `step` places behind the home of a number; none when the capacity is 0, or the
    /// lock is not to be had.
    fn lock(&self, number: u32, step: usize) -> Option<MutexGuard<'_, Shard>> {
        let mask = self.shards.len().wrapping_sub(1);
        // The highest bits of the hash: a shard chooses its chain by those in the middle.
        let home = (hash(number) >> (u64::BITS - SHARDS_MAX.ilog2())) as usize;
        let shard = self.shards.get(home.wrapping_add(step) & mask)?;
        shard.lock(self.owner)
    }
}

impl Locked {
    /// None where another holds it and this is a child of its `owner`.
    fn lock(&self, owner: Process) -> Option<MutexGuard<'_, Shard>> {
        // Nothing panics between the first and the last change to a shard.
        if owner.is_current() {
            return Some(self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.0.try_lock() {
            Ok(shard) => Some(shard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Frames of each shard: a power of two of shards that differ by at most one frame.
fn shard_capacities(capacity: usize) -> impl Iterator<Item = usize> {
    let wanted = (capacity / SHARD_PAGES).clamp(1, SHARDS_MAX);
    let shards = 1 << wanted.ilog2();
    let (frames, longer) = (capacity / shards, capacity % shards);
    let count = if capacity == 0 { 0 } else { shards };
    (0..count).map(move |shard| frames + usize::from(shard < longer))
}

/// A multiplicative hash: mixed from the highest bit down.
fn hash(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
