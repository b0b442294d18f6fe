//! Reads by the caller, one at a time. No threads, no ring: the floor that always works.

use std::io;

use super::slots::Slots;
use super::{IoBackend, IoCounters, PageDone, PageIo, PageRead, read_fully};
use crate::{AlignedBuffers, PageFile};

pub(super) struct BlockingLane {
    file: PageFile,
    buffers: AlignedBuffers,
    slots: Slots,
    queued: Vec<u32>,
}

impl BlockingLane {
    pub(super) fn new(file: &PageFile, buffers: u32) -> io::Result<Self> {
        let geometry = file.geometry();
        Ok(Self {
            file: file.clone(),
            buffers: AlignedBuffers::new(buffers as usize, geometry.unit_bytes())?,
            slots: Slots::new(buffers, geometry, file.units()),
            queued: Vec::with_capacity(buffers as usize),
        })
    }
}

impl PageIo for BlockingLane {
    fn submit(&mut self, read: PageRead) -> io::Result<()> {
        self.slots.claim(read)?;
        self.queued.push(read.buffer);
        Ok(())
    }

    fn wait(&mut self, _at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        for buffer in self.queued.drain(..) {
            let offset = self.slots.offset_of(buffer);
            let bytes = self.buffers.get_mut(buffer as usize);
            let result = read_fully(self.file.file().as_ref(), bytes, offset);
            done.push(self.slots.release(buffer, result));
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
        IoBackend::Blocking
    }
}
