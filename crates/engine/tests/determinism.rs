//! The same data, options and seed give the same bytes whatever the threads; the same index and
//! search give the same answers however the reads are arranged.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Rows, smallest_that_works};
use pageway::lab::OpenMode;
use pageway::spec::{
    CacheOverrides, CompletionSpec, HarvestSpec, NodeCacheSpec, PageCacheSpec, RefineSpec,
    ScheduleSpec,
};
use pageway::{
    Answers, BuildOptions, BuildReport, Effort, ElementType, Index, MemoryWish, Metric,
    OpenOptions, OsVfs, Overrides, Preset, Queries, SearchOptions, Vfs,
};

const CASES: [(ElementType, Metric); 3] = [
    (ElementType::U8, Metric::L2),
    (ElementType::F32, Metric::Cosine),
    (ElementType::F32, Metric::InnerProduct),
];

fn options(metric: Metric, threads: usize) -> BuildOptions {
    BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_metric(metric)
        .with_threads(threads)
        .with_degree(12)
        .with_build_list(24)
        .with_calibration_queries(20)
}

/// Name and bytes of every file.
fn bytes_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = OsVfs.list(dir).unwrap().into_iter();
    let read = |name: String| {
        let file = OsVfs.open(&dir.join(&name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        (name, bytes)
    };
    names.map(read).collect()
}

fn built(base: &Rows, options: &BuildOptions) -> (BTreeMap<String, Vec<u8>>, BuildReport) {
    let dir = tempfile::tempdir().unwrap();
    let report = base.build(dir.path(), options).unwrap();
    (bytes_of(dir.path()), report)
}

fn check_equal(left: &BTreeMap<String, Vec<u8>>, right: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert!(left.keys().eq(right.keys()), "{what}");
    for (name, bytes) in left {
        assert!(bytes == &right[name], "{what}: {name} differs");
    }
}

#[test]
fn a_whole_build_gives_the_same_bytes_on_any_number_of_threads() {
    for (element, metric) in CASES {
        let base = Rows::clustered(3000, 16, element, 1);
        let (one, report) = built(&base, &options(metric, 1));
        assert_eq!((one.len(), report.shards), (6, 1));
        for threads in [1, 2, 3] {
            let (other, _) = built(&base, &options(metric, threads));
            check_equal(
                &one,
                &other,
                &format!("{element} {metric}, {threads} threads"),
            );
        }
    }
}

/// With memory so tight that threads compete with the cache for it.
#[test]
fn little_memory_for_searches_gives_the_same_bytes_on_any_number_of_threads() {
    let base = Rows::clustered(2000, 1000, ElementType::U8, 1);
    let with = |bytes, threads| {
        options(Metric::L2, threads)
            .with_memory(MemoryWish::Bytes(bytes))
            .with_code_bytes(8)
    };
    let dir = tempfile::tempdir().unwrap();
    let least = smallest_that_works(
        &base
            .build(&dir.path().join("index"), &with(1, 1))
            .unwrap_err(),
    );
    for more in [0, 200_000, 1_200_000] {
        let (one, _) = built(&base, &with(least + more, 1));
        for threads in [2, 3] {
            let (other, _) = built(&base, &with(least + more, threads));
            check_equal(&one, &other, &format!("{more} B more, {threads} threads"));
        }
    }
}

#[test]
fn a_build_in_shards_gives_the_same_bytes_on_any_number_of_threads() {
    for (element, metric) in CASES {
        let base = Rows::clustered(15_000, 128, element, 1);
        let build_memory = sharding_memory(&base, metric);
        let with = |threads| options(metric, threads).with_build_memory(build_memory);
        let (one, report) = built(&base, &with(1));
        assert!(report.shards > 1, "{element} {metric}: built whole");
        for threads in [2, 3] {
            let (other, _) = built(&base, &with(threads));
            check_equal(
                &one,
                &other,
                &format!("{element} {metric}, {threads} threads"),
            );
        }
    }
}

/// The least memory that a build on three threads works with: it forces shards on any number.
fn sharding_memory(base: &Rows, metric: Metric) -> MemoryWish {
    let dir = tempfile::tempdir().unwrap();
    let refused = base.build(
        &dir.path().join("index"),
        &options(metric, 3).with_build_memory(MemoryWish::Bytes(1)),
    );
    MemoryWish::Bytes(smallest_that_works(&refused.err().unwrap()))
}

#[test]
fn another_seed_gives_other_bytes() {
    let base = Rows::clustered(1000, 16, ElementType::U8, 1);
    let (one, _) = built(&base, &options(Metric::L2, 2));
    let other = options(Metric::L2, 2).with_seed(43);
    let (other, _) = built(&base, &other);
    assert!(one["records-1.pw"] != other["records-1.pw"]);
}

fn same(left: &Answers, right: &Answers, what: &str) {
    assert_eq!(left.ids, right.ids, "{what}");
    assert_eq!(left.distances, right.distances, "{what}");
}

/// Threads and queries in flight decide when a page arrives, not what a walk does with it.
#[test]
fn answers_do_not_depend_on_how_reads_are_arranged() {
    for (element, metric) in CASES {
        let base = Rows::clustered(3000, 16, element, 1);
        let queries = Rows::clustered(150, 16, element, 2);
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options(metric, 2)).unwrap();
        let open = OpenOptions::default().with_threads(2);
        let index = Index::open(dir.path(), &open).unwrap();
        let search = |threads, interleave, beam| {
            let options = SearchOptions::default()
                .with_effort(Effort::ListSize(30))
                .with_threads(threads)
                .with_interleave(interleave)
                .with_beam(beam);
            index.search(&Queries::new(&queries.bytes, queries.shape), &options)
        };
        for beam in [1, 4, 16] {
            let expected = search(1, 1, beam).unwrap();
            for (threads, interleave) in [(1, 4), (1, 8), (2, 1), (2, 4), (2, 8)] {
                let answers = search(threads, interleave, beam).unwrap();
                assert_eq!(answers.settings.threads, threads);
                let what = format!("{metric} beam {beam} threads {threads} x {interleave}");
                same(&expected, &answers, &what);
            }
        }
    }
}

