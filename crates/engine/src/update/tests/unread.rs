//! Segments of one form, of which one reads its vectors without fine codes.

use pageway_types::{ElementType, Metric, NoProgress, VectorShape};

use super::mixed::bytes_of;
use super::model::Model;
use crate::Index;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, Effort, OpenOptions, Queries, SearchOptions};
use crate::source::VectorSlice;
use crate::update::{Rows, UpdateOptions, Writer};

const SHAPE: VectorShape = VectorShape {
    dimension: 32,
    element: ElementType::F32,
};
const K: usize = 20;

fn rows(model: &mut Model, count: u32) -> Vec<Vec<f32>> {
    let mut value = || model.below(10_000) as f32 / 10_000.0;
    let mut row = |_| (0..SHAPE.dimension).map(|_| value()).collect();
    (0..count).map(&mut row).collect()
}

/// Rows among the nearest of all that are found of as many queries.
fn found(index: &Index, all: &[Vec<f32>], queries: &[Vec<f32>]) -> usize {
    let bytes = bytes_of(queries);
    let options = SearchOptions::nearest(K as u32).with_effort(Effort::ListSize(100));
    let answers = index.search(&Queries::new(&bytes, SHAPE), &options);
    let ids = answers.unwrap().ids;
    let near = |(query, found): (&Vec<f32>, &[u64])| {
        let distance =
            |row: &Vec<f32>| -> f32 { row.iter().zip(query).map(|(a, b)| (a - b).powi(2)).sum() };
        let mut distances: Vec<f32> = all.iter().map(distance).collect();
        let own: Vec<f32> = found.iter().map(|id| distances[*id as usize]).collect();
        distances.sort_by(f32::total_cmp);
        own.iter().filter(|own| **own <= distances[K - 1]).count()
    };
    queries.iter().zip(ids.chunks(K)).map(near).sum()
}

#[test]
fn what_goes_without_fine_codes_leaves_out_nothing_of_a_larger_segment() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(1));
    let all = rows(&mut model, 6600);
    let (built, others) = all.split_at(6000);
    let built = bytes_of(built);
    let vectors = VectorSlice::new(&built, SHAPE).unwrap();
    let options = BuildOptions {
        metric: Metric::L2,
        memory: Some(MemoryWish::Bytes(1_000_000)),
        form: Some("clustered".to_owned()),
        code_bytes: Some(9),
        calibration_queries: Some(20),
        threads: 1,
        ..BuildOptions::default()
    };
    let input = BuildInput::new(&vectors, "rows");
    Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    writer.insert(&Rows::new(&bytes_of(others), SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    let version = writer.index().version();
    assert_eq!(version.segments.len(), 2);
    assert!(version.manifest.spec.storage.vectors.is_coded());
    let queries = rows(&mut model, 200);
    let in_two = found(writer.index(), &all, &queries);
    assert!(in_two * 100 >= 88 * queries.len() * K, "{in_two}");
}
