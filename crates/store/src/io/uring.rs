//! io_uring: one ring per lane, its file and its buffers registered.
//!
//! ```text
//! submit:  slot -> submission queue (`pushed`)          wait: enter -> kernel (`in_kernel`)
//!                                                             completion queue -> slot released
//! ```
//!
//! Invariants: the buffers outlive the kernel's use of them (drop waits, and leaks them if it
//! cannot wait); the submission queue consumes in order, so `pushed` minus what is left in it is
//! what the kernel has; no read is waited for that the kernel does not have. If the kernel refuses
//! a submission for good, the lane reads by itself from then on.
#![expect(
    unsafe_code,
    reason = "the kernel writes into buffers while their owner waits"
)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue, types};
use rustix::io::Errno;

use super::slots::Slots;
use super::{IoBackend, IoCounters, PageDone, PageIo, PageRead, read_fully};
use crate::{AlignedBuffers, PageFile};

pub(super) struct UringLane {
    ring: IoUring,
    file: PageFile,
    buffers: AlignedBuffers,
    /// Whether the buffers are registered; some systems limit locked memory too tightly.
    registered: bool,
    slots: Slots,
    /// Buffers whose reads sit in the submission queue, oldest first.
    pushed: VecDeque<u32>,
    in_kernel: usize,
    /// Set when the kernel refused a submission: nothing is submitted any more.
    refused: bool,
}

impl UringLane {
    /// Sets up a ring. `Unsupported` when the file is not one of the operating system.
    pub(super) fn new(file: &PageFile, buffers: u32) -> io::Result<Self> {
        let descriptor = file.file().descriptor().ok_or(io::ErrorKind::Unsupported)?;
        let ring = IoUring::new(buffers)?;
        ring.submitter().register_files(&[descriptor.as_raw_fd()])?;
        let geometry = file.geometry();
        let mut memory = AlignedBuffers::new(buffers as usize, geometry.unit_bytes())?;
        let registered = register(&ring, &mut memory).is_ok();
        Ok(Self {
            ring,
            file: file.clone(),
            buffers: memory,
            registered,
            slots: Slots::new(buffers, geometry, file.units()),
            pushed: VecDeque::with_capacity(buffers as usize),
            in_kernel: 0,
            refused: false,
        })
    }

    /// Reads the header page into buffer 0, to find out whether rings can read this file.
    pub(super) fn read_header_page(&mut self) -> io::Result<()> {
        let bytes = self.file.geometry().page_bytes();
        self.push(0, 0, bytes)?;
        while self.in_kernel + self.pushed.len() > 0 {
            self.enter(1)?;
            if self.refused {
                return Err(io::ErrorKind::Unsupported.into());
            }
            if let Some(completion) = self.next_completion() {
                return match u32::try_from(completion.result()) {
                    Ok(read) if read == bytes => Ok(()),
                    Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(_) => Err(io::Error::from_raw_os_error(-completion.result())),
                };
            }
        }
        Ok(())
    }

    /// Queues a read of `bytes` at `offset`, no more than a buffer holds.
    fn push(&mut self, buffer: u32, offset: u64, bytes: u32) -> io::Result<()> {
        let entry = self.entry(buffer, offset, bytes);
        // SAFETY: the entry's memory is one whole buffer (`bytes` is at most its length). It stays
        // allocated until the lane drops, which first waits for every read the kernel has, and no
        // reference to it is made before its completion: `slots` guards `buffer()`. The file is
        // held open by `self.file`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.pushed.push_back(buffer);
        Ok(())
    }

    fn entry(&mut self, buffer: u32, offset: u64, bytes: u32) -> squeue::Entry {
        let address = self.buffers.address(buffer as usize).as_ptr();
        let file = types::Fixed(0);
        let entry = if self.registered {
            opcode::ReadFixed::new(file, address, bytes, 0)
                .offset(offset)
                .build()
        } else {
            opcode::Read::new(file, address, bytes)
                .offset(offset)
                .build()
        };
        entry.user_data(u64::from(buffer))
    }