/// A pipeline in order takes a page that arrives early, or lies in memory, in its turn.
#[test]
fn a_pipeline_in_order_gives_the_same_answers_whatever_arrives_first() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 1);
    let queries = Rows::clustered(150, 16, ElementType::U8, 2);
    for harvest in [HarvestSpec::Target, HarvestSpec::Held] {
        let overrides = Overrides {
            harvest: Some(harvest),
            schedule: Some(ScheduleSpec::Pipelined {
                least: 4,
                most: 16,
                completion: CompletionSpec::InOrder,
            }),
            cache: CacheOverrides {
                pages: Some(PageCacheSpec::Clock),
                ..CacheOverrides::default()
            },
            ..Overrides::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let options = options(Metric::L2, 2)
            .with_preset(Preset::PipeAnn)
            .with_overrides(overrides);
        base.build(dir.path(), &options).unwrap();
        let search = |memory, interleave| {
            let open = OpenOptions::default().with_memory(MemoryWish::Bytes(memory));
            let index = Index::open(dir.path(), &open)?;
            let options = SearchOptions::default()
                .with_effort(Effort::ListSize(30))
                .with_interleave(interleave);
            index.search(&Queries::new(&queries.bytes, queries.shape), &options)
        };
        let least = smallest_that_works(&search(1, 1).err().unwrap());
        let expected = search(least, 1).unwrap();
        for (more, interleave) in [(0, 1), (2_000_000, 1), (2_000_000, 8)] {
            let answers = search(least + more, interleave).unwrap();
            same(&expected, &answers, &format!("{harvest:?} {more} B more"));
            let hits = |answers: &Answers| {
                let stats = answers.stats.iter();
                stats
                    .map(|stats| stats.page_hits + stats.reads)
                    .collect::<Vec<_>>()
            };
            assert_eq!(hits(&expected), hits(&answers), "{harvest:?}: other pages");
        }
    }
}

