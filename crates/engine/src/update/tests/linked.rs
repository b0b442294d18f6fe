//! Rows that nodes of the segment lead to.

use std::sync::atomic::Ordering;
use std::thread::scope;

use pageway_types::{ElementType, NoProgress, NodeId, VectorShape};

use super::churn::Gate;
use super::model::{Model, SHAPE};
use super::patch::{built_with, entry, opened};
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::resolve::{Source, list_reader};
use crate::source::{IdSlice, VectorSlice};
use crate::spec::DeltaSpec;
use crate::update::{Rows, UpdateOptions, Writer};
use crate::{Index, Overrides};

const ROWS: u64 = 3000;

fn built(delta: DeltaSpec, seed: u64) -> (tempfile::TempDir, Model) {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(seed));
    let overrides = Overrides {
        delta: Some(delta),
        ..Overrides::default()
    };
    built_with((Preset::OdinAnn, overrides), dir.path(), &mut model, ROWS);
    (dir, model)
}

/// Puts rows in, in calls of so many.
fn insert(writer: &Writer, model: &mut Model, rows: Vec<Vec<u8>>, call: usize) {
    let first = model.rows.keys().next_back().map_or(0, |id| id + 1);
    let ids: Vec<u64> = (first..first + rows.len() as u64).collect();
    for (ids, rows) in ids.chunks(call).zip(rows.chunks(call)) {
        let bytes = rows.concat();
        writer
            .insert(&Rows::new(&bytes, SHAPE).with_ids(ids))
            .unwrap();
    }
    model.rows.extend(ids.into_iter().zip(rows));
}

/// Exact distances of some searches.
fn compared(index: &Index, model: &mut Model) -> u64 {
    let queries = model.rows(20).concat();
    let options = SearchOptions {
        effort: Effort::ListSize(50),
        ..SearchOptions::nearest(10)
    };
    let answers = index.search(&Queries::new(&queries, SHAPE), &options);
    let stats = answers.unwrap().stats;
    stats.iter().map(|own| own.exact_distances).sum()
}

#[test]
fn nodes_lead_to_rows_and_fewer_are_compared() {
    let mut costs = Vec::new();
    for delta in [DeltaSpec::Scan, DeltaSpec::Linked] {
        let (dir, mut model) = built(delta, 61);
        let writer = opened(dir.path());
        writer.flush(&NoProgress).unwrap();
        let rows = model.rows(600);
        insert(&writer, &mut model, rows, 7);
        let work = writer.changes().unwrap().work;
        let is_linked = delta == DeltaSpec::Linked;
        assert_eq!(work.linked, if is_linked { 600 } else { 0 });
        assert_eq!(work.link_pages > 0, is_linked);
        assert!(model.check(writer.index()) > 0.97);
        costs.push(compared(writer.index(), &mut model));
        // Rows that die are not found, those that replace them are.
        let (gone, came) = (model.some(300), model.rows(200));
        writer
            .delete(&gone[..100], crate::Durability::Synced)
            .unwrap();
        gone[..100].iter().for_each(|id| {
            model.rows.remove(id);
        });
        let bytes = came.concat();
        let replaced = &gone[100..];
        writer
            .upsert(&Rows::new(&bytes, SHAPE).with_ids(replaced))
            .unwrap();
        model.rows.extend(replaced.iter().copied().zip(came));
        assert!(model.check(writer.index()) > 0.97);
        writer.flush(&NoProgress).unwrap();
        assert!(entry(&writer).patched.is_some());
        assert!(model.check(writer.index()) > 0.97);
    }
    assert!(costs[1] * 2 < costs[0], "{costs:?}");
}

#[test]
fn rows_of_a_new_kind_are_found() {
    for delta in [DeltaSpec::Linked, DeltaSpec::Scan] {
        rows_of_a_new_kind(delta);
    }
}

/// A row that is far from those that were built: their components are near each other.
fn far(model: &mut Model) -> Vec<u8> {
    let middles = [0, 160].into_iter().cycle().take(SHAPE.dimension as usize);
    middles
        .map(|middle| middle + model.below(50) as u8)
        .collect()
}

