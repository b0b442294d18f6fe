//! What lists become of as all rows are replaced, and that pages are changed where a design says
//! so.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use pageway_types::{Metric, NoProgress, NodeId, Progress};

use super::model::{Model, SHAPE};
use super::patch::{built_of, churn, entry, opened};
use crate::Durability;
use crate::memory::MemoryWish;
use crate::options::{OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::resolve::{Source, list_reader};
use crate::source::kernels;
use crate::update::{UpdateOptions, Writer, verify};

/// Of the living neighbours of rows with these ids, the share of those that are farther than a
/// tenth of all rows.
fn far(dir: &Path, writer: &Writer, model: &Model, ids: std::ops::Range<u64>) -> f64 {
    let version = writer.index().version();
    let (vfs, segment) = (&pageway_store::OsVfs, &version.manifest.segments[0]);
    let reader = list_reader(Source { vfs, dir, segment }).unwrap();
    let mut known = vec![0; segment.node_count as usize];
    version.segments[0].read_ids(0, &mut known).unwrap();
    let row = |node: &NodeId| model.rows.get(&known[node.index()]);
    let lives = |node: &NodeId| !version.is_dead(*node);
    let nodes = (0..segment.node_count).map(NodeId).filter(lives);
    let nodes: Vec<NodeId> = nodes
        .filter(|node| ids.contains(&known[node.index()]))
        .collect();
    let distance = kernels().unwrap().distance(SHAPE.element, Metric::L2);
    let (mut far, mut edges) = (0, 0);
    let visit = &mut |at: usize, list: &[NodeId]| {
        let own = row(&nodes[at]).unwrap();
        let reach = *model.nearest(own, model.rows.len() / 10).last().unwrap();
        for other in list.iter().filter(|other| lives(other)) {
            edges += 1;
            far += usize::from(distance(own, row(other).unwrap()) > reach);
        }
    };
    reader.lists(&nodes, visit).unwrap();
    f64::from(far as u32) / f64::from(edges)
}

#[test]
fn rows_that_come_are_beside_near_ones_as_those_that_were_built() {
    for preset in [Preset::OdinAnn, Preset::IpDiskAnn, Preset::FreshDiskAnn] {
        let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(91));
        built_of(preset, dir.path(), &mut model);
        let writer = opened(dir.path());
        let built = model.rows.len() as u64;
        let before = far(dir.path(), &writer, &model, 0..built);
        for _ in 0..8 {
            churn(&writer, &mut model, 24);
        }
        if preset == Preset::FreshDiskAnn {
            writer.merge(true, &NoProgress).unwrap();
        }
        let after = far(dir.path(), &writer, &model, built..u64::MAX);
        println!("{}: {before:.3} far, {after:.3}", preset.name());
        assert!(after < before + 0.03, "{preset:?}: {before} to {after}");
    }
}

/// Stops where a flush or a merge begins, until it may go on.
#[derive(Default)]
pub(super) struct Gate {
    pub(super) is_there: AtomicBool,
    pub(super) is_open: AtomicBool,
}

impl Gate {
    pub(super) fn wait(flag: &AtomicBool) {
        while !flag.load(Ordering::Acquire) {
            sleep(Duration::from_millis(1));
        }
    }
}

impl Progress for Gate {
    fn stage(&self, _: &'static str, _: u64) {
        self.is_there.store(true, Ordering::Release);
        Self::wait(&self.is_open);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_flush_changes_pages_also_behind_a_merge() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(92));
    built_of(Preset::OdinAnn, dir.path(), &mut model);
    let writer = opened(dir.path());
    churn(&writer, &mut model, 20);
    let (gate, is_flushed) = (Gate::default(), AtomicBool::new(false));
    scope(|threads| {
        threads.spawn(|| writer.merge(true, &gate).unwrap());
        Gate::wait(&gate.is_there);
        threads.spawn(|| {
            churn(&writer, &mut model, 20);
            is_flushed.store(true, Ordering::Release);
        });
        sleep(Duration::from_millis(100));
        assert!(!is_flushed.load(Ordering::Acquire), "beside the merge");
        gate.is_open.store(true, Ordering::Release);
    });
    let changes = writer.changes().unwrap();
    assert_eq!((changes.work.flushes, changes.work.patches), (2, 2));
    assert_eq!((changes.work.merges, changes.segments), (1, 1));
    assert!(entry(&writer).patched.is_some());
    assert!(model.check(writer.index()) > 0.97);
}

#[test]
fn rows_are_found_beside_a_segment_in_which_nobody_lives() {
    for preset in [Preset::OdinAnn, Preset::IpDiskAnn, Preset::FreshDiskAnn] {
        let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(94));
        built_of(preset, dir.path(), &mut model);
        let update = UpdateOptions::default()
            .with_threads(1)
            .with_merge_by_hand(true)
            .with_in_foreground(true);
        let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
        let all: Vec<u64> = model.rows.keys().copied().collect();
        writer.delete(&all, Durability::Synced).unwrap();
        model.rows.clear();
        let query = model.row();
        let queries = Queries::new(&query, SHAPE);
        let none = writer
            .index()
            .search(&queries, &SearchOptions::nearest(5))
            .unwrap();
        assert!(
            none.ids.iter().all(|id| *id == u64::MAX),
            "{preset:?}: {:?}",
            none.ids
        );
        assert_eq!(
            (none.stats[0].hops, none.stats[0].pages),
            (0, 0),
            "{preset:?}"
        );
        for _ in 0..3 {
            churn(&writer, &mut model, 60);
            let found = model.check(writer.index());
            assert!(found > 0.97, "{preset:?}: {found}");
        }
    }
}

#[test]
fn segments_beside_the_one_that_grows_are_put_into_it() {
    for preset in [Preset::OdinAnn, Preset::Dgai] {
        let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(93));
        built_of(preset, dir.path(), &mut model);
        let little = UpdateOptions::default()
            .with_build_memory(Some(MemoryWish::Bytes(12 << 20)))
            .with_threads(1)
            .with_in_foreground(true);
        let writer = Writer::open(dir.path(), &OpenOptions::default(), &little).unwrap();
        churn(&writer, &mut model, 40);
        churn(&writer, &mut model, 30);
        let changes = writer.changes().unwrap();
        assert_eq!((changes.segments, changes.work.patches), (3, 0));
        let why = changes.patch_refused.expect("a reason");
        assert!(why.contains("in a build memory of "), "{why}");
        drop(writer);
        let writer = opened(dir.path());
        let nodes = writer.index().version().manifest.segments[0].node_count;
        writer.settle(&NoProgress).unwrap();
        let changes = writer.changes().unwrap();
        assert_eq!((changes.segments, changes.patch_refused), (1, None));
        assert_eq!((changes.work.merges, changes.work.patches), (1, 1));
        let own = entry(&writer);
        assert!(own.node_count > nodes && own.built() == nodes);
        assert!(model.check(writer.index()) > 0.9);
        // Who was alive in a segment and dies is dead in the one that took it.
        churn(&writer, &mut model, 60);
        assert!(model.check(writer.index()) > 0.9);
        drop(writer);
        let report = verify(dir.path(), &NoProgress).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }
}
