//! The memory contract of filters: what filtered searches take beyond plain ones, what opening
//! attributes and names does, and what a process takes in all. Each figure is the peak of a process
//! of its own, counted by the kernel, without pages of the program; `memory_heap` counts what stays
//! held byte by byte.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;
use std::process::Command;

use common::Data;
use common::attributed::{MEMORY, build, count};
use pageway::lab::peak_memory_bytes;
use pageway::{Effort, Filter, Index, MemoryPart, MemoryWish, OpenOptions, Queries, SearchOptions};

/// Tells a process that is measured which index to open, and what to do with it.
const PLACE: &str = "PAGEWAY_MEMORY_FILTERS";
const TASK: &str = "PAGEWAY_MEMORY_FILTERS_TASK";
/// What opening four indexed fields may take.
const OPENING_BYTES: u64 = 200_000;
/// What a name may take.
const NAME_BYTES: u64 = 8;
/// What equal peaks differ by.
const NOISE_BYTES: u64 = 256 << 10;
/// The same of filtered searches, with the buffers of scans, which are of no budget.
const SCAN_BYTES: u64 = 2 << 20;
/// What a process takes beside its budget.
const CONSTANT_BYTES: u64 = 24 << 20;

/// Filters that take memory: a term, many terms, what terms do not tell, and levels.
fn filters() -> Vec<String> {
    let last = count() - 1;
    let mut all = vec![
        "kind = 'red'".to_owned(),
        format!("row between 1 and {last}"),
        "not (part > 500.5)".to_owned(),
        "(kind = 'red' and (part < 800 or (row > 5 and not (tags = 't3')))) or kind = 'blue'"
            .to_owned(),
    ];
    all.extend((0..40).map(|tag| format!("tags = 't{tag}' or part = {tag}.5")));
    all
}

/// The peak of the process without pages of the program: how many of those are mapped goes by how
/// they lie in the page cache, and some hundred kB more or less come with another copy of it.
fn own_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mapped = status
        .lines()
        .find_map(|line| line.strip_prefix("RssFile:"));
    let kilobytes = mapped.unwrap().trim().trim_end_matches(" kB");
    peak_memory_bytes().unwrap() - 1024 * kilobytes.parse::<u64>().unwrap()
}

/// What the process does that is measured: its peak goes to its output.
#[test]
fn process_that_is_measured() {
    let (Some(dir), Ok(task)) = (std::env::var_os(PLACE), std::env::var(TASK)) else {
        return;
    };
    let options = OpenOptions::default()
        .with_memory(MemoryWish::Bytes(MEMORY))
        .with_threads(2);
    let index = Index::open(Path::new(&dir), &options).unwrap();
    let opened = own_peak();
    let data = Data::new(64, 8, 5);
    let queries = Queries::new(&data.rows, data.shape);
    let search = SearchOptions::nearest(10).with_effort(Effort::ListSize(40));
    let mut matches = 0;
    for text in filters() {
        let filter = (task == "filter").then(|| Filter::expression(&text).unwrap());
        let answers = index.search(&queries.with_filter(filter.as_ref()), &search);
        let report = answers.unwrap().filter;
        matches += report.map_or(0, |report| report.matches);
    }
    let room = index.memory().bytes_of(MemoryPart::Filters);
    let peak = own_peak();
    println!("\n@peak {opened} {peak} {room} {matches}");
}

/// Peaks when it was opened and at the end, memory set aside for filters, and rows that matched.
fn measure(dir: &Path, task: &str) -> [u64; 4] {
    let program = std::env::current_exe().unwrap();
    // The least of some runs is the nearest to what it takes.
    let once = |_| {
        let mut command = Command::new(&program);
        command.args(["--exact", "process_that_is_measured", "--nocapture"]);
        command.env(PLACE, dir).env(TASK, task);
        // Every arena of the C library is another heap.
        command.env("MALLOC_ARENA_MAX", "1");
        // Buffers of their own pages leave no holes, which the next fits or does not.
        command.env("MALLOC_MMAP_THRESHOLD_", "32768");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{wrong}");
        let line = said.lines().find_map(|line| line.strip_prefix("@peak "));
        let numbers = line.unwrap().split(' ').map(|one| one.parse().unwrap());
        <[u64; 4]>::try_from(numbers.collect::<Vec<u64>>()).unwrap()
    };
    let least = |one: [u64; 4], other: [u64; 4]| std::array::from_fn(|at| one[at].min(other[at]));
    (0..5).map(once).reduce(least).unwrap()
}

#[test]
fn attributes_filters_and_names_take_the_memory_that_is_said() {
    if std::env::var_os(PLACE).is_some() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let of = |name: &str, task: &str| measure(&root.path().join(name), task);
    let (plain, names) = (of("plain", "search"), of("names", "search"));
    let (searched, filtered) = (of("attributes", "search"), of("attributes", "filter"));
    let opening = searched[0].saturating_sub(plain[0]);
    let naming = names[0].saturating_sub(plain[0]);
    let filtering = filtered[1].saturating_sub(searched[1]);
    println!(
        "memory_filters: {} rows; opening {} B, with attributes {opening} B more, with names {naming} \
         B more; filters {filtering} B more than plain searches, of {} B set aside; {} matches",
        count(),
        plain[0],
        filtered[2],
        filtered[3],
    );
    assert!(filtered[3] > count() as u64, "filters matched nothing");
    assert!(opening <= OPENING_BYTES + NOISE_BYTES, "opening: {opening}");
    let of_names = NAME_BYTES * count() as u64 + OPENING_BYTES + NOISE_BYTES;
    assert!(naming <= of_names, "names: {naming}");
    let most = filtered[2] + SCAN_BYTES;
    assert!(filtering <= most, "filters: {filtering}, at most {most}");
    assert!(
        filtered[1] <= MEMORY + CONSTANT_BYTES,
        "all: {}",
        filtered[1]
    );
}
