//! Index files that other libraries wrote (`data/make_libraries.py`) are read as they were meant,
//! and what they cannot give is said.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests make and damage files directly"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::{ElementType, Metric, NoProgress, OsVfs, Result, VectorRead, Vfs};
use pageway_formats::{Opened, Wish, open, open_index};

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/library")
}

fn opened(path: &Path, element: Option<ElementType>) -> Result<Opened> {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let wish = Wish {
        element,
        column: None,
        id_column: None,
        scratch: std::env::temp_dir(),
    };
    open(&vfs, path, &wish, &NoProgress)
}

fn read(name: &str) -> Opened {
    opened(&place().join(name), None).unwrap()
}

fn refusal(name: &str) -> String {
    let refused = opened(&place().join(name), None);
    refused.err().unwrap().to_string()
}

/// As the script that wrote the files computes it.
fn component(row: u64, at: u64) -> u8 {
    ((37 * row + 11 * at) % 101) as u8
}

fn floats(row: u64) -> Vec<u8> {
    let components = (0..4).map(|at| f32::from(component(row, at)) / 8.0);
    components.flat_map(f32::to_le_bytes).collect()
}

fn bytes(row: u64) -> Vec<u8> {
    (0..4).map(|at| component(row, at)).collect()
}

fn ids(opened: &Opened) -> Option<Vec<u64>> {
    let ids = opened.ids.as_deref()?;
    let mut all = vec![0; ids.count() as usize];
    ids.read(0, &mut all).unwrap();
    Some(all)
}

/// Every run of rows holds the vectors of `numbers`.
fn check(opened: &Opened, numbers: &[u64], vector: fn(u64) -> Vec<u8>) {
    let vectors = &opened.vectors;
    assert_eq!(vectors.count(), numbers.len() as u64);
    let row_bytes = vectors.shape().row_bytes();
    for first in 0..numbers.len() {
        for end in [first + 1, numbers.len()] {
            let mut found = vec![0; (end - first) * row_bytes];
            vectors.read(first as u64, &mut found).unwrap();
            let expected: Vec<u8> = numbers[first..end]
                .iter()
                .flat_map(|n| vector(*n))
                .collect();
            assert_eq!(found, expected, "{first}..{end}");
        }
    }
    let behind = vectors.read(numbers.len() as u64, &mut vec![0; row_bytes]);
    assert!(behind.is_err());
}

#[test]
fn rows_of_faiss_lie_in_their_order() {
    let all: Vec<u64> = (0..20).collect();
    for (name, kind, metric) in [
        ("flat.faiss", "faiss, flat", Some(Metric::L2)),
        ("flat-ip.faiss", "faiss, flat", Some(Metric::InnerProduct)),
        ("flat-l1.faiss", "faiss, flat", Some(Metric::L1)),
        ("hnsw.faiss", "faiss, HNSW-flat", Some(Metric::L2)),
    ] {
        let opened = read(name);
        check(&opened, &all, floats);
        assert_eq!(ids(&opened), None, "{name}");
        let origin = opened.origin.unwrap();
        assert_eq!((origin.kind.as_str(), origin.metric), (kind, metric));
    }
    let mapped = read("idmap.faiss");
    check(&mapped, &all, floats);
    assert_eq!(ids(&mapped), Some((100..120).collect()));
}

#[test]
fn lists_of_faiss_keep_their_ids() {
    for name in ["ivf.faiss", "ivf-map.faiss", "ivf-hnsw.faiss"] {
        let opened = read(name);
        let ids = ids(&opened).unwrap();
        check(&opened, &ids, floats);
        let mut sorted = ids;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<u64>>(), "{name}");
    }
    let sparse = read("ivf-sparse.faiss");
    let rows: Vec<u64> = ids(&sparse)
        .unwrap()
        .iter()
        .map(|id| (id - 70) / 10)
        .collect();
    check(&sparse, &rows, floats);
    assert_eq!(rows.len(), 3);
}

/// A map of ids around an index file, which begins with four letters and a head of 33 bytes.
fn mapped(name: &str, ids: &[i64]) -> Vec<u8> {
    let inner = fs::read(place().join(name)).unwrap();
    let count = (ids.len() as u64).to_le_bytes();
    let ids = ids.iter().flat_map(|id| id.to_le_bytes());
    [b"IxMp", &inner[4..37], &inner, &count]
        .concat()
        .into_iter()
        .chain(ids)
        .collect()
}

#[test]
fn maps_of_ids_go_around_lists_too() {
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("mapped.faiss");
    let own: Vec<i64> = (0..20).map(|row| 900 - 7 * row).collect();
    fs::write(&path, mapped("ivf.faiss", &own)).unwrap();
    let found = opened(&path, None).unwrap();
    let numbers = ids(&read("ivf.faiss")).unwrap();
    check(&found, &numbers, floats);
    let expected: Vec<u64> = numbers.iter().map(|row| 900 - 7 * row).collect();
    assert_eq!(ids(&found), Some(expected));

    fs::write(&path, mapped("ivf-sparse.faiss", &[1, 2, 3])).unwrap();
    let words = opened(&path, None).err().unwrap().to_string();
    assert!(
        words.contains("maps ids of 3 rows, one of which has the number"),
        "{words}"
    );
    fs::write(&path, mapped("flat.faiss", &[-5; 20])).unwrap();
    let found = opened(&path, None).unwrap();
    let words = found
        .ids
        .unwrap()
        .read(0, &mut [0])
        .unwrap_err()
        .to_string();
    assert!(
        words.contains("row 0 has id -5: ids are whole numbers from 0"),
        "{words}"
    );
}

