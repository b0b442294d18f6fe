//! Tests of what a manifest may say, and of manifests that were written before.

use std::path::Path;

use pageway_store::{OsVfs, commit_manifest, read_manifest};
use pageway_types::{ElementType, NoProgress, VectorShape};
use serde_json::{Value, json};

use super::{MAX_SEGMENTS, Manifest};
use crate::error::ErrorKind;
use crate::index::Index;
use crate::options::{BuildInput, BuildOptions, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::source::VectorSlice;
use crate::update::verify;

const ROWS: u32 = 90;
const SHAPE: VectorShape = VectorShape {
    dimension: 4,
    element: ElementType::U8,
};

fn rows() -> Vec<u8> {
    let mix = |value: u32| value.wrapping_mul(2_654_435_769).rotate_left(13) as u8;
    (0..ROWS * SHAPE.dimension).map(mix).collect()
}

fn build(dir: &Path, segments: u32) {
    let bytes = rows();
    let input = BuildInput {
        vectors: &VectorSlice::new(&bytes, SHAPE).unwrap(),
        name: "rows",
        ids: None,
        names: None,
        queries: None,
        attributes: None,
    };
    let options = BuildOptions {
        preset: Preset::DiskAnn,
        degree: 8,
        build_list: 16,
        code_bytes: Some(2),
        calibration_queries: Some(5),
        segments,
        ..BuildOptions::default()
    };
    Index::build(dir, &input, &options, &NoProgress).unwrap();
}

fn value(dir: &Path) -> Value {
    serde_json::from_slice(&read_manifest(&OsVfs, dir).unwrap()).unwrap()
}

fn write(dir: &Path, value: &Value) {
    commit_manifest(&OsVfs, dir, &serde_json::to_vec(value).unwrap()).unwrap();
}

/// A manifest as it is when it was read, of a segment whose code error was not measured, of a
/// design whose wishes are not known.
fn unmeasured(dir: &Path) -> Manifest {
    let mut manifest = Manifest::read(&OsVfs, dir).unwrap();
    manifest.segments[0].code_error = None;
    manifest.wish = None;
    manifest
}

/// A manifest as it was written before there were segments.
fn flat(mut value: Value) -> Value {
    let segment = value["segments"][0].take();
    let fields = value.as_object_mut().unwrap();
    fields.remove("segments");
    fields.remove("wish");
    for field in ["node_count", "entry", "files", "graph"] {
        fields.insert(field.to_owned(), segment[field].clone());
    }
    value
}

#[test]
fn a_manifest_of_the_former_kind_is_an_index_of_one_segment() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 1);
    let now = unmeasured(dir.path());
    let queries = &rows()[..SHAPE.row_bytes()];
    let answers = || {
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let search = SearchOptions::default();
        let answers = index
            .search(&Queries::new(queries, SHAPE), &search)
            .unwrap();
        (answers.ids, answers.distances)
    };
    let found = answers();
    write(dir.path(), &flat(value(dir.path())));
    assert_eq!(Manifest::read(&OsVfs, dir.path()).unwrap(), now);
    assert_eq!(answers(), found);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
    // The next build replaces it, and its files.
    build(dir.path(), 2);
    assert_eq!(Manifest::read(&OsVfs, dir.path()).unwrap().generation, 2);
}

#[test]
fn a_former_manifest_with_a_field_too_many_or_too_few_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 1);
    let former = flat(value(dir.path()));
    for field in ["node_count", "graph"] {
        let mut less = former.clone();
        less.as_object_mut().unwrap().remove(field);
        write(dir.path(), &less);
        let error = Manifest::read(&OsVfs, dir.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{error}");
        assert!(error.context().contains(field), "{error}");
    }
    let mut more = former;
    more["novelty"] = json!(1);
    write(dir.path(), &more);
    let error = Manifest::read(&OsVfs, dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompatible, "{error}");
}

/// Words of a refusal, and what it refuses.
type Case = (&'static str, fn(&mut Value));

#[test]
fn segments_that_do_not_fit_together_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 3);
    let sound = value(dir.path());
    let cases: [Case; 9] = [
        ("0 segments", |value| value["segments"] = json!([])),
        ("257 segments", |value| {
            let one = value["segments"][0].clone();
            value["segments"] = vec![one; MAX_SEGMENTS as usize + 1].into();
        }),
        ("begins with row 31", |value| {
            value["segments"][1]["first_row"] = json!(31);
        }),
        ("more rows", |value| {
            value["spec"]["storage"]["codes"] = json!("in_page");
            value["spec"]["layout"]["codec"] = json!({"kind": "inline_codes"});
            for segment in value["segments"].as_array_mut().unwrap() {
                segment["files"]["codes"] = json!(null);
            }
            value["segments"][0]["node_count"] = json!(u32::MAX - 1);
            value["segments"][1]["first_row"] = json!(u32::MAX - 1);
        }),
        ("different", |value| {
            value["segments"][2]["spec"] = value["spec"].clone();
            value["segments"][2]["spec"]["shape"]["metric"] = json!("cosine");
        }),
        ("different", |value| {
            value["segments"][2]["spec"] = value["spec"].clone();
            value["segments"][2]["spec"]["layout"]["page_bytes"] = json!(8192);
        }),
        ("more pages than can be", |value| {
            let segment = &mut value["segments"][0];
            let mut image = segment["files"]["records"].clone();
            image["units"] = json!(u64::MAX);
            segment["patched"] = json!({"built": 1, "swept": 0});
            segment["files"]["patches"] = json!({"map": image, "images": [image, image]});
        }),
        ("listed twice", |value| {
            let records = value["segments"][0]["files"]["records"].clone();
            value["segments"][2]["files"]["records"] = records;
        }),
        ("codebook-1-0.pw is listed twice", |value| {
            let name = value["segments"][0]["files"]["codebook"]["name"].clone();
            let other = &mut value["segments"][2]["files"]["codebook"];
            (other["name"], other["payload_bytes"]) = (name, json!(9));
        }),
    ];
    for (words, damage) in cases {
        let mut damaged = sound.clone();
        damage(&mut damaged);
        write(dir.path(), &damaged);
        let error = Manifest::read(&OsVfs, dir.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.context().contains(words), "{words}: {error}");
    }
}

#[test]
fn segments_may_have_a_codebook_in_common() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 3);
    let own = Manifest::read(&OsVfs, dir.path()).unwrap();
    let mut shared = value(dir.path());
    for number in 1..3 {
        let first = shared["segments"][0]["files"]["codebook"].clone();
        shared["segments"][number]["files"]["codebook"] = first;
    }
    write(dir.path(), &shared);
    let manifest = Manifest::read(&OsVfs, dir.path()).unwrap();
    assert_eq!(manifest.files().len(), own.files().len() - 2);
    let book = own.segments[1].files.codebook.file_bytes().unwrap();
    let bytes = manifest.file_bytes().unwrap() + 2 * book;
    assert_eq!(bytes, own.file_bytes().unwrap());
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}