/// A batch answers as its queries do one by one, and twice the same.
#[test]
fn answers_do_not_depend_on_the_company_of_a_query() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 1);
    let queries = Rows::clustered(60, 16, ElementType::U8, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options(Metric::L2, 2)).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let search = |rows: &[u8]| {
        let options = SearchOptions::default().with_effort(Effort::ListSize(30));
        index.search(&Queries::new(rows, queries.shape), &options)
    };
    let together = search(&queries.bytes).unwrap();
    same(&together, &search(&queries.bytes).unwrap(), "again");
    for query in 0..queries.count() {
        let alone = search(queries.row(query)).unwrap();
        assert_eq!(alone.ids, together.ids[query * 10..][..10], "query {query}");
    }
}

/// A round chooses its nodes before it looks which of them are cached.
#[test]
fn a_cache_changes_no_answer() {
    let [none, records] = check_cache(NodeCacheSpec::Records, RefineSpec::Inline, 100_000);
    assert_eq!((none, records), (None, None));
    let refine = RefineSpec::Deferred { share: 0.5 };
    let [some, all] = check_cache(NodeCacheSpec::Lists, refine, 20_000).map(Option::unwrap);
    // A table finds some, two bytes and a half each of all.
    assert!(
        all < 16.0 && some < 32.0 && all < some,
        "{all} and {some} bits"
    );
}

/// Searches with as many nodes cached as `bytes` hold, and with all; returns the bits that a
/// neighbour takes.
fn check_cache(nodes: NodeCacheSpec, refine: RefineSpec, bytes: u64) -> [Option<f64>; 2] {
    let base = Rows::clustered(3000, 16, ElementType::F32, 1);
    let queries = Rows::clustered(100, 16, ElementType::F32, 2);
    let dir = tempfile::tempdir().unwrap();
    let mut build = options(Metric::L2, 2);
    build.overrides.cache.nodes = Some(nodes);
    build.overrides.refine = Some(refine);
    base.build(dir.path(), &build).unwrap();
    let open = |memory| {
        let options = OpenOptions::default()
            .with_memory(MemoryWish::Bytes(memory))
            .with_effort(Effort::ListSize(30));
        Index::open(dir.path(), &options).unwrap()
    };
    let search = |index: &Index| {
        let options = SearchOptions::default().with_effort(Effort::ListSize(30));
        let queries = Queries::new(&queries.bytes, queries.shape);
        index.search(&queries, &options).unwrap()
    };
    let refused = Index::open(
        dir.path(),
        &OpenOptions::default()
            .with_memory(MemoryWish::Bytes(1))
            .with_effort(Effort::ListSize(30)),
    );
    let least = smallest_that_works(&refused.err().unwrap());
    let (all, some) = (open(16_000_000), open(least + bytes));
    let (cached, fewer) = (all.memory().cached_nodes, some.memory().cached_nodes);
    assert!(
        cached == 3000 && fewer > 20,
        "{cached} and {fewer} cached nodes"
    );
    assert!(cached > 2 * fewer, "{cached} and {fewer} cached nodes");
    same(&search(&all), &search(&some), "another budget");
    [some, all].map(|index| index.memory().cached_edge_bits)
}

/// Vectors so long that several queries are turned to the axes of their codes at once.
#[test]
fn queries_of_a_call_find_what_they_find_alone() {
    let base = Rows::clustered(3000, 400, ElementType::F32, 1);
    let queries = Rows::clustered(300, 400, ElementType::F32, 2);
    for share in [0.2, 0.6] {
        let dir = tempfile::tempdir().unwrap();
        let options = BuildOptions::default()
            .with_preset(Preset::Pageway)
            .with_memory(MemoryWish::Share(share))
            .with_calibration_queries(20);
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(30));
        let search = |bytes: &[u8], options: &SearchOptions| {
            index
                .search(&Queries::new(bytes, queries.shape), options)
                .unwrap()
        };
        let alone: Vec<Answers> = queries
            .bytes
            .chunks(queries.shape.row_bytes())
            .map(|query| search(query, &options))
            .collect();
        for threads in [1, 2] {
            let all = search(&queries.bytes, &options.with_threads(threads));
            for (at, own) in alone.iter().enumerate() {
                let place = 10 * at..10 * (at + 1);
                assert_eq!(all.ids[place.clone()], own.ids, "{share} {threads} {at}");
                assert_eq!(
                    all.distances[place], own.distances,
                    "{share} {threads} {at}"
                );
            }
        }
    }
}
