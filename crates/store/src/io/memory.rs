//! Units in memory, completing in a seeded random order: what tests and simulations read and write.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pageway_types::SplitMix64;

use super::slots::{FileUnits, Slots};
use super::transfer::Work;
use super::{IoBackend, IoCounters, LaneRequest, PageDone, PageIo, PageRead};
use crate::AlignedBuffers;
use crate::page::UnitSeal;

/// Sealed units. Bytes may be damaged on purpose by whoever makes them.
#[derive(Debug)]
pub(super) struct MemoryUnits {
    pub(super) units: Mutex<Vec<Vec<u8>>>,
    pub(super) seal: UnitSeal,
    /// `None`: completions in the order of submission.
    pub(super) order_seed: Option<u64>,
}

impl MemoryUnits {
    pub(super) fn units(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct MemoryLane {
    sources: Vec<Arc<MemoryUnits>>,
    buffers: AlignedBuffers,
    slots: Slots,
    queued: Vec<u32>,
    random: Option<SplitMix64>,
}

impl MemoryLane {
    /// A lane over sources, at least one; what is written goes to the first.
    pub(super) fn new(sources: Vec<Arc<MemoryUnits>>, buffers: u32) -> io::Result<Self> {
        let first = sources.first().ok_or(io::ErrorKind::InvalidInput)?;
        let units = |source: &Arc<MemoryUnits>| FileUnits {
            count: source.units().len() as u64,
            geometry: source.seal.geometry(),
        };
        let (seal, order_seed) = (first.seal, first.order_seed);
        let units: Vec<FileUnits> = sources.iter().map(units).collect();
        let largest = units.iter().map(|own| own.geometry.unit_bytes()).max();
        Ok(Self {
            buffers: AlignedBuffers::new(buffers as usize, largest.unwrap_or(0))?,
            slots: Slots::new(buffers, seal, units, true),
            sources,
            queued: Vec::with_capacity(buffers as usize),
            random: order_seed.map(SplitMix64::new),
        })
    }

    /// A read takes its bytes when it is accepted.
    fn fill(&mut self, read: PageRead) {
        let units = self.sources.get(read.file as usize).map(|own| own.units());
        let unit = units
            .as_ref()
            .and_then(|units| units.get(read.unit as usize));
        let bytes = unit.map_or(&[][..], Vec::as_slice);
        let buffer = self.buffers.get_mut(read.buffer as usize);
        let count = bytes.len().min(buffer.len());
        let (filled, rest) = buffer.split_at_mut(count);
        filled.copy_from_slice(bytes.get(..count).unwrap_or_default());
        rest.fill(0);
    }

    /// A write changes the unit when it completes.
    fn store(&self, buffer: u32) {
        let Work::Write(offset) = self.slots.work_of(buffer) else {
            return;
        };
        let Some(source) = self.sources.first() else {
            return;
        };
        let geometry = source.seal.geometry();
        let unit = (offset - geometry.unit_offset(0)) as usize / geometry.unit_bytes();
        if let Some(bytes) = source.units().get_mut(unit) {
            *bytes = self.buffers.get(buffer as usize).to_vec();
        }
    }

    /// How many requests complete now: as few as asked for, or any number up to all.
    fn count(&mut self, at_least: usize) -> usize {
        let (least, most) = (at_least.min(self.queued.len()), self.queued.len());
        self.random
            .as_mut()
            .map_or(most, |random| least + draw(random, most - least + 1))
    }
}

impl PageIo for MemoryLane {
    fn request(&mut self, request: LaneRequest) -> io::Result<()> {
        if let LaneRequest::Write(write) = request
            && self.slots.at_rest(write.buffer)
        {
            self.slots.check_sealed(write, self.buffer(write.buffer))?;
        }
        self.slots.claim(request)?;
        if let LaneRequest::Read(read) = request {
            self.fill(read);
        }
        self.queued.push(request.buffer());
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
            self.store(buffer);
            done.push(self.slots.release(buffer, Ok(()))?);
        }
        Ok(())
    }

    fn buffer(&self, buffer: u32) -> &[u8] {
        self.slots.assert_at_rest(buffer);
        self.buffers.get(buffer as usize)
    }

    fn buffer_mut(&mut self, buffer: u32) -> &mut [u8] {
        self.slots.assert_at_rest(buffer);
        self.buffers.get_mut(buffer as usize)
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
