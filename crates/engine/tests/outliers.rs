//! One row far out does not spoil the index of all others.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use common::{Rows, nearest};
use pageway::{
    BuildOptions, Effort, ElementType, Index, Metric, OpenOptions, Preset, Queries, SearchOptions,
};

const ROWS: usize = 2000;
const QUERIES: usize = 60;
const K: usize = 10;

/// Recall of rows, as queries, of an index of which row 17 lies `far` out.
fn recall(options: &BuildOptions, far: f32) -> f64 {
    let mut base = Rows::clustered(ROWS, 24, ElementType::F32, 3);
    let row_bytes = base.shape.row_bytes();
    let values = base.bytes[17 * row_bytes..18 * row_bytes].chunks_exact_mut(4);
    values.for_each(|value| value.copy_from_slice(&far.to_le_bytes()));
    let queries = Rows::clustered(QUERIES, 24, ElementType::F32, 4);
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("i");
    let report = base.build(&dir, options).unwrap();
    let tamed = u64::from(far > 1e6);
    assert_eq!(report.tamed_rows, tamed);
    let told = report.warnings.iter().any(|one| one.contains("shorter"));
    assert_eq!(told, far > 1e6, "{:?}", report.warnings);
    let index = Index::open(&dir, &OpenOptions::default()).unwrap();
    let search = SearchOptions::nearest(K as u32).with_effort(Effort::ListSize(60));
    let found = index.search(&Queries::new(&queries.bytes, queries.shape), &search);
    let found = found.unwrap();
    let mut hits = 0;
    for query in 0..QUERIES {
        let truth = nearest(&base, &queries, query, K, Metric::L2);
        let ids = &found.ids[query * K..][..K];
        hits += ids.iter().filter(|id| truth.contains(id)).count();
    }
    hits as f64 / (QUERIES * K) as f64
}

#[test]
fn a_row_far_out_costs_no_recall() {
    let quick = BuildOptions::default().with_calibration_queries(20);
    let mut designs = vec![(
        "diskann".to_owned(),
        quick.clone().with_preset(Preset::DiskAnn),
    )];
    for form in Preset::Pageway.form_names() {
        designs.push((form.to_owned(), quick.clone().with_form(form.to_owned())));
    }
    for (name, options) in designs {
        let without = recall(&options, 1.0);
        let with = recall(&options, 1e18);
        assert!(
            with > without - 0.03,
            "{name}: {with}, and {without} without"
        );
    }
}
