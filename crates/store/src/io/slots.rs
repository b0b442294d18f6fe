//! Which buffer is in flight for which read: the bookkeeping that all backends share.

use std::io;

use super::{IoCounters, PageDone, PageRead};
use crate::PageGeometry;

/// One slot per buffer of a lane.
///
/// Invariant: a slot holds a read from `claim` until `release`, and only then; so at most one read
/// is in flight per buffer and every accepted read is released once.
#[derive(Debug)]
pub(super) struct Slots {
    reads: Vec<Option<PageRead>>,
    in_flight: usize,
    geometry: PageGeometry,
    units: u64,
    counters: IoCounters,
}

impl Slots {
    pub(super) fn new(buffers: u32, geometry: PageGeometry, units: u64) -> Self {
        let reads = vec![None; buffers as usize];
        Self {
            reads,
            in_flight: 0,
            geometry,
            units,
            counters: IoCounters::default(),
        }
    }

    /// Bytes of bookkeeping per buffer, for the accounting of lanes.
    pub(super) const BYTES_EACH: usize = size_of::<Option<PageRead>>();

    /// Reads accepted and not yet handed out.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn counters(&self) -> IoCounters {
        self.counters
    }

    pub(super) fn claim(&mut self, read: PageRead) -> io::Result<()> {
        if read.unit >= self.units {
            return Err(refused("the unit lies behind the end of the file"));
        }
        match self.reads.get_mut(read.buffer as usize) {
            None => Err(refused("the lane has no such buffer")),
            Some(Some(_)) => Err(refused("the buffer is in flight")),
            Some(free) => {
                *free = Some(read);
                self.in_flight += 1;
                Ok(())
            }
        }
    }

    /// Ends the read of a buffer. Panics if there is none: then memory would have been written
    /// that its owner believed to be at rest.
    pub(super) fn release(&mut self, buffer: u32, result: io::Result<()>) -> PageDone {
        let read = self.reads.get_mut(buffer as usize).and_then(Option::take);
        assert!(
            read.is_some(),
            "buffer {buffer} completed but is not in flight"
        );
        self.in_flight -= 1;
        if result.is_ok() {
            self.counters.reads += 1;
            self.counters.pages += u64::from(self.geometry.span());
            self.counters.bytes += self.geometry.unit_bytes() as u64;
        }
        let (tag, unit) = read.map_or((0, 0), |read| (read.tag, read.unit));
        PageDone {
            tag,
            buffer,
            unit,
            result,
        }
    }

    /// Byte offset in the file of the read that a buffer has in flight.
    pub(super) fn offset_of(&self, buffer: u32) -> u64 {
        let read = self.reads.get(buffer as usize).copied().flatten();
        self.geometry
            .unit_offset(read.map_or(u64::MAX, |read| read.unit))
    }

    /// Panics unless the buffer is at rest.
    pub(super) fn assert_at_rest(&self, buffer: u32) {
        let at_rest = matches!(self.reads.get(buffer as usize), Some(None));
        assert!(at_rest, "buffer {buffer} is in flight or does not exist");
    }
}

fn refused(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_serves_one_read_at_a_time() {
        let mut slots = Slots::new(2, PageGeometry::new(4096, 2).unwrap(), 10);
        let read = PageRead {
            unit: 9,
            buffer: 1,
            tag: 5,
        };
        slots.claim(read).unwrap();
        assert!(slots.claim(read).is_err());
        assert!(
            slots
                .claim(PageRead {
                    unit: 10,
                    buffer: 0,
                    tag: 0
                })
                .is_err()
        );
        assert!(
            slots
                .claim(PageRead {
                    unit: 0,
                    buffer: 2,
                    tag: 0
                })
                .is_err()
        );
        assert_eq!(
            (slots.in_flight(), slots.offset_of(1)),
            (1, 4096 + 9 * 8192)
        );
        slots.assert_at_rest(0);
        let done = slots.release(1, Ok(()));
        assert_eq!((done.tag, done.unit, done.buffer), (5, 9, 1));
        assert_eq!(
            slots.counters(),
            IoCounters {
                reads: 1,
                pages: 2,
                bytes: 8192
            }
        );
        slots.claim(read).unwrap();
        slots.release(1, Err(io::ErrorKind::Other.into()));
        assert_eq!((slots.in_flight(), slots.counters().reads), (0, 1));
    }
}
