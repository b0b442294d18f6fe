//! Vectors of bits: Hamming distance, which is the squared Euclidean one of zeros and ones, and
//! Jaccard distance, found by that.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Rows, distance};
use pageway::{
    BuildOptions, Durability, Effort, ElementType, ErrorKind, Filter, IdSet, Index, Metric,
    NoProgress, OpenOptions, Preset, Queries, SearchOptions, Tolerance, UpdateOptions, VectorShape,
    Writer,
};

const COUNT: usize = 600;
const DIMENSION: u32 = 128;
const K: usize = 10;

fn options(preset: Preset, metric: Metric) -> BuildOptions {
    BuildOptions::default()
        .with_metric(metric)
        .with_preset(preset)
        .with_degree(16)
        .with_build_list(40)
        .with_calibration_queries(30)
}

/// Distances of a query to all rows, nearest first.
fn truth((base, queries): (&Rows, &Rows), query: usize, metric: Metric) -> Vec<f64> {
    let target = queries.values(query);
    let rows = (0..base.count()).map(|row| distance(&target, &base.values(row), metric));
    let mut all: Vec<f64> = rows.collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Distances are those of the vectors, in order; the share of answers as near as the true ones,
/// of which many are equally far.
fn check(index: &Index, rows: (&Rows, &Rows), effort: Effort) -> f64 {
    let ((base, queries), metric) = (rows, index.metric());
    let asked = Queries::new(&queries.bytes, queries.shape);
    let options = SearchOptions::nearest(K as u32).with_effort(effort);
    let found = index.search(&asked, &options).unwrap();
    let mut hits = 0;
    for query in 0..queries.count() {
        let own = query * K..(query + 1) * K;
        let (ids, distances) = (&found.ids[own.clone()], &found.distances[own]);
        assert!(distances.is_sorted());
        let farthest = truth(rows, query, metric)[K - 1];
        for (id, found) in ids.iter().zip(distances) {
            let row = base.values(*id as usize);
            let exact = distance(&queries.values(query), &row, metric);
            assert_eq!(*found, exact as f32);
            hits += usize::from(exact <= farthest);
        }
    }
    hits as f64 / (K * queries.count()) as f64
}

#[test]
fn every_preset_finds_the_nearest_of_bits() {
    let base = Rows::bits(COUNT, DIMENSION, 1);
    let queries = Rows::bits(20, DIMENSION, 2);
    let others = Preset::ALL.map(|preset| (preset, Metric::Jaccard));
    for (preset, metric) in [(Preset::Pageway, Metric::Hamming)]
        .into_iter()
        .chain(others)
    {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, metric)).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let recall = check(&index, (&base, &queries), Effort::Recall(0.95));
        assert!(recall >= 0.94, "{preset} {metric}: {recall}");
        let asked = Queries::new(&queries.bytes, queries.shape);
        let exact = SearchOptions::nearest(K as u32).with_exact(true);
        let found = index.search(&asked, &exact).unwrap();
        let nearest = truth((&base, &queries), 0, metric);
        let found = found.distances[..K].iter().map(|found| f64::from(*found));
        let off = found
            .zip(&nearest)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(off < 1e-6, "{preset} {metric}");
    }
}

#[test]
fn forms_segments_filters_and_changes_know_bits() {
    let base = Rows::bits(COUNT, DIMENSION, 3);
    let (queries, more) = (Rows::bits(20, DIMENSION, 4), Rows::bits(100, DIMENSION, 5));
    for (form, segments, metric) in [
        ("resident", 1, Metric::Hamming),
        ("clustered", 2, Metric::Jaccard),
        ("on-disk", 1, Metric::Jaccard),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::default(), metric)
            .with_form(Some(form.to_owned()))
            .with_segments(segments);
        base.build(dir.path(), &options).unwrap();
        let open = (OpenOptions::default(), UpdateOptions::default());
        let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
        let index = writer.index();
        assert!(
            check(index, (&base, &queries), Effort::ListSize(200)) > 0.95,
            "{form}"
        );
        let asked = Queries::new(&queries.bytes, queries.shape);
        let few = Filter::ids((0..COUNT as u64).step_by(7).collect::<IdSet>());
        let nearest = SearchOptions::nearest(5).with_effort(Effort::ListSize(100));
        let report = index.measure_recall(&asked.with_filter(&few), &nearest, &NoProgress);
        assert!(report.unwrap().recall > 0.9, "{form}");
        let gone: Vec<u64> = (0..COUNT as u64).step_by(3).collect();
        writer.delete(&gone, Durability::Synced).unwrap();
        let rows = pageway::Rows::new(&more.bytes, more.shape);
        writer.insert(&rows).unwrap();
        for _ in 0..2 {
            let report = index.measure_recall(&asked, &nearest, &NoProgress).unwrap();
            assert!(report.recall > 0.9, "{form}: {report:?}");
            let own = Queries::new(more.row(7), more.shape);
            let found = index.search(&own, &nearest).unwrap();
            assert_eq!((found.ids[0], found.distances[0]), (COUNT as u64 + 7, 0.0));
            writer.merge(true, &NoProgress).unwrap();
        }
        drop(writer);
        assert!(pageway::verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
}

#[test]
fn radius_and_tolerance_are_of_hamming_distance_alone() {
    let base = Rows::bits(400, DIMENSION, 6);
    let within = |metric: Metric, radius: f32| {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(Preset::default(), metric))
            .unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let asked = Queries::new(&base.bytes[..DIMENSION as usize / 8], base.shape);
        let search = |options: SearchOptions| index.search(&asked, &options);
        let found = search(SearchOptions::within(radius).with_exact(true)).unwrap();
        let inside = truth((&base, &base), 0, metric);
        let inside = inside
            .iter()
            .filter(|distance| **distance <= f64::from(radius));
        assert_eq!(found.lims[1], inside.count());
        let about = SearchOptions::nearest(3).with_tolerance(Tolerance::new(0.1).unwrap());
        [search(SearchOptions::within(radius)), search(about)]
    };
    for found in within(Metric::Hamming, 20.0) {
        assert!(found.unwrap().distances[0] <= 0.0);
    }
    for found in within(Metric::Jaccard, 0.5) {
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("jaccard"), "{error}");
    }
}

#[test]
fn what_is_no_vector_of_bits_is_refused() {
    let base = Rows::clustered(100, 16, ElementType::U8, 8);
    let dir = tempfile::tempdir().unwrap();
    for metric in [Metric::Hamming, Metric::Jaccard] {
        let error = base.build(dir.path(), &options(Preset::default(), metric));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.context().contains("hold numbers"), "{error}");
    }
    let shape = VectorShape {
        dimension: 12,
        element: ElementType::Bit,
    };
    let error = pageway::source::VectorSlice::new(&[0; 30], shape).unwrap_err();
    assert!(
        error.context().contains("multiple of 8, such as 16"),
        "{error}"
    );
}
