//! Every format, written by hand, gives its rows back.

use pageway_types::{ElementType, VectorRead, VectorShape};

use super::super::scratch_folder::{ScratchFolder, le, npy};
use super::super::{OpenAs, VectorFile, VectorSlice};

const F32_2D: &str = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n";

fn rows_of(vectors: &dyn VectorRead, first: u64, rows: usize) -> Vec<u8> {
    let mut out = vec![0; rows * vectors.shape().row_bytes()];
    vectors.read(first, &mut out).unwrap();
    out
}

#[test]
fn each_format_gives_its_rows_back() {
    let floats = le!(f32: 1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    let halves = le!(u16: 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600);
    let header = le!(u32: 3, 2);
    let framed = |element: usize, bytes: &[u8]| -> Vec<u8> {
        bytes
            .chunks(2 * element)
            .flat_map(|row| [&le!(i32: 2), row].concat())
            .collect()
    };
    let version_2 = {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(le!(u32: F32_2D.len() as u32));
        bytes.extend(F32_2D.as_bytes());
        [bytes, floats.clone()].concat()
    };
    let version_3 = [&version_2[..6], &[3], &version_2[7..]].concat();
    let bytes = [7_u8, 255, 0, 128, 9, 1].to_vec();
    let cases = [
        (
            "a.fbin",
            [header.clone(), floats.clone()].concat(),
            ElementType::F32,
            &floats,
        ),
        (
            "A.FBIN",
            [header.clone(), floats.clone()].concat(),
            ElementType::F32,
            &floats,
        ),
        (
            "a.f16bin",
            [header.clone(), halves.clone()].concat(),
            ElementType::F16,
            &halves,
        ),
        (
            "a.bf16bin",
            [header.clone(), halves.clone()].concat(),
            ElementType::Bf16,
            &halves,
        ),
        (
            "a.u8bin",
            [header.clone(), bytes.clone()].concat(),
            ElementType::U8,
            &bytes,
        ),
        (
            "a.i8bin",
            [header, bytes.clone()].concat(),
            ElementType::I8,
            &bytes,
        ),
        ("a.fvecs", framed(4, &floats), ElementType::F32, &floats),
        ("a.bvecs", framed(1, &bytes), ElementType::U8, &bytes),
        ("a.npy", npy(F32_2D, &floats), ElementType::F32, &floats),
        ("v2.npy", version_2, ElementType::F32, &floats),
        ("v3.npy", version_3, ElementType::F32, &floats),
        (
            "h.npy",
            npy(&F32_2D.replace("<f4", "<f2"), &halves),
            ElementType::F16,
            &halves,
        ),
        (
            "u.npy",
            npy(&F32_2D.replace("<f4", "|u1"), &bytes),
            ElementType::U8,
            &bytes,
        ),
        (
            "i.npy",
            npy(&F32_2D.replace("<f4", "|i1"), &bytes),
            ElementType::I8,
            &bytes,
        ),
    ];
    let folder = ScratchFolder::new();
    for (name, content, element, payload) in cases {
        let path = folder.write(name, &content);
        let file = VectorFile::open(&folder.vfs, &path, OpenAs::default()).unwrap();
        assert_eq!(file.count(), 3, "{name}");
        assert_eq!(
            file.shape(),
            VectorShape {
                dimension: 2,
                element
            },
            "{name}"
        );
        assert_eq!(&rows_of(&file, 0, 3), payload, "{name}");
        let row_bytes = file.shape().row_bytes();
        assert_eq!(
            rows_of(&file, 1, 1),
            payload[row_bytes..2 * row_bytes],
            "{name}"
        );
        assert_eq!(rows_of(&file, 3, 0), [0_u8; 0], "{name}");
        for (first, rows) in [(0, 4), (3, 1), (u64::MAX, 1)] {
            let mut out = vec![0; rows * row_bytes];
            assert!(file.read(first, &mut out).is_err(), "{name} {first} {rows}");
        }
        assert!(file.read(0, &mut vec![0; row_bytes + 1]).is_err(), "{name}");
    }
}

#[test]
fn bin_takes_the_element_it_is_told() {
    let folder = ScratchFolder::new();
    let path = folder.write("a.bin", &[le!(u32: 1, 4), vec![1, 2, 3, 4]].concat());
    for (element, fits) in [
        (ElementType::U8, true),
        (ElementType::I8, true),
        (ElementType::F32, false),
    ] {
        let opened = VectorFile::open(
            &folder.vfs,
            &path,
            OpenAs {
                element: Some(element),
            },
        );
        assert_eq!(opened.is_ok(), fits, "{element}");
    }
}

#[test]
fn bits_come_from_files_of_any_numbers_by_one_rule() {
    let folder = ScratchFolder::new();
    let ones = [1.0_f32, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
    let floats: Vec<u8> = ones.iter().flat_map(|one| one.to_le_bytes()).collect();
    let doubles = ones.iter().flat_map(|one| f64::from(*one).to_le_bytes());
    let numbers: Vec<u8> = ones.iter().map(|one| *one as u8).collect();
    let array = |descr: &str, columns: u8, rows: &[u8]| {
        let literal =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, {columns})}}");
        npy(&literal, rows)
    };
    let doubles: Vec<u8> = doubles.collect();
    let cases = [
        ("f.fbin", [le!(u32: 1, 8), floats.clone()].concat()),
        ("f.fvecs", [le!(i32: 8), floats.clone()].concat()),
        ("i.i8bin", [le!(u32: 1, 8), numbers.clone()].concat()),
        ("f.npy", array("<f4", 8, &floats)),
        ("d.npy", array("<f8", 8, &doubles)),
        ("i.npy", array("|i1", 8, &numbers)),
        ("b.npy", array("|b1", 8, &numbers)),
        ("u.npy", array("|u1", 1, &[0b1000_0011])),
        ("u.u8bin", [le!(u32: 1, 1), vec![0b1000_0011]].concat()),
        ("u.bvecs", [le!(i32: 1), vec![0b1000_0011]].concat()),
    ];
    let bits = OpenAs {
        element: Some(ElementType::Bit),
    };
    for (name, content) in cases {
        let path = folder.write(name, &content);
        let file = VectorFile::open(&folder.vfs, &path, bits).unwrap();
        assert_eq!(file.shape().to_string(), "8-d bit", "{name}");
        assert_eq!(rows_of(&file, 0, 1), [0b1000_0011], "{name}");
    }
    let path = folder.write(
        "two.npy",
        &array("<f4", 8, &le!(f32: 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0)),
    );
    let file = VectorFile::open(&folder.vfs, &path, bits).unwrap();
    let error = file.read(0, &mut [0]).unwrap_err().to_string();
    assert!(
        error.contains("row 0, component 3 is 2, which bit"),
        "{error}"
    );
}

