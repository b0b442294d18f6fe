//! Each invariant of an index that was changed (`docs/format/invariants.md`), broken once with
//! checksums made right: `verify` finds it, and who would change the index is refused where that
//! could do harm.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{change_unit, contents, overwrite};
use pageway::{
    CreateOptions, Durability, ElementType, ErrorKind, Metric, NoProgress, OpenOptions, Result,
    Rows, UpdateOptions, VectorShape, Vfs, Writer, verify_on,
};
use pageway_store::{
    FileUuid, LogPlace, LogWriter, Lsn, OnDamage, Room, StoreError, commit_manifest, read_manifest,
    replay_log,
};
use pageway_testkit::SimVfs;
use serde_json::{Value, json};

const DIR: &str = "/index";
const SHAPE: VectorShape = VectorShape {
    dimension: 6,
    element: ElementType::F32,
};
/// Kinds of records.
const INSERT: u8 = 1;
const UPSERT: u8 = 2;
const DELETE: u8 = 3;

/// Two segments, a dead row in each, and records in the log: id 3 was deleted and came again, in
/// the second segment, and ids from 200 on are in no segment yet.
struct Subject {
    vfs: Arc<dyn Vfs>,
}

fn rows(ids: &[u64]) -> Vec<u8> {
    let row = |id: &u64| {
        let id = *id as f32;
        (0..6u8).flat_map(move |at| (id * f32::from(at + 1) % 17.0 + 1.0).to_le_bytes())
    };
    ids.iter().flat_map(row).collect()
}

fn open(vfs: &Arc<dyn Vfs>) -> Result<Writer> {
    let update = UpdateOptions::default().with_merge_by_hand(true);
    Writer::open_on(vfs, Path::new(DIR), &OpenOptions::default(), &update)
}

fn insert(writer: &Writer, ids: &[u64]) {
    let rows = rows(ids);
    writer
        .insert(&Rows::new(&rows, SHAPE).with_ids(ids))
        .unwrap();
}

impl Subject {
    fn new() -> Self {
        let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
        let options = CreateOptions::new(SHAPE, Metric::Cosine)
            .with_degree(8)
            .with_expected(500);
        Writer::create_on(&vfs, Path::new(DIR), &options).unwrap();
        let writer = open(&vfs).unwrap();
        insert(&writer, &(0..70).rev().collect::<Vec<u64>>());
        writer.flush(&NoProgress).unwrap();
        writer.delete(&[3], Durability::Synced).unwrap();
        let second: Vec<u64> = (100..150).chain([3]).collect();
        insert(&writer, &second);
        writer.flush(&NoProgress).unwrap();
        writer.delete(&[101], Durability::Synced).unwrap();
        insert(&writer, &[200]);
        writer.flush(&NoProgress).unwrap();
        insert(&writer, &[201, 202]);
        writer.delete(&[202, 7, 9999], Durability::Synced).unwrap();
        insert(&writer, &[203]);
        drop(writer);
        let subject = Self { vfs };
        let report = verify_on(&subject.vfs, Path::new(DIR), &NoProgress).unwrap();
        assert_eq!(report.problems, [""; 0]);
        assert_eq!((report.records, report.log_records), (122, 3));
        subject
    }

    fn manifest(&self) -> Value {
        let payload = read_manifest(self.vfs.as_ref(), Path::new(DIR)).unwrap();
        serde_json::from_slice(&payload).unwrap()
    }

    fn set(&self, path: &str, value: Value) {
        let mut manifest = self.manifest();
        *manifest.pointer_mut(path).unwrap() = value;
        self.commit(&manifest);
    }

    fn commit(&self, manifest: &Value) {
        let bytes = serde_json::to_vec(manifest).unwrap();
        commit_manifest(self.vfs.as_ref(), Path::new(DIR), &bytes).unwrap();
    }

    fn change(&self, segment: usize, file: &str, edit: impl FnOnce(&mut [u8])) {
        let entry = self.manifest()["segments"][segment]["files"][file].clone();
        let entry = serde_json::from_value(entry).unwrap();
        change_unit(self.vfs.as_ref(), Path::new(DIR), &entry, edit);
    }

    fn floor(&self) -> u64 {
        self.manifest()["changes"]["floor"].as_u64().unwrap()
    }

    fn log_files(&self) -> Vec<PathBuf> {
        let dir = Path::new(DIR).join("log");
        let names = self.vfs.list(&dir).unwrap();
        names.iter().map(|name| dir.join(name)).collect()
    }

    /// Puts a record behind the log, as a program with a defect would.
    fn append(&self, kind: u8, ids: &[u64], rows: &[u8]) {
        let log = serde_json::from_value(self.manifest()["changes"]["log"].clone());
        let log: FileUuid = log.unwrap();
        let place = LogPlace::new(Arc::clone(&self.vfs), &Path::new(DIR).join("log"), log);
        let visit = |_: Lsn, _: &[u8]| Ok::<(), StoreError>(());
        let floor = Lsn(self.floor());
        let tail = replay_log(&place, floor, OnDamage::Refuse, visit)
            .unwrap()
            .tail;
        let mut writer = LogWriter::continue_after(&place, &tail).unwrap();
        let mut record = vec![kind, 0, 0, 0];
        record.extend((ids.len() as u32).to_le_bytes());
        record.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        record.extend(rows);
        writer
            .reserve(1, record.len() as u64, Room::Ordinary)
            .unwrap();
        writer.append(&[&record]).unwrap();
        writer.close().unwrap();
    }

