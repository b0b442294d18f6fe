//! Every backend against the units that were written.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;

use pageway_store::{
    FileEntry, FileUuid, IoBackend, OpenMode, OsVfs, PageDone, PageFile, PageFileWriter,
    PageGeometry, PageIo, PageRead, PageReader, StoreError, Vfs, probe,
};
use tempfile::TempDir;

const UUID: FileUuid = FileUuid([3; 16]);
const UNITS: u64 = 200;

fn geometry(span: u32) -> PageGeometry {
    PageGeometry::new(4096, span).unwrap()
}

fn payload(unit: u64) -> Vec<u8> {
    (0..4000u64).map(|i| (i * 31 + unit * 17) as u8).collect()
}

/// A file of `UNITS` units, opened twice: through the page cache and, where possible, past it.
fn files(root: &TempDir, span: u32) -> Vec<PageFile> {
    let path = root.path().join("u.pw");
    let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry(span), UUID).unwrap();
    for unit in 0..UNITS {
        writer.append_unit(&payload(unit)).unwrap();
    }
    let entry = writer.finish().unwrap();
    [OpenMode::Read, OpenMode::ReadDirect]
        .map(|mode| PageFile::open(&OsVfs, root.path(), &entry, mode).unwrap())
        .into()
}

fn readers(root: &TempDir, span: u32) -> Vec<PageReader> {
    let mut readers = Vec::new();
    for file in files(root, span) {
        let works = probe(&file).backend == IoBackend::Uring;
        for backend in [IoBackend::Uring, IoBackend::Threads, IoBackend::Blocking] {
            if backend != IoBackend::Uring || works {
                readers.push(PageReader::with_backend(file.clone(), backend));
            }
        }
    }
    let payloads: Vec<_> = (0..UNITS).map(payload).collect();
    let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
    for seed in [None, Some(1), Some(2)] {
        readers.push(PageReader::in_memory(geometry(span), UUID, &payloads, seed).unwrap());
    }
    readers
}

/// Reads `units` keeping `window` reads in flight, and returns the payload starts by tag.
fn read_all(reader: &PageReader, units: &[u64], window: u32) -> BTreeMap<u64, Vec<u8>> {
    let mut lane = reader.lane(window).unwrap();
    let mut free: Vec<u32> = (0..window).collect();
    let mut next = units.iter().enumerate();
    let mut done = Vec::new();
    let mut found = BTreeMap::new();
    loop {
        while let Some(buffer) = free.pop() {
            let Some((tag, &unit)) = next.next() else {
                break;
            };
            lane.submit(PageRead {
                unit,
                file: 0,
                buffer,
                tag: tag as u64,
            })
            .unwrap();
        }
        lane.wait(1, &mut done).unwrap();
        if done.is_empty() {
            break;
        }
        for PageDone {
            tag,
            buffer,
            unit,
            result,
        } in done.drain(..)
        {
            result.unwrap();
            assert_eq!(unit, units[tag as usize]);
            let payload = reader.verify_unit(unit, lane.buffer(buffer)).unwrap();
            assert!(
                found.insert(tag, payload[..4000].to_vec()).is_none(),
                "tag {tag} twice"
            );
            free.push(buffer);
        }
    }
    let counters = lane.counters();
    let pages = units.len() as u64 * u64::from(reader.geometry().span());
    assert_eq!(
        (counters.reads, counters.pages),
        (units.len() as u64, pages)
    );
    assert_eq!(counters.bytes, pages * 4096);
    found
}

#[test]
fn every_backend_returns_every_unit_once() {
    for span in [1, 3] {
        let root = tempfile::tempdir().unwrap();
        let units: Vec<u64> = (0..2 * UNITS).map(|i| i * 7919 % UNITS).collect();
        for reader in readers(&root, span) {
            for window in [1, 2, 7, 64] {
                let found = read_all(&reader, &units, window);
                assert_eq!(found.len(), units.len());
                for (tag, bytes) in found {
                    let unit = units[tag as usize];
                    assert_eq!(bytes, payload(unit), "{:?} unit {unit}", reader.backend());
                }
            }
        }
    }
}

