//! `f32` that f16 holds exactly is stored as f16, and nobody can tell by what is found.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use common::{Random, Rows, small};
use pageway::{
    Answers, Effort, ElementType, Index, MemoryWish, Metric, NoProgress, OpenOptions, Preset,
    Queries, SearchOptions, Tolerance, UpdateOptions, Writer, verify,
};

const ROWS: usize = 900;
const DIMENSION: u32 = 24;

/// Whole numbers, which f16 holds.
fn rows(count: usize, seed: u64) -> Rows {
    Rows::clustered(count, DIMENSION, ElementType::F32, seed)
}

/// The same a little off, as f16 holds none.
fn off(mut rows: Rows, seed: u64) -> Rows {
    let mut random = Random(seed);
    for bytes in rows.bytes.chunks_exact_mut(4) {
        let value = f32::from_le_bytes(bytes.try_into().unwrap());
        let value = value + 0.01 + random.below(1000) as f32 / 3e4;
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    rows
}

fn search(index: &Index, queries: &Rows, tolerance: Tolerance) -> Answers {
    let options = SearchOptions::nearest(10)
        .with_effort(Effort::ListSize(300))
        .with_tolerance(tolerance);
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options).unwrap()
}

fn stored(index: &Index) -> Vec<ElementType> {
    let segments = index.description().unwrap().segments;
    segments.iter().map(|segment| segment.stored).collect()
}

#[test]
fn answers_are_those_of_floats_bit_for_bit_in_every_design() {
    let (base, queries) = (rows(ROWS, 1), off(rows(20, 2), 3));
    let metrics = [Metric::L2, Metric::InnerProduct, Metric::Cosine, Metric::L1];
    let metrics = metrics.into_iter().cycle();
    for (preset, metric) in Preset::ALL.into_iter().zip(metrics) {
        let own = small(preset, metric);
        let given = own.clone().with_store_as_given(true);
        let found = [own, given].map(|options| {
            let dir = tempfile::tempdir().unwrap();
            if let Err(error) = base.build(dir.path(), &options) {
                assert_eq!(metric, Metric::L1, "{preset}: {error}");
                return None;
            }
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            assert_eq!(index.shape(), base.shape, "{preset}");
            assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
            let vectors = index.vectors(&[3, 700, 3]).unwrap();
            let wanted = [base.row(3), base.row(700), base.row(3)].concat();
            assert_eq!(vectors, wanted, "{preset}");
            let answers = search(&index, &queries, Tolerance::EXACT);
            let exact = SearchOptions::nearest(10).with_exact(true);
            let all = Queries::new(&queries.bytes, queries.shape);
            let exact = index.search(&all, &exact).unwrap();
            let bytes = index.description().unwrap().index_bytes;
            Some((stored(&index), bytes, answers, exact))
        });
        let [Some(half), Some(float)] = found else {
            continue;
        };
        assert_eq!(half.0, [ElementType::F16], "{preset}");
        assert_eq!(float.0, [ElementType::F32], "{preset}");
        // Gorgeous packs more lists into pages that hold less.
        assert!(half.1 <= float.1, "{preset}");
        for (half, float) in [(half.2, float.2), (half.3, float.3)] {
            assert_eq!(half.ids, float.ids, "{preset} {metric}");
            let bits = |answers: &Answers| -> Vec<u32> {
                answers.distances.iter().map(|own| own.to_bits()).collect()
            };
            assert_eq!(bits(&half), bits(&float), "{preset} {metric}");
        }
    }
}

