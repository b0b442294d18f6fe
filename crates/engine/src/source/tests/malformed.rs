//! Files that must be refused, each with a sentence that names the file and what is wrong.

use super::super::scratch_folder::{ScratchFolder, le, npy};
use super::super::{OpenAs, VectorFile};
use crate::ErrorKind;

/// Name, content, and words that the error must contain.
type Case = (&'static str, Vec<u8>, &'static str);

fn literal(descr: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

fn array(descr: &str, order: &str, shape: &str, payload: usize) -> Vec<u8> {
    npy(&literal(descr, order, shape), &vec![0; payload])
}

fn bin_cases() -> Vec<Case> {
    let bin = |rows: u32, dimension: u32, payload: usize| {
        [le!(u32: rows, dimension), vec![0; payload]].concat()
    };
    vec![
        (
            "empty.fbin",
            vec![],
            "the header (u32 rows, u32 dimension) needs 8 bytes, the file has 0",
        ),
        (
            "cut.fbin",
            vec![1, 0, 0, 0, 2],
            "needs 8 bytes, the file has 5",
        ),
        (
            "header.u8bin",
            bin(3, 4, 0),
            "3 rows of 4-d u8, which takes 20 bytes, but the file has 8",
        ),
        (
            "short.fbin",
            bin(3, 4, 47),
            "takes 56 bytes, but the file has 55: it is truncated",
        ),
        (
            "long.fbin",
            bin(3, 4, 49),
            "takes 56 bytes, but the file has 57: it is longer",
        ),
        (
            "short.i8bin",
            bin(2, 2, 3),
            "takes 12 bytes, but the file has 11",
        ),
        (
            "short.f16bin",
            bin(2, 2, 6),
            "takes 16 bytes, but the file has 14",
        ),
        (
            "flat.fbin",
            bin(3, 0, 0),
            "dimension 0 in the header; it must be 1 to 16384",
        ),
        (
            "wide.u8bin",
            bin(1, 16_385, 16_385),
            "dimension 16385 in the header",
        ),
        ("none.fbin", bin(0, 4, 0), "holds no rows"),
        (
            "huge.fbin",
            bin(u32::MAX, 16_384, 16),
            "but the file has 24: it is truncated",
        ),
        (
            "huge.u8bin",
            bin(u32::MAX, u32::MAX, 16),
            "dimension 4294967295 in the header",
        ),
        (
            "what.bin",
            bin(1, 1, 4),
            "does not say what its elements are",
        ),
    ]
}

fn framed_cases() -> Vec<Case> {
    vec![
        ("empty.fvecs", vec![], "holds no rows"),
        (
            "cut.fvecs",
            vec![2, 0, 0],
            "the dimension of row 0 (i32) needs 4 bytes, the file has 3",
        ),
        ("flat.fvecs", le!(i32: 0), "dimension 0 in the header"),
        (
            "negative.fvecs",
            le!(i32: -4, 1),
            "dimension -4 in the header",
        ),
        (
            "wide.bvecs",
            le!(i32: 16_385),
            "dimension 16385 in the header",
        ),
        (
            "short.fvecs",
            le!(i32: 2, 0, 0, 2, 0),
            "takes 24 bytes, but the file has 20",
        ),
        (
            "long.bvecs",
            [le!(i32: 2), vec![0; 3]].concat(),
            "takes 12 bytes, but the file has 7",
        ),
    ]
}

fn npy_cases() -> Vec<Case> {
    let version_9 = [&b"\x93NUMPY\x09\x00"[..], &[0; 90]].concat();
    let long_header = [&b"\x93NUMPY\x02\x00"[..], &[0xff; 90]].concat();
    let cut_header = npy("{'descr'", &[])[..14].to_vec();
    vec![
        (
            "empty.npy",
            vec![],
            ".npy header needs 10 bytes, the file has 0",
        ),
        (
            "text.npy",
            b"1.0, 2.0, 3.0".to_vec(),
            "does not begin with the NumPy magic",
        ),
        (
            "version.npy",
            version_9,
            "version 9.0; versions 1 to 3 are known",
        ),
        (
            "long_header.npy",
            long_header,
            "header that cannot be read (field length)",
        ),
        (
            "cut.npy",
            cut_header,
            "the .npy header needs 18 bytes, the file has 14",
        ),
        (
            "literal.npy",
            npy("{'descr' '<f4'}", &[]),
            "cannot be read (field colon)",
        ),
        (
            "latin.npy",
            npy("{'descr': '<f4'}", &[])
                .iter()
                .map(|b| b | 0x80)
                .collect(),
            "magic",
        ),
        (
            "double.npy",
            array("'<f8'", "False", "(1, 2)", 8),
            "it is truncated",
        ),
        (
            "big.npy",
            array("'>f4'", "False", "(1, 2)", 8),
            "big-endian; convert it with",
        ),
        (
            "object.npy",
            array("'|O'", "False", "(1, 2)", 8),
            "Python objects; convert it with",
        ),
        (
            "int.npy",
            array("'<i4'", "False", "(1, 2)", 8),
            "no index holds; convert it with",
        ),
        (
            "fields.npy",
            array("[('x', '<f4')]", "False", "(1, 2)", 8),
            "type [('x', '<f4')]",
        ),
        (
            "fortran.npy",
            array("'<f4'", "True", "(1, 2)", 8),
            "ascontiguousarray",
        ),
        (
            "flat.npy",
            array("'<f4'", "False", "(8,)", 32),
            "array of 1 axes",
        ),
        (
            "deep.npy",
            array("'<f4'", "False", "(1, 2, 2)", 16),
            "array of 3 axes",
        ),
        (
            "none.npy",
            array("'<f4'", "False", "(0, 2)", 0),
            "holds no rows",
        ),
        (
            "zero.npy",
            array("'<f4'", "False", "(2, 0)", 0),
            "dimension 0",
        ),
        (
            "wide.npy",
            array("'|u1'", "False", "(1, 20000)", 20000),
            "dimension 20000",
        ),
        (
            "short.npy",
            array("'<f4'", "False", "(2, 2)", 15),
            "it is truncated",
        ),
        (
            "long.npy",
            array("'<f4'", "False", "(2, 2)", 17),
            "longer than its header says",
        ),
        (
            "overflow.npy",
            array("'<f4'", "False", "(18446744073709551615, 2)", 8),
            "more than any file can hold",
        ),
        (
            "overflow2.npy",
            array("'<f4'", "False", "(1844674407370955161500, 2)", 8),
            "cannot be read (field shape)",
        ),
    ]
}

fn name_cases() -> Vec<Case> {
    vec![
        (
            "a.parquet",
            vec![],
            "unknown extension; the known ones are .fbin .f16bin .bf16bin .u8bin",
        ),
        ("plain", vec![], "unknown extension"),
        (
            "ids.ibin",
            le!(u32: 1, 1, 1),
            ".ibin and .ivecs hold ids or truth, not vectors",
        ),
        (
            "truth.ivecs",
            le!(u32: 1, 1),
            ".ibin and .ivecs hold ids or truth, not vectors",
        ),
    ]
}

#[test]
fn every_malformed_file_is_refused_by_name_and_field() {
    let folder = ScratchFolder::new();
    let cases = [bin_cases(), framed_cases(), npy_cases(), name_cases()].concat();
    assert!(cases.len() >= 40);
    for (name, content, words) in cases {
        let path = folder.write(name, &content);
        let opened = VectorFile::open(&folder.vfs, &path, OpenAs::default());
        let error = opened.err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        assert!(error.context().contains(words), "{name}: {error}");
        assert!(error.context().contains(name), "{name}: {error}");
    }
}

#[test]
fn a_missing_file_is_not_found_and_named() {
    let folder = ScratchFolder::new();
    let path = folder.path("absent.fbin");
    let error = VectorFile::open(&folder.vfs, &path, OpenAs::default())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.context().contains("absent.fbin"), "{error}");
}

#[test]
fn bits_are_not_taken_as_other_numbers() {
    let folder = ScratchFolder::new();
    let path = folder.write("a.npy", &array("'|b1'", "False", "(1, 8)", 8));
    let how = OpenAs {
        element: Some(pageway_types::ElementType::U8),
    };
    let error = VectorFile::open(&folder.vfs, &path, how).err().unwrap();
    assert!(
        error.context().contains("holds bit, but u8 was asked for"),
        "{error}"
    );
}