#[test]
fn bad_requests_are_refused_and_never_complete() {
    let root = tempfile::tempdir().unwrap();
    for reader in readers(&root, 1) {
        let mut lane = reader.lane(2).unwrap();
        let mut done = Vec::new();
        lane.wait(5, &mut done).unwrap();
        assert!(
            lane.submit(PageRead {
                unit: UNITS,
                file: 0,
                buffer: 0,
                tag: 0
            })
            .is_err()
        );
        assert!(
            lane.submit(PageRead {
                unit: 0,
                file: 0,
                buffer: 2,
                tag: 0
            })
            .is_err()
        );
        lane.submit(PageRead {
            unit: 0,
            file: 0,
            buffer: 1,
            tag: 8,
        })
        .unwrap();
        assert!(
            lane.submit(PageRead {
                unit: 1,
                file: 0,
                buffer: 1,
                tag: 9
            })
            .is_err()
        );
        lane.wait(5, &mut done).unwrap();
        assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [8]);
        for buffers in [0, 4097, u32::MAX] {
            assert!(matches!(
                reader.lane(buffers),
                Err(StoreError::Invalid { .. })
            ));
        }
    }
}

#[test]
fn a_file_cut_behind_our_back_is_an_error_of_the_read() {
    for backend in [IoBackend::Uring, IoBackend::Threads, IoBackend::Blocking] {
        let root = tempfile::tempdir().unwrap();
        for file in files(&root, 2) {
            if backend == IoBackend::Uring && probe(&file).backend != backend {
                continue;
            }
            let reader = PageReader::with_backend(file.clone(), backend);
            let mut lane = reader.lane(4).unwrap();
            let writer = OsVfs.open(file.path(), OpenMode::ReadWrite).unwrap();
            let whole = writer.len().unwrap();
            // Half of unit 9 is left.
            writer.set_len(4096 + 9 * 8192 + 4096).unwrap();
            for (buffer, unit) in [8, 9, 10, 199].into_iter().enumerate() {
                lane.submit(PageRead {
                    unit,
                    file: 0,
                    buffer: buffer as u32,
                    tag: unit,
                })
                .unwrap();
            }
            let mut done = Vec::new();
            lane.wait(4, &mut done).unwrap();
            assert_eq!(done.len(), 4);
            for PageDone { unit, result, .. } in done {
                let kind = result.map_err(|error| error.kind());
                let expected = if unit == 8 {
                    Ok(())
                } else {
                    Err(std::io::ErrorKind::UnexpectedEof)
                };
                assert_eq!(kind, expected, "{backend} unit {unit}");
            }
            assert_eq!(lane.counters().reads, 1);
            // Restored for the next mode; the bytes behind the cut are gone.
            writer.set_len(whole).unwrap();
        }
    }
}

#[test]
fn lanes_dropped_with_reads_in_flight_end_cleanly() {
    let root = tempfile::tempdir().unwrap();
    for reader in readers(&root, 1) {
        for round in 0..50 {
            let mut lane = reader.lane(32).unwrap();
            for buffer in 0..32 {
                let unit = (u64::from(buffer) * 13 + round) % UNITS;
                lane.submit(PageRead {
                    unit,
                    file: 0,
                    buffer,
                    tag: 0,
                })
                .unwrap();
            }
            if round % 2 == 0 {
                lane.wait(1, &mut Vec::new()).unwrap();
            }
        }
    }
}

#[test]
fn lanes_move_between_threads_and_readers_are_shared() {
    let root = tempfile::tempdir().unwrap();
    for reader in readers(&root, 1) {
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let reader = &reader;
                let lane = reader.lane(4).unwrap();
                scope.spawn(move || read_one(reader, lane, thread));
            }
        });
    }
}

