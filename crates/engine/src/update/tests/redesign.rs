//! Designs that are chosen anew for as many rows as there are.

use pageway_types::{ElementType, Metric, NoProgress, VectorShape};

use super::model::Model;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::source::VectorSlice;
use crate::update::{CreateOptions, Rows, UpdateOptions, Writer, verify};
use crate::{Durability, Index};

const SHAPE: VectorShape = VectorShape {
    dimension: 32,
    element: ElementType::U8,
};

fn rows(model: &mut Model, count: usize) -> Vec<u8> {
    let bytes = count * SHAPE.dimension as usize;
    (0..bytes).map(|_| model.below(256) as u8).collect()
}

fn open(dir: &std::path::Path) -> Writer {
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_in_foreground(true);
    Writer::open(dir, &OpenOptions::default(), &update).unwrap()
}

/// Bytes of a code of each segment.
fn code_bytes(index: &Index) -> Vec<u32> {
    let manifest = &index.version().manifest;
    let segments = manifest.segments.iter();
    segments
        .map(|segment| segment.spec.storage.quantizer.code_bytes())
        .collect()
}

/// Rows are found by themselves, all but few.
fn check(index: &Index, bytes: &[u8], first: usize) {
    let options = SearchOptions::nearest(1).with_effort(Effort::ListSize(100));
    let rows = bytes.chunks(32).enumerate().step_by(97);
    let missed = rows.clone().filter(|(number, row)| {
        let answers = index.search(&Queries::new(row, SHAPE), &options).unwrap();
        answers.ids != [(first + number) as u64]
    });
    let missed = missed.count();
    assert!(25 * missed <= rows.count(), "{missed}");
}

/// Deletes a quarter of a thousand rows, and none that `check` looks for.
fn delete_a_quarter(writer: &Writer, first: usize) {
    let numbers = (0..1000).filter(|number| (1..25).contains(&(number % 97)));
    let ids: Vec<u64> = numbers.map(|number| (first + number) as u64).collect();
    let deleted = writer.delete(&ids, Durability::Synced).unwrap();
    assert_eq!(deleted.absent, 0);
}

/// What was calibrated can be asked for, whatever died since.
fn search_as_calibrated(index: &Index, bytes: &[u8]) {
    let best = index.version().manifest.calibration.best(10).unwrap();
    let options = SearchOptions::nearest(10).with_effort(Effort::Recall(best.min(0.99)));
    let queries = Queries::new(&bytes[..20 * 32], SHAPE);
    index.search(&queries, &options).unwrap();
}

#[test]
fn codes_become_longer_where_fewer_rows_came_than_were_expected() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(1));
    let memory = 2_000_000;
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(12)
        .with_memory(memory)
        .with_expected(90_000);
    Writer::create(dir.path(), &options).unwrap();
    let writer = open(dir.path());
    let bytes = rows(&mut model, 3000);
    writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    let before = code_bytes(writer.index());
    writer.merge(true, &NoProgress).unwrap();
    let after = code_bytes(writer.index());
    assert!(after[0] > before[0], "{before:?} {after:?}");
    check(writer.index(), &bytes, 0);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

/// An index that was built of rows in this memory, and a quarter more that came in two flushes.
fn grown(dir: &std::path::Path, memory: MemoryWish) -> (Writer, Vec<u8>) {
    let mut model = Model::new(3);
    let bytes = rows(&mut model, 12_000);
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let options = BuildOptions {
        metric: Metric::L2,
        degree: 12,
        memory: Some(memory),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    let input = BuildInput::new(&vectors, "rows");
    Index::build(dir, &input, &options, &NoProgress).unwrap();
    let writer = open(dir);
    for _ in 0..2 {
        let bytes = rows(&mut model, 1500);
        writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
        writer.flush(&NoProgress).unwrap();
    }
    (writer, bytes)
}

#[test]
fn a_share_of_the_rows_follows_them() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, bytes) = grown(dir.path(), MemoryWish::Share(6.0));
    let memory = writer.index().version().manifest.memory_bytes;
    assert_eq!(memory, 15_000 * 32 * 6);
    writer.merge(false, &NoProgress).unwrap();
    assert_eq!(code_bytes(writer.index()).len(), 3);
    check(writer.index(), &bytes, 0);
    let ids: Vec<u64> = (0..5000).collect();
    writer.delete(&ids, Durability::Synced).unwrap();
    writer.merge(true, &NoProgress).unwrap();
    let memory = writer.index().version().manifest.memory_bytes;
    assert_eq!(memory, 10_000 * 32 * 6);
    check(writer.index(), &bytes[5044 * 32..], 5044);
}