/// Of 200 nearest neighbours of such rows, those that are found.
fn found_of_far(writer: &Writer, model: &mut Model) -> usize {
    let queries: Vec<Vec<u8>> = (0..20).map(|_| far(model)).collect();
    let options = SearchOptions {
        effort: Effort::ListSize(50),
        ..SearchOptions::nearest(10)
    };
    let bytes = queries.concat();
    let asked = Queries::new(&bytes, SHAPE);
    let answers = writer.index().search(&asked, &options).unwrap();
    let each = queries.iter().zip(answers.distances.chunks(10));
    let found = each.map(|(query, own)| {
        let nearest = model.nearest(query, 10);
        own.iter().filter(|own| **own <= nearest[9]).count()
    });
    found.sum()
}

fn rows_of_a_new_kind(delta: DeltaSpec) {
    let (dir, mut model) = built(delta, 62);
    let writer = opened(dir.path());
    let rows = (0..300).map(|_| far(&mut model)).collect();
    insert(&writer, &mut model, rows, 1);
    for flushed in [false, true] {
        if flushed {
            writer.flush(&NoProgress).unwrap();
        }
        let found = found_of_far(&writer, &mut model);
        assert!(
            found >= 195,
            "{delta:?}: {found} of 200, flushed: {flushed}"
        );
    }
}

#[test]
fn rows_that_are_linked_beside_a_flush_name_those_that_it_puts_in() {
    let (dir, mut model) = built(DeltaSpec::Linked, 63);
    let writer = opened(dir.path());
    let (first, second): (Vec<_>, Vec<_>) = (
        (0..200).map(|_| far(&mut model)).collect(),
        (0..100).map(|_| far(&mut model)).collect(),
    );
    insert(&writer, &mut model, first, 10);
    let gate = Gate::default();
    scope(|threads| {
        let flushed = threads.spawn(|| writer.flush(&gate).unwrap());
        Gate::wait(&gate.is_there);
        insert(&writer, &mut model, second, 10);
        gate.is_open.store(true, Ordering::Release);
        flushed.join().unwrap();
    });
    let work = writer.changes().unwrap().work;
    assert_eq!((work.linked, work.patches), (300, 1));
    writer.flush(&NoProgress).unwrap();
    assert_eq!(writer.changes().unwrap().work.patches, 2);
    let (nodes, segment) = (ROWS as u32 + 200..ROWS as u32 + 300, entry(&writer));
    let source = Source {
        vfs: &pageway_store::OsVfs,
        dir: dir.path(),
        segment: &segment,
    };
    let nodes: Vec<NodeId> = nodes.map(NodeId).collect();
    let (mut fresh, mut all) = (0, 0);
    let visit = &mut |_: usize, list: &[NodeId]| {
        all += list.len();
        fresh += list.iter().filter(|node| node.0 >= ROWS as u32).count();
    };
    list_reader(source).unwrap().lists(&nodes, visit).unwrap();
    assert!(10 * fresh >= 9 * all, "{fresh} of {all}");
    assert!(found_of_far(&writer, &mut model) >= 195);
}

#[test]
fn rows_of_a_log_are_compared_and_new_ones_linked_beside_them() {
    let (dir, mut model) = built(DeltaSpec::Linked, 63);
    let writer = opened(dir.path());
    writer.flush(&NoProgress).unwrap();
    let rows = model.rows(150);
    insert(&writer, &mut model, rows, 3);
    drop(writer);
    let writer = opened(dir.path());
    assert_eq!(writer.changes().unwrap().work.linked, 0);
    assert!(model.check(writer.index()) > 0.97);
    let rows = model.rows(150);
    insert(&writer, &mut model, rows, 3);
    assert!(model.check(writer.index()) > 0.97);
    assert_eq!(writer.changes().unwrap().work.linked, 150);
    writer.flush(&NoProgress).unwrap();
    assert!(model.check(writer.index()) > 0.97);
}

