//! Graph pipnn through the whole engine: in one piece and in shards, stored, opened, searched.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Rows, nearest};
use pageway::spec::{GraphSpec, Overrides};
use pageway::{
    BuildOptions, Effort, ElementType, Index, MemoryWish, Metric, OpenOptions, Preset, Queries,
    SearchOptions,
};

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

fn options(metric: Metric, threads: usize) -> BuildOptions {
    let graph = GraphSpec::PiPnn {
        max_degree: 24,
        build_list: 60,
        alpha: 1.2,
        fanout: 6,
        leaf: 256,
        knn: 5,
    };
    BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_metric(metric)
        .with_threads(threads)
        .with_calibration_queries(20)
        .with_overrides(Overrides {
            graph: Some(graph),
            ..Overrides::default()
        })
}

/// Ids of the ten nearest of each query.
fn search(dir: &std::path::Path, queries: &Rows) -> Vec<u64> {
    let index = Index::open(dir, &OpenOptions::default()).unwrap();
    let search = SearchOptions::default().with_effort(Effort::ListSize(80));
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &search).unwrap().ids
}

/// Ids that are among the ten nearest of their query.
fn hits(base: &Rows, queries: &Rows, ids: &[u64], metric: Metric) -> usize {
    (0..queries.count())
        .map(|query| {
            let truth = nearest(base, queries, query, 10, metric);
            let found = ids[query * 10..][..10].iter();
            found.filter(|id| truth.contains(id)).count()
        })
        .sum()
}

#[test]
fn neighbours_are_found_in_every_metric() {
    let base = Rows::clustered(3000, 24, ElementType::U8, 1);
    let queries = Rows::clustered(40, 24, ElementType::U8, 2);
    for metric in METRICS {
        let dir = tempfile::tempdir().unwrap();
        let report = base.build(dir.path(), &options(metric, 2)).unwrap();
        assert_eq!(report.shards, 1);
        let hits = hits(&base, &queries, &search(dir.path(), &queries), metric);
        assert!(hits >= 380, "{metric}: {hits} of 400");
    }
}

#[test]
fn shards_are_merged_and_do_not_depend_on_threads() {
    let base = Rows::clustered(12_000, 64, ElementType::F32, 1);
    let queries = Rows::clustered(40, 64, ElementType::F32, 2);
    let with =
        |bytes, threads| options(Metric::L2, threads).with_build_memory(MemoryWish::Bytes(bytes));
    let dir = tempfile::tempdir().unwrap();
    let refused = base.build(&dir.path().join("refused"), &with(1, 2)).err();
    let error = refused.unwrap();
    let tail = error.context().split_once("smallest that works is ");
    let least = tail.unwrap().1.split(' ').next().unwrap().parse().unwrap();
    let found = [1, 3].map(|threads| {
        let dir = dir.path().join(threads.to_string());
        let report = base.build(&dir, &with(least, threads)).unwrap();
        assert!(report.shards > 1, "built whole in {least} B");
        search(&dir, &queries)
    });
    assert_eq!(found[0], found[1]);
    let hits = hits(&base, &queries, &found[0], Metric::L2);
    assert!(hits >= 350, "{hits} of 400");
}