    /// Hands what is pushed to the kernel and waits for `want` completions. May return early.
    fn enter(&mut self, want: usize) -> io::Result<()> {
        if self.refused {
            return self.wait_only(want);
        }
        let entered = self.ring.submit_and_wait(want);
        let left = self.ring.submission().len();
        while self.pushed.len() > left {
            self.pushed.pop_front();
            self.in_kernel += 1;
        }
        match entered {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            // Resources of the kernel come back with completions.
            Err(error) if is_transient(&error) && self.in_kernel > 0 => self.wait_only(1),
            Err(error) if self.pushed.is_empty() => Err(error),
            Err(_) => {
                self.refused = true;
                Ok(())
            }
        }
    }

    /// Waits for up to `want` of the reads that the kernel has, and submits nothing.
    fn wait_only(&mut self, want: usize) -> io::Result<()> {
        let want = u32::try_from(want.min(self.in_kernel)).unwrap_or(u32::MAX);
        if want == 0 {
            return Ok(());
        }
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no argument is passed, and nothing new is submitted.
        match unsafe { self.ring.submitter().enter::<u64>(0, want, flags, None) } {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    fn next_completion(&mut self) -> Option<cqueue::Entry> {
        let completion = self.ring.completion().next()?;
        self.in_kernel -= 1;
        Some(completion)
    }

    fn reap(&mut self, done: &mut Vec<PageDone>) {
        while let Some(completion) = self.next_completion() {
            let buffer = completion.user_data() as u32;
            let result = self.conclude(buffer, completion.result());
            done.push(self.slots.release(buffer, result));
        }
    }

    /// A whole read is good; a short or interrupted one is done again by the lane itself.
    fn conclude(&mut self, buffer: u32, code: i32) -> io::Result<()> {
        let transient = [Errno::INTR, Errno::AGAIN].map(|errno| -errno.raw_os_error());
        match usize::try_from(code) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) if read == self.buffers.bytes_each() => Ok(()),
            Ok(_) => self.read_now(buffer),
            Err(_) if transient.contains(&code) => self.read_now(buffer),
            Err(_) => Err(io::Error::from_raw_os_error(-code)),
        }
    }

    /// Reads into a buffer that the kernel does not have.
    fn read_now(&mut self, buffer: u32) -> io::Result<()> {
        let offset = self.slots.offset_of(buffer);
        let bytes = self.buffers.get_mut(buffer as usize);
        read_fully(self.file.file().as_ref(), bytes, offset)
    }

    /// After a refusal: reads what is still queued, which the kernel will never be handed.
    fn read_pushed(&mut self, done: &mut Vec<PageDone>) {
        while let Some(buffer) = self.pushed.pop_front() {
            let result = self.read_now(buffer);
            done.push(self.slots.release(buffer, result));
        }
    }
}

fn register(ring: &IoUring, buffers: &mut AlignedBuffers) -> io::Result<()> {
    let iov_len = buffers.count() * buffers.bytes_each();
    let all = libc::iovec {
        iov_base: buffers.address(0).as_ptr().cast(),
        iov_len,
    };
    // SAFETY: the range is the whole allocation of `buffers`, which the lane keeps until no read is
    // in flight; dropping the ring ends the registration.
    unsafe { ring.submitter().register_buffers(&[all]) }
}

fn is_transient(error: &io::Error) -> bool {
    [Errno::AGAIN, Errno::BUSY]
        .iter()
        .any(|e| error.raw_os_error() == Some(e.raw_os_error()))
}

