//! Manhattan distance: found by codes and graphs of squared Euclidean distances, put in order by
//! the vectors.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Rows, distance, nearest};
use pageway::{
    BuildOptions, Durability, Effort, ElementType, ErrorKind, Filter, IdSet, Index, Metric,
    NoProgress, OpenOptions, Preset, Queries, SearchOptions, Tolerance, UpdateOptions, Writer,
};

const COUNT: usize = 2000;
const K: usize = 10;

fn options(preset: Preset) -> BuildOptions {
    BuildOptions::default()
        .with_metric(Metric::L1)
        .with_preset(preset)
        .with_degree(24)
        .with_calibration_queries(100)
}

/// Distances are those of the vectors, in order; the share of the nearest that was found.
fn check(index: &Index, (base, queries): (&Rows, &Rows), effort: Effort) -> f64 {
    let asked = Queries::new(&queries.bytes, queries.shape);
    let options = SearchOptions::nearest(K as u32).with_effort(effort);
    let found = index.search(&asked, &options).unwrap();
    let mut hits = 0;
    for query in 0..queries.count() {
        let own = query * K..(query + 1) * K;
        let (ids, distances) = (&found.ids[own.clone()], &found.distances[own]);
        assert!(distances.is_sorted());
        for (id, found) in ids.iter().zip(distances) {
            let row = base.values(*id as usize);
            let exact = distance(&queries.values(query), &row, Metric::L1);
            let off = (f64::from(*found) - exact).abs();
            assert!(off <= 1e-4 * exact.max(1.0), "{found} for {exact}");
        }
        let truth = nearest(base, queries, query, K, Metric::L1);
        hits += truth.iter().filter(|id| ids.contains(id)).count();
    }
    hits as f64 / (K * queries.count()) as f64
}

#[test]
fn every_preset_finds_the_nearest_by_manhattan_distance() {
    for element in [ElementType::F32, ElementType::U8] {
        let base = Rows::clustered(COUNT, 24, element, 1);
        let queries = Rows::clustered(40, 24, element, 2);
        for preset in Preset::ALL {
            let dir = tempfile::tempdir().unwrap();
            base.build(dir.path(), &options(preset)).unwrap();
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let rows = (&base, &queries);
            let recall = check(&index, rows, Effort::Recall(0.95));
            assert!(recall >= 0.94, "{preset} {element}: {recall}");
            let asked = Queries::new(&queries.bytes, queries.shape);
            let exact = SearchOptions::nearest(10).with_exact(true);
            let found = index.search(&asked, &exact).unwrap();
            let truth = nearest(&base, &queries, 0, K, Metric::L1);
            assert_eq!(found.ids[..K], truth, "{preset} {element}");
        }
    }
}

#[test]
fn forms_segments_filters_and_changes_know_it() {
    let base = Rows::clustered(COUNT, 24, ElementType::F32, 3);
    let queries = Rows::clustered(30, 24, ElementType::F32, 4);
    for (form, segments) in [("resident", 1), ("clustered", 2), ("on-disk", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::default())
            .with_form(Some(form.to_owned()))
            .with_segments(segments);
        base.build(dir.path(), &options).unwrap();
        let open = (OpenOptions::default(), UpdateOptions::default());
        let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
        let index = writer.index();
        let rows = (&base, &queries);
        assert!(check(index, rows, Effort::ListSize(200)) > 0.95, "{form}");
        let asked = Queries::new(&queries.bytes, queries.shape);
        let few = Filter::ids((0..COUNT as u64).step_by(7).collect::<IdSet>());
        let nearest = SearchOptions::nearest(5).with_effort(Effort::ListSize(100));
        let report = index.measure_recall(&asked.with_filter(&few), &nearest, &NoProgress);
        assert!(report.unwrap().recall > 0.95, "{form}");
        let gone: Vec<u64> = (0..COUNT as u64).step_by(3).collect();
        writer.delete(&gone, Durability::Synced).unwrap();
        for _ in 0..2 {
            let report = index.measure_recall(&asked, &nearest, &NoProgress).unwrap();
            assert!(report.recall > 0.95, "{form}: {report:?}");
            writer.merge(true, &NoProgress).unwrap();
        }
        drop(writer);
        assert!(pageway::verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
}

#[test]
fn what_codes_would_have_to_tell_is_refused() {
    let base = Rows::clustered(300, 8, ElementType::F32, 5);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::default())).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let asked = Queries::new(&base.bytes[..32], base.shape);
    let within = SearchOptions::within(3.0);
    let about = SearchOptions::nearest(3).with_tolerance(Tolerance::new(0.1).unwrap());
    for options in [within, about] {
        let error = index.search(&asked, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("l1"), "{error}");
    }
    let found = index.search(&asked, &within.with_exact(true)).unwrap();
    let row = base.values(0);
    let inside = (0..300).filter(|at| distance(&row, &base.values(*at), Metric::L1) <= 3.0);
    assert_eq!(found.lims[1], inside.count());
}
