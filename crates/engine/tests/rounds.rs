//! Rounds of reads that begin with one and double.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Rows, recall};
use pageway::spec::{CacheOverrides, NodeCacheSpec, PageCacheSpec, ScheduleSpec};
use pageway::{
    Answers, BuildOptions, Effort, ElementType, Index, OpenOptions, Overrides, Preset, Queries,
    SearchOptions,
};

const BEAM: u32 = 8;

/// Answers of pages that are nodes, with nothing cached, by rounds that double or not and a list of
/// so many.
fn search(base: &Rows, queries: &Rows, (doubling, list_size): (bool, u32)) -> Answers {
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_preset(Preset::PageAnn)
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(20)
        .with_overrides(Overrides {
            cache: CacheOverrides {
                nodes: Some(NodeCacheSpec::None),
                pages: Some(PageCacheSpec::None),
                ..CacheOverrides::default()
            },
            schedule: Some(ScheduleSpec::Overlapped {
                beam: BEAM,
                doubling,
            }),
            ..Overrides::default()
        });
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(list_size));
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options).unwrap()
}

#[test]
fn rounds_that_double_are_as_wide_as_told_and_find_as_much_for_fewer_reads() {
    let base = Rows::clustered(3000, 32, ElementType::F32, 1);
    let queries = Rows::clustered(100, 32, ElementType::F32, 2);
    let plain = search(&base, &queries, (false, 20));
    let doubled = search(&base, &queries, (true, 36));
    for stats in &doubled.stats {
        let widths = (0..stats.rounds).map(|round| u64::from(BEAM).min(1 << round.min(6)));
        let most: u64 = widths.sum();
        assert!(stats.reads <= most, "{stats:?}: at most {most}");
    }
    let [less, reads] = [&doubled, &plain]
        .map(|answers| answers.stats.iter().map(|stats| stats.reads).sum::<u64>());
    assert!(less * 20 < reads * 19, "{less} reads, {reads} without");
    let recalls = [&plain, &doubled].map(|answers| recall(&base, &queries, answers));
    assert!(recalls[1] > recalls[0] - 0.002, "{recalls:?}");
}
