//! Which buffer is in flight for which request: the bookkeeping that all backends share.

use std::io;

use super::transfer::Work;
use super::{IoCounters, LaneRequest, PageDone, PageRead, PageWrite};
use crate::PageGeometry;
use crate::page::UnitSeal;

/// The units of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileUnits {
    pub(super) count: u64,
    pub(super) geometry: PageGeometry,
}

/// One slot per buffer of a lane.
///
/// Invariants: a slot holds a request from `claim` until `release`, and only then; so at most one
/// is in flight per buffer and every accepted request is released once. No sync is in flight
/// that was accepted while a write was.
#[derive(Debug)]
pub(super) struct Slots {
    requests: Vec<Option<LaneRequest>>,
    in_flight: usize,
    seal: UnitSeal,
    /// Of each file.
    units: Vec<FileUnits>,
    counters: IoCounters,
    writing: Writing,
}

/// What a lane may write, and knows of its writes.
#[derive(Debug)]
struct Writing {
    allowed: bool,
    in_flight: u32,
    /// A write or a sync failed: nobody knows what the file holds.
    failed: bool,
}

impl Slots {
    /// Of files with these units; `writable` when the first, whose seal it is, was opened to
    /// be written.
    pub(super) fn new(buffers: u32, seal: UnitSeal, units: Vec<FileUnits>, writable: bool) -> Self {
        Self {
            requests: vec![None; buffers as usize],
            in_flight: 0,
            seal,
            units,
            counters: IoCounters::default(),
            writing: Writing {
                allowed: writable,
                in_flight: 0,
                failed: false,
            },
        }
    }

    /// Bytes of bookkeeping per buffer, for the accounting of lanes.
    pub(super) const BYTES_EACH: usize = size_of::<Option<LaneRequest>>();

