//! Rows that are put into the segment that is there.

use std::path::Path;

use pageway_types::{ElementType, Metric, NoProgress, VectorShape};

use super::model::{Model, SHAPE};
use crate::Index;
use crate::Overrides;
use crate::manifest::SegmentEntry;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;

use crate::source::{IdSlice, VectorSlice};
use crate::update::{Rows, UpdateOptions, Writer, verify};

const ROWS: u64 = 1500;

fn built(dir: &Path, model: &mut Model) {
    built_of(Preset::OdinAnn, dir, model);
}

pub(super) fn built_of(preset: Preset, dir: &Path, model: &mut Model) {
    built_with((preset, Overrides::default()), dir, model, ROWS);
}

pub(super) fn built_with(
    (preset, overrides): (Preset, Overrides),
    dir: &Path,
    model: &mut Model,
    count: u64,
) {
    let (rows, ids) = (model.rows(count as usize), (0..count).collect::<Vec<u64>>());
    let bytes = rows.concat();
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let ids_read = IdSlice(&ids);
    let options = BuildOptions {
        preset,
        overrides,
        metric: Metric::L2,
        degree: 16,
        build_list: 40,
        memory: Some(MemoryWish::Bytes(16 << 20)),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids_read));
    Index::build(dir, &input, &options, &NoProgress).unwrap();
    model.rows.extend(ids.into_iter().zip(rows));
}

pub(super) fn opened(dir: &Path) -> Writer {
    let options = UpdateOptions::default()
        .with_threads(1)
        .with_in_foreground(true);
    Writer::open(dir, &OpenOptions::default(), &options).unwrap()
}

/// Replaces some rows and puts new ones in, and flushes.
pub(super) fn churn(writer: &Writer, model: &mut Model, count: usize) {
    let mut ids = model.some(count / 2);
    let first = model.rows.keys().next_back().map_or(0, |id| id + 1);
    ids.extend(first..first + count.div_ceil(2) as u64);
    let rows = model.rows(ids.len());
    let bytes = rows.concat();
    writer
        .upsert(&Rows::new(&bytes, SHAPE).with_ids(&*ids))
        .unwrap();
    model.rows.extend(ids.into_iter().zip(rows));
    writer.flush(&NoProgress).unwrap();
}

pub(super) fn entry(writer: &Writer) -> SegmentEntry {
    let version = writer.index().version();
    let [entry] = &version.manifest.segments[..] else {
        panic!("several segments");
    };
    entry.clone()
}

#[test]
fn few_rows_change_few_pages_and_all_is_found_by_all() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(21));
    built(dir.path(), &mut model);
    let writer = opened(dir.path());
    writer.flush(&NoProgress).unwrap();
    let before = entry(&writer);
    let reader = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let mut known = Model::new(22);
    known.rows = model.rows.clone();
    let (mut images, mut differ) = (Vec::new(), Vec::new());
    for flushes in 1..=20 {
        churn(&writer, &mut model, 2);
        assert!(model.check(writer.index()) > 0.97);
        let own = entry(&writer);
        assert_eq!(own.node_count, before.node_count + 2 * flushes);
        assert_eq!(own.patched.map(|own| own.built), Some(before.node_count));
        differ.push(own.files.differences().is_some());
        images.push(own.files.patches.map_or(0, |own| own.images.len()));
    }
    // Most wrote bytes that change, and one file of images was made of several.
    assert_eq!(images[..2], [1, 2], "{images:?}");
    assert!(images.iter().all(|count| *count <= 8), "{images:?}");
    assert!(images.windows(2).any(|two| two[1] < two[0]), "{images:?}");
    assert!(
        differ.iter().filter(|some| **some).count() > 10,
        "{differ:?}"
    );
    assert!(differ.contains(&false), "{differ:?}");
    while entry(&writer).files.differences().is_none() {
        churn(&writer, &mut model, 2);
    }
    // Who has the former version open goes on to read it.
    assert!(known.check(&reader) > 0.97);
    reader.refresh().unwrap();
    assert!(model.check(&reader) > 0.97);
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    find_damage(dir.path());
    // And goes on after it was opened again.
    let writer = opened(dir.path());
    assert!(model.check(writer.index()) > 0.97);
    churn(&writer, &mut model, 5);
    assert!(model.check(writer.index()) > 0.97);
}

