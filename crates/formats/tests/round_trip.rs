//! What is written is read back; what is wrong is named.
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
use std::path::Path;
use std::sync::Arc;

use pageway::{Answers, ElementType, ErrorKind, NoProgress, OsVfs, Result, VectorRead, Vfs};
use pageway_formats::{AnswersFile, Opened, VectorsFile, Wish, open};
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

fn wish(scratch: &Path) -> Wish {
    Wish {
        element: None,
        column: None,
        id_column: None,
        scratch: scratch.to_owned(),
    }
}

fn opened(path: &Path, wish: &Wish) -> Result<Opened> {
    open(&vfs(), path, wish, &NoProgress)
}

/// All rows, in two runs that begin behind the first row.
fn rows(opened: &Opened) -> Vec<u8> {
    let vectors = &opened.vectors;
    let row_bytes = vectors.shape().row_bytes();
    let mut all = vec![0; vectors.count() as usize * row_bytes];
    let (first, rest) = all.split_at_mut(row_bytes);
    vectors.read(1, rest).unwrap();
    vectors.read(0, first).unwrap();
    all
}

fn ids(opened: &Opened) -> Vec<u64> {
    let ids = opened.ids.as_ref().unwrap();
    let mut all = vec![0; ids.count() as usize];
    ids.read(0, &mut all).unwrap();
    all
}

fn component(at: usize) -> f32 {
    (at as f32 * 0.37).sin()
}

/// Writes `count` vectors of `dimension` in row groups of 3,000.
fn parquet(path: &Path, count: usize, dimension: usize) -> (Vec<f32>, Vec<u64>) {
    let components: Vec<f32> = (0..count * dimension).map(component).collect();
    let ids: Vec<u64> = (0..count as u64).map(|row| u64::MAX - 1 - row).collect();
    let mut file = VectorsFile::create(&vfs(), path).unwrap();
    for (ids, rows) in ids.chunks(3000).zip(components.chunks(3000 * dimension)) {
        file.put(ids, rows).unwrap();
    }
    file.finish().unwrap();
    (components, ids)
}

#[test]
fn parquet_files_are_read_back_from_memory_and_from_a_file() {
    let place = tempfile::tempdir().unwrap();
    for (count, dimension) in [(1, 1), (3001, 7), (10_000, 600)] {
        let path = place.path().join("v.parquet");
        let (components, expected) = parquet(&path, count, dimension);
        let mut wish = wish(place.path());
        wish.id_column = Some("id".to_owned());
        let opened = opened(&path, &wish).unwrap();
        let bytes: Vec<u8> = components.iter().flat_map(|c| c.to_le_bytes()).collect();
        assert!(rows(&opened) == bytes, "{count} x {dimension}");
        assert_eq!(ids(&opened), expected);
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            1,
            "nothing is left"
        );
        fs::remove_file(path).unwrap();
    }
}

/// A Parquet file of two lists of eight values, by gzip.
fn lists<T: DataType>(path: &Path, element: &str, values: [T::T; 16]) {
    let list = format!("required group v (LIST) {{ repeated group list {{ {element} }} }}");
    let schema = parse_message_type(&format!("message m {{ {list} }}")).unwrap();
    let gzip = Compression::GZIP(GzipLevel::default());
    let properties = WriterProperties::builder().set_compression(gzip).build();
    let file = fs::File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let repetitions: Vec<i16> = (0..16).map(|at| i16::from(at % 8 != 0)).collect();
    column
        .typed::<T>()
        .write_batch(&values, Some(&[1; 16]), Some(&repetitions))
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn bytes_are_eight_bits_each_and_other_numbers_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.parquet");
    let mut wish = wish(place.path());
    let bits = [0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1];
    let packed = [0b0101_0111, 0b1000_0001];

    lists::<BoolType>(&path, "required boolean element;", bits.map(|bit| bit == 1));
    let found = opened(&path, &wish).unwrap();
    assert_eq!(found.vectors.shape().dimension, 8);
    assert_eq!(found.vectors.shape().element, ElementType::Bit);
    assert_eq!(rows(&found), packed);

    wish.element = Some(ElementType::Bit);
    lists::<Int64Type>(&path, "required int64 element;", bits.map(i64::from));
    assert_eq!(rows(&opened(&path, &wish).unwrap()), packed);
    lists::<FloatType>(&path, "required float element;", bits.map(|bit| bit as f32));
    assert_eq!(rows(&opened(&path, &wish).unwrap()), packed);

    for mark in ["INTEGER(8, false)", "UINT_8"] {
        let element = format!("required int32 element ({mark});");
        lists::<Int32Type>(&path, &element, bits.map(|bit| bit * 37));
        let found = opened(&path, &wish).unwrap();
        assert_eq!(found.vectors.shape().dimension, 64, "{mark}");
        assert_eq!(rows(&found), bits.map(|bit| bit as u8 * 37), "{mark}");
    }
}