#[test]
fn lists_that_no_longer_fit_beside_those_of_what_came_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, bytes) = grown(dir.path(), MemoryWish::Share(2.9));
    let lacks_lists = || {
        let version = writer.index().version();
        let lacks = version.segments.iter().any(|own| own.shape.lacks_lists());
        (version.segments.len(), lacks)
    };
    assert_eq!(lacks_lists(), (3, true));
    writer.merge(false, &NoProgress).unwrap();
    assert_eq!(lacks_lists(), (1, false));
    check(writer.index(), &bytes, 0);
}

#[test]
fn codes_that_are_too_long_for_what_came_become_shorter() {
    let dir = tempfile::tempdir().unwrap();
    let memory = 840_000;
    let (writer, bytes) = grown(dir.path(), MemoryWish::Bytes(memory));
    let before = code_bytes(writer.index());
    writer.merge(false, &NoProgress).unwrap();
    let after = code_bytes(writer.index());
    assert_eq!((before.len(), after.len()), (3, 1));
    assert!(after[0] < before[0], "{before:?} {after:?}");
    assert_eq!(writer.index().version().manifest.memory_bytes, memory);
    check(writer.index(), &bytes, 0);
    // With room for what comes next.
    let bytes = rows(&mut Model::new(4), 1500);
    writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    writer.merge(false, &NoProgress).unwrap();
    assert_eq!(code_bytes(writer.index()).len(), 2);
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn memory_that_was_given_holds_however_many_rows_come() {
    holds(Preset::default(), 800_000);
}

#[test]
fn memory_that_was_given_holds_where_pages_are_patched() {
    holds(Preset::OdinAnn, 1_000_000);
}

fn holds(preset: Preset, memory: u64) {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(2));
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_preset(preset)
        .with_degree(12)
        .with_memory(memory)
        .with_expected(2000);
    Writer::create(dir.path(), &options).unwrap();
    let writer = open(dir.path());
    let mut lengths = Vec::new();
    for number in 0..10 {
        let bytes = rows(&mut model, 1000);
        writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
        writer.flush(&NoProgress).unwrap();
        writer.merge(false, &NoProgress).unwrap();
        delete_a_quarter(&writer, number * 1000);
        let index = writer.index();
        search_as_calibrated(index, &bytes);
        lengths.push(code_bytes(index)[0]);
        assert_eq!(index.version().manifest.memory_bytes, memory);
        check(index, &bytes, number * 1000);
    }
    assert!(lengths.first() > lengths.last(), "{lengths:?}");
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn the_form_stays_where_shorter_codes_leave_room_for_what_comes() {
    let (dir, memory) = (tempfile::tempdir().unwrap(), 800_000);
    let (writer, mut bytes) = grown(dir.path(), MemoryWish::Bytes(memory));
    let mut model = Model::new(5);
    for number in 0..16u64 {
        let ids: Vec<u64> = (number * 700..number * 700 + 1000).collect();
        bytes = rows(&mut model, 1000);
        let coming = Rows::new(&bytes, SHAPE).with_ids(ids.as_slice());
        writer.upsert(&coming).unwrap();
        writer.flush(&NoProgress).unwrap();
    }
    let manifest = &writer.index().version().manifest;
    assert!(manifest.spec.execution.entry.is_clusters());
    assert_eq!(manifest.memory_bytes, memory);
    check(writer.index(), &bytes, 15 * 700);
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn a_flush_merges_nothing_where_others_did_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, _) = grown(dir.path(), MemoryWish::Bytes(780_000));
    let generation = || writer.index().version().manifest.generation;
    let segments = || writer.index().version().segments.len();
    let known = generation();
    let merge = |known| writer.common.merge_for_memory(known, &NoProgress).unwrap();
    assert!(merge(known - 1) && segments() == 3);
    assert!(merge(known) && segments() == 1);
    let known = generation();
    assert!(!merge(known) && generation() == known);
}
