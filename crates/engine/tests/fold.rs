//! Vectors whose components are all below 2 in size are folded where more of them fit a page, and
//! nobody can tell by what is found.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use common::{Random, Rows, nearest, small};
use pageway::{
    Answers, BuildOptions, Durability, Effort, ElementType, Index, MemoryWish, Metric, NoProgress,
    OpenOptions, Preset, Queries, SearchOptions, UpdateOptions, Writer, verify,
};

const ROWS: usize = 700;

/// Rows of which f16 holds none, with components below 2; `far` of them have one that is not.
fn rows((count, dimension): (usize, u32), far: usize, seed: u64) -> Rows {
    let mut rows = Rows::clustered(count, dimension, ElementType::F32, seed);
    let mut random = Random(seed);
    for bytes in rows.bytes.chunks_exact_mut(4) {
        let value = f32::from_le_bytes(bytes.try_into().unwrap());
        let value = (value + random.below(1000) as f32 / 997.0) / 300.0;
        bytes.copy_from_slice(&value.clamp(-1.9, 1.9).to_le_bytes());
    }
    let row_bytes = 4 * dimension as usize;
    for row in rows.bytes.chunks_exact_mut(row_bytes).take(far) {
        row[..4].copy_from_slice(&2.5_f32.to_le_bytes());
    }
    rows
}

fn options(preset: Preset, metric: Metric) -> BuildOptions {
    small(preset, metric).with_degree(24).with_build_list(64)
}

fn search(index: &Index, queries: &Rows) -> Answers {
    let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(100));
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options).unwrap()
}

/// Vectors of a page, and pages of a read.
fn layout(index: &Index) -> (u32, u32) {
    let description = index.description().unwrap();
    (description.vectors_per_page, description.pages_per_read)
}

/// Whether the vectors of each segment are folded.
fn folded(index: &Index) -> Vec<bool> {
    let segments = index.description().unwrap().segments;
    segments.iter().map(|segment| segment.folded > 0).collect()
}

