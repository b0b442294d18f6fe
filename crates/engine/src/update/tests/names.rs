//! Rows that are known by names: built in, put in, found, changed and deleted by them.

use std::collections::BTreeMap;
use std::path::Path;

use pageway_attributes::{Edit, name_id};
use pageway_types::NoProgress;
use serde_json::json;

use super::model::{Model, SHAPE, open};
use crate::error::ErrorKind;
use crate::filter::Filter;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::source::{TextRead, TextSlice, VectorSlice};
use crate::update::{Rows, Which, Writer, verify};
use crate::{Durability, Index, RowParts};

const ALL: RowParts = RowParts {
    vectors: true,
    attributes: true,
};

/// What rows should be: by their names, the vector and the attributes as JSON.
type ByName = BTreeMap<String, (Vec<u8>, Option<String>)>;

fn build(dir: &Path, names: &[String], rows: &[Vec<u8>], documents: &[String]) {
    let bytes = rows.concat();
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let (names, documents) = (TextSlice::names(names), TextSlice::attributes(documents));
    let input = BuildInput::new(&vectors, "rows")
        .with_names(Some(&names))
        .with_attributes(Some(&documents));
    let options = BuildOptions::default()
        .with_memory(MemoryWish::Bytes(4 << 20))
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(8);
    Index::build(dir, &input, &options, &NoProgress).unwrap();
}

/// What an index holds, by scrolling, looking up and searching, is what it should.
fn check(index: &Index, named: &ByName) {
    let page = index.scroll(None, (0, 10_000), ALL).unwrap();
    let own = page.rows.into_iter();
    let found: ByName = own
        .map(|row| (row.name.unwrap(), (row.vector, row.attributes)))
        .collect();
    assert_eq!(&found, named);
    let names: Vec<String> = named.keys().step_by(7).cloned().collect();
    let rows = index.rows_named(&names, RowParts::default()).unwrap();
    let own = rows.iter().map(|row| row.name.clone().unwrap());
    assert!(own.eq(names.iter().cloned()));
    let none = ["no such name".to_owned()];
    assert!(index.rows_named(&none, ALL).unwrap().is_empty());
    let query = &named.values().next().unwrap().0;
    let options = SearchOptions::nearest(5).with_effort(Effort::ListSize(60));
    let queries = Queries::new(query, SHAPE)
        .with_wants_names(true)
        .with_wants_attributes(true);
    let answers = index.search(&queries, &options).unwrap();
    for ((id, name), json) in answers
        .ids
        .iter()
        .zip(&answers.names)
        .zip(&answers.attributes)
    {
        let name = name.as_ref().unwrap();
        assert_eq!(*id, name_id(name));
        assert_eq!(json, &named.get(name).unwrap().1);
    }
    assert_eq!(answers.names.len(), 5);
    let error = index.search(&queries.with_attribute_bytes(30), &options);
    assert_eq!(error.unwrap_err().kind(), crate::ErrorKind::OutOfMemory);
    let bare = index.search(&Queries::new(query, SHAPE), &options).unwrap();
    assert_eq!((&bare.ids, bare.names.len()), (&answers.ids, 0));
    let fields = index.fields().unwrap();
    assert!(fields.iter().all(|field| field.path == "n"), "{fields:?}");
}

fn put(writer: &Writer, upsert: bool, rows: &[Vec<u8>], names: &[String]) -> crate::Result<u64> {
    let (bytes, names) = (rows.concat(), TextSlice::names(names));
    let rows = Rows::new(&bytes, SHAPE).with_names(&names as &dyn TextRead);
    let done = if upsert {
        writer.upsert(&rows)?
    } else {
        writer.insert(&rows)?
    };
    Ok(done.replaced)
}

