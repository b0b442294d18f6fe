//! The memory contract: what is too small is refused with the smallest that works, that smallest
//! works, and what was set aside is never exceeded.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;

use common::{Rows, smallest_that_works};
use pageway::{
    Answers, BuildOptions, Effort, ElementType, ErrorKind, Index, MemoryPart, MemoryWish, Metric,
    OpenOptions, Preset, Queries, Result, SearchOptions,
};

fn options() -> BuildOptions {
    BuildOptions::default()
        .with_degree(16)
        .with_build_list(32)
        .with_calibration_queries(20)
        .with_threads(2)
}

fn search(index: &Index, queries: &Rows, list_size: u32) -> Result<Answers> {
    let options = SearchOptions::default().with_effort(Effort::ListSize(list_size));
    index.search(&Queries::new(&queries.bytes, queries.shape), &options)
}

fn open(dir: &Path, bytes: u64, options: OpenOptions) -> Result<Index> {
    let memory = Some(MemoryWish::Bytes(bytes));
    Index::open(dir, &options.with_memory(memory))
}

fn check_ledger(index: &Index) {
    let memory = index.memory();
    let reserved: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(reserved <= memory.budget_bytes, "{memory:?}");
    assert!(memory.searches_peak_bytes <= set_aside(index), "{memory:?}");
}

/// What the index set aside for searches.
fn set_aside(index: &Index) -> u64 {
    part(index, MemoryPart::OneQuery) + part(index, MemoryPart::MoreQueries)
}

/// Bytes of one part of the ledger.
fn part(index: &Index, part: MemoryPart) -> u64 {
    index.memory().bytes_of(part)
}

#[test]
fn the_smallest_budget_that_a_refusal_names_opens_and_one_byte_less_does_not() {
    let base = Rows::clustered(2000, 24, ElementType::F32, 1);
    let queries = Rows::clustered(50, 24, ElementType::F32, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options()).unwrap();
    let mut before = 0;
    for list_size in [10, 200, 1000] {
        let options = OpenOptions::default()
            .with_effort(Effort::ListSize(list_size))
            .with_threads(2);
        let least = smallest_that_works(&open(dir.path(), 1, options).err().unwrap());
        assert!(least >= before, "longer lists need more");
        before = least;
        let index = open(dir.path(), least, options).unwrap();
        search(&index, &queries, list_size).unwrap();
        check_ledger(&index);
        let refused = open(dir.path(), least - 1, options).err().unwrap();
        assert_eq!(smallest_that_works(&refused), least);
        for part in ["codes", "codebook", "one query"] {
            assert!(refused.context().contains(part), "{refused}");
        }
    }
}

#[test]
fn any_budget_above_the_smallest_is_kept() {
    let base = Rows::clustered(2000, 24, ElementType::U8, 1);
    let queries = Rows::clustered(50, 24, ElementType::U8, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options()).unwrap();
    let options = OpenOptions::default();
    let least = smallest_that_works(&open(dir.path(), 1, options).err().unwrap());
    let mut cached = 0;
    for more in [0, 1, 1000, 100_000, 1_000_000, 100_000_000] {
        let index = open(dir.path(), least + more, options).unwrap();
        search(&index, &queries, 200).unwrap();
        check_ledger(&index);
        let memory = index.memory();
        assert_eq!(memory.budget_bytes, least + more);
        assert!(
            memory.cached_nodes >= cached,
            "more memory caches fewer nodes"
        );
        cached = memory.cached_nodes;
    }
    assert!(cached > 1000, "{cached}");
}

#[test]
fn the_smallest_search_memory_that_a_build_names_works_and_one_byte_less_does_not() {
    let base = Rows::clustered(1000, 24, ElementType::U8, 1);
    let queries = Rows::clustered(20, 24, ElementType::U8, 2);
    // One read at a time needs no reading threads, but a ring.
    for (code_bytes, beam) in [(None, None), (Some(12), None), (Some(12), Some(1))] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let with = |bytes| {
            options()
                .with_memory(MemoryWish::Bytes(bytes))
                .with_code_bytes(code_bytes)
                .with_beam(beam)
        };
        let least = smallest_that_works(&base.build(&dir, &with(1)).unwrap_err());
        let refused = base.build(&dir, &with(least - 1)).unwrap_err();
        assert_eq!(smallest_that_works(&refused), least);
        assert!(!dir.exists(), "a refused build leaves nothing");
        base.build(&dir, &with(least)).unwrap();
        let index = Index::open(&dir, &OpenOptions::default()).unwrap();
        assert_eq!(index.memory().budget_bytes, least);
        search(&index, &queries, 100).unwrap();
        check_ledger(&index);
    }
}

/// Sets of many shapes: another stage needs most in each.
#[test]
fn the_smallest_build_memory_that_a_refusal_names_works_and_one_byte_less_does_not() {
    let wide = |queries| options().with_calibration_queries(queries);
    for (rows, dimension, options) in [
        (300, 8, options()),
        (3000, 64, options()),
        (300, 500, wide(2000)),
        (7000, 16, options()),
    ] {
        let base = Rows::clustered(rows, dimension, ElementType::U8, 1);
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let with = |bytes| options.clone().with_build_memory(MemoryWish::Bytes(bytes));
        let least = smallest_that_works(&base.build(&dir, &with(1)).unwrap_err());
        let refused = base.build(&dir, &with(least - 1)).unwrap_err();
        assert_eq!(smallest_that_works(&refused), least, "{rows} x {dimension}");
        assert!(!dir.exists(), "a refused build leaves nothing");
        let report = base.build(&dir, &with(least)).unwrap();
        assert_eq!(report.build_memory_bytes, least);
    }
}

