//! One shard of a cache: frames, found by chains and ordered by age.
//!
//! ```text
//! chains[hash] --> frame --> frame --> NONE                     linked by `next`
//! frames[last] <=> newest <=> ... <=> oldest <=> frames[last]   a ring; its last is empty
//! ```
//!
//! Invariants: frames are taken in order and never given back, so those below `used` hold a payload
//! each and all others none; each of them is on the chain of its number, and on the ring unless it
//! is pinned; no number has two frames.
#![expect(
    clippy::indexing_slicing,
    reason = "chains and rings hold numbers of frames of this shard"
)]

use super::{Eviction, hash};

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// What is known of one payload.
#[derive(Clone)]
struct Frame {
    number: u32,
    /// Bytes of the payload.
    length: u32,
    /// The next frame of the chain.
    next: u32,
    /// Neighbours on the ring: the frame itself when it is pinned.
    newer: u32,
    older: u32,
    /// Used since it came to the new end of the ring; for CLOCK alone.
    used: bool,
}

/// A fixed number of frames with their payloads.
pub(super) struct Shard {
    chains: Box<[u32]>,
    frames: Box<[Frame]>,
    payloads: Box<[u8]>,
    payload_bytes: usize,
    used: usize,
    /// How many shards behind this one may hold pinned payloads that had no room here.
    pub(super) spill: usize,
}

impl Shard {
    /// An empty shard with room for `capacity`.
    pub(super) fn new(capacity: usize, payload_bytes: usize) -> Self {
        let frame = |at: u32| Frame {
            number: 0,
            length: 0,
            next: NONE,
            newer: at,
            older: at,
            used: false,
        };
        Self {
            chains: vec![NONE; capacity.next_power_of_two()].into(),
            frames: (0..=capacity as u32).map(frame).collect(),
            payloads: vec![0; capacity * payload_bytes].into(),
            payload_bytes,
            used: 0,
            spill: 0,
        }
    }

    /// Bytes that [`Shard::new`] allocates.
    pub(super) fn bytes(capacity: usize, payload_bytes: usize) -> u64 {
        let chains = capacity.next_power_of_two() * size_of::<u32>();
        let frames = (capacity + 1) * size_of::<Frame>();
        (chains + frames) as u64 + capacity as u64 * payload_bytes as u64
    }

    /// What [`Shard::bytes`] foretells.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        size_of_val(&*self.chains) + size_of_val(&*self.frames) + self.payloads.len()
    }

    /// Payloads held.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// See [`super::FrameCache::read`].
    pub(super) fn read(&mut self, number: u32, eviction: Eviction, out: &mut [u8]) -> bool {
        let Some(frame) = self.find(number) else {
            return false;
        };
        let start = frame as usize * self.payload_bytes;
        let length = self.frames[frame as usize].length as usize;
        let Some((filled, rest)) = out.split_at_mut_checked(length) else {
            return false;
        };
        filled.copy_from_slice(&self.payloads[start..start + length]);
        rest.fill(0);
        self.touch(frame, eviction);
        true
    }

    /// See [`super::FrameCache::offer`].
    pub(super) fn offer(&mut self, number: u32, eviction: Eviction, parts: &[&[u8]]) {
        if length_of(parts) > self.payload_bytes {
            return;
        }
        if let Some(frame) = self.find(number) {
            self.touch(frame, eviction);
        } else if let Some(frame) = self.free().or_else(|| self.evict()) {
            self.fill(frame, number, parts);
            self.push_newest(frame);
        }
    }

    /// See [`super::FrameCache::pin`].
    pub(super) fn pin(&mut self, number: u32, payload: &[u8]) -> bool {
        if payload.len() > self.payload_bytes {
            return false;
        }
        if let Some(frame) = self.find(number) {
            self.unlink(frame);
            return true;
        }
        let free = self.free();
        if let Some(frame) = free {
            self.fill(frame, number, &[payload]);
        }
        free.is_some()
    }

    /// See [`super::FrameCache::contains`].
    pub(super) fn contains(&self, number: u32) -> bool {
        self.find(number).is_some()
    }

    fn find(&self, number: u32) -> Option<u32> {
        let mut frame = self.chains[self.chain(number)];
        while frame != NONE {
            let held = &self.frames[frame as usize];
            if held.number == number {
                return Some(frame);
            }
            frame = held.next;
        }
        None
    }

    fn chain(&self, number: u32) -> usize {
        (hash(number) >> 32) as usize & (self.chains.len() - 1)
    }

    /// The frame that closes the ring.
    fn last(&self) -> u32 {
        self.frames.len() as u32 - 1
    }

    /// The next frame that never held a payload.
    fn free(&mut self) -> Option<u32> {
        let frame = self.used as u32;
        let free = frame < self.last();
        self.used += usize::from(free);
        free.then_some(frame)
    }

    /// Puts a payload into a frame that is on no chain.
    fn fill(&mut self, frame: u32, number: u32, parts: &[&[u8]]) {
        let mut end = frame as usize * self.payload_bytes;
        for part in parts {
            let start = end;
            end += part.len();
            self.payloads[start..end].copy_from_slice(part);
        }
        let chain = self.chain(number);
        let held = &mut self.frames[frame as usize];
        held.number = number;
        held.length = length_of(parts) as u32;
        held.next = std::mem::replace(&mut self.chains[chain], frame);
    }

    /// Takes the frame from the payload that gives way; none when all are pinned.
    fn evict(&mut self) -> Option<u32> {
        let mut oldest = self.frames[self.last() as usize].newer;
        while std::mem::take(&mut self.frames[oldest as usize].used) {
            self.unlink(oldest);
            self.push_newest(oldest);
            oldest = self.frames[self.last() as usize].newer;
        }
        if oldest == self.last() {
            return None;
        }
        self.unlink(oldest);
        self.unchain(oldest);
        Some(oldest)
    }

    fn unchain(&mut self, frame: u32) {
        let Frame { number, next, .. } = self.frames[frame as usize];
        let chain = self.chain(number);
        let mut link = &mut self.chains[chain];
        while *link != frame {
            link = &mut self.frames[*link as usize].next;
        }
        *link = next;
    }

    /// Notes a use; a pinned payload needs none.
    fn touch(&mut self, frame: u32, eviction: Eviction) {
        let held = &mut self.frames[frame as usize];
        if held.newer == frame {
            return;
        }
        match eviction {
            Eviction::Pinned => {}
            Eviction::Clock => held.used = true,
            Eviction::Lru => {
                self.unlink(frame);
                self.push_newest(frame);
            }
        }
    }

    fn unlink(&mut self, frame: u32) {
        let Frame { newer, older, .. } = self.frames[frame as usize];
        self.frames[newer as usize].older = older;
        self.frames[older as usize].newer = newer;
        let held = &mut self.frames[frame as usize];
        (held.newer, held.older) = (frame, frame);
    }

    fn push_newest(&mut self, frame: u32) {
        let last = self.last();
        let newest = std::mem::replace(&mut self.frames[last as usize].older, frame);
        self.frames[newest as usize].newer = frame;
        let held = &mut self.frames[frame as usize];
        (held.newer, held.older) = (last, newest);
    }
}

fn length_of(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}
