//! Build, open, search: every element type and metric against brute force.

mod common;

use common::{Rows, distance, nearest};
use pageway::{
    BuildOptions, Effort, ElementType, Index, Metric, OpenOptions, Preset, Queries, SearchOptions,
};

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

fn options(metric: Metric) -> BuildOptions {
    BuildOptions::default()
        .with_metric(metric)
        .with_degree(24)
        .with_build_list(60)
        .with_calibration_queries(50)
}

#[test]
fn every_element_type_and_metric_finds_its_neighbours_with_exact_distances() {
    for element in ElementType::NUMBERS {
        let base = Rows::clustered(2000, 24, element, 1);
        let queries = Rows::clustered(40, 24, element, 2);
        for metric in METRICS {
            let dir = tempfile::tempdir().unwrap();
            base.build(dir.path(), &options(metric)).unwrap();
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let search = SearchOptions::default().with_effort(Effort::ListSize(80));
            let answers = index
                .search(&Queries::new(&queries.bytes, queries.shape), &search)
                .unwrap();
            let mut hits = 0;
            for query in 0..queries.count() {
                let ids = &answers.ids[query * 10..][..10];
                let truth = nearest(&base, &queries, query, 10, metric);
                hits += ids.iter().filter(|id| truth.contains(id)).count();
                for (id, found) in ids.iter().zip(&answers.distances[query * 10..]) {
                    let exact =
                        distance(&queries.values(query), &base.values(*id as usize), metric);
                    let error = (f64::from(*found) - exact).abs();
                    assert!(
                        error <= 1e-3 * exact.abs().max(1.0),
                        "{element} {metric} {error}"
                    );
                }
                let distances = &answers.distances[query * 10..][..10];
                assert!(distances.windows(2).all(|pair| pair[0] <= pair[1]));
            }
            assert!(hits >= 380, "{element} {metric}: {hits} of 400");
        }
    }
}

#[test]
fn a_recall_target_is_kept_and_an_impossible_one_is_refused() {
    let base = Rows::clustered(5000, 32, ElementType::F32, 1);
    let queries = Rows::clustered(200, 32, ElementType::F32, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(
        dir.path(),
        &options(Metric::L2).with_calibration_queries(200),
    )
    .unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let queries = Queries::new(&queries.bytes, queries.shape);
    let mut before = 0;
    for recall in [0.8, 0.95, 0.99] {
        let search = SearchOptions::default().with_effort(Effort::Recall(recall));
        let report = index
            .measure_recall(&queries, &search, &pageway::NoProgress)
            .unwrap();
        assert!(
            report.recall >= f64::from(recall) - 0.02,
            "{recall}: {report:?}"
        );
        assert!(report.list_size >= before);
        before = report.list_size;
    }
    let error = Index::list_size_for(&index, 10, 1.5).unwrap_err();
    assert!(error.context().contains("recall"), "{error}");
    let within = SearchOptions::within(1e9);
    let refused = index.measure_recall(&queries, &within, &pageway::NoProgress);
    assert!(refused.unwrap_err().context().contains("radius"));
}

/// What a refinement reads depends on how many neighbours are asked for, and so does recall.
#[test]
fn a_recall_target_is_kept_where_vectors_are_read_at_the_end() {
    let base = Rows::clustered(5000, 32, ElementType::F32, 1);
    let queries = Rows::clustered(200, 32, ElementType::F32, 2);
    for preset in [Preset::Gorgeous, Preset::Dgai] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Metric::L2)
            .with_preset(preset)
            .with_code_bytes(4)
            .with_calibration_queries(500);
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let queries = Queries::new(&queries.bytes, queries.shape);
        for (k, recall) in [(1, 0.9), (10, 0.8), (10, 0.95)] {
            let search = SearchOptions::nearest(k).with_effort(Effort::Recall(recall));
            let report = index
                .measure_recall(&queries, &search, &pageway::NoProgress)
                .unwrap();
            let kept = report.recall >= f64::from(recall) - 0.03;
            assert!(kept, "{preset} {k} {recall}: {report:?}");
        }
    }
}

#[test]
fn the_smallest_sets_work_and_k_is_checked() {
    for count in [1usize, 2, 3, 10, 25, 26] {
        let base = Rows::clustered(count, 5, ElementType::U8, 3);
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(Metric::L2)).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let all = count as u32;
        let search = |k| SearchOptions::nearest(k).with_effort(Effort::ListSize(100));
        let query = Queries::new(base.row(count - 1), base.shape);
        let answers = index.search(&query, &search(all)).unwrap();
        let mut ids = answers.ids.clone();
        ids.sort_unstable();
        assert_eq!(
            ids,
            (0..count as u64).collect::<Vec<_>>(),
            "every node is reached"
        );
        assert_eq!(answers.distances[0], 0.0);
        for k in [0, 100_001] {
            assert!(
                index
                    .search(&query, &search(k))
                    .unwrap_err()
                    .context()
                    .contains("k =")
            );
        }
    }
}

#[test]
fn equal_vectors_are_all_found() {
    let base = Rows {
        bytes: vec![7; 3000 * 8],
        ..Rows::clustered(1, 8, ElementType::U8, 1)
    };
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Metric::L2)).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let search = SearchOptions::default().with_effort(Effort::ListSize(20));
    let answers = index
        .search(&Queries::new(base.row(0), base.shape), &search)
        .unwrap();
    let mut ids = answers.ids.clone();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 10, "ten different ids");
    assert!(answers.distances.iter().all(|distance| *distance == 0.0));
}

#[test]
fn records_larger_than_a_page_span_pages() {
    let base = Rows::clustered(300, 5000, ElementType::F32, 1);
    let dir = tempfile::tempdir().unwrap();
    let options = options(Metric::L2).with_store_as_given(true);
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    assert_eq!(index.description().unwrap().pages_per_read, 5);
    let search = SearchOptions::nearest(1).with_effort(Effort::ListSize(20));
    let answers = index
        .search(&Queries::new(&base.bytes, base.shape), &search)
        .unwrap();
    let own = answers
        .ids
        .iter()
        .enumerate()
        .filter(|(row, id)| *row as u64 == **id)
        .count();
    assert!(own >= 299, "{own}");
}

#[test]
fn the_index_gives_its_vectors_back() {
    use pageway::VectorRead;
    let base = Rows::clustered(1000, 24, ElementType::I8, 5);
    let dir = tempfile::tempdir().unwrap();
    let options = options(Metric::L2).with_preset(Preset::DiskAnn);
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let mut all = vec![0; base.bytes.len()];
    index.read(0, &mut all).unwrap();
    assert!(all == base.bytes);
    let mut some = vec![0; 24 * 7];
    index.read(990, &mut some).unwrap();
    assert_eq!(some, base.bytes[990 * 24..997 * 24]);
    assert!(index.read(994, &mut some).is_err());
}