#[test]
fn a_segment_is_stored_as_its_rows_allow_and_searched_with_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let (base, exact, other) = (rows(400, 1), rows(60, 4), off(rows(60, 5), 6));
    base.build(dir.path(), &small(Preset::Pageway, Metric::L2))
        .unwrap();
    let open = (OpenOptions::default(), UpdateOptions::default());
    let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
    let put = |rows: &Rows, first: u64| {
        let ids: Vec<u64> = (first..first + rows.count() as u64).collect();
        let rows = pageway::Rows::new(&rows.bytes, rows.shape).with_ids(Some(ids.as_slice()));
        writer.upsert(&rows).unwrap();
        writer.flush(&NoProgress).unwrap();
    };
    put(&exact, 1000);
    put(&other, 2000);
    let (half, float) = (ElementType::F16, ElementType::F32);
    assert_eq!(stored(writer.index()), [half, half, float]);
    let check = || {
        for (rows, first) in [(&base, 0), (&exact, 1000), (&other, 2000)] {
            let found = search(writer.index(), rows, Tolerance::EXACT);
            let own = (first..).zip(found.distances.chunks(10));
            for ((id, distances), ids) in own.zip(found.ids.chunks(10)) {
                assert_eq!(distances[0], 0.0, "{id}");
                assert!(ids.contains(&id), "{id}: {ids:?}");
            }
            let last = first + rows.count() as u64 - 1;
            let row = writer.index().vectors(&[last]).unwrap();
            assert_eq!(row, rows.row(rows.count() - 1));
        }
    };
    check();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(stored(writer.index()), [float]);
    check();
}

#[test]
fn rows_that_take_more_pages_than_those_before_are_flushed_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    // 3,000 bytes of f16, 6,000 of f32.
    let wide = |count, seed| Rows::clustered(count, 1500, ElementType::F32, seed);
    let (base, more) = (wide(300, 1), off(wide(40, 2), 3));
    let options = small(Preset::Pageway, Metric::L2).with_memory(MemoryWish::Bytes(12_000_000));
    base.build(dir.path(), &options).unwrap();
    let open = (OpenOptions::default(), UpdateOptions::default());
    let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
    writer
        .insert(&pageway::Rows::new(&more.bytes, more.shape))
        .unwrap();
    writer.flush(&NoProgress).unwrap();
    let (half, float) = (ElementType::F16, ElementType::F32);
    assert_eq!(stored(writer.index()), [half, float]);
    let found = search(writer.index(), &more, Tolerance::EXACT);
    let nearest: Vec<u64> = found.ids.iter().copied().step_by(10).collect();
    assert_eq!(nearest, (300..340).collect::<Vec<u64>>());
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn an_index_of_exact_rows_stays_one_when_it_is_merged() {
    let dir = tempfile::tempdir().unwrap();
    rows(300, 1)
        .build(dir.path(), &small(Preset::Pageway, Metric::Cosine))
        .unwrap();
    let open = (OpenOptions::default(), UpdateOptions::default());
    let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
    let more = rows(50, 9);
    writer
        .insert(&pageway::Rows::new(&more.bytes, more.shape))
        .unwrap();
    writer.merge(true, &NoProgress).unwrap();
    assert_eq!(stored(writer.index()), [ElementType::F16]);
    let found = search(writer.index(), &more, Tolerance::EXACT);
    assert_eq!(found.ids[0], 300);
}

#[test]
fn a_tolerance_never_reads_more_pages_than_exact_answers() {
    let (base, queries) = (off(rows(3000, 1), 7), off(rows(40, 2), 8));
    let dir = tempfile::tempdir().unwrap();
    for memory in [40_000, 60_000, 120_000, 240_000] {
        let options = small(Preset::Pageway, Metric::L2);
        let options = options.with_memory(MemoryWish::Bytes(memory));
        if base.build(dir.path(), &options).is_err() {
            continue;
        }
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let pages = |tolerance: f32| -> u64 {
            let tolerance = Tolerance::new(tolerance).unwrap();
            let answers = search(&index, &queries, tolerance);
            answers.stats.iter().map(|stats| stats.pages).sum()
        };
        let exact = pages(0.0);
        for tolerance in [0.001, 0.01, 0.1, 1.0] {
            assert!(pages(tolerance) <= exact, "{memory}: {tolerance}");
        }
    }
}
