//! Codes of rows that are not like those that quantizers were trained on.

use pageway_store::FileEntry;
use pageway_types::{Metric, NoProgress};

use super::model::{Model, SHAPE};
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions};
use crate::presets::Preset;
use crate::source::VectorSlice;
use crate::update::building::is_calibrated_by;
use crate::update::{Changes, Rows, UpdateOptions, Writer, describe_changes, verify};
use crate::{Durability, Index};

/// Rows whose components are alike in fours, or not at all.
fn rows(model: &mut Model, count: usize, alike: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        for _ in 0..SHAPE.dimension / 4 {
            let common = model.below(200) as u8;
            bytes.extend((0..4).map(|_| {
                if alike {
                    common + model.below(8) as u8
                } else {
                    model.below(208) as u8
                }
            }));
        }
    }
    bytes
}

fn built(dir: &std::path::Path, model: &mut Model) -> Writer {
    built_as(dir, model, (Preset::DiskAnn, None))
}

fn built_as(
    dir: &std::path::Path,
    model: &mut Model,
    (preset, form): (Preset, Option<&str>),
) -> Writer {
    // Fewer would be fitted too well to tell others.
    let bytes = rows(model, 6000, true);
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let options = BuildOptions {
        preset,
        form: form.map(str::to_owned),
        metric: Metric::L2,
        degree: 12,
        code_bytes: Some(3),
        memory: Some(MemoryWish::Bytes(16 << 20)),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    Index::build(
        dir,
        &BuildInput::new(&vectors, "rows"),
        &options,
        &NoProgress,
    )
    .unwrap();
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true)
        .with_in_foreground(true);
    Writer::open(dir, &OpenOptions::default(), &update).unwrap()
}

fn put(writer: &Writer, bytes: &[u8]) -> Changes {
    writer.insert(&Rows::new(bytes, SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    writer.changes().unwrap()
}

#[test]
fn codes_that_drifted_are_trained_anew_by_a_merge_of_all() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(1));
    let writer = built(dir.path(), &mut model);
    assert_eq!(writer.changes().unwrap().code_drift, 1.0);
    let changes = put(&writer, &rows(&mut model, 600, true));
    assert!(changes.code_drift < 1.3, "{changes:?}");
    let codebooks = || -> Vec<FileEntry> {
        let version = writer.index().version();
        let segments = version.manifest.segments.iter();
        segments.map(|one| one.files.codebook.clone()).collect()
    };
    let is_there = |file: &FileEntry| dir.path().join(&file.name).exists();
    let before = codebooks()[0].clone();
    assert_eq!(codebooks(), [before.clone(), before.clone()]);
    let copy = dir.path().join("copy");
    writer.snapshot(&copy, &NoProgress).unwrap();
    assert!(verify(&copy, &NoProgress).unwrap().is_sound());
    writer.merge(true, &NoProgress).unwrap();
    let changes = writer.changes().unwrap();
    assert!(
        codebooks() == [before.clone()] && is_there(&before) && changes.code_drift < 1.3,
        "{changes:?}"
    );
    let changes = put(&writer, &rows(&mut model, 600, false));
    assert!(changes.code_drift > 1.05, "{changes:?}");
    let changes = put(&writer, &rows(&mut model, 3000, false));
    assert!(changes.code_drift > 1.3, "{changes:?}");
    let summary = describe_changes(dir.path()).unwrap().unwrap();
    assert_eq!(summary.changed_rows, changes.changed_rows);
    assert!((summary.code_drift - changes.code_drift).abs() < 1e-6);
    writer.merge(true, &NoProgress).unwrap();
    let changes = writer.changes().unwrap();
    assert!(
        codebooks() != [before.clone()] && !is_there(&before) && changes.code_drift == 1.0,
        "{changes:?}"
    );
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn recall_is_measured_anew_once_rows_have_changed() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(2));
    let writer = built(dir.path(), &mut model);
    let calibration = || writer.index().version().manifest.calibration.clone();
    let first = calibration();
    writer.delete(&[1, 2, 3], Durability::Synced).unwrap();
    let changes = put(&writer, &rows(&mut model, 100, true));
    assert_eq!(changes.changed_rows, 103);
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(calibration(), first);
    let gone: Vec<u64> = (100..900).collect();
    writer.delete(&gone, Durability::Synced).unwrap();
    put(&writer, &rows(&mut model, 500, true));
    drop(writer);
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    assert_eq!(writer.changes().unwrap().changed_rows, 1403);
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(writer.changes().unwrap().changed_rows, 0);
    assert_ne!(writer.index().version().manifest.calibration, first);
}

#[test]
fn recall_is_measured_anew_whenever_most_rows_get_other_clusters() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(5));
    let clustered = (Preset::Pageway, Some("clustered"));
    let writer = built_as(dir.path(), &mut model, clustered);
    let first = writer.index().version().manifest.calibration.clone();
    put(&writer, &rows(&mut model, 100, true));
    let version = writer.index().version();
    assert!(version.manifest.calibration == first && version.segments.len() == 2);
    assert!(!is_calibrated_by(&version, 100));
    writer.merge(true, &NoProgress).unwrap();
    let version = writer.index().version();
    assert_ne!(version.manifest.calibration, first);
}

#[test]
fn recall_is_measured_anew_where_deletes_alone_lead_to_a_merge() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(3));
    drop(built(dir.path(), &mut model));
    let update = UpdateOptions::default().with_threads(1);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    let calibration = || writer.index().version().manifest.calibration.clone();
    let first = calibration();
    let gone: Vec<u64> = (0..2400).collect();
    writer.delete(&gone, Durability::Synced).unwrap();
    writer.settle(&NoProgress).unwrap();
    assert_eq!(writer.index().version().dead_count(), 0, "merged by itself");
    assert_ne!(calibration(), first);
}

#[test]
fn rows_that_came_while_recall_was_measured_count_as_others() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(4));
    let writer = built(dir.path(), &mut model);
    let version = writer.index().version();
    let measured = version.living();
    // Whoever measured noted no change since.
    assert_eq!(writer.changes().unwrap().changed_rows, 0);
    assert!(!is_calibrated_by(&version, measured * 6 / 5));
    assert!(is_calibrated_by(&version, measured * 5 / 4));
}
