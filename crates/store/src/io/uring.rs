//! io_uring: one ring per lane, its files and its buffers registered.
//!
//! ```text
//! request: slot -> submission queue (`pushed`)          wait: enter -> kernel (`in_kernel`)
//!                                                             completion queue -> slot released
//! ```
//!
//! Invariants: the buffers outlive the kernel's use of them (drop waits, and leaks them if it
//! cannot wait); the submission queue consumes in order, so `pushed` minus what is left in it is
//! what the kernel has; no request is waited for that the kernel does not have. If the kernel
//! refuses a submission for good, the lane serves its requests by itself from then on.
#![expect(
    unsafe_code,
    reason = "the kernel reads and writes buffers while their owner waits"
)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{EnterFlags, IoUring, Probe, cqueue, opcode, squeue, types};
use rustix::io::Errno;

use super::files::LaneFiles;
use super::slots::{Slots, stray};
use super::transfer::{Work, perform};
use super::{IoBackend, IoCounters, LaneRequest, PageDone, PageIo};
use crate::{AlignedBuffers, Process};

pub(super) struct UringLane {
    /// The process whose ring it is; its children see the same one.
    owner: Process,
    ring: IoUring,
    files: LaneFiles,
    buffers: AlignedBuffers,
    /// Whether the buffers are registered; some systems limit locked memory too tightly.
    registered: bool,
    slots: Slots,
    /// Buffers whose requests sit in the submission queue, oldest first.
    pushed: VecDeque<u32>,
    in_kernel: usize,
    /// Set when the kernel refused a submission: nothing is submitted any more.
    refused: bool,
}

impl UringLane {
    /// Sets up a ring. `Unsupported` when the file is not one of the operating system, or is to be
    /// written and rings cannot.
    pub(super) fn new(files: LaneFiles, buffers: u32) -> io::Result<Self> {
        let mut descriptors = Vec::new();
        for file in files.iter() {
            let descriptor = file.file().descriptor().ok_or(io::ErrorKind::Unsupported)?;
            descriptors.push(descriptor.as_raw_fd());
        }
        let ring = IoUring::new(buffers)?;
        ring.submitter().register_files(&descriptors)?;
        if files.writable() {
            check_opcodes(&ring)?;
        }
        let unit_bytes = files.unit_bytes();
        let mut memory = AlignedBuffers::new(buffers as usize, unit_bytes)?;
        let registered = register(&ring, &mut memory).is_ok();
        Ok(Self {
            owner: Process::current(),
            ring,
            buffers: memory,
            registered,
            slots: Slots::new(buffers, files.seal(), files.units(), files.writable()),
            files,
            pushed: VecDeque::with_capacity(buffers as usize),
            in_kernel: 0,
            refused: false,
        })
    }

    /// Reads the header page into buffer 0, to find out whether rings can read this file.
    pub(super) fn read_header_page(&mut self) -> io::Result<()> {
        let bytes = self.files.page_bytes();
        self.push(0, Work::Read(0), bytes)?;
        while self.in_kernel + self.pushed.len() > 0 {
            self.enter(1)?;
            if self.refused {
                return Err(io::ErrorKind::Unsupported.into());
            }
            if let Some(completion) = self.next_completion()? {
                return match u32::try_from(completion.result()) {
                    Ok(read) if read == bytes => Ok(()),
                    Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(_) => Err(io::Error::from_raw_os_error(-completion.result())),
                };
            }
        }
        Ok(())
    }

    /// Queues work on `bytes` of a buffer, no more than it holds.
    fn push(&mut self, buffer: u32, work: Work, bytes: u32) -> io::Result<()> {
        let entry = self.entry(buffer, work, bytes);
        // SAFETY: the entry's memory is one whole buffer (`bytes` is at most its length), or none
        // for a sync. It stays allocated until the lane drops, which first waits for everything
        // that the kernel has. No reference to it is made before its completion, so the kernel may
        // write it, and what the kernel reads from it stays as it was sealed: `slots` guards
        // `buffer()` and `buffer_mut()`. The files are held open by `self.files`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.pushed.push_back(buffer);
        Ok(())
    }

