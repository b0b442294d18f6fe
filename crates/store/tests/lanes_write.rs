//! Every backend writes what it is asked to, and refuses what would do harm.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;

use pageway_store::{
    FileEntry, FileUuid, IoBackend, LaneRequest, OpenMode, OsVfs, PageDone, PageFile,
    PageFileWriter, PageGeometry, PageIo, PageRead, PageReader, PageWrite, StoreError, probe,
    unit_epoch, verify_file,
};
use pageway_types::SplitMix64;

const UUID: FileUuid = FileUuid([3; 16]);
const UNITS: u64 = 40;

fn payload(unit: u64, epoch: u32) -> Vec<u8> {
    let step = 31 + 2 * u64::from(epoch);
    (0..4000u64).map(|i| (i * step + unit * 17) as u8).collect()
}

/// A growable file of `UNITS` units of epoch 0.
fn create(root: &Path, span: u32) -> FileEntry {
    let geometry = PageGeometry::new(4096, span).unwrap();
    let path = root.join("u.pw");
    let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry, UUID).unwrap();
    for unit in 0..UNITS {
        writer.append_unit(&payload(unit, 0)).unwrap();
    }
    FileEntry {
        growable: true,
        ..writer.finish().unwrap()
    }
}

/// The backends that can write here. Files under `/dev/shm` are not direct, others mostly are.
fn backends(file: &PageFile) -> Vec<IoBackend> {
    let works = probe(file).backend == IoBackend::Uring;
    let all = [IoBackend::Uring, IoBackend::Threads, IoBackend::Blocking];
    all.into_iter()
        .filter(|&backend| backend != IoBackend::Uring || works)
        .collect()
}

fn memory(span: u32, seed: Option<u64>) -> PageReader {
    let payloads: Vec<_> = (0..UNITS).map(|unit| payload(unit, 0)).collect();
    let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
    let geometry = PageGeometry::new(4096, span).unwrap();
    PageReader::in_memory(geometry, UUID, &payloads, seed).unwrap()
}

fn request_write(
    reader: &PageReader,
    lane: &mut dyn PageIo,
    (unit, epoch, buffer): (u64, u32, u32),
) {
    let bytes = lane.buffer_mut(buffer);
    bytes.fill(0);
    bytes[8..4008].copy_from_slice(&payload(unit, epoch));
    reader.seal_unit(unit, epoch, bytes);
    let tag = u64::from(epoch);
    lane.request(LaneRequest::Write(PageWrite { unit, buffer, tag }))
        .unwrap();
}

fn finish(lane: &mut dyn PageIo) -> Vec<PageDone> {
    let mut done = Vec::new();
    lane.wait(usize::MAX, &mut done).unwrap();
    done
}

fn sync(lane: &mut dyn PageIo) {
    lane.request(LaneRequest::Sync { buffer: 0, tag: 99 })
        .unwrap();
    let done = finish(lane);
    assert_eq!((done.len(), done[0].tag), (1, 99));
    assert!(done[0].result.is_ok());
}

/// Writes and reads at random, never two at once of one unit, against a map of epochs.
fn write_and_read(reader: &PageReader, window: u32, seed: u64) -> BTreeMap<u64, u32> {
    let mut lane = reader.lane(window).unwrap();
    let mut random = SplitMix64::new(seed);
    let mut epochs: BTreeMap<u64, u32> = (0..reader.units()).map(|unit| (unit, 0)).collect();
    let mut busy: BTreeMap<u32, (u64, Option<u32>)> = BTreeMap::new();
    let mut done = Vec::new();
    for epoch in 1..400 {
        let free = (0..window)
            .find(|buffer| !busy.contains_key(buffer))
            .unwrap();
        let unit = random.next_u64() % reader.units();
        if busy.values().all(|&(other, _)| other != unit) {
            let writes = random.next_u64().is_multiple_of(2);
            if writes {
                request_write(reader, lane.as_mut(), (unit, epoch, free));
            } else {
                let (buffer, tag) = (free, 0);
                lane.submit(PageRead {
                    unit,
                    file: 0,
                    buffer,
                    tag,
                })
                .unwrap();
            }
            busy.insert(free, (unit, writes.then_some(epoch)));
        }
        lane.wait(usize::from(busy.len() == window as usize), &mut done)
            .unwrap();
        for over in done.drain(..) {
            over.result.unwrap();
            let (unit, written) = busy.remove(&over.buffer).unwrap();
            let expected = written.unwrap_or(epochs[&unit]);
            epochs.insert(unit, expected);
            assert_eq!(over.unit, unit);
            let bytes = lane.buffer(over.buffer);
            let found = reader.verify_unit_epoch(unit, bytes, expected..=expected);
            assert_eq!(found.unwrap()[..4000], payload(unit, expected));
        }
    }
    for over in finish(lane.as_mut()) {
        let (unit, written) = busy.remove(&over.buffer).unwrap();
        epochs.extend(written.map(|epoch| (unit, epoch)));
    }
    sync(lane.as_mut());
    epochs
}

