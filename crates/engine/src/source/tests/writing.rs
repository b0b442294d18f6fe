//! Round trips through every format, slices, refusals, and what is left behind by a failure.

use pageway_types::{Cancelled, ElementType, NoProgress, Progress, VectorRead, VectorShape};
use proptest::prelude::*;

use super::super::scratch_folder::{ScratchFolder, le};
use super::super::{OpenAs, Selection, VectorFile, VectorFileWriter, VectorSlice, convert};
use crate::{Error, ErrorKind};

const FORMATS: [(&str, ElementType); 11] = [
    ("x.fbin", ElementType::F32),
    ("x.f16bin", ElementType::F16),
    ("x.bf16bin", ElementType::Bf16),
    ("v.npy", ElementType::Bf16),
    ("x.u8bin", ElementType::U8),
    ("x.i8bin", ElementType::I8),
    ("x.fvecs", ElementType::F32),
    ("x.bvecs", ElementType::U8),
    ("f.npy", ElementType::F32),
    ("u.npy", ElementType::U8),
    ("h.bin", ElementType::F16),
];

fn open(folder: &ScratchFolder, name: &str, element: ElementType) -> VectorFile {
    let how = OpenAs {
        element: Some(element),
    };
    VectorFile::open(&folder.vfs, &folder.path(name), how).unwrap()
}

fn all_rows(vectors: &dyn VectorRead) -> Vec<u8> {
    let mut out = vec![0; vectors.count() as usize * vectors.shape().row_bytes()];
    vectors.read(0, &mut out).unwrap();
    out
}

