//! Segments of two forms in one index: what a flush made beside a merge that chose another form.

use std::sync::atomic::{AtomicBool, Ordering};

use pageway_types::{ElementType, Metric, NoProgress, Progress, VectorShape};

use super::model::Model;
use crate::Index;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::source::VectorSlice;
use crate::spec::Shape;
use crate::update::{Rows, UpdateOptions, Writer};

const SHAPE: VectorShape = VectorShape {
    dimension: 96,
    element: ElementType::F32,
};
const BUILT: u32 = 3000;

/// Rows about a few centres far from each other.
fn rows(model: &mut Model, count: u32) -> Vec<Vec<f32>> {
    let mut value = |width: f32| width * (model.below(2001) as f32 / 1000.0 - 1.0);
    let row = |at: u32| {
        let own = |component: u32| if component % 12 == at % 12 { 6.0 } else { 0.0 };
        let components = (0..SHAPE.dimension).map(|component| own(component) + value(1.0));
        components.collect()
    };
    (0..count).map(row).collect()
}

pub(super) fn bytes_of(rows: &[Vec<f32>]) -> Vec<u8> {
    rows.iter()
        .flatten()
        .flat_map(|own| own.to_le_bytes())
        .collect()
}

/// As little memory as lists of what is built fit.
fn options() -> BuildOptions {
    let shape = Shape {
        dimension: SHAPE.dimension,
        element: SHAPE.element,
        metric: Metric::L2,
    };
    let of = |memory: u64| BuildOptions {
        metric: Metric::L2,
        memory: Some(MemoryWish::Bytes(memory)),
        calibration_queries: Some(20),
        threads: 1,
        ..BuildOptions::default()
    };
    let fits = |memory: &u64| {
        let mut lists = of(*memory);
        lists.form = Some("resident".to_owned());
        lists.spec_for(shape, BUILT).is_ok()
    };
    of((60..200).map(|at| at * 20_000).find(fits).unwrap())
}

/// Flushes when a merge begins.
struct FlushWithin<'w>(&'w Writer, Vec<u8>, AtomicBool);

impl Progress for FlushWithin<'_> {
    fn stage(&self, _: &'static str, _: u64) {
        if !self.2.swap(true, Ordering::Relaxed) {
            self.0.insert(&Rows::new(&self.1, SHAPE)).unwrap();
            self.0.flush(&NoProgress).unwrap();
        }
    }

    fn advance(&self, _: u64) {}
}

/// An index of two forms, and its rows by their ids.
fn mixed(dir: &std::path::Path) -> (Writer, Vec<Vec<f32>>) {
    let mut model = Model::new(1);
    let all = rows(&mut model, BUILT + 1200);
    let (built, others) = all.split_at(BUILT as usize);
    let built = bytes_of(built);
    let vectors = VectorSlice::new(&built, SHAPE).unwrap();
    let input = BuildInput::new(&vectors, "rows");
    Index::build(dir, &input, &options(), &NoProgress).unwrap();
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    let writer = Writer::open(dir, &OpenOptions::default(), &update).unwrap();
    let (first, second) = others.split_at(900);
    writer.insert(&Rows::new(&bytes_of(first), SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    let within = FlushWithin(&writer, bytes_of(second), AtomicBool::new(false));
    writer.merge(true, &within).unwrap();
    let version = writer.index().version();
    let segments = version.manifest.segments.iter();
    let scans: Vec<bool> = segments
        .map(|own| own.spec.execution.entry.is_clusters())
        .collect();
    assert_eq!(scans, [true, false]);
    assert!(version.manifest.spec.storage.vectors.is_coded());
    (writer, all)
}

#[test]
fn what_is_found_in_segments_of_two_forms_does_not_follow_from_the_query_before() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, all) = mixed(dir.path());
    let queries = rows(&mut Model::new(2), 120);
    let search = |queries: &[Vec<f32>], effort| {
        let options = SearchOptions::nearest(10)
            .with_effort(effort)
            .with_threads(1)
            .with_interleave(1);
        let bytes = bytes_of(queries);
        let answers = writer
            .index()
            .search(&Queries::new(&bytes, SHAPE), &options);
        answers.unwrap().ids
    };
    for effort in [Effort::ListSize(20), Effort::Recall(0.9)] {
        let found = search(&queries, effort);
        assert_eq!(found.len(), 1200);
        let mut near = 0;
        for (query, found) in queries.iter().zip(found.chunks(10)) {
            let distance = |row: &Vec<f32>| -> f32 {
                row.iter().zip(query).map(|(a, b)| (a - b).powi(2)).sum()
            };
            let mut distances: Vec<f32> = all.iter().map(distance).collect();
            let own: Vec<f32> = found.iter().map(|id| distances[*id as usize]).collect();
            distances.sort_by(f32::total_cmp);
            near += own.iter().filter(|own| **own <= distances[9]).count();
        }
        assert!(near > 1080, "{effort:?}: {near} of 1200");
    }
    let reversed: Vec<_> = queries.iter().rev().cloned().collect();
    let found = search(&queries, Effort::ListSize(20));
    let other = search(&reversed, Effort::ListSize(20));
    let other: Vec<u64> = other.chunks(10).rev().flatten().copied().collect();
    assert_eq!(found, other);
}