#[test]
fn columns_that_are_not_there_are_named() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.parquet");
    parquet(&path, 5, 4);
    for (column, id_column, words) in [
        (
            Some("emb"),
            None,
            "no column 'emb' of lists; there are id (int64), vector (float lists)",
        ),
        (Some("id"), None, "no column 'id' of lists"),
        (None, Some("key"), "no column 'key' of ids"),
    ] {
        let mut wish = wish(place.path());
        wish.column = column.map(str::to_owned);
        wish.id_column = id_column.map(str::to_owned);
        let error = opened(&path, &wish).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.context().contains(words), "{error}");
    }
    let mut bytes = wish(place.path());
    bytes.element = Some(ElementType::U8);
    let error = opened(&path, &bytes).err().unwrap();
    assert!(error.context().contains("row 0 holds 0.3"), "{error}");
}

/// A Parquet file of a vector and an id for each of `levels`, 0 where the id is null.
fn with_ids<T: DataType>(path: &Path, id: &str, values: &[T::T], levels: &[i16]) {
    let list = "required group v (LIST) { repeated group list { required float element; } }";
    let schema = parse_message_type(&format!("message m {{ {id} {list} }}")).unwrap();
    let file = fs::File::create(path).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let ids = column.typed::<T>();
    ids.write_batch(values, Some(levels), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let rows = levels.len();
    let vectors = column.typed::<FloatType>();
    vectors
        .write_batch(&vec![0.5; rows], Some(&vec![1; rows]), Some(&vec![0; rows]))
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn ids_that_are_none_are_told_by_column_row_and_kind() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.parquet");
    let mut wish = wish(place.path());
    wish.id_column = Some("key".to_owned());
    let refused = |words: &str| {
        let error = opened(&path, &wish).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.context().contains(words), "{error}");
    };
    with_ids::<Int64Type>(&path, "optional int64 key;", &[7, 9], &[1, 1, 0]);
    refused("row 2 has no id: column 'key' is null there");
    with_ids::<Int64Type>(&path, "optional int64 key;", &[7, -5], &[1, 1]);
    refused("row 1 has -5 in column 'key': ids are whole numbers from 0 to 2^64 - 2");
    with_ids::<FloatType>(&path, "optional float key;", &[7.0], &[1]);
    refused("column 'key' holds float, which are no ids");
    let text = vec![ByteArray::from("a")];
    with_ids::<ByteArrayType>(&path, "optional binary key (UTF8);", &text, &[1]);
    refused("column 'key' holds text, which are no ids: ids are whole numbers from 0 to 2^64 - 2");
    refused("with --names");

    with_ids::<Int32Type>(&path, "optional int32 key (UINT_32);", &[-1, 3], &[1, 1]);
    assert_eq!(
        ids(&opened(&path, &wish).unwrap()),
        [u64::from(u32::MAX), 3]
    );
}

#[test]
fn damaged_parquet_files_are_refused_and_never_panic() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.parquet");
    parquet(&path, 50, 4);
    let whole = fs::read(&path).unwrap();
    for length in [0, 3, 8, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = opened(&path, &wish(place.path())).err().unwrap();
        assert!(error.context().contains("v.parquet"), "{error}");
    }
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x41;
        fs::write(&path, &flipped).unwrap();
        if let Err(error) = opened(&path, &wish(place.path())) {
            assert!(error.context().contains("v.parquet"), "{error}");
        }
    }
}

