//! User ids: any 64-bit numbers below `u64::MAX`, each once, one per row.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;

use common::{Random, Rows, nearest};
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, BuildReport, Effort, ElementType, ErrorKind, Index, Metric,
    NoProgress, OpenOptions, Queries, Result, SearchOptions,
};

fn build(dir: &Path, base: &Rows, ids: &[u64]) -> Result<BuildReport> {
    let vectors = VectorSlice::new(&base.bytes, base.shape)?;
    let ids = IdSlice(ids);
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    let options = BuildOptions::default()
        .with_degree(24)
        .with_build_list(48)
        .with_calibration_queries(20);
    Index::build(dir, &input, &options, &NoProgress)
}

/// Ids over the whole range, in no order, both ends among them.
fn scattered(count: usize) -> Vec<u64> {
    let mut random = Random(11);
    let mut ids: Vec<u64> = (0..count as u64)
        .map(|row| random.next() & !0xffff | row)
        .collect();
    (ids[3], ids[count - 1]) = (u64::MAX - 1, 0);
    ids
}

#[test]
fn a_search_returns_the_ids_and_the_rows_they_belong_to() {
    let base = Rows::clustered(1500, 16, ElementType::U8, 1);
    let ids = scattered(base.count());
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &base, &ids).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let search = SearchOptions::default().with_effort(Effort::ListSize(100));
    let queries = Queries::new(&base.bytes, base.shape);
    let answers = index.search(&queries, &search).unwrap();
    for (id, row) in answers.ids.iter().zip(&answers.rows) {
        assert_eq!(*id, ids[*row as usize]);
    }
    assert!(answers.ids.contains(&(u64::MAX - 1)) && answers.ids.contains(&0));
    for query in (0..base.count()).step_by(100) {
        let truth = nearest(&base, &base, query, 1, Metric::L2);
        let nearest = answers.distances[query * 10];
        assert_eq!(nearest, 0.0, "row {query} finds {truth:?}");
    }
}

/// The largest number stands for "none" in answers.
#[test]
fn the_largest_number_is_no_id() {
    let base = Rows::clustered(50, 8, ElementType::U8, 1);
    let mut ids = scattered(base.count());
    ids[7] = u64::MAX;
    let dir = tempfile::tempdir().unwrap();
    let error = build(&dir.path().join("index"), &base, &ids).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.context().contains("row 7"), "{error}");
}

#[test]
fn a_duplicate_is_refused_with_both_rows() {
    let base = Rows::clustered(300, 8, ElementType::U8, 1);
    for (first, again) in [(0, 1), (0, 299), (120, 121), (5, 200)] {
        let mut ids = scattered(base.count());
        ids[again] = ids[first];
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let error = build(&dir, &base, &ids).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        for words in [
            format!("id {} ", ids[first]),
            format!("row {first} "),
            format!("row {again}"),
        ] {
            assert!(error.context().contains(&words), "{words}: {error}");
        }
        assert!(!dir.exists(), "nothing is left behind");
    }
}

#[test]
fn another_number_of_ids_than_rows_is_refused() {
    let base = Rows::clustered(300, 8, ElementType::U8, 1);
    for count in [1, 299, 301] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let error = build(&dir, &base, &scattered(301)[..count]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let both = format!("{count} ids for the 300 vectors");
        assert!(error.context().contains(&both), "{error}");
        assert!(!dir.exists(), "nothing is left behind");
    }
}

#[test]
fn ids_of_row_numbers_and_none_give_the_same_answers() {
    let base = Rows::clustered(800, 16, ElementType::I8, 1);
    let root = tempfile::tempdir().unwrap();
    let (with, without) = (root.path().join("with"), root.path().join("without"));
    let numbers: Vec<u64> = (0..base.count() as u64).collect();
    build(&with, &base, &numbers).unwrap();
    let options = BuildOptions::default()
        .with_degree(24)
        .with_build_list(48)
        .with_calibration_queries(20);
    base.build(&without, &options).unwrap();
    let search = SearchOptions::default().with_effort(Effort::ListSize(50));
    let ids = [with, without].map(|dir| {
        let index = Index::open(&dir, &OpenOptions::default()).unwrap();
        let queries = Queries::new(&base.bytes, base.shape);
        index.search(&queries, &search).unwrap().ids
    });
    assert_eq!(ids[0], ids[1]);
}
