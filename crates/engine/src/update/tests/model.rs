//! Random changes of an index of every design, against a map.

use std::collections::BTreeMap;
use std::path::Path;

use pageway_types::{ElementType, Metric, NoProgress, SplitMix64, VectorShape};

use crate::Index;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::presets::Preset;
use crate::source::{IdSlice, VectorSlice, kernels};
use crate::update::{CreateOptions, Rows, UpdateOptions, Writer, verify};

pub(super) const SHAPE: VectorShape = VectorShape {
    dimension: 12,
    element: ElementType::U8,
};

/// What an index should hold.
pub(super) struct Model {
    pub(super) rows: BTreeMap<u64, Vec<u8>>,
    pub(super) random: SplitMix64,
}

impl Model {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rows: BTreeMap::new(),
            random: SplitMix64::new(seed),
        }
    }

    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.random.next_u64() % most
    }

    /// A row near one of a few middles.
    pub(super) fn row(&mut self) -> Vec<u8> {
        let middle = self.below(5) as u8 * 40;
        (0..SHAPE.dimension)
            .map(|_| middle + (self.below(50)) as u8)
            .collect()
    }

    pub(super) fn rows(&mut self, count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|_| self.row()).collect()
    }

    /// Ids that are there, as far as there are so many.
    pub(super) fn some(&mut self, count: usize) -> Vec<u64> {
        let mut ids: Vec<u64> = self.rows.keys().copied().collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !ids.is_empty() {
            let at = self.below(ids.len() as u64) as usize;
            chosen.push(ids.swap_remove(at));
        }
        chosen
    }

    /// The nearest rows of a query: distances.
    pub(super) fn nearest(&self, query: &[u8], k: usize) -> Vec<f32> {
        let distance = kernels().unwrap().distance(SHAPE.element, Metric::L2);
        let mut all: Vec<f32> = self.rows.values().map(|row| distance(query, row)).collect();
        all.sort_by(f32::total_cmp);
        all.truncate(k);
        all
    }

    /// Searches for some rows: what comes back is there, once, as far as it says, and nearly all
    /// of what is near comes back.
    pub(super) fn check(&mut self, index: &Index) -> f64 {
        assert_eq!(index.len(), self.rows.len() as u64);
        let queries: Vec<Vec<u8>> = self.rows(8);
        let k = 10;
        let options = SearchOptions {
            effort: Effort::ListSize(150),
            ..SearchOptions::nearest(k)
        };
        let bytes = queries.concat();
        let answers = index
            .search(&Queries::new(&bytes, SHAPE), &options)
            .unwrap();
        let distance = kernels().unwrap().distance(SHAPE.element, Metric::L2);
        let (mut found, mut wanted) = (0, 0);
        for (number, query) in queries.iter().enumerate() {
            let own = answers.lims[number]..answers.lims[number + 1];
            let ids: Vec<u64> = answers.ids[own.clone()]
                .iter()
                .copied()
                .filter(|id| *id != u64::MAX)
                .collect();
            let distances = &answers.distances[own];
            let mut once = ids.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), ids.len(), "an id came twice: {ids:?}");
            for (id, found) in ids.iter().zip(distances) {
                let row = self.rows.get(id);
                let row = row.unwrap_or_else(|| panic!("id {id} came back from the dead"));
                assert_eq!(*found, distance(query, row), "id {id}");
            }
            let nearest = self.nearest(query, k as usize);
            wanted += nearest.len();
            let farthest = nearest.last().copied().unwrap_or(0.0);
            found += distances[..ids.len()]
                .iter()
                .filter(|found| **found <= farthest)
                .count();
        }
        if wanted == 0 {
            1.0
        } else {
            found as f64 / wanted as f64
        }
    }
}

pub(super) fn update() -> UpdateOptions {
    UpdateOptions::default().with_threads(1)
}

pub(super) fn open(dir: &Path) -> Writer {
    Writer::open(dir, &OpenOptions::default(), &update()).unwrap()
}

/// Builds an index of `count` rows, with ids or without.
fn build(dir: &Path, model: &mut Model, options: &BuildOptions, ids: Option<u64>, count: usize) {
    let rows = model.rows(count);
    let own: Vec<u64> = (0..count as u64)
        .map(|row| row * ids.unwrap_or(1))
        .collect();
    let bytes = rows.concat();
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let list = IdSlice(&own);
    let input = BuildInput {
        ids: ids.is_some().then_some(&list),
        ..BuildInput::new(&vectors, "rows")
    };
    Index::build(dir, &input, options, &NoProgress).unwrap();
    model.rows.extend(own.into_iter().zip(rows));
}

