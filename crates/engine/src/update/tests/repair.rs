//! Edges to dead nodes, and what becomes of them.

use std::path::Path;

use pageway_types::{NoProgress, NodeId};

use super::model::Model;
use super::patch::{built_with, churn, entry, opened};
use crate::presets::Preset;
use crate::{Durability, Overrides};

use crate::resolve::{Source, list_reader};
use crate::spec::{RepairSpec, UpdateSpec};
use crate::update::{Writer, verify};

const ROWS: u64 = 400;

fn with(update: UpdateSpec, repair: RepairSpec) -> (Preset, Overrides) {
    let overrides = Overrides {
        update: Some(update),
        repair: Some(repair),
        ..Overrides::default()
    };
    (Preset::DiskAnn, overrides)
}

/// Living neighbours of living nodes on average, and living nodes that no living one names.
fn degrees(dir: &Path, writer: &Writer) -> (f64, usize) {
    let version = writer.index().version();
    let segment = &version.manifest.segments[0];
    let vfs = pageway_store::OsVfs;
    let vfs = &vfs;
    let reader = list_reader(Source { vfs, dir, segment }).unwrap();
    let lives = |node: &NodeId| !version.is_dead(*node);
    let nodes: Vec<NodeId> = (0..segment.node_count).map(NodeId).filter(lives).collect();
    let (mut edges, mut named) = (0, vec![false; segment.node_count as usize]);
    reader
        .lists(&nodes, &mut |_, list| {
            for node in list.iter().filter(|node| lives(node)) {
                edges += 1;
                named[node.index()] = true;
            }
        })
        .unwrap();
    let unnamed = nodes.iter().filter(|node| !named[node.index()]);
    (edges as f64 / nodes.len() as f64, unnamed.count())
}

fn lose_nothing((update, repair): (UpdateSpec, RepairSpec), flushes: usize) {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(41));
    built_with(with(update, repair), dir.path(), &mut model, ROWS);
    let writer = opened(dir.path());
    let (before, _) = degrees(dir.path(), &writer);
    for _ in 0..flushes {
        let gone = model.some(3);
        writer.delete(&gone, Durability::Synced).unwrap();
        model.rows.retain(|id, _| !gone.contains(id));
        churn(&writer, &mut model, 4);
    }
    let (after, unnamed) = degrees(dir.path(), &writer);
    println!("{repair:?}: degree {before:.2} to {after:.2}, {unnamed} named by nobody");
    assert!(after > 0.85 * before, "{repair:?}: {before} to {after}");
    assert!(unnamed <= 2, "{repair:?}: {unnamed}");
    assert!(model.check(writer.index()) > 0.97);
    assert!(entry(&writer).patched.is_some());
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn a_hundred_repairs_of_one_per_cent_lose_nothing() {
    lose_nothing((UpdateSpec::Overwrite, RepairSpec::Local), 100);
}

#[test]
fn some_repairs_of_every_kind_lose_nothing() {
    for update in [UpdateSpec::Patch, UpdateSpec::Overwrite] {
        for repair in [RepairSpec::Sweep, RepairSpec::Replace] {
            lose_nothing((update, repair), 20);
        }
    }
    lose_nothing((UpdateSpec::Patch, RepairSpec::Local), 20);
}

#[test]
fn an_entry_that_died_gives_way_and_deletes_alone_are_repaired() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(42));
    let design = with(UpdateSpec::Overwrite, RepairSpec::Replace);
    built_with(design, dir.path(), &mut model, ROWS);
    let writer = opened(dir.path());
    churn(&writer, &mut model, 2);
    let before = entry(&writer);
    // Placed by id.
    let gone: Vec<u64> = before.entry.iter().map(|node| u64::from(node.0)).collect();
    assert_eq!(gone.len(), 1);
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| !gone.contains(id));
    writer.flush(&NoProgress).unwrap();
    let after = entry(&writer);
    assert_ne!(after.entry, before.entry);
    assert!(!writer.index().version().is_dead(after.entry[0]));
    let version = writer.index().version();
    let (vfs, segment) = (pageway_store::OsVfs, &version.manifest.segments[0]);
    let source = Source {
        vfs: &vfs,
        dir: dir.path(),
        segment,
    };
    let all: Vec<NodeId> = (0..segment.node_count).map(NodeId).collect();
    let mut named = 0;
    let visit = &mut |at: usize, list: &[NodeId]| {
        let is_living = !version.is_dead(all[at]);
        named += usize::from(is_living && list.contains(&before.entry[0]));
    };
    list_reader(source).unwrap().lists(&all, visit).unwrap();
    assert_eq!(named, 0, "who died is named still");
    assert!(model.check(writer.index()) > 0.97);
}

#[test]
fn vectors_apart_from_lists_come_and_go_in_place() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(43));
    let design = (Preset::Dgai, Overrides::default());
    built_with(design, dir.path(), &mut model, ROWS);
    let writer = opened(dir.path());
    for count in [2, 40, 7, 1, 60, 3] {
        churn(&writer, &mut model, count);
        assert!(model.check(writer.index()) > 0.9, "{count}");
        assert!(entry(&writer).files.patches.is_none());
    }
    let own = entry(&writer);
    assert!(own.files.records.epoch > 0 && own.node_count > ROWS as u32);
    let gone = model.some(30);
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| !gone.contains(id));
    churn(&writer, &mut model, 5);
    assert!(model.check(writer.index()) > 0.9);
    drop(writer);
    let report = verify(dir.path(), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    let writer = opened(dir.path());
    writer.merge(true, &NoProgress).unwrap();
    assert!(entry(&writer).patched.is_none());
    assert!(model.check(writer.index()) > 0.9);
}
