//! Page files and byte streams against what was put into them.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use pageway_store::{
    AlignedBuffers, BlobReader, BlobWriter, FileEntry, FileUuid, OpenMode, OsVfs, PageFile,
    PageFileWriter, PageGeometry, StoreError, Vfs, verify_file,
};
use proptest::prelude::*;

const UUID: FileUuid = FileUuid([5; 16]);

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    (0..length as u64)
        .map(|i| ((i + seed).wrapping_mul(0x9e37_79b9) >> 13) as u8)
        .collect()
}

fn blob(dir: &Path, content: &[u8], geometry: PageGeometry, cut: usize) -> FileEntry {
    let mut writer = BlobWriter::create(&OsVfs, &dir.join("b.pw"), 1, geometry, UUID).unwrap();
    for piece in content.chunks(cut.max(1)) {
        writer.write(piece).unwrap();
    }
    writer.finish().unwrap()
}

fn is_invalid(result: &Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::Invalid { .. }))
}

/// Few cases, each of which writes files; none is kept beside the sources.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn streams_come_back_in_sequence_and_by_range(
        length in 0usize..40_000,
        span in 1u32..4,
        cut in 1usize..9000,
        ranges in prop::collection::vec((0usize..40_000, 0usize..20_000), 0..8),
    ) {
        let root = tempfile::tempdir().unwrap();
        let content = bytes(length, 3);
        let entry = blob(root.path(), &content, PageGeometry::new(4096, span).unwrap(), cut);
        prop_assert_eq!(entry.payload_bytes, length as u64);
        let mut reader = BlobReader::open(&OsVfs, root.path(), &entry).unwrap();
        let mut read = Vec::new();
        while reader.remaining_bytes() > 0 {
            let mut piece = vec![0; cut.min(reader.remaining_bytes() as usize)];
            reader.read_exact(&mut piece).unwrap();
            read.extend(piece);
        }
        prop_assert_eq!(&read, &content);
        for (start, count) in ranges {
            let mut out = vec![0; count];
            let result = reader.read_range(start as u64, &mut out);
            match content.get(start..start + count) {
                Some(expected) => {
                    result.unwrap();
                    prop_assert_eq!(&out[..], expected);
                    prop_assert_eq!(reader.remaining_bytes(), (length - start - count) as u64);
                }
                None => prop_assert!(is_invalid(&result)),
            }
        }
        prop_assert!(verify_file(&OsVfs, root.path(), &entry).unwrap().is_sound());
    }
}

#[test]
fn files_larger_than_the_buffer_come_back() {
    let root = tempfile::tempdir().unwrap();
    let content = bytes(5_000_001, 1);
    for (page_bytes, span) in [(4096, 1), (4096, 3), (65536, 16)] {
        let geometry = PageGeometry::new(page_bytes, span).unwrap();
        let entry = blob(root.path(), &content, geometry, 777_777);
        let mut reader = BlobReader::open(&OsVfs, root.path(), &entry).unwrap();
        assert!(reader.read_rest(content.len() as u64 - 1).is_err());
        assert_eq!(reader.read_rest(content.len() as u64).unwrap(), content);
        let verdict = verify_file(&OsVfs, root.path(), &entry).unwrap();
        assert_eq!((verdict.units, verdict.damaged), (entry.units, 0));
        OsVfs.remove_file(&root.path().join(&entry.name)).unwrap();
    }
}

#[test]
fn equal_input_gives_equal_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let content = bytes(100_000, 9);
    let geometry = PageGeometry::new(4096, 2).unwrap();
    let entries = [
        blob(a.path(), &content, geometry, 10),
        blob(b.path(), &content, geometry, 9999),
    ];
    assert_eq!(entries[0], entries[1]);
    let whole = |dir: &Path| {
        let file = OsVfs.open(&dir.join("b.pw"), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    assert_eq!(whole(a.path()), whole(b.path()));
}

#[test]
fn units_are_padded_numbered_and_bounded() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("u.pw");
    let geometry = PageGeometry::new(4096, 1).unwrap();
    let mut writer = PageFileWriter::create(&OsVfs, &path, 7, geometry, UUID).unwrap();
    assert!(PageFileWriter::create(&OsVfs, &path, 7, geometry, UUID).is_err());
    assert_eq!(writer.append_unit(b"first").unwrap(), 0);
    assert!(matches!(
        writer.append_unit(&[0; 4089]),
        Err(StoreError::Invalid { .. })
    ));
    assert_eq!(writer.append_unit(&[9; 4088]).unwrap(), 1);
    let entry = writer.finish().unwrap();
    assert_eq!((entry.units, entry.payload_bytes, entry.kind), (2, 4093, 7));
    for mode in [OpenMode::Read, OpenMode::ReadDirect] {
        let file = PageFile::open(&OsVfs, root.path(), &entry, mode).unwrap();
        let mut buffers = AlignedBuffers::new(1, geometry.unit_bytes()).unwrap();
        let payload = file.read_unit(0, &mut buffers).unwrap();
        assert!(payload.starts_with(b"first\0\0") && payload.len() == 4088);
        assert_eq!(file.read_unit(1, &mut buffers).unwrap(), &[9; 4088]);
        assert!(matches!(
            file.read_unit(2, &mut buffers),
            Err(StoreError::Invalid { .. })
        ));
        assert!(matches!(
            file.read_unit(u64::MAX, &mut buffers),
            Err(StoreError::Invalid { .. })
        ));
    }
}