    /// `verify` finds a problem in these words.
    #[track_caller]
    fn expect_found(&self, words: &str) {
        let report = verify_on(&self.vfs, Path::new(DIR), &NoProgress).unwrap();
        let found = report
            .problems
            .iter()
            .any(|problem| problem.contains(words));
        assert!(found, "{words}: {:?}", report.problems);
    }

    /// Who would change it is told so.
    #[track_caller]
    fn expect_refused(&self, kind: ErrorKind, words: &str) {
        let error = open(&self.vfs).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }

    #[track_caller]
    fn expect_corrupt(&self, words: &str) {
        self.expect_found(words);
        self.expect_refused(ErrorKind::Corrupt, words);
        // Files are sound, and may be searched.
        pageway::Index::open_on(&self.vfs, Path::new(DIR), &OpenOptions::default()).unwrap();
    }
}

fn entry(payload: &[u8], at: usize) -> (u64, u32) {
    let own = &payload[12 * at..12 * at + 12];
    let id = u64::from_le_bytes(own[..8].try_into().unwrap());
    (id, u32::from_le_bytes(own[8..].try_into().unwrap()))
}

fn put_node(payload: &mut [u8], at: usize, node: u32) {
    payload[12 * at + 8..12 * at + 12].copy_from_slice(&node.to_le_bytes());
}

#[test]
fn the_log_is_there() {
    let subject = Subject::new();
    for file in subject.log_files() {
        subject.vfs.remove_file(&file).unwrap();
    }
    subject.expect_corrupt("the file that holds the first records above the floor");
}

#[test]
fn the_log_is_that_of_the_index() {
    let subject = Subject::new();
    subject.set("/changes/log", json!("000102030405060708090a0b0c0d0e0f"));
    subject.expect_corrupt("another index");
}

#[test]
fn the_log_went_the_way_of_the_files() {
    let subject = Subject::new();
    subject.set("/changes/floor_chain", json!(1));
    subject.expect_corrupt("went another way");
}

#[test]
fn the_log_reaches_the_floor_and_begins_there() {
    let subject = Subject::new();
    let floor = subject.floor();
    subject.set("/changes/floor_chain", json!(null));
    subject.set("/changes/floor", json!(floor + 40));
    subject.expect_corrupt("records up to the floor");
    subject.set("/changes/floor", json!(0));
    subject.expect_corrupt("the file that holds the first records above the floor");
}

#[test]
fn groups_of_the_log_are_intact() {
    let subject = Subject::new();
    let files = subject.log_files();
    let file = files.last().unwrap();
    let mut bytes = contents(subject.vfs.as_ref(), file);
    bytes[4096 + 80] ^= 1;
    overwrite(subject.vfs.as_ref(), file, &bytes);
    subject.expect_corrupt("a group that was durable");
}

#[test]
fn records_of_the_log_can_be_made_again() {
    let good = rows(&[300, 301]);
    let mut nan = good.clone();
    nan[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let cases: [(u8, &[u64], &[u8], &str); 7] = [
        (INSERT, &[300, 7], &good, ""),
        (INSERT, &[300, 60], &good, "id 60: a row has it already"),
        (INSERT, &[300, 203], &good, "id 203: a row has it already"),
        (UPSERT, &[300, 300], &good, "300"),
        (UPSERT, &[300, 301], &nan, "row 0"),
        (DELETE, &[300], &good, "vectors of another length"),
        (
            9,
            &[300, 301],
            &good,
            "a kind that this version does not know",
        ),
    ];
    for (kind, ids, rows, words) in cases {
        let subject = Subject::new();
        subject.append(kind, ids, rows);
        if words.is_empty() {
            // The log deleted id 7, and it may come again.
            assert!(common::sound(&subject.vfs, Path::new(DIR)));
            assert_eq!(open(&subject.vfs).unwrap().index().len(), 123);
        } else {
            subject.expect_found(words);
        }
    }
}

#[test]
fn a_table_of_ids_says_what_records_say() {
    let subject = Subject::new();
    subject.change(0, "ids", |payload| {
        let (first, second) = (entry(payload, 0).1, entry(payload, 1).1);
        put_node(payload, 0, second);
        put_node(payload, 1, first);
    });
    subject.expect_found("the table of ids names other nodes than the records do");
}

#[test]
fn a_table_of_ids_rises_and_has_each_node_once() {
    let subject = Subject::new();
    subject.change(0, "ids", |payload| payload[..8].copy_from_slice(&[9; 8]));
    subject.expect_found("out of place");
    subject.expect_refused(ErrorKind::Corrupt, "out of place");
    let subject = Subject::new();
    subject.change(0, "ids", |payload| {
        let other = entry(payload, 1).1;
        put_node(payload, 0, other);
    });
    subject.expect_found("has another id beside");
}

#[test]
fn every_segment_has_a_table_of_ids() {
    let subject = Subject::new();
    subject.set("/segments/1/files/ids", json!(null));
    subject.expect_corrupt("no table of ids in the manifest");
}

#[test]
fn dead_rows_exist() {
    let subject = Subject::new();
    subject.change(0, "dead", |payload| payload[9] |= 0x80);
    subject.expect_found("a dead row that does not exist");
}

#[test]
fn an_id_is_that_of_one_living_row() {
    let subject = Subject::new();
    // The first segment forgets that its row of id 3 died.
    subject.set("/segments/0/files/dead", json!(null));
    subject.expect_found("id 3: rows of two segments live");
}

#[test]
fn the_next_id_was_never_given() {
    let subject = Subject::new();
    subject.set("/changes/next_id", json!(130));
    subject.expect_found("the next id is 130, and a row has id 200");
}
