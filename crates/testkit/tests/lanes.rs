//! Lanes over a file system that fails: each accepted read ends once, with its own outcome.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use pageway_store::{
    FileEntry, FileUuid, IoBackend, LaneRequest, OpenMode, PageFile, PageFileWriter, PageGeometry,
    PageIo, PageRead, PageReader, PageWrite, probe, verify_file,
};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

const UNITS: u32 = 24;

/// A file system with a file of `UNITS` units that may be written.
fn create() -> (SimVfs, FileEntry) {
    let sim = SimVfs::new();
    let geometry = PageGeometry::new(4096, 1).unwrap();
    let (path, uuid) = (Path::new("/u.pw"), FileUuid([1; 16]));
    let mut writer = PageFileWriter::create(&sim, path, 1, geometry, uuid).unwrap();
    for unit in 0..UNITS {
        writer.append_unit(&[unit as u8; 4088]).unwrap();
    }
    let entry = FileEntry {
        growable: true,
        epoch: 1,
        ..writer.finish().unwrap()
    };
    (sim, entry)
}

/// A file read through `plan`. The header page is read by the first call.
fn reader(plan: &FaultPlan, backend: IoBackend) -> PageReader {
    let (sim, entry) = create();
    let vfs = FaultVfs::new(Arc::new(sim), plan.clone());
    let file = PageFile::open(&vfs, Path::new("/"), &entry, OpenMode::ReadDirect).unwrap();
    assert_eq!(probe(&file).backend, IoBackend::Threads);
    PageReader::with_backend(file, backend)
}

/// Outcomes of reading every unit: failed, and successful with the right bytes.
fn outcomes(reader: &PageReader, buffers: u32) -> (u32, u32) {
    let mut lane = reader.lane(buffers).unwrap();
    let mut done = Vec::new();
    let (mut failed, mut good) = (0, 0);
    for first in (0..UNITS).step_by(buffers as usize) {
        let count = buffers.min(UNITS - first);
        for buffer in 0..count {
            lane.submit(PageRead {
                unit: (first + buffer).into(),
                file: 0,
                buffer,
                tag: 0,
            })
            .unwrap();
        }
        lane.wait(count as usize, &mut done).unwrap();
        assert_eq!(done.len(), count as usize);
        for read in done.drain(..) {
            if read.result.is_err() {
                failed += 1;
                continue;
            }
            let bytes = reader
                .verify_unit(read.unit, lane.buffer(read.buffer))
                .unwrap();
            assert!(bytes.iter().all(|&byte| u64::from(byte) == read.unit));
            good += 1;
        }
    }
    assert_eq!(lane.counters().reads, u64::from(good));
    (failed, good)
}

#[test]
fn one_failing_read_fails_alone() {
    for backend in [IoBackend::Threads, IoBackend::Blocking] {
        for buffers in [1, 5, 24] {
            let plan = FaultPlan::none().once(Operation::Read, 8, Fault::Io);
            assert_eq!(outcomes(&reader(&plan, backend), buffers), (1, UNITS - 1));
            let plan = FaultPlan::none().for_ever(Operation::Read, 9, Fault::Io);
            assert_eq!(outcomes(&reader(&plan, backend), buffers), (UNITS - 8, 8));
        }
    }
}

#[test]
fn interrupted_and_short_reads_are_completed() {
    for backend in [IoBackend::Threads, IoBackend::Blocking] {
        for fault in [Fault::Interrupted, Fault::Short] {
            let mut plan = FaultPlan::none();
            for nth in 1..20 {
                plan = plan.once(Operation::Read, nth, fault);
            }
            assert_eq!(outcomes(&reader(&plan, backend), 5), (0, UNITS));
            assert!(plan.injected() >= 19);
        }
    }
}