    fn entry(&mut self, buffer: u32, work: Work, bytes: u32) -> squeue::Entry {
        let address = self.buffers.address(buffer as usize).as_ptr();
        let file = types::Fixed(self.slots.file_of(buffer));
        let entry = match (work, self.registered) {
            (Work::Read(at), true) => opcode::ReadFixed::new(file, address, bytes, 0)
                .offset(at)
                .build(),
            (Work::Read(at), false) => opcode::Read::new(file, address, bytes).offset(at).build(),
            (Work::Write(at), true) => opcode::WriteFixed::new(file, address, bytes, 0)
                .offset(at)
                .build(),
            (Work::Write(at), false) => opcode::Write::new(file, address, bytes).offset(at).build(),
            (Work::Sync, _) => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
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

    /// Waits for up to `want` of the requests that the kernel has, and submits nothing.
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

    fn next_completion(&mut self) -> io::Result<Option<cqueue::Entry>> {
        let completion = self.ring.completion().next();
        if completion.is_some() {
            self.in_kernel = self.in_kernel.checked_sub(1).ok_or_else(stray)?;
        }
        Ok(completion)
    }

    fn reap(&mut self, done: &mut Vec<PageDone>) -> io::Result<()> {
        while let Some(completion) = self.next_completion()? {
            let buffer = completion.user_data() as u32;
            if !self.slots.is_in_flight(buffer) {
                return Err(stray());
            }
            let result = self.conclude(buffer, completion.result());
            done.push(self.slots.release(buffer, result)?);
        }
        Ok(())
    }

    /// A whole transfer is good; a short or interrupted one is done again by the lane itself.
    fn conclude(&mut self, buffer: u32, code: i32) -> io::Result<()> {
        let moved = usize::try_from(code);
        if moved == Ok(self.slots.bytes_of(buffer)) {
            return Ok(());
        }
        let transient = [Errno::INTR, Errno::AGAIN].map(|errno| -errno.raw_os_error());
        match (moved, self.slots.work_of(buffer)) {
            (Ok(0), Work::Read(_)) => Err(io::ErrorKind::UnexpectedEof.into()),
            (Ok(0), Work::Sync) => Ok(()),
            (Ok(_), _) => self.perform_now(buffer),
            (Err(_), _) if transient.contains(&code) => self.perform_now(buffer),
            (Err(_), _) => Err(io::Error::from_raw_os_error(-code)),
        }
    }

    /// Serves the request of a buffer that the kernel does not have.
    fn perform_now(&mut self, buffer: u32) -> io::Result<()> {
        let work = self.slots.work_of(buffer);
        let length = self.slots.bytes_of(buffer);
        let bytes = self.buffers.get_mut(buffer as usize);
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        let file = self.files.get(self.slots.file_of(buffer));
        perform(file.file().as_ref(), work, bytes)
    }

    /// After a refusal: serves what is still queued, which the kernel will never be handed.
    fn perform_pushed(&mut self, done: &mut Vec<PageDone>) -> io::Result<()> {
        while let Some(buffer) = self.pushed.pop_front() {
            let result = self.perform_now(buffer);
            done.push(self.slots.release(buffer, result)?);
        }
        Ok(())
    }
}

/// `Unsupported` when the kernel's rings cannot write and sync, with the opcodes for buffers that
/// are registered and for those that are not.
fn check_opcodes(ring: &IoUring) -> io::Result<()> {
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    let needed = [
        opcode::Write::CODE,
        opcode::WriteFixed::CODE,
        opcode::Fsync::CODE,
    ];
    if needed.iter().all(|&code| probe.is_supported(code)) {
        return Ok(());
    }
    Err(io::ErrorKind::Unsupported.into())
}

fn register(ring: &IoUring, buffers: &mut AlignedBuffers) -> io::Result<()> {
    let iov_len = buffers.count() * buffers.bytes_each();
    let all = libc::iovec {
        iov_base: buffers.address(0).as_ptr().cast(),
        iov_len,
    };
    // SAFETY: the range is the whole allocation of `buffers`, which the lane keeps until nothing is
    // in flight; dropping the ring ends the registration.
    unsafe { ring.submitter().register_buffers(&[all]) }
}

fn is_transient(error: &io::Error) -> bool {
    [Errno::AGAIN, Errno::BUSY]
        .iter()
        .any(|e| error.raw_os_error() == Some(e.raw_os_error()))
}

impl PageIo for UringLane {
    #[inline]
    fn request(&mut self, request: LaneRequest) -> io::Result<()> {
        self.owner.check()?;
        let buffer = request.buffer();
        if let LaneRequest::Write(write) = request
            && self.slots.at_rest(buffer)
        {
            self.slots.check_sealed(write, self.buffer(buffer))?;
        }
        self.slots.claim(request)?;
        if self.refused {
            self.pushed.push_back(buffer);
            return Ok(());
        }
        let work = self.slots.work_of(buffer);
        let bytes = self.slots.bytes_of(buffer) as u32;
        // The ring has an entry for every buffer, and a buffer is in flight once: it is not full.
        self.push(buffer, work, bytes).inspect_err(|_| {
            // It was claimed just now.
            let _ = self.slots.release(buffer, Err(io::ErrorKind::Other.into()));
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.owner.check()?;
        if self.refused || self.pushed.is_empty() {
            return Ok(());
        }
        self.enter(0)
    }

    fn wait(&mut self, at_least: usize, done: &mut Vec<PageDone>) -> io::Result<()> {
        self.owner.check()?;
        let target = done.len() + at_least.min(self.slots.in_flight());
        self.reap(done)?;
        while done.len() < target || !self.pushed.is_empty() {
            self.enter(target.saturating_sub(done.len()))?;
            self.reap(done)?;
            if self.refused {
                self.perform_pushed(done)?;
            }
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
        IoBackend::Uring
    }
}

impl Drop for UringLane {
    fn drop(&mut self) {
        let mut discarded = Vec::new();
        // A child has copies of the buffers, and what completes is its parent's.
        while self.in_kernel > 0 && self.owner.is_current() {
            let waited = self.wait_only(self.in_kernel);
            if waited.and_then(|()| self.reap(&mut discarded)).is_err() {
                self.buffers.leak();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FileEntry, FileUuid, OpenMode, OsVfs, PageFile, PageFileWriter, PageGeometry, PageRead,
        PageWrite, Vfs,
    };

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
        let entry = FileEntry {
            growable: true,
            ..writer.finish().unwrap()
        };
        let file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
        UringLane::new(LaneFiles::new(&file, &[]).unwrap(), 4).ok()
    }

    /// Asks for a write of unit 2 filled with 77, of epoch 1, from buffer 1.
    fn write(lane: &mut UringLane) {
        let seal = lane.files.get(0).seal();
        lane.buffer_mut(1).fill(77);
        seal.seal(2, 1, lane.buffer_mut(1));
        lane.request(LaneRequest::Write(PageWrite {
            unit: 2,
            buffer: 1,
            tag: 9,
        }))
        .unwrap();
    }

    /// Whether unit 2 is on disk as `write` wrote it.
    fn written(lane: &UringLane) -> bool {
        let mut buffers = AlignedBuffers::new(1, lane.buffers.bytes_each()).unwrap();
        lane.files.get(0).read_units(2, buffers.get_mut(0)).unwrap();
        let payload = lane
            .files
            .get(0)
            .verify_unit_epoch(2, buffers.get(0), 1..=1);
        payload.is_ok_and(|payload| payload.iter().all(|&byte| byte == 77))
    }

    fn wait(lane: &mut UringLane) -> Vec<PageDone> {
        let mut done = Vec::new();
        lane.wait(usize::MAX, &mut done).unwrap();
        done
    }

    fn submit(lane: &mut UringLane, buffers: u32) {
        for buffer in 0..buffers {
            let unit = u64::from(buffer) * 2 + 1;
            lane.submit(PageRead {
                unit,
                file: 0,
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
            let bytes = lane
                .files
                .get(0)
                .verify_unit(unit, lane.buffer(buffer))
                .unwrap();
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
        let other = OsVfs
            .open(&root.path().join("other"), OpenMode::CreateNew)
            .unwrap();
        let other = other.descriptor().unwrap().as_raw_fd();
        // SAFETY: both descriptors are open; the ring has no read in flight when it is replaced.
        assert!(unsafe { libc::dup2(other, lane.ring.as_raw_fd()) } >= 0);
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
            .claim(LaneRequest::Read(PageRead {
                unit: 5,
                file: 0,
                buffer: 2,
                tag: 0,
            }))
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
                lane.files
                    .get(0)
                    .verify_unit(5, lane.buffers.get(2))
                    .is_ok(),
                "code {code}"
            );
        }
        let end = lane.conclude(2, 0).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        let failed = lane.conclude(2, -Errno::IO.raw_os_error()).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(Errno::IO.raw_os_error()));
        lane.slots.release(2, Ok(())).unwrap();
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

    #[test]
    fn writes_with_and_without_registered_buffers() {
        for registered in [true, false] {
            let root = tempfile::tempdir().unwrap();
            let Some(mut lane) = lane(&root) else { return };
            lane.registered &= registered;
            write(&mut lane);
            let done = wait(&mut lane);
            assert!(done.len() == 1 && done[0].result.is_ok() && done[0].tag == 9);
            assert!(written(&lane));
            lane.request(LaneRequest::Sync { buffer: 3, tag: 4 })
                .unwrap();
            let done = wait(&mut lane);
            assert!(done.len() == 1 && done[0].result.is_ok() && done[0].tag == 4);
        }
    }

    #[test]
    fn a_ring_that_refuses_writes_and_syncs_is_replaced_by_the_lane_itself() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        lane.refused = true;
        write(&mut lane);
        assert!(wait(&mut lane)[0].result.is_ok() && written(&lane));
        let sync = LaneRequest::Sync { buffer: 3, tag: 4 };
        lane.request(sync).unwrap();
        assert!(wait(&mut lane)[0].result.is_ok());
    }

    #[test]
    fn short_and_interrupted_writes_are_done_again_and_errors_come_out() {
        let interrupted = -Errno::INTR.raw_os_error();
        for code in [0, 512, 4096, 8191, interrupted] {
            let root = tempfile::tempdir().unwrap();
            let Some(mut lane) = lane(&root) else { return };
            lane.refused = true;
            write(&mut lane);
            assert!(!written(&lane));
            lane.conclude(1, code).unwrap();
            assert!(written(&lane), "code {code}");
            let full = lane.conclude(1, -Errno::NOSPC.raw_os_error()).unwrap_err();
            assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn a_sync_concludes_by_its_code() {
        let root = tempfile::tempdir().unwrap();
        let Some(mut lane) = lane(&root) else { return };
        let sync = LaneRequest::Sync { buffer: 0, tag: 4 };
        lane.slots.claim(sync).unwrap();
        lane.conclude(0, 0).unwrap();
        lane.conclude(0, -Errno::INTR.raw_os_error()).unwrap();
        assert!(lane.conclude(0, -Errno::IO.raw_os_error()).is_err());
        lane.slots.release(0, Ok(())).unwrap();
    }
}
