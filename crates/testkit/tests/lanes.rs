//! Lanes over a file system that fails: each accepted read ends once, with its own outcome.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::Arc;

use pageway_store::{
    FileUuid, IoBackend, OpenMode, PageFile, PageFileWriter, PageGeometry, PageRead, PageReader,
    probe,
};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

const UNITS: u32 = 24;

/// A file read through `plan`. The header page is read by the first call.
fn reader(plan: &FaultPlan, backend: IoBackend) -> PageReader {
    let sim = SimVfs::new();
    let geometry = PageGeometry::new(4096, 1).unwrap();
    let (path, uuid) = (Path::new("/u.pw"), FileUuid([1; 16]));
    let mut writer = PageFileWriter::create(&sim, path, 1, geometry, uuid).unwrap();
    for unit in 0..UNITS {
        writer.append_unit(&[unit as u8; 4088]).unwrap();
    }
    let entry = writer.finish().unwrap();
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
