//! Indexes of several segments: the same rows in the same order, in files that are each sound.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and a test looks at the files as they are"
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Rows, smallest_that_works};
use pageway::{
    BuildOptions, ElementType, ErrorKind, Index, MemoryPart, MemoryWish, NoProgress, OpenOptions,
    Preset, VectorRead, describe, verify,
};

const ROWS: usize = 1203;

fn base() -> Rows {
    Rows::clustered(ROWS, 16, ElementType::U8, 1)
}

fn options(preset: Preset, segments: u32) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(20)
        .with_segments(segments)
}

fn vectors(index: &Index) -> Vec<u8> {
    let mut bytes = vec![0; index.len() as usize * index.shape().row_bytes()];
    index.read(0, &mut bytes).unwrap();
    bytes
}

fn sorted(rows: &[u8], row_bytes: usize) -> Vec<&[u8]> {
    let mut rows: Vec<&[u8]> = rows.chunks_exact(row_bytes).collect();
    rows.sort_unstable();
    rows
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(dir).unwrap();
    names
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn every_design_keeps_all_rows_in_however_many_segments() {
    let (base, row_bytes) = (base(), 16);
    for preset in Preset::ALL {
        for segments in [1, 2, 4, 8] {
            let what = format!("{preset}, {segments} segments");
            let dir = tempfile::tempdir().unwrap();
            let report = base.build(dir.path(), &options(preset, segments)).unwrap();
            assert_eq!(report.nodes, ROWS as u64, "{what}");
            assert!(
                verify(dir.path(), &NoProgress).unwrap().is_sound(),
                "{what}"
            );
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let found = vectors(&index);
            let mut end = 0;
            for segment in index.description().unwrap().segments {
                let rows = end * row_bytes..(end + segment.nodes as usize) * row_bytes;
                assert_eq!(segment.first_row as usize, end, "{what}");
                let (own, given) = (&found[rows.clone()], &base.bytes[rows]);
                assert_eq!(sorted(own, row_bytes), sorted(given, row_bytes), "{what}");
                end += segment.nodes as usize;
            }
            assert_eq!(end, ROWS, "{what}");
        }
    }
}

#[test]
fn a_run_of_rows_is_read_across_segments() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 4))
        .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    for (first, count) in [(0, 1), (299, 4), (300, 301), (900, 303), (1202, 1)] {
        let mut rows = vec![0; count * 16];
        index.read(first as u64, &mut rows).unwrap();
        assert_eq!(rows, base.bytes[first * 16..(first + count) * 16]);
    }
    assert!(index.read(1202, &mut [0; 32]).is_err(), "beyond the end");
    assert!(index.read(0, &mut [0; 17]).is_err(), "part of a row");
}

#[test]
fn one_segment_has_the_names_and_the_bytes_it_always_had() {
    let base = base();
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    base.build(one.path(), &options(Preset::DiskAnn, 1))
        .unwrap();
    base.build(two.path(), &options(Preset::DiskAnn, 2))
        .unwrap();
    let names = |dir: &Path| files(dir).into_keys().collect::<Vec<_>>();
    assert_eq!(
        names(one.path()),
        [
            "LOCK",
            "MANIFEST",
            "codebook-1.pw",
            "codes-1.pw",
            "hot-1.pw",
            "records-1.pw"
        ]
    );
    let of_two = names(two.path());
    for name in ["codebook", "codes", "hot", "records"] {
        for number in 0..2 {
            assert!(
                of_two.contains(&format!("{name}-1-{number}.pw")),
                "{of_two:?}"
            );
        }
    }
    assert_eq!(of_two.len(), 2 + 8);
}

#[test]
fn the_bytes_of_segments_do_not_depend_on_threads() {
    let base = base();
    let of = |threads| {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::Starling, 3).with_threads(threads);
        base.build(dir.path(), &options).unwrap();
        files(dir.path())
    };
    assert_eq!(of(1), of(4));
}

#[test]
fn memory_is_divided_over_segments_and_a_rebuild_replaces_all() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, 4))
        .unwrap();
    let open = |bytes| {
        let options = OpenOptions::default().with_memory(MemoryWish::Bytes(bytes));
        Index::open(dir.path(), &options)
    };
    let least = smallest_that_works(&open(1).err().unwrap());
    assert!(open(least - 1).is_err());
    for bytes in [least, least + 10_000, 2 * least] {
        let memory = open(bytes).unwrap().memory();
        let held: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
        assert!(held <= bytes, "{memory:?}");
        let codes = memory.bytes_of(MemoryPart::Codes);
        assert_eq!(codes % ROWS as u64, 0, "codes of all rows: {memory:?}");
    }
    let description = describe(dir.path()).unwrap();
    assert_eq!(
        (description.nodes, description.segments.len()),
        (ROWS as u64, 4)
    );
    base.build(dir.path(), &options(Preset::DiskAnn, 2))
        .unwrap();
    let now = describe(dir.path()).unwrap();
    assert_eq!((now.generation, now.segments.len()), (2, 2));
    assert_eq!(files(dir.path()).len(), 2 + now.files.len());
}

#[test]
fn what_cannot_be_cut_is_refused_before_anything_is_written() {
    let base = base();
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("index");
    for segments in [0, 257, 1204] {
        let error = base
            .build(&dir, &options(Preset::DiskAnn, segments))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.context().contains("give 1 to 256"), "{error}");
    }
    let three = Rows::clustered(3, 16, ElementType::U8, 1);
    let error = three.build(&dir, &options(Preset::DiskAnn, 4)).unwrap_err();
    assert!(error.context().contains("give 1 to 3"), "{error}");
    assert!(!dir.exists());
    three.build(&dir, &options(Preset::DiskAnn, 3)).unwrap();
    assert_eq!(
        vectors(&Index::open(&dir, &OpenOptions::default()).unwrap()),
        three.bytes
    );
}
