//! Attributes come out of files as they went in; what is wrong is named.
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
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use pageway::{ErrorKind, NoProgress, OsVfs, Result, Vfs};
use pageway_formats::{AttributesWish, Wish, open_attributes};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray};
use parquet::data_type::{FixedLenByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// All documents, the second to the last before the first; nothing else is left behind.
    fn documents(&self, path: &Path, beside: Option<Wish>) -> Result<Vec<Value>> {
        let scratch = self.0.path().to_owned();
        let wish = AttributesWish {
            scratch,
            beside,
            schema: None,
        };
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let before = fs::read_dir(self.0.path()).unwrap().count();
        let opened = open_attributes(&vfs, path, &wish, &NoProgress);
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), before);
        let texts = opened?;
        assert_eq!(texts.name(), path.display().to_string());
        let mut found = Vec::new();
        for (first, count) in [(1, texts.count() - 1), (0, 1)] {
            texts.visit(first, count, &mut |json| {
                found.push(serde_json::from_slice(json).unwrap());
                Ok(())
            })?;
        }
        found.rotate_right(1);
        Ok(found)
    }

    fn refusal(&self, path: &Path) -> String {
        let error = self.documents(path, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        error.to_string()
    }
}

const CSV: &str = "\u{feff}part,length,share,open,tags,note\r\n\
    noun,31,0.5,true,\"[\"\"a\"\", \"\"b\"\"]\",\"one, two\nthree\"\r\n\
    \r\n\
    verb,-4,2,false,[],007\r\n\
    ,,,,,\n";

fn expected() -> [Value; 3] {
    [
        json!({
            "part": "noun", "length": 31, "share": 0.5, "open": true, "tags": ["a", "b"],
            "note": "one, two\nthree"
        }),
        json!({
            "part": "verb", "length": -4, "share": 2, "open": false, "tags": [], "note": "007"
        }),
        json!({}),
    ]
}

#[test]
fn csv_comes_back_plain_packed_and_with_tabs() {
    let folder = Folder::new();
    let plain = folder.file("rows.csv", CSV.as_bytes());
    assert_eq!(folder.documents(&plain, None).unwrap(), expected());
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(CSV.as_bytes()).unwrap();
    let packed = folder.file("rows.csv.gz", &packed.finish().unwrap());
    assert_eq!(folder.documents(&packed, None).unwrap(), expected());
    let tabs = folder.file("rows.tsv", b"a\tb\n1,5\t\"x\ty\"\n");
    let tabs = folder.documents(&tabs, None).unwrap();
    assert_eq!(tabs, [json!({"a": "1,5", "b": "x\ty"})]);
}

#[test]
fn csv_that_is_none_is_refused_with_its_line() {
    let folder = Folder::new();
    let cases: [(&[u8], &str); 7] = [
        (b"", "is empty"),
        (b"a,b\n1,2\n\n3\n", "line 4: 1 cells for 2 columns"),
        (b"a,,b\n", "line 1: column 1 has no name"),
        (b"a,b,a\n", "line 1: two columns are called \"a\""),
        (b"a\n1\n\"2\n3\n", "a quote is not closed"),
        (b"a\n1\nx\"y\"\n", "line 3: a quote in the middle"),
        (b"a\n\xff\n", "line 2: is no UTF-8"),
    ];
    for (bytes, words) in cases {
        let path = folder.file("rows.csv", bytes);
        let refusal = folder.refusal(&path);
        assert!(refusal.contains(words), "{refusal}");
        assert!(refusal.contains("rows.csv"), "{refusal}");
    }
    let lost = folder.documents(Path::new("/nowhere/rows.csv"), None);
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn packed_json_lines_are_read() {
    let folder = Folder::new();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"{\"a\": 1}\n{\"a\": 2}").unwrap();
    let path = folder.file("rows.jsonl.gz", &packed.finish().unwrap());
    let found = folder.documents(&path, None).unwrap();
    assert_eq!(found, [json!({"a": 1}), json!({"a": 2})]);
}