#[test]
fn a_file_is_opened_only_as_the_manifest_describes_it() {
    let root = tempfile::tempdir().unwrap();
    let good = blob(
        root.path(),
        &bytes(9000, 0),
        PageGeometry::new(4096, 2).unwrap(),
        100,
    );
    let open = |entry: &FileEntry| PageFile::open(&OsVfs, root.path(), entry, OpenMode::Read);
    open(&good).unwrap();
    let bad = [
        FileEntry {
            kind: 2,
            ..good.clone()
        },
        FileEntry {
            uuid: FileUuid([6; 16]),
            ..good.clone()
        },
        FileEntry {
            units: 1,
            payload_bytes: 8000,
            ..good.clone()
        },
        FileEntry {
            units: 3,
            ..good.clone()
        },
        FileEntry {
            units: 4,
            span: 1,
            ..good.clone()
        },
        FileEntry {
            payload_bytes: 9001,
            ..good.clone()
        },
        FileEntry {
            page_bytes: 8192,
            span: 1,
            ..good.clone()
        },
    ];
    for entry in bad {
        assert!(
            matches!(open(&entry), Err(StoreError::Corrupt { page: None, .. })),
            "{entry:?}"
        );
    }
    let impossible = FileEntry {
        payload_bytes: u64::MAX,
        ..good.clone()
    };
    assert!(matches!(open(&impossible), Err(StoreError::Invalid { .. })));
    let absent = FileEntry {
        name: "absent.pw".into(),
        ..good
    };
    let error = open(&absent).unwrap_err();
    assert!(
        error.to_string().contains("manifest lists this file"),
        "{error}"
    );
}

/// A file of three units, in a directory of its own.
fn growable(root: &Path) -> FileEntry {
    let path = root.join("g.pw");
    let geometry = PageGeometry::new(4096, 1).unwrap();
    let mut writer = PageFileWriter::create(&OsVfs, &path, 1, geometry, UUID).unwrap();
    for unit in 0..3 {
        writer.append_unit(&[unit; 100]).unwrap();
    }
    FileEntry {
        growable: true,
        ..writer.finish().unwrap()
    }
}

#[test]
fn what_lies_behind_the_units_of_a_growable_file_is_ignored_and_cut() {
    let root = tempfile::tempdir().unwrap();
    let entry = growable(root.path());
    let path = root.path().join("g.pw");
    let raw = OsVfs.open(&path, OpenMode::ReadWrite).unwrap();
    raw.write_all_at(&[7; 5000], 4096 + 3 * 4096).unwrap();
    for mode in [OpenMode::Read, OpenMode::ReadDirect] {
        let file = PageFile::open(&OsVfs, root.path(), &entry, mode).unwrap();
        assert_eq!((file.units(), file.writable()), (3, false));
        let mut buffers = AlignedBuffers::new(1, 4096).unwrap();
        assert!(file.read_unit(3, &mut buffers).is_err());
    }
    assert!(verify_file(&OsVfs, root.path(), &entry).unwrap().is_sound());
    let strict = FileEntry {
        growable: false,
        ..entry.clone()
    };
    let open = |entry| PageFile::open(&OsVfs, root.path(), entry, OpenMode::Read);
    assert!(matches!(open(&strict), Err(StoreError::Corrupt { .. })));
    let refused = PageFile::open_to_write(&OsVfs, root.path(), &strict).unwrap_err();
    assert!(refused.to_string().contains("never changes"), "{refused}");
    assert_eq!(raw.len().unwrap(), 4096 + 3 * 4096 + 5000);
    let file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
    assert_eq!(
        (raw.len().unwrap(), file.writable()),
        (4096 + 3 * 4096, true)
    );
    open(&strict).unwrap();
}

#[test]
fn a_growable_file_grows_and_never_has_less_than_it_was_created_with() {
    let root = tempfile::tempdir().unwrap();
    let entry = growable(root.path());
    let mut reading = PageFile::open(&OsVfs, root.path(), &entry, OpenMode::Read).unwrap();
    assert!(is_invalid(&reading.grow(5)));
    let mut file = PageFile::open_to_write(&OsVfs, root.path(), &entry).unwrap();
    for refused in [2, 1 << 32] {
        assert!(is_invalid(&file.grow(refused)), "{refused}");
    }
    file.grow(3).unwrap();
    file.grow(8).unwrap();
    assert_eq!((file.units(), reading.units()), (8, 3));
    let open = |units, payload_bytes| {
        let grown = FileEntry {
            units,
            payload_bytes,
            ..entry.clone()
        };
        PageFile::open(&OsVfs, root.path(), &grown, OpenMode::Read)
    };
    assert_eq!(open(8, 300).unwrap().units(), 8);
    assert_eq!(open(7, 4000).unwrap().payload_bytes(), 4000);
    for (units, payload_bytes) in [(2, 300), (3, 299), (9, 300)] {
        let error = open(units, payload_bytes).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
    // Room that was made and not written holds no unit.
    let all = FileEntry { units: 8, ..entry };
    let verdict = verify_file(&OsVfs, root.path(), &all).unwrap();
    assert_eq!((verdict.units, verdict.damaged), (8, 5));
}