fn convert_to(
    folder: &ScratchFolder,
    from: &Selection<'_>,
    to: (&str, ElementType),
) -> Result<u64, Error> {
    convert(
        &folder.vfs,
        from,
        &folder.path(to.0),
        Some(to.1),
        &NoProgress,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values 0..=127 fit every element type: any chain of formats gives them back.
    #[test]
    fn any_format_converts_to_any_other_and_back(
        rows in 1_usize..40,
        dimension in 1_u32..30,
        seed in any::<u64>(),
        from in 0..FORMATS.len(),
        to in 0..FORMATS.len(),
    ) {
        let folder = ScratchFolder::new();
        let length = rows * dimension as usize;
        let scramble = |i: u64| ((i ^ seed).wrapping_mul(0x9e37_79b9) >> 20) as u8 & 127;
        let bytes: Vec<u8> = (0..length as u64).map(scramble).collect();
        let shape = VectorShape { dimension, element: ElementType::U8 };
        let origin = VectorSlice::new(&bytes, shape).unwrap();
        let (first, second) = (FORMATS[from], FORMATS[to]);
        convert_to(&folder, &Selection::whole(&origin, "origin"), first).unwrap();
        let middle = open(&folder, first.0, first.1);
        let second = (format!("2{}", second.0), second.1);
        convert_to(&folder, &Selection::whole(&middle, "middle"), (&second.0, second.1)).unwrap();
        let last = open(&folder, &second.0, second.1);
        prop_assert_eq!(last.shape(), VectorShape { dimension, element: second.1 });
        let back = ("back.u8bin", ElementType::U8);
        let done = convert_to(&folder, &Selection::whole(&last, "last"), back).unwrap();
        prop_assert_eq!(done, rows as u64);
        prop_assert_eq!(all_rows(&open(&folder, back.0, back.1)), bytes);
    }

    #[test]
    fn slices_are_the_rows_and_dimensions_asked_for(
        rows in 1_u64..20,
        dimension in 1_u32..20,
        picks in any::<[u32; 4]>(),
        to in 0..FORMATS.len(),
    ) {
        let folder = ScratchFolder::new();
        let bytes: Vec<u8> = (0..rows * u64::from(dimension)).map(|i| (i % 128) as u8).collect();
        let shape = VectorShape { dimension, element: ElementType::U8 };
        let origin = VectorSlice::new(&bytes, shape).unwrap();
        let range = |a: u32, b: u32, n: u32| {
            let (a, b) = (a % n, b % n);
            a.min(b)..a.max(b) + 1
        };
        let row_range = range(picks[0], picks[1], rows as u32);
        let dimensions = range(picks[2], picks[3], dimension);
        let mut from = Selection::whole(&origin, "origin");
        from.rows = row_range.start.into()..row_range.end.into();
        from.dimensions = dimensions.clone();
        convert_to(&folder, &from, FORMATS[to]).unwrap();
        let slice = open(&folder, FORMATS[to].0, FORMATS[to].1);
        let bytes_back = ("b.u8bin", ElementType::U8);
        convert_to(&folder, &Selection::whole(&slice, "slice"), bytes_back).unwrap();
        let expected: Vec<u8> = row_range
            .flat_map(|row| dimensions.clone().map(move |d| row * dimension + d))
            .map(|i| bytes[i as usize])
            .collect();
        prop_assert_eq!(all_rows(&open(&folder, "b.u8bin", ElementType::U8)), expected);
    }
}

#[test]
fn bytes_become_the_bits_that_are_packed_in_them_and_bits_these_bytes() {
    let folder = ScratchFolder::new();
    let packed = [0b1010_0000, 7, 255, 0, 1, 2];
    let shape = VectorShape {
        dimension: 3,
        element: ElementType::U8,
    };
    let origin = VectorSlice::new(&packed, shape).unwrap();
    let bits = ("b.bitbin", ElementType::Bit);
    convert_to(&folder, &Selection::whole(&origin, "origin"), bits).unwrap();
    let file = open(&folder, bits.0, bits.1);
    assert_eq!(file.shape().to_string(), "24-d bit");
    assert_eq!(all_rows(&file), packed);
    let back = ("back.u8bin", ElementType::U8);
    convert_to(&folder, &Selection::whole(&file, "bits"), back).unwrap();
    let bytes = open(&folder, back.0, back.1);
    assert_eq!((bytes.shape(), all_rows(&bytes)), (shape, packed.to_vec()));
    let mut some = Selection::whole(&origin, "origin");
    some.dimensions = 1..2;
    convert_to(&folder, &some, ("some.bitbin", ElementType::Bit)).unwrap();
    assert_eq!(all_rows(&open(&folder, "some.bitbin", bits.1)), [7, 1]);
}

#[test]
fn files_are_written_byte_by_byte_as_documented() {
    let folder = ScratchFolder::new();
    let rows = le!(f32: 1.0, 2.0, 3.0, 4.0);
    let shape = VectorShape {
        dimension: 2,
        element: ElementType::F32,
    };
    for name in ["a.fbin", "a.fvecs", "a.npy"] {
        let mut writer =
            VectorFileWriter::create(&folder.vfs, &folder.path(name), shape, 99).unwrap();
        writer.write(&rows[..8]).unwrap();
        writer.write(&rows[8..]).unwrap();
        assert_eq!(writer.finish().unwrap(), 2);
    }
    assert_eq!(
        folder.read("a.fbin"),
        [le!(u32: 2, 2), rows.clone()].concat()
    );
    let framed = [&le!(i32: 2), &rows[..8], &le!(i32: 2), &rows[8..]].concat();
    assert_eq!(folder.read("a.fvecs"), framed);
    let array = folder.read("a.npy");
    assert_eq!(array[128..], rows);
    let header = "\u{1}\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
    assert!(array[6..].starts_with(header.as_bytes()));
    assert_eq!(array[127], b'\n');
    assert_eq!(folder.names(), ["a.fbin", "a.fvecs", "a.npy"]);
}

#[test]
fn what_the_target_cannot_hold_is_named_and_leaves_nothing() {
    let folder = ScratchFolder::new();
    let rows = le!(f32: 1.0, 2.0, 3.0, 4.5, 1e6, -3.0);
    let shape = VectorShape {
        dimension: 2,
        element: ElementType::F32,
    };
    let origin = VectorSlice::new(&rows, shape).unwrap();
    let cases = [
        (
            "a.u8bin",
            ElementType::U8,
            "row 1, component 1 is 4.5, which u8 cannot hold",
        ),
        (
            "a.npy",
            ElementType::I8,
            "row 1, component 1 is 4.5, which i8 cannot hold",
        ),
        (
            "a.f16bin",
            ElementType::F16,
            "row 2, component 0 is 1000000, which f16 cannot hold",
        ),
        (
            "a.fbin",
            ElementType::U8,
            "the extension stands for f32, u8 was asked for",
        ),
        ("a.ibin", ElementType::U8, "hold ids"),
        ("a.zip", ElementType::U8, "unknown extension"),
    ];
    for (name, element, words) in cases {
        let from = Selection::whole(&origin, "origin");
        let error = convert_to(&folder, &from, (name, element)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.context().contains(words), "{name}: {error}");
    }
    let mut second = Selection::whole(&origin, "origin");
    (second.rows, second.dimensions) = (1..2, 1..2);
    let error = convert_to(&folder, &second, ("a.u8bin", ElementType::U8)).unwrap_err();
    assert!(
        error
            .context()
            .contains("origin: row 1, component 1 is 4.5"),
        "{error}"
    );
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn ranges_outside_of_the_source_are_refused() {
    let folder = ScratchFolder::new();
    let origin = VectorSlice::new(
        &[1, 2, 3, 4, 5, 6],
        VectorShape {
            dimension: 3,
            element: ElementType::U8,
        },
    );
    let origin = origin.unwrap();
    for (rows, dimensions) in [(0..3, 0..3), (1..1, 0..3), (0..2, 0..4), (0..2, 2..2)] {
        let mut from = Selection::whole(&origin, "origin");
        (from.rows, from.dimensions) = (rows, dimensions);
        let error = convert_to(&folder, &from, ("a.u8bin", ElementType::U8)).unwrap_err();
        assert!(error.context().contains("are outside of 0.."), "{error}");
    }
}

#[test]
fn an_old_file_stays_until_the_new_one_is_complete() {
    let folder = ScratchFolder::new();
    let path = folder.write("a.u8bin", b"old");
    folder.write("a.u8bin.partial", b"left by a crash");
    let shape = VectorShape {
        dimension: 1,
        element: ElementType::U8,
    };
    let mut writer = VectorFileWriter::create(&folder.vfs, &path, shape, 1).unwrap();
    writer.write(&[7]).unwrap();
    assert_eq!(folder.read("a.u8bin"), b"old");
    drop(writer);
    assert_eq!(folder.names(), ["a.u8bin"]);
    let mut writer = VectorFileWriter::create(&folder.vfs, &path, shape, 1).unwrap();
    writer.write(&[7]).unwrap();
    writer.finish().unwrap();
    assert_eq!(folder.read("a.u8bin"), [le!(u32: 1, 1), vec![7]].concat());
    let empty = VectorFileWriter::create(&folder.vfs, &path, shape, 1).unwrap();
    assert!(
        empty.finish().is_err(),
        "a file without rows could not be opened again"
    );
}

#[test]
fn a_full_disk_and_too_many_rows_are_refused_before_writing() {
    let folder = ScratchFolder::new();
    let shape = VectorShape {
        dimension: 16_384,
        element: ElementType::F32,
    };
    let create = |name: &str, rows| {
        VectorFileWriter::create(&folder.vfs, &folder.path(name), shape, rows)
            .err()
            .unwrap()
    };
    let error = create("a.fvecs", u64::MAX / 65_536);
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    let error = create("a.fbin", 1 << 32);
    assert!(
        error
            .context()
            .contains("4294967296 rows; this format counts at most"),
        "{error}"
    );
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn cancelling_leaves_nothing() {
    struct Stop;
    impl Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn check(&self) -> Result<(), Cancelled> {
            Err(Cancelled)
        }
    }
    let folder = ScratchFolder::new();
    let origin = VectorSlice::new(
        &[1, 2],
        VectorShape {
            dimension: 1,
            element: ElementType::U8,
        },
    )
    .unwrap();
    let from = Selection::whole(&origin, "origin");
    let done = convert(&folder.vfs, &from, &folder.path("a.u8bin"), None, &Stop);
    assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(folder.names(), [""; 0]);
}
