//! Random changes of rows with attributes, against a map.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use pageway_attributes::Edit;
use pageway_types::{Metric, NoProgress};
use serde_json::{Value, json};

use super::model::{Model, SHAPE, open};
use super::small::least;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::Filter;
use crate::memory::MemoryWish;
use crate::options::{Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::source::TextSlice;
use crate::update::{CreateOptions, Rows, UpdateOptions, Which, Writer, verify};
use crate::{Document, Durability, FieldPath, Index, RowParts};

/// What rows should have: vectors in the model, attributes here.
struct Attributed {
    model: Model,
    documents: BTreeMap<u64, Document>,
}

/// A filter, and what it means.
type Meaning = (&'static str, fn(&Document) -> bool);

const FILTERS: [Meaning; 5] = [
    ("color = 'red'", |own| {
        own.get("color") == Some(&json!("red"))
    }),
    ("size < 5", |own| {
        own.get("size")
            .and_then(Value::as_i64)
            .is_some_and(|size| size < 5)
    }),
    ("not (color in ['red', 'blue'])", |own| {
        !matches!(
            own.get("color").and_then(Value::as_str),
            Some("red" | "blue")
        )
    }),
    ("exists(extra.at) and size >= 2", |own| {
        own.get("extra")
            .is_some_and(|extra| extra.get("at").is_some())
            && own
                .get("size")
                .and_then(Value::as_i64)
                .is_some_and(|size| size >= 2)
    }),
    ("color = 'none'", |_| false),
];

const ALL: RowParts = RowParts {
    vectors: true,
    attributes: true,
};

impl Attributed {
    fn document(&mut self) -> Document {
        let color = ["red", "blue", "green"][self.model.below(3) as usize];
        let value = match self.model.below(4) {
            0 => json!({}),
            1 => json!({"color": color}),
            _ => json!({"color": color, "size": self.model.below(10)}),
        };
        value.as_object().unwrap().clone()
    }

    fn put(&mut self, writer: &Writer) {
        let count = 1 + self.model.below(12) as usize;
        let mut ids = self.model.some(count / 3);
        let base = 1000 + self.model.below(1 << 40);
        ids.extend((ids.len()..count).map(|at| base + at as u64));
        let rows = self.model.rows(count);
        let documents: Vec<Document> = (0..count).map(|_| self.document()).collect();
        let texts: Vec<String> = documents.iter().map(|own| json!(own).to_string()).collect();
        let bytes = rows.concat();
        let slice = TextSlice::attributes(&texts);
        let put = Rows::new(&bytes, SHAPE).with_ids(&*ids);
        if self.model.below(4) == 0 {
            writer.upsert(&put).unwrap();
            self.documents
                .extend(ids.iter().map(|id| (*id, Document::new())));
        } else {
            writer
                .upsert(&put.with_attributes(&slice as &dyn crate::source::TextRead))
                .unwrap();
            self.documents.extend(ids.iter().copied().zip(documents));
        }
        self.model.rows.extend(ids.into_iter().zip(rows));
    }

    fn edit(&mut self, writer: &Writer) {
        let path = FieldPath::parse("extra").unwrap();
        let fields = |value: Value| value.as_object().unwrap().clone();
        let edit = match self.model.below(5) {
            0 => Edit::Set {
                at: None,
                fields: fields(json!({"size": self.model.below(10)})),
            },
            1 => Edit::Set {
                at: Some(path),
                fields: fields(json!({"at": self.model.below(3)})),
            },
            2 => Edit::Overwrite(fields(json!({"color": "red"}))),
            3 => Edit::Remove(vec![path, FieldPath::parse("color").unwrap()]),
            _ => Edit::Clear,
        };
        let (filter, means) = FILTERS[self.model.below(5) as usize];
        let done = if self.model.below(2) == 0 {
            let mut ids = self.model.some(5);
            let known = ids.len();
            ids.push(7);
            let done = writer
                .edit_attributes(Which::Ids(&ids), &edit, Durability::Synced)
                .unwrap();
            assert_eq!(done.absent, 1);
            ids.truncate(known);
            ids
        } else {
            let filter = match Filter::expression(filter) {
                Ok(filter) if writer.index().count(&filter).is_ok() => filter,
                _ => return,
            };
            writer
                .edit_attributes(Which::Matching(&filter), &edit, Durability::Synced)
                .unwrap();
            let own = self.documents.iter().filter(|(_, own)| means(own));
            own.map(|(id, _)| *id).collect()
        };
        for id in done {
            edit.apply(self.documents.get_mut(&id).unwrap());
        }
    }

    fn remove(&mut self, writer: &Writer) {
        if self.model.below(3) > 0 {
            let ids = self.model.some(4);
            writer.delete(&ids, Durability::Synced).unwrap();
            for id in ids {
                self.model.rows.remove(&id);
                self.documents.remove(&id);
            }
            return;
        }
        let (text, means) = FILTERS[1];
        let text = format!("{text} and exists(extra.at)");
        let Ok(filter) = Filter::expression(&text) else {
            return;
        };
        if writer.index().count(&filter).is_err() {
            return;
        }
        let own = |own: &Document| {
            means(own) && own.get("extra").is_some_and(|own| own.get("at").is_some())
        };
        let done = writer
            .delete_rows(Which::Matching(&filter), Durability::Synced)
            .unwrap();
        let gone: Vec<u64> = self
            .documents
            .iter()
            .filter(|(_, all)| own(all))
            .map(|(id, _)| *id)
            .collect();
        assert_eq!(done.deleted, gone.len() as u64);
        for id in gone {
            self.model.rows.remove(&id);
            self.documents.remove(&id);
        }
    }

    /// Searches for rows that match a filter, and lists them all: their ids.
    fn found(
        &mut self,
        index: &Index,
        (text, filter): (&str, &Filter),
        expected: &[u64],
    ) -> Result<Vec<u64>> {
        let query = self.model.row();
        let queries = Queries::new(&query, SHAPE)
            .with_filter(filter)
            .with_wants_attributes(true);
        let k = 8;
        let answers = index.search(&queries, &near(k))?;
        let found: Vec<u64> = answers
            .ids
            .iter()
            .copied()
            .filter(|id| *id != u64::MAX)
            .collect();
        assert_eq!(found.len(), expected.len().min(k as usize), "{text}");
        for (id, json) in found.iter().zip(&answers.attributes) {
            assert!(expected.contains(id), "{text}: {id}");
            assert_eq!(parsed(json.as_deref()), self.documents[id], "{id}");
        }
        let (mut seen, mut next) = (Vec::new(), Some(0));
        while let Some(first) = next {
            let page = index.scroll(Some(filter), (first, 3), RowParts::default())?;
            seen.extend(page.rows.iter().map(|row| row.id));
            next = page.next;
        }
        Ok(seen)
    }

    /// What an index says of every filter, and of every row, is so.
    fn check(&mut self, index: &Index) {
        self.model.check(index);
        for (text, means) in FILTERS {
            let filter = Filter::expression(text).unwrap();
            let expected: Vec<u64> = self
                .documents
                .iter()
                .filter(|(_, own)| means(own))
                .map(|(id, _)| *id)
                .collect();
            match index.count(&filter) {
                Err(error) => {
                    assert_forgotten(&error, (text, expected.len()));
                    continue;
                }
                Ok(count) => assert_eq!(count, expected.len() as u64, "{text}"),
            }
            match self.found(index, (text, &filter), &expected) {
                Err(error) => assert_forgotten(&error, (text, expected.len())),
                Ok(seen) => assert_eq!(seen, expected, "{text}"),
            }
        }
        let page = index.scroll(None, (0, 1 << 20), ALL).unwrap();
        assert_eq!(page.next, None);
        let expected = self.model.rows.iter();
        assert!(
            page.rows
                .iter()
                .map(|row| (&row.id, &row.vector))
                .eq(expected)
        );
        for row in &page.rows {
            assert_eq!(parsed(row.attributes.as_deref()), self.documents[&row.id]);
        }
        let some: Vec<u64> = self.model.some(4);
        let asked = [&[3][..], &*some].concat();
        let rows = index.rows(&asked, ALL).unwrap();
        assert!(rows.iter().map(|row| row.id).eq(some));
        assert!(rows.iter().all(|row| page.rows.contains(row)));
    }
}

/// A filter is refused where no row has its field. Rows that died count until a merge drops them,
/// which may be between any two calls.
fn assert_forgotten(error: &Error, (text, expected): (&str, usize)) {
    let kinds = [ErrorKind::InvalidInput, ErrorKind::Unsupported];
    assert!(kinds.contains(&error.kind()), "{text}: {error}");
    assert!(text.starts_with("not") || expected == 0, "{text}: {error}");
}

/// However many rows there are, and whatever was measured.
fn near(k: u32) -> SearchOptions {
    SearchOptions {
        effort: Effort::ListSize(100),
        ..SearchOptions::nearest(k)
    }
}

fn parsed(json: Option<&str>) -> Document {
    json.map_or_else(Document::new, |json| serde_json::from_str(json).unwrap())
}

fn run(dir: &Path, steps: usize, seed: u64) {
    let mut all = Attributed {
        model: Model::new(seed),
        documents: BTreeMap::new(),
    };
    let mut writer = open(dir);
    for _ in 0..steps {
        match all.model.below(6) {
            0..3 => all.put(&writer),
            3 | 4 => all.edit(&writer),
            _ => all.remove(&writer),
        }
        match all.model.below(8) {
            0 => writer.flush(&NoProgress).unwrap(),
            1 => drop(writer.merge(all.model.below(2) == 0, &NoProgress).unwrap()),
            2 => {
                // As after a kill.
                drop(writer);
                writer = open(dir);
            }
            _ => {}
        }
        all.check(writer.index());
        let report = verify(dir, &NoProgress).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }
    let copy = tempfile::tempdir().unwrap();
    writer.snapshot(copy.path(), &NoProgress).unwrap();
    all.check(&Index::open(copy.path(), &OpenOptions::default()).unwrap());
    writer.close().unwrap();
    all.check(open(dir).index());
}

pub(super) fn created(preset: Preset) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_preset(preset)
        .with_degree(12)
        .with_memory(16 << 20)
        .with_expected(2000);
    Writer::create(dir.path(), &options).unwrap();
    dir
}

#[test]
fn attributes_change_as_a_map_does() {
    for (seed, preset) in (1..).zip([Preset::Pageway, Preset::DiskAnn, Preset::PageAnn]) {
        run(created(preset).path(), 40, seed);
    }
}

#[test]
fn a_field_of_dead_rows_is_known_until_a_merge_drops_them() {
    let dir = created(Preset::default());
    let writer = open(dir.path());
    let mut model = Model::new(9);
    let (bytes, ids) = (model.rows(40).concat(), (0..40).collect::<Vec<u64>>());
    let texts: Vec<String> = ids
        .iter()
        .map(|id| json!({ if *id < 4 { "some" } else { "most" }: id }).to_string())
        .collect();
    let slice = TextSlice::attributes(&texts);
    let put = Rows::new(&bytes, SHAPE).with_ids(&*ids);
    writer
        .insert(&put.with_attributes(&slice as &dyn crate::source::TextRead))
        .unwrap();
    writer.flush(&NoProgress).unwrap();
    writer.delete(&ids[..4], Durability::Synced).unwrap();
    let filter = Filter::expression("some >= 0").unwrap();
    let listed = |writer: &Writer| {
        let page = writer.index().scroll(Some(&filter), (0, 9), ALL);
        page.map(|page| page.rows.len())
    };
    assert_eq!(listed(&writer).unwrap(), 0);
    writer.merge(true, &NoProgress).unwrap();
    let error = listed(&writer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert_forgotten(&error, ("", 0));
}

#[test]
fn attributes_that_cannot_be_are_refused_and_change_nothing() {
    let dir = created(Preset::default());
    let writer = open(dir.path());
    let mut model = Model::new(3);
    let bytes = model.rows(2).concat();
    let rows = Rows::new(&bytes, SHAPE);
    let deep = (0..40)
        .fold(json!(1), |value, _| json!({"a": value}))
        .to_string();
    let long = json!({"text": "x".repeat(1 << 20)}).to_string();
    let cases = [
        (vec!["{}"], "attributes of 1 rows for 2 rows"),
        (vec!["{}", "{}", "{}"], "attributes of 3 rows for 2 rows"),
        (vec!["{}", "[1]"], "row 1"),
        (vec!["{\"a\": }", "{}"], "row 0"),
        (vec!["{}", &deep], "row 1"),
        (vec!["{}", &long], "row 1"),
    ];
    for (texts, words) in cases {
        let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
        let slice = TextSlice::attributes(&texts);
        let error = writer
            .insert(&rows.with_attributes(&slice as &dyn crate::source::TextRead))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(writer.index().is_empty());
    writer.insert(&rows).unwrap();
    let fields = json!({"a": serde_json::from_str::<Value>(&deep).unwrap()});
    let edit = Edit::Overwrite(fields.as_object().unwrap().clone());
    let error = writer
        .edit_attributes(Which::Ids(&[1]), &edit, Durability::Synced)
        .unwrap_err();
    assert!(error.to_string().contains("id 1"), "{error}");
    let unknown = Filter::expression("a = 1").unwrap();
    assert!(
        writer
            .delete_rows(Which::Matching(&unknown), Durability::Synced)
            .is_err()
    );
    assert_eq!(writer.index().len(), 2);
}

#[test]
fn attributes_are_part_of_the_memory_for_updates() {
    let dir = created(Preset::default());
    let options = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(64 << 20))
        .with_in_foreground(true)
        .with_threads(1);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &options).unwrap();
    let capacity = writer.changes().unwrap().delta_capacity;
    let mut model = Model::new(4);
    let text = json!({"text": "y".repeat(200_000)}).to_string();
    let mut rows = 0;
    // Rows without attributes would fit a hundred times over.
    while writer.changes().unwrap().work.flushes == 0 {
        let (row, texts) = (model.row(), [text.clone()]);
        let slice = TextSlice::attributes(&texts);
        let put = Rows::new(&row, SHAPE).with_attributes(&slice as &dyn crate::source::TextRead);
        writer.insert(&put).unwrap();
        rows += 1;
        assert!(rows < capacity / 10, "{rows} of {capacity}");
    }
    assert_eq!(writer.index().len(), rows);
    let filter = Filter::expression("exists(text)").unwrap();
    assert_eq!(writer.index().count(&filter).unwrap(), rows);
}

/// An index with a segment of rows that have these attributes, whose ids are 0 and so on.
fn flushed(writer: Writer, texts: &[String]) -> Writer {
    let bytes = Model::new(5).rows(texts.len()).concat();
    let ids: Vec<u64> = (0..texts.len() as u64).collect();
    let slice = TextSlice::attributes(texts);
    let rows = Rows::new(&bytes, SHAPE).with_ids(&*ids);
    writer
        .insert(&rows.with_attributes(&slice as &dyn crate::source::TextRead))
        .unwrap();
    writer.flush(&NoProgress).unwrap();
    writer
}

#[test]
fn documents_are_those_of_the_rows_where_a_search_goes_on() {
    let dir = created(Preset::default());
    let texts: Vec<String> = (0..300).map(|n| json!({"n": n}).to_string()).collect();
    let writer = flushed(open(dir.path()), &texts);
    let query = Model::new(5).row();
    let ask = |k: u32| {
        let queries = Queries::new(&query, SHAPE).with_wants_attributes(true);
        writer.index().search(&queries, &near(k)).unwrap()
    };
    // All that a search comes to first has died, and what replaced a part of it is in a delta.
    let dead = ask(100).ids;
    writer.delete(&dead, Durability::Deferred).unwrap();
    let ids: Vec<u64> = (0..40).collect();
    let (bytes, slice) = (
        Model::new(6).rows(40).concat(),
        TextSlice::attributes(&texts[..40]),
    );
    let put = Rows::new(&bytes, SHAPE).with_ids(&*ids);
    let put = put.with_attributes(&slice as &dyn crate::source::TextRead);
    writer.upsert(&put).unwrap();
    let answers = ask(60);
    assert!(answers.ids.iter().any(|id| *id >= 40), "{:?}", answers.ids);
    for (id, text) in answers.ids.iter().zip(&answers.attributes) {
        let expected = (*id != u64::MAX).then(|| json!({"n": id}).to_string());
        assert_eq!(*text, expected);
    }
}

fn set(name: &str) -> Edit {
    Edit::Set {
        at: None,
        fields: json!({ name: 1 }).as_object().unwrap().clone(),
    }
}

#[test]
fn rows_that_match_are_seen_where_others_change_them_meanwhile() {
    let dir = created(Preset::default());
    let writer = flushed(open(dir.path()), &vec![r#"{"c": 1}"#.to_owned(); 40]);
    let filter = Filter::expression("c = 1").unwrap();
    let (mut seen, mut calls) = (BTreeSet::new(), 0);
    let mut visit = |ids: &[u64]| {
        seen.extend(ids.iter().copied());
        calls += 1;
        if calls == 1 {
            // Behind the rows of deltas, which were looked through before.
            writer.edit_attributes(Which::Ids(&[3, 7]), &set("d"), Durability::Deferred)?;
        }
        Ok(())
    };
    writer.index().visit_matching(&filter, &mut visit).unwrap();
    assert!(seen.into_iter().eq(0..40));
}

#[test]
fn many_long_attributes_change_where_a_delta_has_room_for_few() {
    for in_foreground in [false, true] {
        let dir = created(Preset::default());
        let with = |build: u64, memory: u64| {
            let options = UpdateOptions::default()
                .with_memory(MemoryWish::Bytes(memory))
                .with_build_memory(MemoryWish::Bytes(build))
                .with_in_foreground(in_foreground)
                .with_merge_by_hand(true);
            Writer::open(dir.path(), &OpenOptions::default(), &options)
        };
        let build = least(with(1 << 20, 128 << 20));
        let memory = least(with(build, build + 1000));
        let writer = with(build, memory + 10_000).unwrap();
        let texts = vec![json!({"a": "x".repeat(1000)}).to_string(); 100];
        let writer = Arc::new(flushed(writer, &texts));
        let (own, (tell, told)) = (Arc::clone(&writer), mpsc::channel());
        std::thread::spawn(move || {
            let ids: Vec<u64> = (0..100).collect();
            tell.send(own.edit_attributes(Which::Ids(&ids), &set("b"), Durability::Deferred))
        });
        // One that finds no room tries for ever.
        let done = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(done.unwrap().changed, 100);
        let long = Edit::Overwrite(
            json!({"a": "x".repeat(100_000)})
                .as_object()
                .unwrap()
                .clone(),
        );
        let error = writer.edit_attributes(Which::Ids(&[1]), &long, Durability::Deferred);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("more memory for updates"), "{error}");
        writer.check_room(1000).unwrap();
        let error = writer.check_room(100_000).unwrap_err();
        assert!(
            error.to_string().contains("more memory for updates"),
            "{error}"
        );
    }
}