#[test]
fn numbers_of_arrays_become_those_asked_for() {
    let folder = ScratchFolder::new();
    let values = [0.1_f64, 2.0, 1e300];
    let doubles: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let literal = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1)}";
    let path = folder.write("d.npy", &npy(literal, &doubles));
    let open = |element| VectorFile::open(&folder.vfs, &path, OpenAs { element }).unwrap();
    let file = open(None);
    assert_eq!(file.shape().element, ElementType::F32);
    assert_eq!(rows_of(&file, 0, 2), le!(f32: 0.1, 2.0));
    let error = file.read(2, &mut [0; 4]).unwrap_err().to_string();
    let words = "row 2, component 0 is 1e300, which f32 cannot hold";
    assert!(error.contains(words), "{error}");
    assert_eq!(rows_of(&open(Some(ElementType::U8)), 1, 1), [2]);
    let error = open(Some(ElementType::I8)).read(0, &mut [0]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("row 0, component 0 is 0.1, which i8"),
        "{error}"
    );
}

#[test]
fn framed_rows_longer_than_the_copy_buffer_read_whole() {
    let folder = ScratchFolder::new();
    let (rows, dimension) = (300_u32, 16_384_u32);
    let row = |row: u32| (0..dimension).map(move |i| (i * 7 + row * 13) as u8);
    let mut content = Vec::new();
    for number in 0..rows {
        content.extend(dimension.to_le_bytes());
        content.extend(row(number));
    }
    let path = folder.write("wide.bvecs", &content);
    let file = VectorFile::open(&folder.vfs, &path, OpenAs::default()).unwrap();
    assert!(file.count() == u64::from(rows) && content.len() > 4 << 20);
    let expected: Vec<u8> = (11..211).flat_map(row).collect();
    assert!(rows_of(&file, 11, 200) == expected);
}

#[test]
fn a_row_of_another_dimension_is_named_when_it_is_read() {
    let folder = ScratchFolder::new();
    let content = [le!(i32: 2, 1, 1), le!(i32: 3, 1, 1), le!(i32: 2, 1, 1)].concat();
    let path = folder.write("mixed.fvecs", &content);
    let file = VectorFile::open(&folder.vfs, &path, OpenAs::default()).unwrap();
    assert_eq!(rows_of(&file, 2, 1), le!(i32: 1, 1));
    let error = crate::Error::from(file.read(0, &mut [0; 24]).unwrap_err());
    assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
    assert!(
        error
            .context()
            .contains("mixed.fvecs: row 1 has dimension 3"),
        "{error}"
    );
}

#[test]
fn rows_in_memory_read_like_a_file() {
    let bytes: Vec<u8> = (0..24).collect();
    let shape = VectorShape {
        dimension: 3,
        element: ElementType::F16,
    };
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    assert_eq!(vectors.count(), 4);
    assert_eq!(rows_of(&vectors, 1, 2), bytes[6..18]);
    assert!(vectors.read(3, &mut [0; 12]).is_err());
    assert!(VectorSlice::new(&bytes[1..], shape).is_err());
    assert!(
        VectorSlice::new(
            &[],
            VectorShape {
                dimension: 0,
                ..shape
            }
        )
        .is_err()
    );
}