#[test]
fn answers_are_a_table() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.parquet");
    let mut answers = Answers::default();
    answers.lims = vec![0, 2, 4];
    answers.ids = vec![7, 8, 9, u64::MAX];
    answers.distances = vec![0.5, 1.5, 2.5, f32::INFINITY];
    let mut file = AnswersFile::create(&vfs(), &path).unwrap();
    file.put(10, &answers).unwrap();
    drop(file);
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        0,
        "not finished"
    );
    let mut file = AnswersFile::create(&vfs(), &path).unwrap();
    file.put(10, &answers).unwrap();
    file.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let error = opened(&path, &wish(place.path())).err().unwrap();
    let words =
        "there are query (int64), rank (int32), id (int64), name (byte_array), distance (float)";
    assert!(error.context().contains(words), "{error}");
}

#[test]
fn json_lines_are_objects_or_lists() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.jsonl");
    fs::write(
        &path,
        "{\"t\": \"x\", \"v\": [1, 2.5], \"id\": 9}\n\n{\"v\": [3, 4], \"id\": 7}",
    )
    .unwrap();
    let mut wish = wish(place.path());
    wish.id_column = Some("id".to_owned());
    let found = opened(&path, &wish).unwrap();
    let expected = [1.0_f32, 2.5, 3.0, 4.0];
    assert_eq!(rows(&found), expected.map(f32::to_le_bytes).concat());
    assert_eq!(ids(&found), [9, 7]);
    wish.id_column = None;
    wish.element = Some(ElementType::U8);
    fs::write(&path, "[1, 255]\n[3, 4]\n").unwrap();
    assert_eq!(rows(&opened(&path, &wish).unwrap()), [1, 255, 3, 4]);
    fs::write(&path, "\u{feff}[1, 255]\n[3, 4]\n").unwrap();
    assert_eq!(rows(&opened(&path, &wish).unwrap()), [1, 255, 3, 4]);
}

#[test]
fn lines_that_are_wrong_are_named() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("v.jsonl");
    for (line, words) in [
        (
            "{\"v\": [1, 2",
            "line 2: no JSON: EOF while parsing a list at column 11",
        ),
        ("{\"w\": [1, 2]}", "line 2: no field 'v'"),
        (
            "{\"v\": [1]}",
            "line 2: has 1 components, the lines before it have 2",
        ),
        ("{\"v\": [1, \"x\"]}", "line 2: component 1 is no number"),
        ("{\"v\": 1}", "line 2: no list of numbers"),
        ("7", "line 2: has no fields"),
    ] {
        fs::write(&path, format!("{{\"v\": [1, 2]}}\n{line}\n")).unwrap();
        let error = opened(&path, &wish(place.path())).err().unwrap();
        assert!(error.context().contains(words), "{error}");
    }
    for (id, words) in [
        (
            "\"7\"",
            "line 2: field 'id' is \"7\", which is no id: ids are whole numbers",
        ),
        ("1.5", "line 2: field 'id' is 1.5"),
        ("-1", "line 2: field 'id' is -1"),
        (
            "18446744073709551615",
            "line 2: field 'id' is 18446744073709551615",
        ),
        ("null", "line 2: field 'id' is null"),
    ] {
        let line = |id| format!("{{\"v\": [1, 2], \"id\": {id}}}\n");
        fs::write(&path, line("18446744073709551614") + &line(id)).unwrap();
        let mut wish = wish(place.path());
        wish.id_column = Some("id".to_owned());
        let error = opened(&path, &wish).err().unwrap();
        assert!(error.context().contains(words), "{error}");
    }
    fs::write(&path, "\n").unwrap();
    let error = opened(&path, &wish(place.path())).err().unwrap();
    assert!(error.context().contains("has no vectors"), "{error}");
}