#[test]
fn rows_of_hnswlib_have_labels_and_deleted_ones_are_left_out() {
    let opened = read("hnswlib.bin");
    let rows: Vec<u64> = (0..19).filter(|row| *row != 3).collect();
    check(&opened, &rows, floats);
    let labels: Vec<u64> = rows.iter().map(|row| row + 500).collect();
    assert_eq!(ids(&opened), Some(labels));
    assert_eq!(opened.origin.unwrap().deleted, 2);
}

#[test]
fn what_is_no_index_file_is_said_with_the_kinds_that_are_known() {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("some.index");
    for (bytes, words) in [
        (b"".as_slice(), "it is empty; known are"),
        (
            b"PK\x03\x04 and more",
            "it begins with \"PK\\x03\\x04 and\"; known are faiss",
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        let said = open_index(&vfs, &path, None).err().unwrap().to_string();
        assert!(
            said.contains(words) && said.contains("some.index"),
            "{said}"
        );
    }
    let (_, origin) = open_index(&vfs, &place().join("hnswlib.bin"), None).unwrap();
    assert_eq!(origin.kind, "hnswlib");
}

#[test]
fn vectors_of_hnswlib_that_no_floats_are_want_their_type() {
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("bytes.bin");
    // One element of a space of 6 bytes: no links, a label.
    let (vector, label) = (4 + 4 * 4, 4 + 4 * 4 + 6);
    let mut file: Vec<u8> = [0, 1, 1, label + 8, label, vector, 0, 2, 4, 2, 0, 0]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    file.extend([[0_u8; 20].as_slice(), &[1, 2, 3, 4, 5, 6], &[7; 8], &[0; 4]].concat());
    fs::write(&path, &file).unwrap();
    let words = opened(&path, None).err().unwrap().to_string();
    assert!(
        words.contains("6 bytes are none of f32: ") && words.contains("u8 or i8"),
        "{words}"
    );
    let bytes = opened(&path, Some(ElementType::U8)).unwrap();
    assert_eq!(bytes.vectors.shape().dimension, 6);
}

#[test]
fn both_indexes_of_diskann_are_read() {
    let all: Vec<u64> = (0..300).collect();
    let disk = read("diskann_disk.index");
    check(&disk, &all, floats);
    assert_eq!(disk.origin.unwrap().metric, Some(Metric::L2));
    let memory = read("diskann-memory.data");
    check(&memory, &all, bytes);
    assert_eq!(memory.vectors.shape().element, ElementType::U8);
    assert_eq!(memory.origin.unwrap().metric, Some(Metric::Cosine));
}

#[test]
fn an_element_type_that_nobody_states_is_asked_for() {
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("a_disk.index");
    fs::copy(place().join("diskann_disk.index"), &path).unwrap();
    let words = opened(&path, None).err().unwrap().to_string();
    assert!(words.contains("--element"), "{words}");
    let vectors = opened(&path, Some(ElementType::F32)).unwrap();
    check(&vectors, &(0..300).collect::<Vec<u64>>(), floats);
    let words = opened(&path, Some(ElementType::U8))
        .err()
        .unwrap()
        .to_string();
    assert!(words.contains("node 0 has"), "{words}");
    assert!(words.contains("is u8 the element type?"), "{words}");
    fs::write(elsewhere.path().join("a_disk.index_pq_pivots.bin"), "").unwrap();
    let words = opened(&path, Some(ElementType::F32)).err().unwrap();
    assert!(words.to_string().contains("compressed"), "{words}");
}

#[test]
fn codes_are_no_vectors() {
    for (name, what) in [
        ("sq.faiss", "holds scalar-quantized codes"),
        ("pca.faiss", "holds vectors that were transformed"),
    ] {
        let words = refusal(name);
        assert!(words.contains(what) && words.contains(name), "{words}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_or_goes_on_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    for name in [
        "flat.faiss",
        "flat-l1.faiss",
        "hnsw.faiss",
        "ivf.faiss",
        "ivf-map.faiss",
        "ivf-hnsw.faiss",
        "ivf-sparse.faiss",
        "idmap.faiss",
        "hnswlib.bin",
    ] {
        let mut whole = fs::read(place().join(name)).unwrap();
        let path = elsewhere.path().join(name);
        for length in (0..whole.len()).step_by(3) {
            fs::write(&path, &whole[..length]).unwrap();
            let refused = opened(&path, None).err();
            assert!(refused.is_some(), "{name} cut at {length}");
        }
        let end = whole.len();
        whole.extend([0; 5]);
        fs::write(&path, &whole).unwrap();
        let words = opened(&path, None).err().unwrap().to_string();
        let expected = format!("has 5 bytes behind its index, which ends at byte {end}");
        assert!(words.contains(&expected), "{name}: {words}");
    }
}
