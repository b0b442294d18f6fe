//! Segments that are cut by space: the same rows by the same ids, and queries ask those they are
//! near.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and a test looks at the files as they are"
)]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{Rows, distance, nearest, smallest_that_works};
use pageway::source::{TextSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, Durability, Effort, ElementType, Filter, Index, MemoryWish, Metric,
    NoProgress, OpenOptions, Preset, Queries, SearchOptions, SegmentCut, UpdateOptions, VectorRead,
    Writer, verify,
};

const ROWS: usize = 3000;

fn base() -> Rows {
    Rows::clustered(ROWS, 8, ElementType::U8, 1)
}

fn others() -> Rows {
    Rows::clustered(30, 8, ElementType::U8, 2)
}

fn options(preset: Preset, metric: Metric) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_metric(metric)
        .with_degree(10)
        .with_build_list(20)
        .with_calibration_queries(20)
        .with_segments(4)
        .with_cut(SegmentCut::Space)
}

fn open(dir: &Path) -> Index {
    Index::open(dir, &OpenOptions::default()).unwrap()
}

fn listing(size: u32) -> SearchOptions {
    SearchOptions::default().with_effort(Effort::ListSize(size))
}

/// Share of the ten nearest that `ids` are, ten for each query.
fn recall(base: &Rows, queries: &Rows, ids: &[u64], metric: Metric) -> f64 {
    let mut hits = 0;
    for query in 0..queries.count() {
        let of = |row: usize| distance(&queries.values(query), &base.values(row), metric);
        let kth = of(nearest(base, queries, query, 10, metric)[9] as usize);
        let found = &ids[query * 10..][..10];
        hits += found.iter().filter(|id| of(**id as usize) <= kth).count();
    }
    hits as f64 / (queries.count() * 10) as f64
}

#[test]
fn every_design_keeps_the_ids_of_rows_and_the_recall_that_is_asked() {
    let (base, queries) = (base(), others());
    let asked = Queries::new(&queries.bytes, queries.shape);
    for (preset, metric) in [
        (Preset::DiskAnn, Metric::L2),
        (Preset::Starling, Metric::Cosine),
        (Preset::PageAnn, Metric::L2),
        (Preset::Dgai, Metric::InnerProduct),
        (Preset::Pageway, Metric::L2),
    ] {
        let what = format!("{preset}, {metric}");
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, metric)).unwrap();
        let report = verify(dir.path(), &NoProgress).unwrap();
        assert!(report.is_sound(), "{what}: {:?}", report.problems);
        let index = open(dir.path());
        let by_recall = SearchOptions::default().with_effort(Effort::Recall(0.9));
        let answers = index.search(&asked, &by_recall).unwrap();
        let found = recall(&base, &queries, &answers.ids, metric);
        assert!(found >= 0.85, "{what}: {found} of a recall of 0.9");
        for (node, id) in answers.nodes.iter().zip(&answers.ids) {
            let mut own = [0; 8];
            index.read((*node).into(), &mut own).unwrap();
            assert_eq!(own, base.row(*id as usize), "{what}: node {node}, id {id}");
        }
        let mut all = vec![0; ROWS * 8];
        index.read(0, &mut all).unwrap();
        let mut rows: Vec<&[u8]> = all.chunks_exact(8).collect();
        let mut given: Vec<&[u8]> = base.bytes.chunks_exact(8).collect();
        rows.sort_unstable();
        given.sort_unstable();
        assert_eq!(rows, given, "{what}");
    }
}

#[test]
fn a_query_asks_the_segments_that_it_is_near_and_a_longer_list_more_of_them() {
    let (base, queries) = (base(), others());
    let asked = Queries::new(&queries.bytes, queries.shape);
    let asks = |cut, list| {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::DiskAnn, Metric::L2).with_cut(cut);
        base.build(dir.path(), &options).unwrap();
        let index = open(dir.path());
        let recorded = index.search_recorded(&asked, &listing(list), 30, &NoProgress);
        let (answers, traces) = recorded.unwrap();
        let segments = |ids: &[u32]| {
            let each = ids.iter().map(|row| row * 4 / ROWS as u32);
            each.collect::<BTreeSet<_>>().len()
        };
        let spread: usize = answers.rows.chunks(10).map(segments).sum();
        let segments: usize = traces.iter().map(|trace| trace.asked.len()).sum();
        (
            segments as f64 / traces.len() as f64,
            spread as f64 / 30.0,
            recall(&base, &queries, &answers.ids, Metric::L2),
        )
    };
    let (by_arrival, spread, _) = asks(SegmentCut::Arrival, 10);
    assert!(spread > 2.5 && by_arrival == 4.0, "{spread}, {by_arrival}");
    let (few, spread, found) = asks(SegmentCut::Space, 10);
    assert!(spread < 1.5 && found > 0.8, "{spread}, {found}");
    assert!(few < 3.0, "{few} of 4 segments were asked");
    let (more, _, found) = asks(SegmentCut::Space, 100);
    assert!(more > few, "{more}, {few} by a shorter list");
    assert!(found > 0.97, "{found}");
}