const SCHEMA: &str = "message rows {
    required group emb (LIST) { repeated group list { required float element; } }
    required int64 id;
    optional binary lex (STRING);
    optional double share;
    required float small;
    required int32 day (DATE);
    required int64 at (TIMESTAMP(NANOS, true));
    required int64 then (TIMESTAMP(MICROS, true));
    required fixed_len_byte_array(16) key (UUID);
    optional group words (LIST) { repeated group list { optional binary element (STRING); } }
    required group home { required binary city (STRING); optional int32 zip; }
}";

type Group<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

fn column<T: DataType>(
    group: &mut Group<'_>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut writer = group.next_column().unwrap().unwrap();
    let typed = writer.typed::<T>();
    typed.write_batch(values, definitions, repetitions).unwrap();
    writer.close().unwrap();
}

/// Two rows; the share of the first is given.
fn parquet_file(share: f64) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let own = &mut group;
    let text = |text: &str| ByteArray::from(text);
    let uuid = |first: u8| FixedLenByteArray::from((first..first + 16).collect::<Vec<u8>>());
    column::<FloatType>(
        own,
        &[1.0, 2.0, 3.0, 4.0],
        Some(&[1; 4]),
        Some(&[0, 1, 0, 1]),
    );
    column::<Int64Type>(own, &[7, 8], None, None);
    column::<ByteArrayType>(own, &[text("noun")], Some(&[1, 0]), None);
    column::<DoubleType>(own, &[share], Some(&[1, 0]), None);
    column::<FloatType>(own, &[0.1, -2.5], None, None);
    column::<Int32Type>(own, &[0, 20_484], None, None);
    column::<Int64Type>(own, &[1, -1], None, None);
    column::<Int64Type>(own, &[0, 1_500_000], None, None);
    column::<FixedLenByteArrayType>(own, &[uuid(0), uuid(16)], None, None);
    let words = [text("a"), text("b")];
    column::<ByteArrayType>(own, &words, Some(&[3, 2, 3, 0]), Some(&[0, 1, 1, 0]));
    column::<ByteArrayType>(own, &[text("Bonn"), text("Ulm")], None, None);
    column::<Int32Type>(own, &[53111], Some(&[1, 0]), None);
    group.close().unwrap();
    file.into_inner().unwrap()
}

#[test]
fn columns_of_parquet_are_fields() {
    let folder = Folder::new();
    let path = folder.file("rows.parquet", &parquet_file(0.25));
    let beside = Wish {
        element: None,
        column: None,
        id_column: Some("id".to_owned()),
        scratch: PathBuf::new(),
    };
    let expected = [
        json!({
            "lex": "noun", "share": 0.25, "small": 0.1, "day": "1970-01-01",
            "at": "1970-01-01T00:00:00.000000001Z", "then": "1970-01-01T00:00:00Z",
            "key": "00010203-0405-0607-0809-0a0b0c0d0e0f", "words": ["a", null, "b"],
            "home": {"city": "Bonn", "zip": 53111}
        }),
        json!({
            "small": -2.5, "day": "2026-01-31",
            "at": "1969-12-31T23:59:59.999999999Z", "then": "1970-01-01T00:00:01.5Z",
            "key": "10111213-1415-1617-1819-1a1b1c1d1e1f", "home": {"city": "Ulm"}
        }),
    ];
    assert_eq!(folder.documents(&path, Some(beside)).unwrap(), expected);
    let all = folder.documents(&path, None).unwrap();
    assert_eq!(
        (&all[1]["id"], &all[1]["emb"]),
        (&json!(8), &json!([3.0, 4.0]))
    );
}

#[test]
fn parquet_that_cannot_be_is_refused_with_row_and_field() {
    let folder = Folder::new();
    let path = folder.file("rows.parquet", &parquet_file(f64::NAN));
    let refusal = folder.refusal(&path);
    assert!(
        refusal.contains("row 0, field \"share\": holds NaN"),
        "{refusal}"
    );
    let whole = parquet_file(0.5);
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        let path = folder.file("rows.parquet", &whole[..cut]);
        assert!(folder.refusal(&path).contains("rows.parquet"));
    }
}
