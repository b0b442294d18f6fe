//! Each invariant of `docs/format/invariants.md` that checksums cannot show, broken once, with
//! checksums made right: `verify` finds it, and searches do not answer with it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Data, change_unit, quick_as, sound};
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, Effort, ElementType, ErrorKind, Index, NoProgress, OpenOptions,
    Preset, Queries, SearchOptions, VectorShape, Vfs, verify_on,
};
use pageway_store::read_manifest;
use pageway_testkit::SimVfs;
use serde_json::Value;

const DIR: &str = "/index";
const ROWS: u32 = 600;
const DIMENSION: u32 = 16;
/// Bytes of a vector.
const VECTOR: usize = 4 * DIMENSION as usize;

/// An index of floats, and its rows.
struct Subject {
    vfs: Arc<dyn Vfs>,
    rows: Vec<u8>,
    shape: VectorShape,
}

impl Subject {
    fn of(options: &BuildOptions) -> Self {
        Self::with_ids(options, None)
    }

    fn with_ids(options: &BuildOptions, ids: Option<&[u64]>) -> Self {
        let float = |byte: &u8| f32::from(*byte).to_le_bytes();
        let rows: Vec<u8> = Data::new(ROWS as usize, DIMENSION, 9)
            .rows
            .iter()
            .flat_map(float)
            .collect();
        let shape = VectorShape {
            dimension: DIMENSION,
            element: ElementType::F32,
        };
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let vectors = VectorSlice::new(&rows, shape).unwrap();
        let ids = ids.map(IdSlice);
        let ids = ids.as_ref().map(|ids| ids as _);
        let input = BuildInput::new(&vectors, "rows").with_ids(ids);
        // Where a list lies follows from four bytes a number.
        let options = options.clone().with_store_as_given(true);
        Index::build_on(&vfs, Path::new(DIR), &input, &options, &NoProgress).unwrap();
        let subject = Self { vfs, rows, shape };
        assert!(sound(&subject.vfs, Path::new(DIR)));
        subject
    }

    fn manifest(&self) -> Value {
        let payload = read_manifest(self.vfs.as_ref(), Path::new(DIR)).unwrap();
        serde_json::from_slice(&payload).unwrap()
    }

    /// Changes the payload of unit 0 of a file, and makes its checksum right.
    fn change(&self, file: &str, edit: impl FnOnce(&mut [u8])) {
        let entry = self.manifest()["segments"][0]["files"][file].clone();
        let entry = serde_json::from_value(entry).unwrap();
        change_unit(self.vfs.as_ref(), Path::new(DIR), &entry, edit);
    }

    /// The first problem that `verify` finds, in words that contain `words`.
    #[track_caller]
    fn expect_found(&self, words: &str) {
        let report = verify_on(&self.vfs, Path::new(DIR), &NoProgress).unwrap();
        let found = report
            .problems
            .iter()
            .any(|problem| problem.contains(words));
        assert!(found, "{words}: {:?}", report.problems);
    }

    /// Opens, and searches for every row.
    fn search(&self) -> pageway::Result<pageway::Answers> {
        let index = Index::open_on(&self.vfs, Path::new(DIR), &OpenOptions::default())?;
        let search = SearchOptions::nearest(3).with_effort(Effort::ListSize(60));
        index.search(&Queries::new(&self.rows, self.shape), &search)
    }

    #[track_caller]
    fn expect_refused(&self, words: &str) {
        let error = self.search().map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.context().contains(words), "{error}");
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn the_way_in_has_a_code() {
    let subject = Subject::of(&quick_as(Preset::AiSaq));
    let entry = subject.manifest()["segments"][0]["entry"][0]
        .as_u64()
        .unwrap() as u32;
    subject.change("entry", |payload| {
        // No structure, then the nodes that have codes.
        let count = word(payload, 8) as usize;
        let own = (0..count).find(|at| word(payload, 12 + 4 * at) == entry);
        let last = own.unwrap() + 1 == count;
        let other = if last { ROWS - 1 } else { entry + 1 };
        assert!(last || word(payload, 16 + 4 * own.unwrap()) > other);
        put(payload, 12 + 4 * own.unwrap(), other);
    });
    subject.expect_refused("an entry node has no code");
    subject.expect_found("an entry node has no code");
}

#[test]
fn neighbours_are_there_once_and_are_others() {
    for (value, words) in [
        (None, "lists a neighbour twice"),
        (Some(0), "lists neighbour 0"),
        (Some(ROWS), "lists neighbour 600"),
    ] {
        let subject = Subject::of(&quick_as(Preset::DiskAnn));
        subject.change("records", |payload| {
            let list = VECTOR + 2;
            let value = value.unwrap_or_else(|| word(payload, list + 4));
            put(payload, list, value);
        });
        subject.expect_found(words);
    }
}

#[test]
fn vectors_have_distances() {
    for value in [f32::NAN, f32::INFINITY, 3e38] {
        let subject = Subject::of(&quick_as(Preset::DiskAnn));
        subject.change("records", |payload| put(payload, 0, value.to_bits()));
        subject.expect_found("a vector of squared length");
        if let Ok(answers) = subject.search() {
            assert!(
                answers
                    .distances
                    .iter()
                    .all(|distance| distance.is_finite())
            );
        }
    }
}

/// Rows stand beside vectors where nodes are placed.
#[test]
fn rows_exist_and_are_a_permutation() {
    let beyond = Subject::of(&quick_as(Preset::Starling));
    beyond.change("records", |payload| put(payload, VECTOR, ROWS));
    beyond.expect_found("row 600 of 600");
    beyond.expect_refused("says that it is row 600");
    let twice = Subject::of(&quick_as(Preset::Starling));
    twice.change("records", |payload| {
        let row = word(payload, VECTOR);
        put(payload, VECTOR, if row == 0 { 1 } else { row - 1 });
    });
    twice.expect_found("another is row");
}

#[test]
fn user_ids_are_there_once() {
    let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| row + 70).collect();
    let subject = Subject::with_ids(&quick_as(Preset::DiskAnn), Some(&ids));
    // Behind the vector stands the id of row 0, which becomes that of row 1.
    subject.change("records", |payload| {
        let at = (VECTOR..VECTOR + 8)
            .find(|at| word(payload, *at) == 70)
            .unwrap();
        put(payload, at, 71);
    });
    subject.expect_found("user id 71: two vectors have it");
}

#[test]
fn identities_in_memory_are_those_of_the_records() {
    let form = Some("resident".to_owned());
    let options = quick_as(Preset::Pageway).with_form(form);
    let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| row + 70).collect();
    let subject = Subject::with_ids(&options, Some(&ids));
    subject.change("identities", |payload| {
        let (first, second) = (word(payload, 0), word(payload, 12));
        put(payload, 0, second);
        put(payload, 12, first);
    });
    subject.expect_found("memory holds another row");
}

#[test]
fn hot_nodes_are_there_once() {
    for (value, words) in [(None, "stands in it twice"), (Some(ROWS), "out of range")] {
        let subject = Subject::of(&quick_as(Preset::DiskAnn));
        subject.change("hot", |payload| {
            let value = value.unwrap_or_else(|| word(payload, 4));
            put(payload, 0, value);
        });
        subject.expect_found(words);
    }
}
