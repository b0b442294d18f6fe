//! Requests served by the caller, one at a time. No threads, no ring: the floor that always works.

use std::io;

use super::files::LaneFiles;
use super::slots::Slots;
use super::transfer::perform;
use super::{IoBackend, IoCounters, LaneRequest, PageDone, PageIo};
use crate::AlignedBuffers;

pub(super) struct BlockingLane {
    files: LaneFiles,
    buffers: AlignedBuffers,
    slots: Slots,
    queued: Vec<u32>,
}

impl BlockingLane {
    pub(super) fn new(files: LaneFiles, buffers: u32) -> io::Result<Self> {
        let unit_bytes = files.unit_bytes();
        Ok(Self {
            buffers: AlignedBuffers::new(buffers as usize, unit_bytes)?,
            slots: Slots::new(buffers, files.seal(), files.units(), files.writable()),
            files,
            queued: Vec::with_capacity(buffers as usize),
        })
    }
}

impl PageIo for BlockingLane {
    fn request(&mut self, request: LaneRequest) -> io::Result<()> {
        if let LaneRequest::Write(write) = request
            && self.slots.at_rest(write.buffer)
        {
            self.slots.check_sealed(write, self.buffer(write.buffer))?;
        }
        self.slots.claim(request)?;
        self.queued.push(request.buffer());
        Ok(())
    }

    fn wait(&mut self, _at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        for buffer in self.queued.drain(..) {
            let work = self.slots.work_of(buffer);
            let length = self.slots.bytes_of(buffer);
            let bytes = self.buffers.get_mut(buffer as usize);
            let bytes = bytes.get_mut(..length).unwrap_or_default();
            let file = self.files.get(self.slots.file_of(buffer));
            let result = perform(file.file().as_ref(), work, bytes);
            done.push(self.slots.release(buffer, result)?);
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
        IoBackend::Blocking
    }
}