fn read_one(reader: &PageReader, mut lane: Box<dyn PageIo>, unit: u64) {
    let mut done = Vec::new();
    lane.submit(PageRead {
        unit,
        file: 0,
        buffer: 3,
        tag: 1,
    })
    .unwrap();
    lane.wait(1, &mut done).unwrap();
    let bytes = reader.verify_unit(unit, lane.buffer(3)).unwrap();
    assert_eq!(bytes[..4000], payload(unit));
}

#[test]
#[should_panic(expected = "in flight")]
fn the_bytes_of_a_read_in_flight_are_out_of_reach() {
    let root = tempfile::tempdir().unwrap();
    let reader = readers(&root, 1).remove(0);
    let mut lane = reader.lane(2).unwrap();
    lane.submit(PageRead {
        unit: 0,
        file: 0,
        buffer: 0,
        tag: 0,
    })
    .unwrap();
    lane.buffer(0);
}

#[test]
fn a_seed_orders_completions_repeatably() {
    let payloads: Vec<_> = (0..32).map(payload).collect();
    let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
    let order = |seed| {
        let reader = PageReader::in_memory(geometry(1), UUID, &payloads, seed).unwrap();
        let mut lane = reader.lane(32).unwrap();
        for buffer in 0..32 {
            lane.submit(PageRead {
                unit: buffer.into(),
                file: 0,
                buffer,
                tag: buffer.into(),
            })
            .unwrap();
        }
        let mut done = Vec::new();
        while done.len() < 32 {
            let before = done.len();
            lane.wait(1, &mut done).unwrap();
            assert!(done.len() > before);
        }
        done.iter().map(|done| done.tag).collect::<Vec<_>>()
    };
    assert_eq!(order(None), (0..32).collect::<Vec<_>>());
    assert_eq!(order(Some(5)), order(Some(5)));
    assert_ne!(order(Some(5)), order(Some(6)));
}

#[test]
fn lane_memory_is_accounted() {
    let bytes = |buffers, backend| PageReader::lane_bytes(geometry(2), buffers, backend);
    let floor = 8 * 8192;
    assert!((floor..floor + 1024).contains(&bytes(8, IoBackend::Blocking)));
    assert_eq!(
        bytes(8, IoBackend::Threads),
        bytes(8, IoBackend::Blocking) + 8 * 32 * 1024
    );
    assert_eq!(bytes(1, IoBackend::Threads), bytes(1, IoBackend::Blocking));
    assert_eq!(
        bytes(40, IoBackend::Threads),
        bytes(40, IoBackend::Blocking) + 16 * 32 * 1024
    );
    assert!(bytes(8, IoBackend::Uring) > bytes(8, IoBackend::Blocking));
}

#[test]
fn the_probe_names_a_backend_and_a_reason() {
    let root = tempfile::tempdir().unwrap();
    for file in files(&root, 1) {
        let probed = probe(&file);
        assert_eq!(probed.direct, file.direct());
        assert!(!probed.reason.is_empty());
        let (reader, chosen) = PageReader::open(file).unwrap();
        assert_eq!(reader.backend(), chosen.backend);
        println!("{probed:?}");
    }
    assert!(Path::new(root.path()).exists());
}

/// A second file, or second units in memory, whose payloads tell them apart.
fn second(root: &TempDir, first: &PageReader) -> PageReader {
    let other = |unit: u64| payload(unit + 100);
    let uuid = FileUuid([4; 16]);
    if first.backend() == IoBackend::Memory {
        let payloads: Vec<_> = (0..5).map(other).collect();
        let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
        return PageReader::in_memory(geometry(1), uuid, &payloads, None).unwrap();
    }
    let name = format!(
        "{}-{}.pw",
        first.backend(),
        root.path().read_dir().unwrap().count()
    );
    let path = root.path().join(name);
    let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry(1), uuid).unwrap();
    for unit in 0..5 {
        writer.append_unit(&other(unit)).unwrap();
    }
    let entry = writer.finish().unwrap();
    let file = PageFile::open(&OsVfs, root.path(), &entry, OpenMode::Read).unwrap();
    PageReader::with_backend(file, first.backend())
}