/// Every unit as a new lane reads it.
fn check_all(reader: &PageReader, epochs: &BTreeMap<u64, u32>) {
    let mut lane = reader.lane(1).unwrap();
    for (&unit, &epoch) in epochs {
        let (buffer, tag) = (0, 0);
        lane.submit(PageRead {
            unit,
            file: 0,
            buffer,
            tag,
        })
        .unwrap();
        finish(lane.as_mut()).remove(0).result.unwrap();
        let found = reader.verify_unit_epoch(unit, lane.buffer(0), epoch..=epoch);
        assert_eq!(found.unwrap()[..4000], payload(unit, epoch));
        assert_eq!(unit_epoch(lane.buffer(0)), Some(epoch));
    }
}

#[test]
fn every_backend_writes_every_unit_where_it_belongs() {
    for (span, window) in [(1, 1), (1, 7), (3, 4), (1, 32)] {
        let root = tempfile::tempdir().unwrap();
        let entry = create(root.path(), span);
        let file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
        for backend in backends(&file) {
            let reader = PageReader::with_backend(file.clone(), backend);
            let epochs = write_and_read(&reader, window, 5);
            check_all(&reader, &epochs);
            let committed = FileEntry {
                epoch: *epochs.values().max().unwrap(),
                ..entry.clone()
            };
            let verdict = verify_file(&OsVfs, root.path(), &committed).unwrap();
            assert!(verdict.is_sound(), "{backend}: {verdict:?}");
            let verdict = verify_file(&OsVfs, root.path(), &entry).unwrap();
            assert!(
                verdict.damaged > 0,
                "epochs above the manifest's are refused"
            );
            restore(&reader);
        }
    }
    for seed in [None, Some(1), Some(2)] {
        let reader = memory(1, seed);
        let epochs = write_and_read(&reader, 8, 6);
        check_all(&reader, &epochs);
    }
}

/// All units as they were created.
fn restore(reader: &PageReader) {
    let mut lane = reader.lane(1).unwrap();
    for unit in 0..reader.units() {
        request_write(reader, lane.as_mut(), (unit, 0, 0));
        finish(lane.as_mut()).remove(0).result.unwrap();
    }
}

#[test]
fn a_file_grows_and_later_lanes_write_what_is_new() {
    let root = tempfile::tempdir().unwrap();
    let mut entry = create(root.path(), 1);
    let mut file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
    for backend in backends(&file) {
        let before = PageReader::with_backend(file.clone(), backend);
        let first = file.units();
        file.grow(first + 5).unwrap();
        let reader = PageReader::with_backend(file.clone(), backend);
        let mut lane = reader.lane(5).unwrap();
        for (buffer, unit) in (0..).zip(first..first + 5) {
            request_write(&reader, lane.as_mut(), (unit, 1, buffer));
        }
        assert!(finish(lane.as_mut()).iter().all(|done| done.result.is_ok()));
        sync(lane.as_mut());
        let mut old = before.lane(1).unwrap();
        let read = PageRead {
            unit: first,
            file: 0,
            buffer: 0,
            tag: 0,
        };
        assert!(old.submit(read).is_err());
        entry.units = file.units();
        entry.epoch = 1;
        let verdict = verify_file(&OsVfs, root.path(), &entry).unwrap();
        assert!(verdict.is_sound(), "{backend}: {verdict:?}");
    }
}