#[test]
fn a_search_that_does_not_fit_says_what_to_do() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 1);
    let queries = Rows::clustered(20, 16, ElementType::U8, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options()).unwrap();
    let options = OpenOptions::default().with_effort(Effort::ListSize(20));
    let least = smallest_that_works(&open(dir.path(), 1, options).err().unwrap());
    let index = open(dir.path(), least, options).unwrap();
    search(&index, &queries, 20).unwrap();
    let error = search(&index, &queries, 2000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    for words in [
        "list size 2000",
        "open it with this list size",
        "more memory",
    ] {
        assert!(error.context().contains(words), "{error}");
    }
    search(&index, &queries, 20).unwrap();
    let announced = options.with_effort(Effort::ListSize(2000));
    let least = smallest_that_works(&open(dir.path(), 1, announced).err().unwrap());
    let index = open(dir.path(), least, announced).unwrap();
    search(&index, &queries, 2000).unwrap();
    check_ledger(&index);
}

/// Searches of several threads share what was set aside for one: they wait for each other.
#[test]
fn more_callers_than_announced_stay_within_what_was_set_aside() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 1);
    let queries = Rows::clustered(40, 16, ElementType::U8, 2);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options()).unwrap();
    for budget in [None, Some(10_000_000)] {
        let options = OpenOptions::default().with_threads(1);
        let least = smallest_that_works(&open(dir.path(), 1, options).err().unwrap());
        let index = open(dir.path(), budget.unwrap_or(least), options).unwrap();
        let expected: Vec<_> = [10, 30, 50, 70]
            .map(|list_size| search(&index, &queries, list_size).unwrap().ids)
            .into();
        std::thread::scope(|scope| {
            for caller in 0..4 {
                let (index, queries, expected) = (&index, &queries, &expected);
                scope.spawn(move || {
                    for round in 0..12 {
                        // Different list sizes: workers of one shape do not serve another.
                        let which = (caller + round) % 4;
                        let list_size = [10, 30, 50, 70][which];
                        let answers = search(index, queries, list_size).unwrap();
                        assert_eq!(answers.ids, expected[which], "list size {list_size}");
                    }
                });
            }
        });
        check_ledger(&index);
        assert!(index.memory().searches_peak_bytes > 0);
    }
}

#[test]
fn a_batch_of_more_threads_than_announced_uses_those_that_fit() {
    let base = Rows::clustered(3000, 16, ElementType::U8, 1);
    let dir = tempfile::tempdir().unwrap();
    base.build(dir.path(), &options()).unwrap();
    let least = smallest_that_works(&open(dir.path(), 1, OpenOptions::default()).err().unwrap());
    let index = open(dir.path(), least, OpenOptions::default()).unwrap();
    let with = |threads| {
        SearchOptions::default()
            .with_effort(Effort::ListSize(100))
            .with_threads(threads)
    };
    let queries = Queries::new(&base.bytes, base.shape);
    let alone = index.search(&queries, &with(1)).unwrap();
    let many = index.search(&queries, &with(8)).unwrap();
    assert_eq!(alone.ids, many.ids);
    assert!(many.settings.threads < 8, "{:?}", many.settings);
    check_ledger(&index);
    assert_eq!(index.metric(), Metric::L2);
}

/// Opened for eight queries in flight, a call of one takes an eighth of what was set aside, or the
/// least that a query can do with: the page buffers of the others are for calls beside it.
#[test]
fn a_call_of_one_query_holds_its_share_of_what_was_set_aside() {
    let base = Rows::clustered(2000, 24, ElementType::F32, 1);
    let dir = tempfile::tempdir().unwrap();
    // Of a narrow beam: with a wide one the least takes every buffer that a query can use.
    let built = options().with_preset(Preset::DiskAnn).with_beam(4);
    base.build(dir.path(), &built).unwrap();
    for threads in [1, 2] {
        let options = OpenOptions::default()
            .with_interleave(8)
            .with_threads(threads)
            .with_effort(Effort::ListSize(100));
        let announced = 8 * threads;
        let least = smallest_that_works(&open(dir.path(), 1, options).err().unwrap());
        let mut bound = 0;
        for more in [0, 1000, 100_000, 1_000_000, 50_000_000] {
            let index = open(dir.path(), least + more, options).unwrap();
            let share = set_aside(&index) / announced as u64;
            let one_query = part(&index, MemoryPart::OneQuery);
            let alone = peak_of(&index, &base, 1);
            let what = format!("{threads} threads, {more} more: {alone} of {share}");
            assert!(alone > 0 && alone <= share.max(one_query), "{what}");
            let together = peak_of(&index, &base, announced);
            check_ledger(&index);
            if share > one_query {
                assert!(alone > one_query && together > 2 * share, "{what}");
                bound += 1;
            }
        }
        assert!((1..5).contains(&bound), "{threads} threads: {bound} times");
    }
}

/// Most bytes that searches held after a call of so many of these queries, list size 100.
fn peak_of(index: &Index, queries: &Rows, count: usize) -> u64 {
    let first = Queries::new(
        &queries.bytes[..count * queries.shape.row_bytes()],
        queries.shape,
    );
    let options = SearchOptions::default().with_effort(Effort::ListSize(100));
    index.search(&first, &options).unwrap();
    index.memory().searches_peak_bytes
}
