//! The memory contract of an index that changes: rows go in beside searches, are flushed, merged,
//! and the process stays within the memory for searches plus that for updates, plus a constant for
//! code, stacks and libraries. The kernel refuses it more (`RLIMIT_AS`) and counts what it took.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::long;
use pageway::lab::peak_memory_bytes;
use pageway::{
    CreateOptions, Durability, Effort, ElementType, MemoryWish, Metric, NoProgress, OpenOptions,
    Queries, Rows, SearchOptions, UpdateOptions, VectorShape, Writer,
};
use pageway_testkit::SplitMix64;

/// Tells the process that is measured where to work.
const PLACE: &str = "PAGEWAY_MEMORY_UPDATE";
const SHAPE: VectorShape = VectorShape {
    dimension: 384,
    element: ElementType::U8,
};
const SEARCH_BYTES: u64 = 12 << 20;
const UPDATE_BYTES: u64 = 40 << 20;
/// Most of it, so that deltas are short, flushes many, and merges beside them.
const BUILD_BYTES: u64 = 33 << 20;
/// What a process may take beyond its budgets.
const CONSTANT_BYTES: u64 = 24 << 20;
/// Address space that is reserved and not used: stacks, the program, and room between what is
/// allocated.
const ADDRESSES: u64 = 64 << 20;
const BATCH: usize = 250;

/// 77 MB of vectors in the long run: a process that held them all would not pass.
fn count() -> usize {
    if long() { 200_000 } else { 24_000 }
}

/// Rows around sixty centres.
fn rows(random: &mut SplitMix64, count: usize) -> Vec<u8> {
    let mut rows = Vec::with_capacity(count * SHAPE.row_bytes());
    for _ in 0..count {
        let centre = random.below(60);
        let component = |at: u32| (centre * 37 + u64::from(at) * (centre + 3)) % 200;
        rows.extend((0..SHAPE.dimension).map(|at| component(at) as u8 + random.below(50) as u8));
    }
    rows
}

/// What the process does that is measured: its peak goes to its output.
#[test]
fn process_that_is_measured() {
    let Some(dir) = std::env::var_os(PLACE) else {
        return;
    };
    let dir = Path::new(&dir);
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(16)
        .with_memory(SEARCH_BYTES)
        .with_expected(count() as u64);
    Writer::create(dir, &options).unwrap();
    let update = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(UPDATE_BYTES))
        .with_build_memory(MemoryWish::Bytes(BUILD_BYTES))
        .with_threads(1);
    let writer = Writer::open(dir, &OpenOptions::default(), &update).unwrap();
    let is_over = AtomicBool::new(false);
    let searches = std::thread::scope(|scope| {
        let searching = scope.spawn(|| search(&writer, &is_over));
        let mut random = SplitMix64::new(1);
        for _ in 0..count() / BATCH {
            let rows = rows(&mut random, BATCH);
            let put = Rows::new(&rows, SHAPE).with_durability(Durability::Deferred);
            writer.insert(&put).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        searching.join().unwrap()
    });
    writer.settle(&NoProgress).unwrap();
    let changes = writer.changes().unwrap();
    assert_eq!(changes.rows, count() as u64);
    let memory = writer.index().memory();
    println!(
        "\n@peak {} searches {searches} flushes {} merges {} segments {} planned {} log {} made {} \
         temporary {} refused {:?}",
        peak_memory_bytes().unwrap(),
        changes.work.flushes,
        changes.work.merges,
        changes.segments,
        memory.budget_bytes,
        changes.work.log_bytes,
        changes.work.segment_bytes,
        changes.work.temporary_bytes,
        changes.merge_refused,
    );
}

/// Searches until all is in.
fn search(writer: &Writer, is_over: &AtomicBool) -> u64 {
    let mut random = SplitMix64::new(2);
    let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(40));
    let mut searches = 0;
    while !is_over.load(Ordering::Relaxed) {
        let queries = rows(&mut random, 8);
        let queries = Queries::new(&queries, SHAPE);
        writer.index().search(&queries, &options).unwrap();
        searches += 8;
    }
    searches
}

#[test]
fn rows_go_in_beside_searches_within_the_memory_of_the_writer() {
    if std::env::var_os(PLACE).is_some() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let limit = (SEARCH_BYTES + UPDATE_BYTES + CONSTANT_BYTES + ADDRESSES) / 1024;
    let mut command = Command::new("sh");
    let program = std::env::current_exe().unwrap();
    let line =
        format!("ulimit -v {limit} && exec \"$0\" --exact process_that_is_measured --nocapture");
    command.arg("-c").arg(line).arg(program);
    command.env(PLACE, root.path().join("index"));
    // Every arena of the C library reserves 64 MB, used or not.
    command.env("MALLOC_ARENA_MAX", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{wrong}");
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("@peak "))
        .unwrap();
    let peak: u64 = line.split(' ').next().unwrap().parse().unwrap();
    let most = SEARCH_BYTES + UPDATE_BYTES + CONSTANT_BYTES;
    println!(
        "memory_update: {} rows, peak {line}, at most {most}",
        count()
    );
    assert!(peak <= most, "took {line}, at most {most}");
    let number = |word: &str| {
        let mut words = line.split(' ').skip_while(|other| *other != word).skip(1);
        words.next().unwrap().parse::<u64>().unwrap()
    };
    assert!(number("flushes") >= 4 && number("searches") >= 8, "{line}");
    assert!(number("merges") >= 1, "{line}");
}
