//! The trait of all backends, and the values it speaks in.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::StoreError;

/// Most buffers of one lane.
pub const MAX_LANE_BUFFERS: u32 = 4096;

/// A read to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRead {
    /// Unit of the file.
    pub unit: u64,
    /// Which file of the lane; 0 where it has one.
    pub file: u32,
    /// Buffer of the lane that receives it; must not be in flight.
    pub buffer: u32,
    /// The caller's own mark, given back with the completion.
    pub tag: u64,
}

/// A write to be done, of the bytes that its buffer holds, to the first file of the lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageWrite {
    /// Unit of the file, the one that the buffer was sealed as.
    pub unit: u64,
    /// Buffer of the lane that holds it; must not be in flight.
    pub buffer: u32,
    /// The caller's own mark, given back with the completion.
    pub tag: u64,
}

/// What a lane can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneRequest {
    /// Read a unit into a buffer.
    Read(PageRead),
    /// Write a unit from a buffer. Durable after a sync alone, and not atomic: a crash may leave
    /// any device sectors of it.
    Write(PageWrite),
    /// Make durable what was written and completed before, by this lane or another, and the
    /// length of the file. Takes a buffer for as long, so that lanes stay bounded.
    Sync {
        /// Buffer of the lane; its bytes stay as they are.
        buffer: u32,
        /// The caller's own mark.
        tag: u64,
    },
}

impl LaneRequest {
    /// The buffer that is in flight with it.
    pub fn buffer(&self) -> u32 {
        match self {
            Self::Read(PageRead { buffer, .. })
            | Self::Write(PageWrite { buffer, .. })
            | Self::Sync { buffer, .. } => *buffer,
        }
    }
}

/// A request that is over.
#[derive(Debug)]
pub struct PageDone {
    /// The caller's mark.
    pub tag: u64,
    /// The buffer, which belongs to the caller again.
    pub buffer: u32,
    /// Unit of the file; 0 of a sync.
    pub unit: u64,
    /// Of a read: whether the buffer now holds the unit, as it is on disk. Of a write or a sync:
    /// an error is final for the file. The unit may be torn, and what was not durable lost.
    pub result: io::Result<()>,
}

/// Successful reads of a lane since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IoCounters {
    /// Units read.
    pub reads: u64,
    /// Pages read: units times their span.
    pub pages: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// How requests reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IoBackend {
    /// io_uring: one system call submits and collects many reads.
    Uring,
    /// Positional calls by a few threads.
    Threads,
    /// Positional calls by the caller, one at a time.
    Blocking,
    /// Units in memory, for tests.
    Memory,
}

impl IoBackend {
    /// Name as used in `PAGEWAY_IO` and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Threads => "threads",
            Self::Blocking => "blocking",
            Self::Memory => "memory",
        }
    }
}

impl fmt::Display for IoBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IoBackend {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Uring, Self::Threads, Self::Blocking]
            .into_iter()
            .find(|backend| backend.name() == text)
            .ok_or_else(|| {
                StoreError::invalid(format!(
                    "I/O backend '{text}': use uring, threads or blocking"
                ))
            })
    }
}

/// Requests in flight for one thread. Which of several are done first is open, also where they
/// are about one unit. Dropping a lane waits for what has begun and forgets the rest.
pub trait PageIo: Send {
    /// Accepts a request; it may start now or in `wait`. `InvalidInput`, and then nothing will
    /// complete for it, when the unit is not in the file, or the buffer does not exist or is in
    /// flight; of writes and syncs also when the file was opened to be read, or one has failed; of
    /// a write whose buffer is not sealed as its unit; of a sync while a write is in flight.
    fn request(&mut self, request: LaneRequest) -> io::Result<()>;

    /// Accepts a read, as `request`.
    fn submit(&mut self, read: PageRead) -> io::Result<()> {
        self.request(LaneRequest::Read(read))
    }

    /// Starts what was accepted, without waiting, where the backend leaves that to `wait`.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Starts what was accepted, waits until `at_least` requests are over (or all, when fewer are
    /// in flight), and appends every one that is over to `done`. `at_least` of 0 does not block
    /// (except for the blocking backend). An error means that the lane is unusable: drop it.
    fn wait(&mut self, at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()>;

    /// Bytes of a buffer that is not in flight, one unit long. Panics if it is in flight or does
    /// not exist.
    fn buffer(&self, buffer: u32) -> &[u8];

    /// The same, to be filled before a write: see [`crate::PageReader::seal_unit`].
    fn buffer_mut(&mut self, buffer: u32) -> &mut [u8];

    /// Reads so far.
    fn counters(&self) -> IoCounters;

    /// How this lane reads and writes.
    fn backend(&self) -> IoBackend;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for backend in [IoBackend::Uring, IoBackend::Threads, IoBackend::Blocking] {
            assert_eq!(backend.name().parse::<IoBackend>().unwrap(), backend);
        }
        assert!("memory".parse::<IoBackend>().is_err());
    }
}