#[test]
fn what_was_opened_to_be_read_cannot_be_written_by_any_backend() {
    let root = tempfile::tempdir().unwrap();
    let entry = create(root.path(), 1);
    for mode in [OpenMode::Read, OpenMode::ReadDirect, OpenMode::WriteDirect] {
        let file = PageFile::open(&OsVfs, root.path(), &entry, mode).unwrap();
        for backend in backends(&file) {
            let reader = PageReader::with_backend(file.clone(), backend);
            let mut lane = reader.lane(2).unwrap();
            reader.seal_unit(3, 1, lane.buffer_mut(1));
            let (unit, buffer, tag) = (3, 1, 0);
            for request in [
                LaneRequest::Write(PageWrite { unit, buffer, tag }),
                LaneRequest::Sync { buffer, tag },
            ] {
                let error = lane.request(request).unwrap_err();
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
            }
            assert!(finish(lane.as_mut()).is_empty());
        }
    }
    assert!(verify_file(&OsVfs, root.path(), &entry).unwrap().is_sound());
}

#[test]
fn harmful_requests_are_refused_by_every_backend_and_never_complete() {
    let root = tempfile::tempdir().unwrap();
    let entry = create(root.path(), 1);
    let file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
    let mut readers = vec![memory(1, Some(3))];
    for backend in backends(&file) {
        readers.push(PageReader::with_backend(file.clone(), backend));
    }
    for reader in readers {
        let mut lane = reader.lane(3).unwrap();
        let write = |unit, buffer| {
            LaneRequest::Write(PageWrite {
                unit,
                buffer,
                tag: 1,
            })
        };
        lane.buffer_mut(0).fill(1);
        assert!(lane.request(write(2, 0)).is_err(), "not sealed");
        reader.seal_unit(2, 1, lane.buffer_mut(0));
        assert!(lane.request(write(4, 0)).is_err(), "sealed as another unit");
        reader.seal_unit(UNITS, 1, lane.buffer_mut(1));
        assert!(lane.request(write(UNITS, 1)).is_err(), "behind the end");
        assert!(lane.request(write(2, 3)).is_err(), "no such buffer");
        lane.request(write(2, 0)).unwrap();
        assert!(lane.request(write(2, 0)).is_err(), "in flight");
        let sync = LaneRequest::Sync { buffer: 2, tag: 2 };
        assert!(lane.request(sync).is_err(), "a write is in flight");
        let done = finish(lane.as_mut());
        assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [1]);
        lane.request(sync).unwrap();
        assert_eq!(finish(lane.as_mut()).len(), 1);
    }
}

#[test]
#[should_panic(expected = "in flight")]
fn the_bytes_of_a_write_in_flight_are_out_of_reach() {
    let reader = memory(1, None);
    let mut lane = reader.lane(2).unwrap();
    request_write(&reader, lane.as_mut(), (1, 1, 0));
    lane.buffer_mut(0);
}

#[test]
fn lanes_dropped_with_writes_in_flight_end_cleanly_and_leave_whole_units() {
    let root = tempfile::tempdir().unwrap();
    let entry = create(root.path(), 1);
    let file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
    for backend in backends(&file) {
        let reader = PageReader::with_backend(file.clone(), backend);
        for round in 1..30 {
            let mut lane = reader.lane(32).unwrap();
            for buffer in 0..32 {
                request_write(&reader, lane.as_mut(), (buffer.into(), round, buffer));
            }
            if round % 2 == 0 {
                lane.wait(1, &mut Vec::new()).unwrap();
            }
        }
        let committed = FileEntry {
            epoch: 30,
            ..entry.clone()
        };
        assert!(
            verify_file(&OsVfs, root.path(), &committed)
                .unwrap()
                .is_sound()
        );
    }
}

#[test]
fn a_lost_write_and_a_torn_unit_are_different_errors() {
    let reader = memory(1, None);
    let mut lane = reader.lane(1).unwrap();
    lane.submit(PageRead {
        unit: 7,
        file: 0,
        buffer: 0,
        tag: 0,
    })
    .unwrap();
    finish(lane.as_mut());
    let lost = reader
        .verify_unit_epoch(7, lane.buffer(0), 2..=3)
        .unwrap_err();
    assert!(lost.is_lost_write(), "{lost}");
    assert!(lost.to_string().contains("a write was lost"), "{lost}");
    lane.buffer_mut(0)[600] ^= 1;
    let torn = reader
        .verify_unit_epoch(7, lane.buffer(0), 2..=3)
        .unwrap_err();
    assert!(matches!(torn, StoreError::Corrupt { .. }) && !torn.is_lost_write());
}