#[test]
fn rows_are_known_by_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new(5);
    let rows = model.rows(300);
    let names: Vec<String> = (0..300).map(|row| format!("row-{row}")).collect();
    let documents: Vec<String> = (0..300)
        .map(|row| {
            if row % 3 == 0 {
                "{}".to_owned()
            } else {
                format!("{{\"n\":{row}}}")
            }
        })
        .collect();
    build(dir.path(), &names, &rows, &documents);
    let attributes = documents
        .iter()
        .map(|own| (own != "{}").then(|| own.clone()));
    let mut named: ByName = names
        .into_iter()
        .zip(rows.into_iter().zip(attributes))
        .collect();
    check(
        &Index::open(dir.path(), &OpenOptions::default()).unwrap(),
        &named,
    );
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());

    let writer = open(dir.path());
    let new = model.rows(3);
    let some = ["row-1", "row-3", "new \"one\"\n"].map(str::to_owned);
    let error = put(&writer, false, &new, &some).unwrap_err();
    assert!(error.to_string().contains("name \"row-1\""), "{error}");
    assert_eq!(put(&writer, true, &new, &some).unwrap(), 2);
    named.extend(
        some.iter()
            .cloned()
            .zip(new.into_iter().map(|row| (row, None))),
    );
    check(writer.index(), &named);

    let edit = Edit::Overwrite(json!({"n": 7}).as_object().unwrap().clone());
    let chosen = ["row-2", "row-3", "who"].map(str::to_owned);
    let done = writer
        .edit_attributes(Which::Names(&chosen), &edit, Durability::Synced)
        .unwrap();
    assert_eq!((done.changed, done.absent), (2, 1));
    for name in &chosen[..2] {
        named.get_mut(name).unwrap().1 = Some("{\"n\":7}".to_owned());
    }
    writer
        .edit_attributes(Which::Names(&some[..1]), &Edit::Clear, Durability::Synced)
        .unwrap();
    let done = writer.delete_rows(Which::Names(&["row-9".to_owned()]), Durability::Synced);
    assert_eq!(done.unwrap().deleted, 1);
    named.remove("row-9");
    check(writer.index(), &named);
    writer.flush(&NoProgress).unwrap();
    check(writer.index(), &named);
    drop(writer);
    let writer = open(dir.path());
    writer.merge(true, &NoProgress).unwrap();
    check(writer.index(), &named);
    let filter = Filter::expression("has_id('row-4', 'row-5', 'row-9')").unwrap();
    assert_eq!(writer.index().count(&filter).unwrap(), 2);
    let copy = tempfile::tempdir().unwrap();
    writer.snapshot(copy.path(), &NoProgress).unwrap();
    check(
        &Index::open(copy.path(), &OpenOptions::default()).unwrap(),
        &named,
    );
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn ids_that_the_index_gives_are_those_of_no_name() {
    let dir = super::attributes::created(crate::Preset::default());
    let writer = open(dir.path());
    let mut model = Model::new(6);
    put(
        &writer,
        false,
        &model.rows(2),
        &["a".to_owned(), "b".to_owned()],
    )
    .unwrap();
    for first in [0, 2] {
        let bytes = model.rows(2).concat();
        let done = writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
        assert_eq!(done.first_id, Some(first));
        writer.flush(&NoProgress).unwrap();
        assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
    drop(writer);
    let writer = open(dir.path());
    let bytes = model.rows(1).concat();
    let done = writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    assert_eq!(done.first_id, Some(4));
}

#[test]
fn what_is_no_name_is_refused_and_changes_nothing() {
    let dir = super::attributes::created(crate::Preset::default());
    let writer = open(dir.path());
    let mut model = Model::new(7);
    let rows = model.rows(2);
    let long = "n".repeat(257);
    let cases = [
        (vec!["a", ""], "is empty"),
        (vec!["a", &long], "257 bytes"),
        (vec!["a", "a"], "\"a\""),
        (vec!["a"], "1 ids for 2 rows"),
    ];
    for (names, words) in cases {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let error = put(&writer, false, &rows, &names).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // A row that has the id of a name without having the name.
    let (bytes, ids) = (model.rows(1).concat(), [name_id("taken")]);
    writer
        .insert(&Rows::new(&bytes, SHAPE).with_ids(ids.as_slice()))
        .unwrap();
    let taken = ["taken".to_owned()];
    let error = put(&writer, true, &model.rows(1), &taken).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let done = writer
        .delete_rows(Which::Names(&taken), Durability::Synced)
        .unwrap();
    assert_eq!((done.deleted, done.absent), (0, 1));
    let texts = ["{\"\\u0000\": \"x\"}".to_owned()];
    let documents = TextSlice::attributes(&texts);
    let rows = Rows::new(&bytes, SHAPE).with_attributes(&documents as &dyn crate::source::TextRead);
    let error = writer.insert(&rows).unwrap_err();
    assert!(error.to_string().contains("U+0000"), "{error}");
    let edit = Edit::Overwrite(serde_json::from_str(&texts[0]).unwrap());
    assert!(
        writer
            .edit_attributes(Which::Ids(&ids), &edit, Durability::Synced)
            .is_err()
    );
    assert_eq!(writer.index().len(), 1);
}
