//! Forks while lanes are in use: a child never touches what its parent waits for.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pageway_store::{
    FileUuid, IoBackend, OpenMode, OsVfs, PageDone, PageFile, PageFileWriter, PageGeometry, PageIo,
    PageRead, PageReader, PerProcess, Process,
};
use pageway_testkit::{ChildEnd, in_child};

const FINE: ChildEnd = ChildEnd::Returned(true);
const UNITS: u64 = 64;
const BUFFERS: u32 = 32;

/// Units filled with their number.
fn reader(root: &tempfile::TempDir, backend: IoBackend) -> PageReader {
    let geometry = PageGeometry::new(4096, 1).unwrap();
    let path = root.path().join("u.pw");
    let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry, FileUuid([1; 16])).unwrap();
    for unit in 0..UNITS {
        let payload = vec![unit as u8; geometry.payload_bytes()];
        writer.append_unit(&payload).unwrap();
    }
    let entry = writer.finish().unwrap();
    let file = PageFile::open(&OsVfs, root.path(), &entry, OpenMode::ReadDirect).unwrap();
    PageReader::with_backend(file, backend)
}

/// The ways of reading that work here, each with a lane.
fn lanes(root: &tempfile::TempDir) -> Vec<(PageReader, Box<dyn PageIo>)> {
    let backends = [IoBackend::Uring, IoBackend::Threads, IoBackend::Blocking];
    let mut found = Vec::new();
    for backend in backends {
        let own = tempfile::tempdir_in(root.path()).unwrap();
        let reader = reader(&own, backend);
        if let Ok(lane) = reader.lane(BUFFERS) {
            found.push((reader, lane));
        }
    }
    assert!(found.len() >= 2);
    found
}

fn submit(io: &mut dyn PageIo, base: u64) -> std::io::Result<()> {
    for buffer in 0..BUFFERS {
        io.submit(PageRead {
            unit: base + u64::from(buffer),
            file: 0,
            buffer,
            tag: 0,
        })?;
    }
    io.flush()
}

/// Whether all reads in flight bring what was asked for.
fn collect(reader: &PageReader, io: &mut dyn PageIo) -> bool {
    let mut done: Vec<PageDone> = Vec::new();
    if io.wait(BUFFERS as usize, &mut done).is_err() {
        return false;
    }
    let is_right = |done: &PageDone| {
        let bytes = io.buffer(done.buffer);
        let payload = reader.verify_unit(done.unit, bytes);
        let filled = |bytes: &[u8]| bytes.iter().all(|byte| u64::from(*byte) == done.unit);
        done.result.is_ok() && payload.is_ok_and(filled)
    };
    done.len() == BUFFERS as usize && done.iter().all(is_right)
}

#[test]
fn a_child_is_another_process_and_so_is_its_own() {
    let parent = Process::current();
    assert!(parent.is_current());
    let child = || {
        let child = Process::current();
        let grandchild = || !parent.is_current() && !child.is_current();
        !parent.is_current() && child.is_current() && in_child(grandchild) == FINE
    };
    assert_eq!(in_child(child), FINE);
    assert!(parent.is_current());
}

#[test]
fn each_process_has_a_value_and_leaves_those_of_others_alone() {
    #[derive(Default)]
    struct Counted(Arc<AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let values: PerProcess<Counted> = PerProcess::default();
    let dropped = Arc::clone(&values.get().0);
    dropped.store(7, Ordering::Relaxed);
    let child = || {
        let own = Arc::clone(&values.get().0);
        let is_fresh = own.load(Ordering::Relaxed) == 0;
        let is_kept = std::ptr::eq(values.get(), values.get());
        drop(values);
        let ends = (own.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
        is_fresh && is_kept && ends == (1, 7)
    };
    assert_eq!(in_child(child), FINE);
}

/// Children are made while reads are in flight; they may use lanes of their own, and drop that of
/// the parent, who gets every read.
#[test]
fn a_parent_gets_its_reads_whatever_its_children_do() {
    let root = tempfile::tempdir().unwrap();
    for (reader, mut lane) in lanes(&root) {
        for round in 0..20 {
            submit(lane.as_mut(), round).unwrap();
            let own = lane.backend() == IoBackend::Blocking;
            let mut moved = Some(&mut lane);
            let child = || {
                let lane = moved.take().unwrap();
                let inherited = collect(&reader, lane.as_mut());
                let mut fresh = reader.lane(BUFFERS).unwrap();
                submit(fresh.as_mut(), 3).unwrap();
                inherited == own && collect(&reader, fresh.as_mut())
            };
            assert_eq!(in_child(child), FINE, "{}", lane.backend());
            assert!(collect(&reader, lane.as_mut()), "{}", lane.backend());
        }
        submit(lane.as_mut(), 0).unwrap();
        let backend = lane.backend();
        let child = || {
            drop(lane);
            true
        };
        assert_eq!(in_child(child), FINE, "{backend}");
    }
}