/// Writes every unit anew through `plan` with `buffers` in flight, until a write is refused; then
/// syncs. Returns how many failed, how many were refused, whether the sync came through, and how
/// many units the file has afterwards that are still old.
fn rewrite(plan: &FaultPlan, backend: IoBackend, buffers: u32) -> (u32, u32, bool, u64) {
    let (sim, entry) = create();
    let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
    let file = PageFile::open_to_write(&vfs, Path::new("/"), &entry).unwrap();
    assert!(file.direct());
    let reader = PageReader::with_backend(file, backend);
    let mut lane = reader.lane(buffers).unwrap();
    let (mut failed, mut refused, mut done) = (0, 0, Vec::new());
    for first in (0..UNITS).step_by(buffers as usize) {
        for buffer in 0..buffers.min(UNITS - first) {
            refused += u32::from(!ask(&reader, lane.as_mut(), first + buffer, buffer));
        }
        lane.wait(usize::MAX, &mut done).unwrap();
        failed += done.drain(..).filter(|done| done.result.is_err()).count() as u32;
    }
    let sync = lane.request(LaneRequest::Sync { buffer: 0, tag: 0 });
    lane.wait(usize::MAX, &mut done).unwrap();
    let synced = sync.is_ok() && done.iter().all(|done| done.result.is_ok());
    let mut old = 0;
    let file = PageFile::open(&sim, Path::new("/"), &entry, OpenMode::Read).unwrap();
    let mut unit_buffer = pageway_store::AlignedBuffers::new(1, 4096).unwrap();
    for unit in 0..UNITS.into() {
        file.read_units(unit, unit_buffer.get_mut(0)).unwrap();
        let checked = file.verify_unit_epoch(unit, unit_buffer.get(0), 1..=1);
        old += u64::from(checked.is_err_and(|error| error.is_lost_write()));
    }
    assert!(
        verify_file(&sim, Path::new("/"), &entry)
            .unwrap()
            .is_sound()
    );
    (failed, refused, synced, old)
}

/// Asks for a write of a unit; whether it was accepted.
fn ask(reader: &PageReader, lane: &mut dyn PageIo, unit: u32, buffer: u32) -> bool {
    let unit = unit.into();
    lane.buffer_mut(buffer).fill(200);
    reader.seal_unit(unit, 1, lane.buffer_mut(buffer));
    let write = PageWrite {
        unit,
        buffer,
        tag: 0,
    };
    lane.request(LaneRequest::Write(write)).is_ok()
}

#[test]
fn after_a_failed_write_the_lane_takes_no_more_and_does_not_sync() {
    for backend in [IoBackend::Threads, IoBackend::Blocking] {
        let plan = FaultPlan::none();
        assert_eq!(rewrite(&plan, backend, 4), (0, 0, true, 0));
        let plan = FaultPlan::none().once(Operation::Write, 8, Fault::NoSpace);
        assert_eq!(rewrite(&plan, backend, 4), (1, UNITS - 12, false, 13));
        let plan = FaultPlan::none().once(Operation::SyncFile, 0, Fault::Io);
        assert_eq!(rewrite(&plan, backend, 4), (0, 0, false, 0));
    }
}

#[test]
fn interrupted_and_short_writes_are_completed() {
    for backend in [IoBackend::Threads, IoBackend::Blocking] {
        for fault in [Fault::Interrupted, Fault::Short] {
            let mut plan = FaultPlan::none();
            for nth in (0..40).step_by(3) {
                plan = plan.once(Operation::Write, nth, fault);
            }
            assert_eq!(rewrite(&plan, backend, 5), (0, 0, true, 0));
            assert!(plan.injected() >= 10);
        }
    }
}

#[test]
fn writes_that_the_device_lost_are_told_by_their_epoch() {
    let plan = FaultPlan::none()
        .once(Operation::Write, 3, Fault::Skip)
        .once(Operation::Write, 11, Fault::Skip);
    assert_eq!(rewrite(&plan, IoBackend::Blocking, 5), (0, 0, true, 2));
}
