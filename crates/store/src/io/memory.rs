//! Units in memory, completing in a seeded random order: what tests and simulations read from.

use std::io;
use std::sync::Arc;

use pageway_types::SplitMix64;

use super::slots::Slots;
use super::{IoBackend, IoCounters, PageDone, PageIo, PageRead};
use crate::{AlignedBuffers, PageGeometry};

/// Sealed units. Bytes may be damaged on purpose by whoever makes them.
#[derive(Debug)]
pub(super) struct MemoryUnits {
    pub(super) units: Vec<Vec<u8>>,
    /// `None`: completions in the order of submission.
    pub(super) order_seed: Option<u64>,
}

pub(super) struct MemoryLane {
    source: Arc<MemoryUnits>,
    buffers: AlignedBuffers,
    slots: Slots,
    queued: Vec<u32>,
    random: Option<SplitMix64>,
}

impl MemoryLane {
    pub(super) fn new(
        source: &Arc<MemoryUnits>,
        geometry: PageGeometry,
        buffers: u32,
    ) -> io::Result<Self> {
        Ok(Self {
            source: Arc::clone(source),
            buffers: AlignedBuffers::new(buffers as usize, geometry.unit_bytes())?,
            slots: Slots::new(buffers, geometry, source.units.len() as u64),
            queued: Vec::with_capacity(buffers as usize),
            random: source.order_seed.map(SplitMix64::new),
        })
    }

    /// How many reads complete now: as few as asked for, or any number up to all.
    fn count(&mut self, at_least: usize) -> usize {
        let (least, most) = (at_least.min(self.queued.len()), self.queued.len());
        self.random
            .as_mut()
            .map_or(most, |random| least + draw(random, most - least + 1))
    }
}

impl PageIo for MemoryLane {
    fn submit(&mut self, read: PageRead) -> io::Result<()> {
        self.slots.claim(read)?;
        // The bytes are taken here: nothing changes them later, and the slot knows only an offset.
        let bytes = self
            .source
            .units
            .get(read.unit as usize)
            .map_or(&[][..], Vec::as_slice);
        let buffer = self.buffers.get_mut(read.buffer as usize);
        let count = bytes.len().min(buffer.len());
        let (filled, rest) = buffer.split_at_mut(count);
        filled.copy_from_slice(bytes.get(..count).unwrap_or_default());
        rest.fill(0);
        self.queued.push(read.buffer);
        Ok(())
    }

    fn wait(&mut self, at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        for _ in 0..self.count(at_least) {
            let queued = self.queued.len();
            let next = self
                .random
                .as_mut()
                .map_or(0, |random| draw(random, queued));
            let buffer = self.queued.remove(next);
            done.push(self.slots.release(buffer, Ok(())));
        }
        Ok(())
    }

    fn buffer(&self, buffer: u32) -> &[u8] {
        self.slots.assert_at_rest(buffer);
        self.buffers.get(buffer as usize)
    }

    fn counters(&self) -> IoCounters {
        self.slots.counters()
    }

    fn backend(&self) -> IoBackend {
        IoBackend::Memory
    }
}

/// A number below `limit`; the orders that tests have met depend on the remainder.
fn draw(random: &mut SplitMix64, limit: usize) -> usize {
    (random.next_u64() % limit.max(1) as u64) as usize
}
