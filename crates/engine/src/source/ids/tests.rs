//! Files of ids: what is read and what is refused.

use super::super::scratch_folder::{ScratchFolder, le, npy};
use super::*;
use crate::ErrorKind;

fn literal(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

fn read_all(ids: &dyn IdRead) -> Result<Vec<u64>, Error> {
    let mut out = vec![0; ids.count() as usize];
    ids.read(0, &mut out)?;
    Ok(out)
}

#[test]
fn each_format_gives_its_ids_back() {
    let big = 1 << 63;
    let cases: Vec<(&str, Vec<u8>, Vec<u64>)> = vec![
        (
            "a.u64bin",
            [le!(u32: 2, 1), le!(u64: 5, big)].concat(),
            vec![5, big],
        ),
        (
            "a.ibin",
            [le!(u32: 2, 1), le!(i32: 5, i32::MAX)].concat(),
            vec![5, 0x7fff_ffff],
        ),
        (
            "a.npy",
            npy(&literal("<u8", "(2,)"), &le!(u64: 5, big)),
            vec![5, big],
        ),
        (
            "b.npy",
            npy(&literal("<i8", "(2, 1)"), &le!(i64: 5, 6)),
            vec![5, 6],
        ),
        (
            "c.npy",
            npy(&literal("<u4", "(2,)"), &le!(u32: 5, u32::MAX)),
            vec![5, 0xffff_ffff],
        ),
        (
            "d.npy",
            npy(&literal("<i4", "(2,)"), &le!(i32: 5, 6)),
            vec![5, 6],
        ),
        (
            "a.txt",
            b"5\r\n18446744073709551615\n007".to_vec(),
            vec![5, u64::MAX, 7],
        ),
        ("b.txt", b"1\n2\n".to_vec(), vec![1, 2]),
        ("c.txt", "\u{feff}1\r\n2".as_bytes().to_vec(), vec![1, 2]),
        ("d.txt", b"7".to_vec(), vec![7]),
        ("e.txt", b"1\n2\n\n".to_vec(), vec![1, 2]),
        ("f.txt", b"1\r\n2\r\n\r\n".to_vec(), vec![1, 2]),
    ];
    let folder = ScratchFolder::new();
    for (name, content, expected) in cases {
        let path = folder.write(name, &content);
        let ids = open_ids(&folder.vfs, &path).unwrap();
        assert_eq!(read_all(ids.as_ref()).unwrap(), expected, "{name}");
        let mut last = [0];
        ids.read(ids.count() - 1, &mut last).unwrap();
        assert_eq!(last.first(), expected.last(), "{name}");
        assert!(ids.read(ids.count(), &mut last).is_err(), "{name}");
    }
}

#[test]
fn long_lists_read_from_any_row() {
    let folder = ScratchFolder::new();
    let expected: Vec<u64> = (0..20_000).map(|i| i * i * 31 + 3).collect();
    let text = expected
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    let mut bytes = le!(u32: 20_000, 1);
    bytes.extend(expected.iter().flat_map(|id| id.to_le_bytes()));
    for path in [
        folder.write("a.txt", text.as_bytes()),
        folder.write("a.u64bin", &bytes),
    ] {
        let ids = open_ids(&folder.vfs, &path).unwrap();
        for (first, length) in [(0, 20_000), (4095, 3), (4096, 1), (8192, 9000), (19_999, 1)] {
            let mut out = vec![0; length];
            ids.read(first as u64, &mut out).unwrap();
            assert_eq!(out, expected[first..first + length]);
        }
    }
}

#[track_caller]
fn assert_refused(cases: Vec<(&str, Vec<u8>, &str)>) {
    let folder = ScratchFolder::new();
    for (name, content, words) in cases {
        let path = folder.write(name, &content);
        let done = open_ids(&folder.vfs, &path).and_then(|ids| read_all(ids.as_ref()));
        let error = done.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        assert!(error.context().contains(words), "{name}: {error}");
        assert!(error.context().contains(name), "{name}: {error}");
    }
}

#[test]
fn every_malformed_binary_file_is_refused_by_name_and_place() {
    assert_refused(vec![
        ("a.u64bin", le!(u32: 1), "needs 8 bytes, the file has 4"),
        (
            "b.u64bin",
            [le!(u32: 2, 1), vec![0; 15]].concat(),
            "2 ids of 8 bytes, which takes 24",
        ),
        (
            "c.u64bin",
            [le!(u32: 1, 1), vec![0; 9]].concat(),
            "longer than its header says",
        ),
        (
            "d.u64bin",
            [le!(u32: 1, 2), vec![0; 16]].concat(),
            "2 ids per row",
        ),
        ("e.u64bin", le!(u32: 0, 1), "holds no rows"),
        ("a.ibin", le!(u32: 1, 10), "10 ids per row"),
        (
            "b.ibin",
            [le!(u32: 2, 1), le!(i32: 4, -9)].concat(),
            "row 1 has id -9",
        ),
        (
            "a.npy",
            npy(&literal("<f4", "(1,)"), &[0; 4]),
            "astype(numpy.uint64)",
        ),
        ("b.npy", npy(&literal(">i8", "(1,)"), &[0; 8]), "big-endian"),
        (
            "c.npy",
            npy(&literal("<i8", "(2, 2)"), &[0; 32]),
            "2 ids per row",
        ),
        (
            "d.npy",
            npy(&literal("<i8", "()"), &[0; 8]),
            "array of 0 axes",
        ),
        (
            "e.npy",
            npy(&literal("<i8", "(2,)"), &le!(i64: 1, i64::MIN)),
            "-9223372036854775808",
        ),
        (
            "f.npy",
            npy(&literal("<i8", "(9999999999999999999,)"), &[]),
            "more than any file",
        ),
    ]);
}

#[test]
fn every_malformed_text_file_is_refused_by_name_and_place() {
    assert_refused(vec![
        ("a.txt", vec![], "holds no rows"),
        ("b.txt", b"1\n\n2".to_vec(), "line 2 is not one decimal id"),
        ("c.txt", b"1\n2\n-3\n".to_vec(), "line 3"),
        (
            "d.txt",
            b"18446744073709551616".to_vec(),
            "line 1 is not one decimal id between 0 and 18446744073709551614",
        ),
        ("e.txt", b"1 2\n".to_vec(), "line 1"),
        ("f.txt", b"1\r2\n".to_vec(), "line 1"),
        ("g.txt", b"id\n1\n".to_vec(), "line 1"),
        ("h.txt", b"1\n\r\n\n2\n".to_vec(), "line 2"),
        (
            "a.csv",
            b"1\n".to_vec(),
            "the known ones are .u64bin .ibin .npy .txt",
        ),
    ]);
}

#[test]
fn duplicates_in_a_file_are_named_with_the_file() {
    let folder = ScratchFolder::new();
    let path = folder.write("a.txt", b"3\n1\n2\n1\n");
    let ids = open_ids(&folder.vfs, &path).unwrap();
    let error = check_unique(ids.as_ref(), 1 << 20).unwrap_err();
    let words = "a.txt: id 1 appears in row 1 and again in row 3";
    assert!(error.context().ends_with(words), "{error}");
}