    /// Requests accepted and not yet handed out.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn counters(&self) -> IoCounters {
        self.counters
    }

    #[inline]
    pub(super) fn claim(&mut self, request: LaneRequest) -> io::Result<()> {
        let place = match request {
            LaneRequest::Read(PageRead { unit, file, .. }) => Some((unit, file)),
            LaneRequest::Write(PageWrite { unit, .. }) => {
                self.writing.check().map(|()| Some((unit, 0)))?
            }
            LaneRequest::Sync { .. } => self.writing.check_rest().map(|()| None)?,
        };
        if let Some((unit, file)) = place {
            let Some(units) = self.units.get(file as usize) else {
                return Err(refused("the lane has no such file"));
            };
            if unit >= units.count {
                return Err(refused("the unit lies behind the end of the file"));
            }
        }
        match self.requests.get_mut(request.buffer() as usize) {
            None => Err(refused("the lane has no such buffer")),
            Some(Some(_)) => Err(refused("the buffer is in flight")),
            Some(free) => {
                *free = Some(request);
                self.in_flight += 1;
                self.writing.in_flight += u32::from(matches!(request, LaneRequest::Write(_)));
                Ok(())
            }
        }
    }

    /// Refuses to write bytes that are not sealed as the unit they are to become: that would be
    /// damage made by ourselves.
    pub(super) fn check_sealed(&self, write: PageWrite, bytes: &[u8]) -> io::Result<()> {
        let checked = self.seal.check_epoch(write.unit, bytes, 0..=u32::MAX);
        checked
            .map(|_| ())
            .map_err(|_| refused("the buffer is not sealed as this unit"))
    }

    /// Ends the request of a buffer. `InvalidData` if there is none: then memory may have been
    /// written that its owner believed to be at rest, and the lane is unusable.
    pub(super) fn release(&mut self, buffer: u32, result: io::Result<()>) -> io::Result<PageDone> {
        let request = self.requests.get_mut(buffer as usize);
        let Some(request) = request.and_then(Option::take) else {
            return Err(stray());
        };
        self.in_flight -= 1;
        let (tag, unit) = match request {
            LaneRequest::Read(read) => {
                self.count(read, &result);
                (read.tag, read.unit)
            }
            LaneRequest::Write(write) => {
                self.writing.in_flight -= 1;
                self.writing.failed |= result.is_err();
                (write.tag, write.unit)
            }
            LaneRequest::Sync { tag, .. } => {
                self.writing.failed |= result.is_err();
                (tag, 0)
            }
        };
        Ok(PageDone {
            tag,
            buffer,
            unit,
            result,
        })
    }

    fn count(&mut self, read: PageRead, result: &io::Result<()>) {
        if result.is_ok() {
            let geometry = self.geometry_of(read.file);
            self.counters.reads += 1;
            self.counters.pages += u64::from(geometry.span());
            self.counters.bytes += geometry.unit_bytes() as u64;
        }
    }

    /// What the request that a buffer has in flight comes to.
    pub(super) fn work_of(&self, buffer: u32) -> Work {
        let offset = |file, unit| self.geometry_of(file).unit_offset(unit);
        match self.requests.get(buffer as usize).copied().flatten() {
            Some(LaneRequest::Read(read)) => Work::Read(offset(read.file, read.unit)),
            Some(LaneRequest::Write(write)) => Work::Write(offset(0, write.unit)),
            Some(LaneRequest::Sync { .. }) => Work::Sync,
            None => Work::Read(u64::MAX),
        }
    }

    /// Page and unit sizes of a file.
    fn geometry_of(&self, file: u32) -> PageGeometry {
        let units = self.units.get(file as usize);
        units.map_or(self.seal.geometry(), |own| own.geometry)
    }

    /// Bytes of the unit that a buffer has in flight; no more than the buffer has.
    #[inline]
    pub(super) fn bytes_of(&self, buffer: u32) -> usize {
        self.geometry_of(self.file_of(buffer)).unit_bytes()
    }

    /// The file of the request that a buffer has in flight.
    #[inline]
    pub(super) fn file_of(&self, buffer: u32) -> u32 {
        match self.requests.get(buffer as usize).copied().flatten() {
            Some(LaneRequest::Read(read)) => read.file,
            Some(LaneRequest::Write(_) | LaneRequest::Sync { .. }) | None => 0,
        }
    }

    /// Whether the buffer exists and is not in flight.
    pub(super) fn at_rest(&self, buffer: u32) -> bool {
        matches!(self.requests.get(buffer as usize), Some(None))
    }

    /// Whether the buffer has a request.
    pub(super) fn is_in_flight(&self, buffer: u32) -> bool {
        matches!(self.requests.get(buffer as usize), Some(Some(_)))
    }

    /// Panics unless the buffer is at rest.
    pub(super) fn assert_at_rest(&self, buffer: u32) {
        let at_rest = self.at_rest(buffer);
        assert!(at_rest, "buffer {buffer} is in flight or does not exist");
    }
}

impl Writing {
    fn check(&self) -> io::Result<()> {
        if !self.allowed {
            return Err(refused("the file was not opened to be written"));
        }
        if self.failed {
            return Err(refused("a write or a sync failed: give the file up"));
        }
        Ok(())
    }

    /// For syncs, which cover what completed before they began.
    fn check_rest(&self) -> io::Result<()> {
        self.check()?;
        if self.in_flight > 0 {
            return Err(refused("a sync does not cover the writes in flight"));
        }
        Ok(())
    }
}

/// The error of a completion that nobody asked for.
pub(super) fn stray() -> io::Error {
    let words = "a request was completed that this lane had not made";
    io::Error::new(io::ErrorKind::InvalidData, words)
}