impl PageIo for UringLane {
    fn submit(&mut self, read: PageRead) -> io::Result<()> {
        self.slots.claim(read)?;
        if self.refused {
            self.pushed.push_back(read.buffer);
            return Ok(());
        }
        let offset = self.slots.offset_of(read.buffer);
        let bytes = self.file.geometry().unit_bytes() as u32;
        // The ring has an entry for every buffer, and a buffer is in flight once: it is not full.
        self.push(read.buffer, offset, bytes).inspect_err(|_| {
            self.slots
                .release(read.buffer, Err(io::ErrorKind::Other.into()));
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.refused || self.pushed.is_empty() {
            return Ok(());
        }
        self.enter(0)
    }

    fn wait(&mut self, at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        let target = done.len() + at_least.min(self.slots.in_flight());
        self.reap(done);
        while done.len() < target || !self.pushed.is_empty() {
            self.enter(target.saturating_sub(done.len()))?;
            self.reap(done);
            if self.refused {
                self.read_pushed(done);
            }
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
        IoBackend::Uring
    }
}

impl Drop for UringLane {
    fn drop(&mut self) {
        let mut discarded = Vec::new();
        while self.in_kernel > 0 {
            if self.wait_only(self.in_kernel).is_err() {
                self.buffers.leak();
                return;
            }
            self.reap(&mut discarded);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileUuid, OpenMode, OsVfs, PageFileWriter, PageGeometry, Vfs};

    const UNITS: u64 = 8;

    /// A lane over units filled with their number, or `None` where rings are denied.
    fn lane(root: &tempfile::TempDir) -> Option<UringLane> {
        let geometry = PageGeometry::new(4096, 2).unwrap();
        let (path, uuid) = (root.path().join("u.pw"), FileUuid([1; 16]));
        let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry, uuid).unwrap();
        for unit in 0..UNITS {
            writer
                .append_unit(&vec![unit as u8; geometry.payload_bytes()])
                .unwrap();
        }
        let entry = writer.finish().unwrap();
        let file = PageFile::open(&OsVfs, root.path(), &entry, OpenMode::ReadDirect).unwrap();
        UringLane::new(&file, 4).ok()
    }

    fn submit(lane: &mut UringLane, buffers: u32) {
        for buffer in 0..buffers {
            let unit = u64::from(buffer) * 2 + 1;
            lane.submit(PageRead {
                unit,
                buffer,
                tag: unit,
            })
            .unwrap();
        }
    }

    fn check(lane: &UringLane, done: &mut Vec<PageDone>, count: usize) {
        assert_eq!(done.len(), count);
        for PageDone {
            buffer,
            unit,
            result,
            ..
        } in done.drain(..)
        {
            result.unwrap();
            let bytes = lane.file.verify_unit(unit, lane.buffer(buffer)).unwrap();
            assert!(bytes.iter().all(|&byte| u64::from(byte) == unit));
        }
    }

    #[test]
    fn works_without_registered_buffers() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        lane.registered = false;
        let mut done = Vec::new();
        submit(&mut lane, 4);
        lane.wait(4, &mut done).unwrap();
        check(&lane, &mut done, 4);
    }

    #[test]
    fn a_ring_that_stops_taking_reads_is_replaced_by_the_lane_itself() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        let null = OsVfs
            .open(std::path::Path::new("/dev/null"), OpenMode::Read)
            .unwrap();
        let null = null.descriptor().unwrap().as_raw_fd();
        // SAFETY: both descriptors are open; the ring has no read in flight when it is replaced.
        assert!(unsafe { libc::dup2(null, lane.ring.as_raw_fd()) } >= 0);
        let mut done = Vec::new();
        for _ in 0..3 {
            submit(&mut lane, 4);
            lane.wait(1, &mut done).unwrap();
            assert!(lane.refused);
            check(&lane, &mut done, 4);
        }
        assert_eq!(lane.counters().reads, 12);
    }

    #[test]
    fn short_and_interrupted_reads_are_done_again_and_errors_come_out() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        lane.slots
            .claim(PageRead {
                unit: 5,
                buffer: 2,
                tag: 0,
            })
            .unwrap();
        for code in [
            1,
            4096,
            8191,
            -Errno::INTR.raw_os_error(),
            -Errno::AGAIN.raw_os_error(),
        ] {
            lane.buffers.get_mut(2).fill(0);
            lane.conclude(2, code).unwrap();
            assert!(
                lane.file.verify_unit(5, lane.buffers.get(2)).is_ok(),
                "code {code}"
            );
        }
        let end = lane.conclude(2, 0).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        let failed = lane.conclude(2, -Errno::IO.raw_os_error()).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(Errno::IO.raw_os_error()));
        lane.slots.release(2, Ok(()));
    }

    #[test]
    fn waiting_for_nothing_returns_and_submits() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        let mut done = Vec::new();
        lane.wait(0, &mut done).unwrap();
        submit(&mut lane, 3);
        lane.wait(0, &mut done).unwrap();
        assert!(lane.pushed.is_empty());
        lane.wait(usize::MAX, &mut done).unwrap();
        check(&lane, &mut done, 3);
        assert_eq!((lane.in_kernel, lane.slots.in_flight()), (0, 0));
    }
}