fn change(writer: &Writer, model: &mut Model) {
    let count = 1 + model.below(12) as usize;
    let rows = model.rows(count);
    let bytes = rows.concat();
    let put = Rows::new(&bytes, SHAPE);
    match model.below(5) {
        0 => {
            let done = writer.insert(&put).unwrap();
            let first = done.first_id.unwrap();
            assert_eq!(done.inserted, count as u64);
            model.rows.extend((first..).zip(rows));
        }
        1 => {
            let base = 1_000_000 + model.below(1 << 40);
            let ids: Vec<u64> = (0..count as u64).map(|at| base + 3 * at).collect();
            writer.insert(&put.with_ids(&*ids)).unwrap();
            model.rows.extend(ids.into_iter().zip(rows));
        }
        2 => {
            let mut ids = model.some(count / 2);
            let known = ids.len();
            let base = 2_000_000 + model.below(1 << 40);
            ids.extend((known..count).map(|at| base + at as u64));
            let done = writer.upsert(&put.with_ids(&*ids)).unwrap();
            assert_eq!(
                (done.replaced, done.inserted),
                (known as u64, (count - known) as u64)
            );
            model.rows.extend(ids.into_iter().zip(rows));
        }
        _ => {
            let mut ids = model.some(count);
            let known = ids.len() as u64;
            ids.push(u64::MAX - 1);
            let done = writer.delete(&ids, crate::Durability::Synced).unwrap();
            assert_eq!((done.deleted, done.absent), (known, 1));
            assert!(done.durable);
            for id in &ids {
                model.rows.remove(id);
            }
        }
    }
}

/// Runs random changes over the index in `dir`; the mean recall.
fn run(dir: &Path, model: &mut Model, steps: usize) -> f64 {
    let mut writer = open(dir);
    let (mut sum, mut checks) = (0.0, 0.0);
    for step in 0..steps {
        change(&writer, model);
        match model.below(12) {
            0 => writer.flush(&NoProgress).unwrap(),
            1 => {
                writer.merge(false, &NoProgress).unwrap();
            }
            2 if step % 2 == 0 => {
                writer.merge(true, &NoProgress).unwrap();
                assert!(writer.index().version().segments.len() <= 1);
                assert_eq!(writer.index().version().dead_count(), 0);
            }
            3 => {
                // As after a kill: nothing is closed.
                drop(writer);
                writer = open(dir);
            }
            4 => {
                writer.close().unwrap();
                writer = open(dir);
            }
            _ => {}
        }
        sum += model.check(writer.index());
        checks += 1.0;
    }
    writer.flush(&NoProgress).unwrap();
    drop(writer);
    let report = verify(dir, &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    // One that only reads sees the same.
    let reader = Index::open(dir, &OpenOptions::default()).unwrap();
    sum += model.check(&reader);
    sum / (checks + 1.0)
}

fn options(preset: Preset, form: Option<&str>) -> BuildOptions {
    BuildOptions {
        preset,
        form: form.map(str::to_owned),
        memory: Some(MemoryWish::Bytes(16 << 20)),
        degree: 12,
        build_list: 24,
        calibration_queries: Some(10),
        threads: 1,
        ..BuildOptions::default()
    }
}

fn every_form() -> Vec<(Preset, Option<&'static str>)> {
    let mut all = Vec::new();
    for preset in Preset::ALL {
        let names = preset.form_names();
        if names.is_empty() {
            all.push((preset, None));
        }
        all.extend(names.into_iter().map(|name| (preset, Some(name))));
    }
    all
}

#[test]
fn every_design_changes_as_a_map_does() {
    for (number, (preset, form)) in every_form().into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model::new(number as u64 + 5);
        let ids = (number % 2 == 1).then_some(7);
        build(dir.path(), &mut model, &options(preset, form), ids, 150);
        let recall = run(dir.path(), &mut model, 14);
        assert!(recall > 0.97, "{preset} {form:?}: {recall}");
    }
}

#[test]
fn an_empty_index_of_every_design_fills() {
    for (number, (preset, form)) in every_form().into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let options = CreateOptions::new(SHAPE, Metric::L2)
            .with_preset(preset)
            .with_form(form.map(str::to_owned))
            .with_degree(12)
            .with_memory(16 << 20)
            .with_expected(2000);
        Writer::create(&path, &options).unwrap();
        let mut model = Model::new(number as u64 + 50);
        let recall = run(&path, &mut model, 14);
        assert!(recall > 0.97, "{preset} {form:?}: {recall}");
    }
}