fn refused(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileUuid;

    fn seal() -> UnitSeal {
        UnitSeal::new(PageGeometry::new(4096, 2).unwrap(), FileUuid([1; 16]), 0)
    }

    fn units() -> Vec<FileUnits> {
        vec![FileUnits {
            count: 10,
            geometry: seal().geometry(),
        }]
    }

    fn read(unit: u64, buffer: u32) -> LaneRequest {
        LaneRequest::Read(PageRead {
            unit,
            file: 0,
            buffer,
            tag: 5,
        })
    }

    fn write(unit: u64, buffer: u32) -> LaneRequest {
        LaneRequest::Write(PageWrite {
            unit,
            buffer,
            tag: 6,
        })
    }

    fn sync(buffer: u32) -> LaneRequest {
        LaneRequest::Sync { buffer, tag: 7 }
    }

    fn refusal(slots: &mut Slots, request: LaneRequest) -> String {
        let error = slots.claim(request).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    }

    #[test]
    fn a_slot_is_no_larger_than_a_read_needs() {
        assert_eq!(Slots::BYTES_EACH, size_of::<Option<PageRead>>());
    }

    #[test]
    fn a_buffer_serves_one_request_at_a_time() {
        let mut slots = Slots::new(2, seal(), units(), false);
        slots.claim(read(9, 1)).unwrap();
        assert!(slots.claim(read(9, 1)).is_err());
        assert!(slots.claim(read(10, 0)).is_err());
        assert!(slots.claim(read(0, 2)).is_err());
        let work = Work::Read(4096 + 9 * 8192);
        assert_eq!((slots.in_flight(), slots.work_of(1)), (1, work));
        slots.assert_at_rest(0);
        let done = slots.release(1, Ok(())).unwrap();
        assert_eq!((done.tag, done.unit, done.buffer), (5, 9, 1));
        assert_eq!(
            slots.counters(),
            IoCounters {
                reads: 1,
                pages: 2,
                bytes: 8192
            }
        );
        slots.claim(read(9, 1)).unwrap();
        slots.release(1, Err(io::ErrorKind::Other.into())).unwrap();
        assert_eq!((slots.in_flight(), slots.counters().reads), (0, 1));
    }

    #[test]
    fn a_completion_that_nobody_asked_for_is_an_error() {
        let mut slots = Slots::new(2, seal(), units(), false);
        for buffer in [0, 2] {
            let error = slots.release(buffer, Ok(())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!((slots.in_flight(), slots.counters().reads), (0, 0));
    }

    #[test]
    fn what_was_opened_to_be_read_is_not_written() {
        let mut slots = Slots::new(2, seal(), units(), false);
        assert!(refusal(&mut slots, write(0, 0)).contains("opened"));
        assert!(refusal(&mut slots, sync(0)).contains("opened"));
    }

    #[test]
    fn a_sync_waits_for_the_writes_of_its_lane() {
        let mut slots = Slots::new(3, seal(), units(), true);
        slots.claim(write(3, 0)).unwrap();
        assert_eq!(slots.work_of(0), Work::Write(4096 + 3 * 8192));
        assert!(refusal(&mut slots, sync(1)).contains("in flight"));
        assert!(refusal(&mut slots, write(10, 1)).contains("end"));
        slots.release(0, Ok(())).unwrap();
        slots.claim(sync(1)).unwrap();
        assert_eq!(slots.work_of(1), Work::Sync);
        slots.claim(write(3, 0)).unwrap();
        let done = slots.release(1, Ok(())).unwrap();
        assert_eq!((done.tag, done.unit, done.buffer), (7, 0, 1));
        assert_eq!(slots.counters(), IoCounters::default());
    }

    #[test]
    fn after_a_failure_nothing_is_written_and_all_can_be_read() {
        for failing in [write(1, 0), sync(0)] {
            let mut slots = Slots::new(2, seal(), units(), true);
            slots.claim(failing).unwrap();
            slots.release(0, Err(io::ErrorKind::Other.into())).unwrap();
            assert!(refusal(&mut slots, write(1, 0)).contains("give the file up"));
            assert!(refusal(&mut slots, sync(0)).contains("give the file up"));
            slots.claim(read(1, 0)).unwrap();
        }
    }

    #[test]
    fn only_sealed_units_are_written_and_only_where_they_belong() {
        let slots = Slots::new(1, seal(), units(), true);
        let check = |unit, bytes: &[u8]| {
            let write = PageWrite {
                unit,
                buffer: 0,
                tag: 0,
            };
            slots.check_sealed(write, bytes).is_ok()
        };
        let mut bytes = vec![1; 8192];
        assert!(!check(4, &bytes));
        seal().seal(4, 12, &mut bytes);
        assert!(check(4, &bytes) && !check(5, &bytes));
    }
}