/// Flips a bit of each file that a patch writes.
#[expect(clippy::disallowed_methods, reason = "damage comes from elsewhere")]
fn find_damage(dir: &Path) {
    let mut flipped = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !["patch-", "differences-"]
            .iter()
            .any(|own| name.starts_with(own))
        {
            continue;
        }
        let sound = std::fs::read(&path).unwrap();
        let mut damaged = sound.clone();
        damaged[4096 + 20] ^= 4;
        std::fs::write(&path, &damaged).unwrap();
        let report = verify(dir, &NoProgress).unwrap();
        assert!(!report.is_sound(), "{name}");
        std::fs::write(&path, &sound).unwrap();
        flipped += 1;
    }
    assert!(flipped >= 3, "{flipped} files");
}

#[test]
fn segments_that_nobody_reads_any_more_are_forgotten() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(25));
    built(dir.path(), &mut model);
    let writer = opened(dir.path());
    for _ in 0..6 {
        churn(&writer, &mut model, 2);
    }
    let former = writer.common.upkeep.former.0.lock().unwrap();
    assert!(former.len() <= 2, "{} of 6 flushes", former.len());
}

#[test]
fn an_index_of_which_all_was_replaced_is_as_good_as_before() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(23));
    built(dir.path(), &mut model);
    let writer = opened(dir.path());
    for _ in 0..30 {
        let gone: Vec<u64> = model.rows.keys().copied().take(50).collect();
        writer.delete(&gone, crate::Durability::Synced).unwrap();
        model.rows.retain(|id, _| !gone.contains(id));
        churn(&writer, &mut model, 50);
        writer.settle(&NoProgress).unwrap();
        assert!(model.check(writer.index()) > 0.95);
        let changes = writer.changes().unwrap();
        assert_eq!(changes.segments, 1, "{changes:?}");
    }
    let work = writer.changes().unwrap().work;
    let is_patched = work.flushes == 30 && (5..=15).contains(&work.merges);
    assert!(is_patched, "{work:?}");
    writer.merge(true, &NoProgress).unwrap();
    assert!(entry(&writer).patched.is_none());
    assert!(model.check(writer.index()) > 0.95);
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

/// Rows of `f32` near some numbers of f16, off by a part of them.
fn floats(model: &mut Model, count: usize, part: f32) -> Vec<u8> {
    let mut value = |_| model.below(64) as f32 * (1.0 + part);
    let values = (0..count * SHAPE.dimension as usize).map(&mut value);
    values.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn rows_that_f16_holds_go_into_a_segment_of_f16_and_others_beside_it() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(24));
    let shape = VectorShape {
        element: ElementType::F32,
        ..SHAPE
    };
    let (bytes, ids) = (floats(&mut model, 600, 0.0), (0..600).collect::<Vec<u64>>());
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    let ids_read = IdSlice(&ids);
    let options = BuildOptions {
        preset: Preset::OdinAnn,
        metric: Metric::L2,
        degree: 16,
        memory: Some(MemoryWish::Bytes(16 << 20)),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids_read));
    Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
    let writer = opened(dir.path());
    writer.flush(&NoProgress).unwrap();
    for (part, first, segments) in [(0.0, 1000, 1), (0.001, 2000, 2)] {
        let rows = floats(&mut model, 5, part);
        let ids: Vec<u64> = (first..first + 5).collect();
        writer
            .insert(&Rows::new(&rows, shape).with_ids(&*ids))
            .unwrap();
        writer.flush(&NoProgress).unwrap();
        let version = writer.index().version();
        assert_eq!(version.segments.len(), segments);
        assert!(
            version
                .manifest
                .segments
                .iter()
                .any(SegmentEntry::is_narrowed)
        );
        let options = SearchOptions::nearest(1).with_effort(Effort::ListSize(100));
        for (row, id) in rows.chunks(shape.row_bytes()).zip(ids) {
            let found = writer.index().search(&Queries::new(row, shape), &options);
            let found = found.unwrap();
            assert_eq!((found.ids[0], found.distances[0]), (id, 0.0));
        }
    }
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}
