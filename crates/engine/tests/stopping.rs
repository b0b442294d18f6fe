//! Walks that end at a horizon: fewer hops, recall as promised, range searches as ever.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::Rows;
use pageway::spec::StopSpec;
use pageway::{
    BuildOptions, Effort, ElementType, Index, OpenOptions, Overrides, Queries, SearchOptions,
};

const HORIZON: StopSpec = StopSpec::Horizon { growth: 10.0 };

fn built(base: &Rows, stop: StopSpec) -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_degree(24)
        .with_build_list(60)
        .with_calibration_queries(200)
        .with_overrides(Overrides {
            stop: Some(stop),
            ..Overrides::default()
        });
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    (dir, index)
}

#[test]
fn a_horizon_saves_hops_keeps_promises_and_leaves_ranges_alone() {
    let base = Rows::clustered(5000, 32, ElementType::F32, 1);
    let others = Rows::clustered(200, 32, ElementType::F32, 2);
    let queries = Queries::new(&others.bytes, others.shape);
    let (_kept, plain) = built(&base, StopSpec::Exhausted);
    let (_also, near) = built(&base, HORIZON);
    let hops = |index: &Index, list_size, k| {
        let search = SearchOptions::nearest(k).with_effort(Effort::ListSize(list_size));
        let answers = index.search(&queries, &search).unwrap();
        answers.stats.iter().map(|one| one.hops).sum::<u64>()
    };
    assert!(hops(&near, 120, 10) < hops(&plain, 120, 10) * 9 / 10);
    assert_eq!(hops(&near, 120, 60), hops(&plain, 120, 60), "L = 2 k");
    let search = SearchOptions::default();
    let farthest = *plain
        .search(&queries, &search)
        .unwrap()
        .distances
        .last()
        .unwrap();
    let ranges = [&plain, &near].map(|index| {
        let within = SearchOptions::within(farthest);
        let answers = index.search(&queries, &within).unwrap();
        let hops: u64 = answers.stats.iter().map(|one| one.hops).sum();
        (answers.ids, hops)
    });
    assert!(!ranges[0].0.is_empty());
    assert_eq!(ranges[0], ranges[1]);
    for (k, recall) in [(1, 0.95), (10, 0.8), (10, 0.95)] {
        let search = SearchOptions::nearest(k).with_effort(Effort::Recall(recall));
        let report = near
            .measure_recall(&queries, &search, &pageway::NoProgress)
            .unwrap();
        let kept = report.recall >= f64::from(recall) - 0.02;
        assert!(kept, "{k} {recall}: {report:?}");
    }
}
