//! Merges that keep the lists there are.

use std::path::Path;

use pageway_types::{Metric, NoProgress, VectorRead};

use super::model::{Model, SHAPE};
use crate::build::KeptRows;
use crate::error::ErrorKind;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions};
use crate::presets::Preset;
use crate::source::{IdSlice, VectorSlice};
use crate::update::living::LivingRows;
use crate::update::{Rows, UpdateOptions, Writer, verify};
use crate::{Durability, Index};

const ROWS: u64 = 1500;

fn built(dir: &Path, model: &mut Model) {
    let (rows, ids) = (model.rows(ROWS as usize), (0..ROWS).collect::<Vec<u64>>());
    let bytes = rows.concat();
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let ids_read = IdSlice(&ids);
    let options = BuildOptions {
        preset: Preset::FreshDiskAnn,
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

fn opened(dir: &Path, memory: Option<u64>) -> Writer {
    let options = UpdateOptions::default()
        .with_memory(memory.map(MemoryWish::Bytes))
        .with_threads(1)
        .with_in_foreground(true);
    Writer::open(dir, &OpenOptions::default(), &options).unwrap()
}

/// Replaces a share of the rows, the oldest, and flushes.
fn replace(writer: &Writer, model: &mut Model, count: u64) {
    let gone: Vec<u64> = model.rows.keys().copied().take(count as usize).collect();
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| !gone.contains(id));
    let rows = model.rows(count as usize);
    let first = model.rows.keys().next_back().map_or(0, |id| id + 1);
    let ids: Vec<u64> = (first..first + count).collect();
    let bytes = rows.concat();
    writer
        .insert(&Rows::new(&bytes, SHAPE).with_ids(&*ids))
        .unwrap();
    model.rows.extend(ids.into_iter().zip(rows));
    writer.flush(&NoProgress).unwrap();
}

/// The same, and merges what is due.
fn churn(writer: &Writer, model: &mut Model, count: u64) {
    replace(writer, model, count);
    writer.settle(&NoProgress).unwrap();
}

/// Churns all rows twice; the manifest in the end.
fn live(dir: &Path, memory: Option<u64>) -> crate::manifest::Manifest {
    let mut model = Model::new(11);
    built(dir, &mut model);
    let writer = opened(dir, memory);
    for _ in 0..20 {
        churn(&writer, &mut model, ROWS / 10);
        assert!(model.check(writer.index()) > 0.95);
    }
    let report = writer.merge(true, &NoProgress).unwrap();
    assert!(report.merges <= 1, "{report:?}");
    let changes = writer.changes().unwrap();
    assert_eq!((changes.segments, changes.dead), (1, 0), "{changes:?}");
    assert!(
        changes.work.merges >= 5 && changes.merge_refused.is_none(),
        "{changes:?}"
    );
    assert!(model.check(writer.index()) > 0.95);
    assert!(verify(dir, &NoProgress).unwrap().is_sound());
    writer.index().version().manifest.clone()
}

#[test]
fn living_rows_that_are_gathered_are_those_that_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new(5);
    built(dir.path(), &mut model);
    let options = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &options).unwrap();
    replace(&writer, &mut model, 700);
    let version = writer.index().version();
    let living = LivingRows::new(&version.segments, SHAPE);
    let (count, row_bytes) = (VectorRead::count(&living), SHAPE.row_bytes());
    assert_eq!((version.segments.len(), count), (2, ROWS));
    let mut all = vec![0; count as usize * row_bytes];
    VectorRead::read(&living, 0, &mut all).unwrap();
    for step in [1, 7, 401] {
        let rows: Vec<u32> = (0..count as u32).step_by(step).collect();
        let mut gathered = vec![0; rows.len() * row_bytes];
        living.gather(&rows, &mut gathered).unwrap();
        let read = all.chunks_exact(row_bytes).step_by(step);
        assert!(gathered.chunks_exact(row_bytes).eq(read), "every {step}");
    }
    let beyond = living.gather(&[3, count as u32], &mut vec![0; 2 * row_bytes]);
    assert_eq!(beyond.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn lists_that_are_kept_lead_to_all_rows_over_generations() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let manifest = live(one.path(), None);
    // A graph that is built whole has no parts.
    assert_eq!(manifest.segments[0].graph.shards, 1);
    let graph = manifest.segments[0].graph;
    assert!(
        graph.mean_degree > 8.0 && graph.max_degree <= 16,
        "{graph:?}"
    );
    // So do they in a memory that is given.
    let again = live(other.path(), Some(128 << 20));
    assert_eq!(again.segments[0].graph.shards, 1);
}

#[test]
fn an_index_of_one_segment_drops_its_dead_and_keeps_its_lists() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(12));
    built(dir.path(), &mut model);
    let writer = opened(dir.path(), None);
    let gone = model.some(600);
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| !gone.contains(id));
    writer.merge(true, &NoProgress).unwrap();
    let version = writer.index().version();
    let graph = version.manifest.segments[0].graph;
    assert_eq!((version.node_count(), graph.shards), (900, 1));
    assert!(model.check(writer.index()) > 0.95);
    // And all of them.
    let gone: Vec<u64> = model.rows.keys().copied().collect();
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.clear();
    writer.merge(true, &NoProgress).unwrap();
    assert!(writer.index().is_empty());
}