/// That each row finds itself, and comes back as it was given.
fn check(index: &Index, rows: &Rows, first: u64) {
    let found = search(index, rows);
    for (row, distances) in found.distances.chunks(10).enumerate() {
        let ids = &found.ids[10 * row..10 * row + 10];
        let id = first + row as u64;
        assert!(distances[0].abs() < 1e-6, "{id}: {}", distances[0]);
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    let ids: Vec<u64> = (first..first + rows.count() as u64).collect();
    assert_eq!(index.vectors(&ids).unwrap(), rows.bytes);
}

#[test]
fn as_many_vectors_fit_a_page_as_their_bytes_do() {
    for (dimension, far, near) in [(128, 7, 8), (256, 3, 4), (512, 1, 2)] {
        for (count, wanted) in [(0, near), (1, far)] {
            let dir = tempfile::tempdir().unwrap();
            let rows = rows((ROWS, dimension), count, 3);
            rows.build(dir.path(), &options(Preset::Dgai, Metric::L2))
                .unwrap();
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            assert_eq!(layout(&index), (wanted, 1), "{dimension} {count}");
            assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
            check(&index, &rows, 0);
        }
    }
    for (count, span) in [(0, 1), (1, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let rows = rows((300, 1024), count, 4);
        rows.build(dir.path(), &options(Preset::Dgai, Metric::Cosine))
            .unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        assert_eq!(layout(&index), (1, span));
        check(&index, &rows, 0);
    }
}

#[test]
fn every_design_finds_the_same_at_the_same_distances() {
    let shape = (ROWS, 128);
    let (base, queries) = (rows(shape, 0, 1), rows((30, 128), 0, 2));
    for preset in Preset::ALL {
        for metric in [Metric::L2, Metric::Cosine] {
            let dir = tempfile::tempdir().unwrap();
            base.build(dir.path(), &options(preset, metric)).unwrap();
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let exact = SearchOptions::nearest(10).with_exact(true);
            let all = Queries::new(&queries.bytes, queries.shape);
            let exact = index.search(&all, &exact).unwrap();
            let (found, mut same) = (search(&index, &queries), 0);
            for (query, ids) in exact.ids.chunks(10).enumerate() {
                let best = nearest(&base, &queries, query, 10, metric);
                assert_eq!(ids, best, "{preset} {metric}");
                let own = &found.ids[10 * query..10 * query + 10];
                same += own.iter().filter(|id| best.contains(id)).count();
            }
            assert!(same >= 290, "{preset} {metric}: {same} of 300");
        }
    }
}

#[test]
fn every_form_of_the_default_design_folds() {
    let base = rows((3000, 256), 0, 8);
    let mut forms = Vec::new();
    for memory in [150_000, 200_000, 300_000, 600_000, 1_200_000] {
        let dir = tempfile::tempdir().unwrap();
        let options = options(Preset::Pageway, Metric::L2);
        let options = options.with_memory(MemoryWish::Bytes(memory));
        if base.build(dir.path(), &options).is_err() {
            continue;
        }
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let spec = index.description().unwrap().spec;
        assert_eq!(folded(&index), [true], "{memory}");
        assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
        let few = Rows {
            bytes: base.bytes[..100 * base.shape.row_bytes()].to_vec(),
            shape: base.shape,
        };
        check(&index, &few, 0);
        let form = (spec.layout.codec, spec.storage.vectors);
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    assert!(forms.len() > 1, "{forms:?}");
}

#[test]
fn rows_that_cannot_be_folded_get_a_segment_of_their_own() {
    let base = rows((400, 256), 0, 1);
    for preset in [Preset::Pageway, Preset::Dgai] {
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(preset, Metric::L2))
            .unwrap();
        let open = (OpenOptions::default(), UpdateOptions::default());
        let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
        let put = |rows: &Rows, first: u64| {
            let ids: Vec<u64> = (first..first + rows.count() as u64).collect();
            let rows = pageway::Rows::new(&rows.bytes, rows.shape).with_ids(Some(ids.as_slice()));
            writer.upsert(&rows).unwrap();
            writer.flush(&NoProgress).unwrap();
        };
        let (near, far) = (rows((60, 256), 0, 5), rows((60, 256), 60, 6));
        put(&near, 1000);
        put(&far, 2000);
        let now = folded(writer.index());
        let (last, before) = now.split_last().unwrap();
        assert!(!last && before.iter().all(|own| *own), "{preset}: {now:?}");
        let all = [(&base, 0), (&near, 1000), (&far, 2000)];
        let check_all = |all: &[(&Rows, u64)]| {
            for (rows, first) in all {
                check(writer.index(), rows, *first);
            }
        };
        check_all(&all);
        writer.merge(true, &NoProgress).unwrap();
        assert_eq!(folded(writer.index()), [false], "{preset}");
        check_all(&all);
        let gone: Vec<u64> = (2000..2060).collect();
        writer.delete(&gone, Durability::Deferred).unwrap();
        writer.merge(true, &NoProgress).unwrap();
        assert_eq!(folded(writer.index()), [true], "{preset}");
        check_all(&all[..2]);
        drop(writer);
        assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
}

#[test]
fn segments_of_several_sizes_of_reads_are_searched_as_one() {
    let shape = |count| (count, 1024);
    for preset in [Preset::Pageway, Preset::Dgai] {
        for (far, spans) in [(0, (1, 2)), (400, (2, 1))] {
            let dir = tempfile::tempdir().unwrap();
            let base = rows(shape(400), far, 1);
            let options = options(preset, Metric::L2);
            let options = options.with_memory(MemoryWish::Bytes(8_000_000));
            base.build(dir.path(), &options).unwrap();
            let open = (OpenOptions::default(), UpdateOptions::default());
            let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
            assert_eq!(layout(writer.index()), (1, spans.0), "{preset}");
            let other = rows(shape(60), 60 - far.min(60), 5);
            let ids: Vec<u64> = (1000..1060).collect();
            let put = pageway::Rows::new(&other.bytes, other.shape).with_ids(Some(ids.as_slice()));
            writer.upsert(&put).unwrap();
            writer.flush(&NoProgress).unwrap();
            let now = folded(writer.index());
            assert_eq!(now, [far == 0, far > 0], "{preset}");
            for all in [(&base, 0), (&other, 1000)] {
                check(writer.index(), all.0, all.1);
            }
            drop(writer);
            assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
            for options in [
                OpenOptions::default(),
                OpenOptions::default().with_interleave(1),
            ] {
                let index = Index::open(dir.path(), &options).unwrap();
                check(&index, &base, 0);
                check(&index, &other, 1000);
            }
            let writer = Writer::open(dir.path(), &open.0, &open.1).unwrap();
            writer.merge(true, &NoProgress).unwrap();
            check(writer.index(), &base, 0);
            check(writer.index(), &other, 1000);
        }
    }
}