#[test]
fn a_rewrite_numbers_nodes_anew_and_rows_are_found_all_the_same() {
    let (dir, mut model) = built(DeltaSpec::Linked, 64);
    let writer = opened(dir.path());
    for turn in 0..4 {
        let rows = model.rows(100);
        insert(&writer, &mut model, rows, 5);
        assert!(model.check(writer.index()) > 0.97);
        match turn {
            1 => drop(writer.merge(true, &NoProgress).unwrap()),
            _ => writer.flush(&NoProgress).unwrap(),
        }
        assert!(model.check(writer.index()) > 0.97);
    }
    drop(writer);
    let report = crate::update::verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn rows_that_are_stored_as_f16_are_linked_as_they_are_stored() {
    let shape = VectorShape {
        dimension: 12,
        element: ElementType::F32,
    };
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(65));
    let mut floats = |count: usize| -> Vec<u8> {
        let bytes = model.rows(count).concat();
        let floats = bytes.into_iter().map(f32::from);
        floats.flat_map(f32::to_le_bytes).collect()
    };
    let (rows, ids) = (floats(2000), (0..2000).collect::<Vec<u64>>());
    let (vectors, ids) = (VectorSlice::new(&rows, shape).unwrap(), IdSlice(&ids));
    let options = BuildOptions {
        preset: Preset::OdinAnn,
        degree: 16,
        build_list: 40,
        memory: Some(MemoryWish::Bytes(16 << 20)),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
    let writer = opened(dir.path());
    writer.flush(&NoProgress).unwrap();
    assert!(entry(&writer).is_narrowed());
    let mut rows = floats(200);
    // The last is none that f16 holds.
    let last = rows.len() - 4;
    rows[last..].copy_from_slice(&0.123_456_7f32.to_le_bytes());
    let ids: Vec<u64> = (5000..5200).collect();
    writer
        .insert(&Rows::new(&rows, shape).with_ids(&*ids))
        .unwrap();
    assert_eq!(writer.changes().unwrap().work.linked, 199);
    let options = SearchOptions {
        effort: Effort::ListSize(50),
        ..SearchOptions::nearest(1)
    };
    let answers = writer.index().search(&Queries::new(&rows, shape), &options);
    let distances = answers.unwrap().distances;
    let found = distances.iter().filter(|own| **own == 0.0).count();
    assert!(found >= 198, "{found} of 200");
}

#[test]
fn edges_are_part_of_the_memory_for_updates() {
    let capacities = [DeltaSpec::Scan, DeltaSpec::Linked].map(|delta| {
        let (dir, _) = built(delta, 66);
        let options = UpdateOptions::default()
            .with_memory(Some(MemoryWish::Bytes(24 << 20)))
            .with_build_memory(Some(MemoryWish::Bytes(20 << 20)));
        let writer = Writer::open(dir.path(), &OpenOptions::default(), &options).unwrap();
        writer.changes().unwrap().delta_capacity
    });
    assert!(capacities[1] < capacities[0], "{capacities:?}");
    assert!(capacities[1] * 4 > capacities[0], "{capacities:?}");
}

#[test]
fn as_many_rows_come_back_as_are_asked_for_where_few_nodes_live() {
    let (dir, mut model) = built(DeltaSpec::Linked, 61);
    let writer = opened(dir.path());
    writer.flush(&NoProgress).unwrap();
    let gone: Vec<u64> = (5..ROWS).collect();
    writer.delete(&gone, crate::Durability::Synced).unwrap();
    let rows = model.rows(300);
    insert(&writer, &mut model, rows, 300);
    assert_eq!(writer.changes().unwrap().work.linked, 300);
    assert_eq!(writer.index().len(), 305);
    let queries = model.rows(20).concat();
    for (k, own) in [(300, 300), (305, 305), (400, 305)] {
        let options = SearchOptions {
            effort: Effort::ListSize(k),
            ..SearchOptions::nearest(k)
        };
        let found = writer
            .index()
            .search(&Queries::new(&queries, SHAPE), &options);
        for ids in found.unwrap().ids.chunks(k as usize) {
            let mut ids: Vec<u64> = ids.iter().copied().filter(|id| *id != u64::MAX).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), own, "{k} asked for");
        }
    }
}