#[test]
fn one_lane_reads_several_files() {
    let root = tempfile::tempdir().unwrap();
    for first in readers(&root, 1) {
        let second = second(&root, &first);
        let mut lane = first.lane_with(&[&second], 4).unwrap();
        let read = |unit, file, buffer| PageRead {
            unit,
            file,
            buffer,
            tag: u64::from(file),
        };
        for (buffer, (unit, file)) in (0..).zip([(3, 0), (3, 1), (4, 1), (4, 0)]) {
            lane.submit(read(unit, file, buffer)).unwrap();
        }
        let mut done = Vec::new();
        while done.len() < 4 {
            lane.wait(1, &mut done).unwrap();
        }
        for end in done {
            end.result.unwrap();
            let (reader, number) = match end.tag {
                0 => (&first, end.unit),
                _ => (&second, end.unit + 100),
            };
            let found = reader.verify_unit(end.unit, lane.buffer(end.buffer));
            assert_eq!(
                found.unwrap()[..4000],
                payload(number)[..],
                "{:?}",
                first.backend()
            );
        }
        assert!(
            lane.submit(read(5, 1, 0)).is_err(),
            "behind the second file"
        );
        assert!(lane.submit(read(0, 2, 0)).is_err(), "no such file");
        assert_eq!(lane.counters().reads, 4);
    }
}

#[test]
fn one_lane_reads_units_of_several_sizes() {
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let small = readers(&roots[0], 1);
    let large = readers(&roots[1], 3);
    for (small, large) in small.iter().zip(&large) {
        for (first, second) in [(small, large), (large, small)] {
            let mut lane = first.lane_with(&[second], 4).unwrap();
            let places = [(3, 0), (3, 1), (4, 1), (4, 0)];
            for (buffer, (unit, file)) in (0..).zip(places) {
                let tag = u64::from(file);
                let read = PageRead {
                    unit,
                    file,
                    buffer,
                    tag,
                };
                lane.submit(read).unwrap();
            }
            let mut done = Vec::new();
            while done.len() < places.len() {
                lane.wait(1, &mut done).unwrap();
            }
            for end in done {
                end.result.unwrap();
                let reader = if end.tag == 0 { first } else { second };
                let bytes = lane.buffer(end.buffer);
                let bytes = &bytes[..reader.geometry().unit_bytes()];
                let found = reader.verify_unit(end.unit, bytes).unwrap();
                let wanted = payload(end.unit);
                assert_eq!(found[..wanted.len()], wanted[..], "{:?}", first.backend());
            }
            let pages = lane.counters().pages;
            assert_eq!(pages, 2 + 2 * 3, "{:?}", first.backend());
        }
    }
}

#[test]
fn what_a_lane_writes_has_units_of_one_size() {
    let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (small, large) = (files(&roots[0], 1), files(&roots[1], 3));
    let reader = |file: &PageFile| PageReader::with_backend(file.clone(), IoBackend::Threads);
    let lane = |first: &PageFile| reader(first).lane_with(&[&reader(&large[0])], 4);
    assert!(lane(&small[0]).is_ok());
    let writable = roots[0].path().join("w.pw");
    let mut writer = PageFileWriter::create(&OsVfs, &writable, 1, geometry(1), UUID).unwrap();
    writer.append_unit(&payload(0)).unwrap();
    let entry = FileEntry {
        growable: true,
        ..writer.finish().unwrap()
    };
    let file = PageFile::open_to_write(&OsVfs, roots[0].path(), &entry).unwrap();
    assert!(lane(&file).is_err());
}