#[test]
fn a_radius_a_filter_and_a_scan_reach_every_segment() {
    let (base, queries) = (base(), others());
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..ROWS)
        .map(|row| format!("{{\"third\": {}}}", row % 3))
        .collect();
    let vectors = VectorSlice::new(&base.bytes, base.shape).unwrap();
    let attributes = TextSlice::attributes(&texts);
    let input = BuildInput::new(&vectors, "rows").with_attributes(Some(&attributes));
    let options = options(Preset::DiskAnn, Metric::L2);
    Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
    let index = open(dir.path());
    let asked = Queries::new(&queries.bytes, queries.shape);
    let filter = Filter::expression("third = 1").unwrap();
    let only = asked.with_filter(Some(&filter));
    let answers = index.search(&only, &listing(40)).unwrap();
    assert_eq!(answers.ids.len(), 300);
    assert!(answers.ids.iter().all(|id| id % 3 == 1));
    let exact = SearchOptions::default().with_exact(true);
    let answers = index.search(&asked, &exact).unwrap();
    assert_eq!(recall(&base, &queries, &answers.ids, Metric::L2), 1.0);
    let within = SearchOptions::nearest(ROWS as u32)
        .with_radius(1e9)
        .with_effort(Effort::ListSize(ROWS as u32));
    let one = Queries::new(&queries.bytes[..8], queries.shape);
    let answers = index.search(&one, &within).unwrap();
    assert!(answers.ids.len() > ROWS * 99 / 100, "{}", answers.ids.len());
}

#[test]
fn the_least_memory_has_room_for_what_is_known_of_segments() {
    let base = base();
    let dir = tempfile::tempdir().unwrap();
    let with = |bytes| options(Preset::DiskAnn, Metric::L2).with_memory(MemoryWish::Bytes(bytes));
    let least = smallest_that_works(&base.build(dir.path(), &with(1)).unwrap_err());
    base.build(dir.path(), &with(least)).unwrap();
    let memory = open(dir.path()).memory();
    let held: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(held <= least, "{memory:?}");
    let least = |cut| {
        let options = options(Preset::DiskAnn, Metric::L2)
            .with_cut(cut)
            .with_build_memory(MemoryWish::Bytes(1));
        smallest_that_works(&base.build(dir.path(), &options).unwrap_err())
    };
    let (by_space, by_arrival) = (least(SegmentCut::Space), least(SegmentCut::Arrival));
    assert!(
        by_space >= by_arrival + 8 * ROWS as u64,
        "{by_space}, {by_arrival}"
    );
    let options = options(Preset::DiskAnn, Metric::L2);
    let enough = options.with_build_memory(MemoryWish::Bytes(by_space));
    base.build(dir.path(), &enough).unwrap();
}

#[test]
fn the_bytes_do_not_depend_on_threads_and_one_segment_is_not_cut() {
    let base = base();
    let of = |options: &BuildOptions| {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), options).unwrap();
        std::fs::read(dir.path().join("MANIFEST")).unwrap()
    };
    let options = options(Preset::DiskAnn, Metric::L2);
    let one = options.clone().with_threads(1);
    assert_eq!(of(&one), of(&options.clone().with_threads(3)));
    let whole = options.with_segments(1);
    let arrival = whole.clone().with_cut(SegmentCut::Arrival);
    assert_eq!(of(&whole), of(&arrival));
}

#[test]
fn an_index_cut_by_space_changes_as_others_do() {
    let (base, queries) = (base(), others());
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Preset::DiskAnn, Metric::L2))
        .unwrap();
    let asked = Queries::new(&queries.bytes[..8], queries.shape);
    let near = open(dir.path())
        .search(&asked, &SearchOptions::nearest(1000))
        .unwrap();
    let gone: Vec<u64> = near.ids[..900].to_vec();
    let updates = UpdateOptions::default();
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &updates).unwrap();
    writer.delete(&gone, Durability::Deferred).unwrap();
    let answers = writer.index().search(&asked, &listing(10)).unwrap();
    assert_eq!(answers.ids.len(), 10);
    assert!(answers.ids.iter().all(|id| !gone.contains(id)));
}
