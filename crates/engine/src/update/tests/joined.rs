//! Merges that join the graphs of segments.

use std::path::Path;
use std::sync::Mutex;

use pageway_types::{NoProgress, Progress};

use super::model::{Model, SHAPE};
use super::patch::{built_with, entry};
use crate::Durability;
use crate::memory::MemoryWish;
use crate::options::OpenOptions;
use crate::presets::Preset;
use crate::spec::Overrides;
use crate::update::{Rows, UpdateOptions, Writer, verify};

/// Names of stages.
#[derive(Default)]
struct Heard(Mutex<Vec<&'static str>>);

impl Heard {
    fn takes_lists(self) -> bool {
        self.0.into_inner().unwrap().contains(&"read lists")
    }
}

impl Progress for Heard {
    fn stage(&self, name: &'static str, _: u64) {
        self.0.lock().unwrap().push(name);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

fn opened(dir: &Path, build_memory: Option<u64>) -> Writer {
    let options = UpdateOptions::default()
        .with_build_memory(build_memory.map(MemoryWish::Bytes))
        .with_threads(1)
        .with_merge_by_hand(true)
        .with_in_foreground(true);
    Writer::open(dir, &OpenOptions::default(), &options).unwrap()
}

/// An index of a large segment and three small ones.
fn in_segments(dir: &Path, rows: u64, build_memory: Option<u64>) -> (Writer, Model) {
    let mut model = Model::new(31);
    let design = (Preset::Pageway, Overrides::default());
    built_with(design, dir, &mut model, rows);
    let writer = opened(dir, build_memory);
    for first in [rows, rows + rows / 4, rows + rows / 2] {
        let ids: Vec<u64> = (first..first + rows / 4).collect();
        let rows = model.rows(ids.len());
        writer
            .insert(&Rows::new(&rows.concat(), SHAPE).with_ids(&*ids))
            .unwrap();
        model.rows.extend(ids.into_iter().zip(rows));
        writer.flush(&NoProgress).unwrap();
    }
    (writer, model)
}

#[test]
fn graphs_of_segments_become_one_whole_and_in_shards() {
    for (rows, build_memory, shards) in [(2000, None, 0..1), (14_000, Some(13 << 20), 2..99)] {
        let dir = tempfile::tempdir().unwrap();
        let (writer, mut model) = in_segments(dir.path(), rows, build_memory);
        let gone = model.some(rows as usize / 40);
        writer.delete(&gone, Durability::Synced).unwrap();
        model.rows.retain(|id, _| !gone.contains(id));
        let heard = Heard::default();
        writer.merge(true, &heard).unwrap();
        assert!(heard.takes_lists());
        let graph = entry(&writer).graph;
        assert!(shards.contains(&graph.shards), "{graph:?}");
        assert!(model.check(writer.index()) > 0.95);
        assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
}

#[test]
fn where_many_died_the_graph_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, mut model) = in_segments(dir.path(), 2000, None);
    let gone = model.some(600);
    writer.delete(&gone, Durability::Synced).unwrap();
    model.rows.retain(|id, _| !gone.contains(id));
    let heard = Heard::default();
    writer.merge(true, &heard).unwrap();
    assert!(!heard.takes_lists());
    assert!(model.check(writer.index()) > 0.95);
}
