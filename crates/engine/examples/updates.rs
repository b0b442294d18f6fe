//! Measures an index that changes: rates of inserts and deletes, searches beside them, recovery,
//! and recall over generations against a fresh build. One JSON object per line.
//!
//! ```text
//! cargo run --release -p pageway --example updates -- \
//!     SCENARIO BASE METRIC QUERIES DIR [KEY=VALUE..]
//! ```
//!
//! Scenarios: `insert`, `delete`, `beside` (searches in quiet, beside inserts, and in quiet again
//! of what is committed then), `recover`, `churn`, `delta` (searches while `rows` wait in the
//! delta, and once they are flushed), `mixed` (the operations of figures 15 and 16 of Chen et al.,
//! 2026: inserts and deletes at `inserts` to `deletes`, a flush after every `flush` of them). Keys,
//! with defaults: `first=64000` rows that the index is built of, `memory=20%`, `open=` memory to
//! search with in place of that, `update=` and `build=` memory for updates, `callers=16`,
//! `rows=10000` to change, `batch=1` rows of a call, `share=2` percent of a generation,
//! `generations=50`, `every=10` generations a comparison, `list=` entries of candidate lists,
//! `queries=200`, `threads=1`, `ids=1099511627776` the first id of `rows`, `seconds=20`, `rate=`
//! rows put in a second at most, `target_us=` latency that searches are to stay within,
//! `preset=pageway`, `form=`, and `policy.NAME=` for choices in place of the preset's, such as
//! `policy.update=overwrite`; of `mixed` also `inserts=9`, `deletes=1`, `flush=100`, `every=` rows
//! from one measure to the next.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unchecked_time_subtraction,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use pageway::lab::{peak_memory_bytes, process_cpu_time};
use pageway::source::{IdSlice, OpenAs, VectorFile, VectorSlice};
use pageway::truth::{ExactOptions, ExactQuestion, exact};
use pageway::{
    BuildInput, BuildOptions, Durability, Effort, Index, MemoryWish, Metric, NoProgress,
    OpenOptions, OsVfs, Queries, QueryStats, Rows, SearchOptions, UpdateOptions, VectorRead,
    VectorShape, Vfs, Writer,
};
use serde_json::{Value, json};

struct Set {
    shape: VectorShape,
    rows: Vec<u8>,
}

impl Set {
    fn open(path: &str, most: usize) -> Self {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let file = VectorFile::open(&vfs, Path::new(path), OpenAs { element: None }).unwrap();
        let shape = file.shape();
        let count = most.min(file.count() as usize);
        let mut rows = vec![0; count * shape.row_bytes()];
        file.read(0, &mut rows).unwrap();
        Self { shape, rows }
    }

    fn row(&self, at: usize) -> &[u8] {
        let bytes = self.shape.row_bytes();
        let at = at % (self.rows.len() / bytes);
        &self.rows[at * bytes..][..bytes]
    }

    fn count(&self) -> usize {
        self.rows.len() / self.shape.row_bytes()
    }
}

struct Bench {
    scenario: String,
    base: Set,
    queries: Set,
    metric: Metric,
    dir: PathBuf,
    keys: BTreeMap<String, String>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, base, metric, queries, dir, rest @ ..] = arguments.as_slice() else {
        panic!("SCENARIO BASE METRIC QUERIES DIR [KEY=VALUE..]");
    };
    let keys = rest.iter().map(|pair| pair.split_once('=').unwrap());
    let keys: BTreeMap<String, String> = keys
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let most = keys
        .get("queries")
        .map_or(200, |most| most.parse().unwrap());
    let bench = Bench {
        scenario: scenario.clone(),
        base: Set::open(base, usize::MAX),
        queries: Set::open(queries, most),
        metric: metric.parse().unwrap(),
        dir: PathBuf::from(dir),
        keys,
    };
    match scenario.as_str() {
        "insert" => bench.insert(),
        "delete" => bench.delete(),
        "beside" => bench.beside(),
        "recover" => bench.recover(),
        "churn" => bench.churn(),
        "delta" => bench.delta(),
        "mixed" => bench.mixed(),
        other => panic!("no scenario {other}"),
    }
}

/// A thread by whose name a script may give it a core.
fn named<'s, T: Send + 's>(
    name: &str,
    scope: &'s Scope<'s, '_>,
    run: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn_scoped(scope, run).unwrap()
}

/// Bytes of what an index holds in memory, by its name.
fn memory_parts(index: &Index) -> Value {
    let parts = index.memory().parts;
    let parts = parts
        .iter()
        .map(|part| (format!("{:?}", part.0), json!(part.1)));
    parts.collect::<serde_json::Map<_, _>>().into()
}

impl Bench {
    fn number(&self, key: &str, default: usize) -> usize {
        self.keys
            .get(key)
            .map_or(default, |value| value.parse().unwrap())
    }

    /// Where the ids of rows that are put in begin.
    fn first_id(&self) -> usize {
        self.number("ids", 1 << 40)
    }

    fn wish(&self, key: &str) -> Option<MemoryWish> {
        self.keys.get(key).map(|wish| wish.parse().unwrap())
    }

    fn show(&self, mut record: Value) {
        record["scenario"] = json!(self.scenario);
        record["keys"] = json!(self.keys);
        println!("{record}");
    }

    /// Builds an index of some rows, whose ids they are given.
    fn build(&self, dir: &Path, ids: &[u64]) {
        let rows: Vec<u8> = ids
            .iter()
            .flat_map(|id| self.base.row(*id as usize))
            .copied()
            .collect();
        let slice = VectorSlice::new(&rows, self.base.shape).unwrap();
        let ids = IdSlice(ids);
        let input = BuildInput::new(&slice, "base").with_ids(Some(&ids));
        let mut options = BuildOptions::default();
        options.metric = self.metric;
        options.memory = Some(self.memory());
        options.form = self.keys.get("form").cloned();
        if let Some(preset) = self.keys.get("preset") {
            options.preset = preset.parse().unwrap();
        }
        let own = self.keys.iter();
        let own = own.filter_map(|(key, value)| Some((key.strip_prefix("policy.")?, value)));
        let own: BTreeMap<&str, &String> = own.collect();
        options.overrides = serde_json::from_value(json!(own)).unwrap();
        Index::build(dir, &input, &options, &NoProgress).unwrap();
    }

    /// Inserts and deletes, flushed by hand: bytes written for each, and recall.
    fn mixed(&self) {
        let mut writer = self.writer();
        let (rows, flush) = (self.number("rows", 16_000), self.number("flush", 100));
        let (inserts, deletes) = (self.number("inserts", 9), self.number("deletes", 1));
        let every = self.number("every", 10_000);
        let (mut oldest, mut newest, mut before) = (0, self.first(), 0);
        let mut since = (Instant::now(), process_cpu_time());
        for done in (flush..=rows).step_by(flush) {
            let put = flush * inserts / (inserts + deletes);
            let dead: Vec<u64> = (oldest..oldest + flush - put).map(|id| id as u64).collect();
            writer.delete(&dead, Durability::Synced).unwrap();
            self.put(&writer, (newest, put), &AtomicBool::new(false));
            writer.flush(&NoProgress).unwrap();
            (oldest, newest) = (oldest + flush - put, newest + put);
            if done % every >= flush {
                continue;
            }
            writer.settle(&NoProgress).unwrap();
            let changes = writer.changes().unwrap();
            writer.close().unwrap();
            let took = (
                since.0.elapsed(),
                process_cpu_time().saturating_sub(since.1),
            );
            let live: Vec<u64> = (oldest..newest).map(|id| id as u64).collect();
            self.show(json!({
                "operations": done, "since": done - before, "rows": live.len(),
                "seconds": took.0.as_secs_f64(), "cpu_seconds": took.1.as_secs_f64(),
                "bytes_per_update": changes.work.bytes_written as f64 / (done - before) as f64,
                "recall": self.measure(&self.dir, &self.truth(&live)),
                "disk_bytes": disk_bytes(&self.dir), "changes": changes,
            }));
            before = done;
            writer = self.open();
            since = (Instant::now(), process_cpu_time());
        }
    }

    fn memory(&self) -> MemoryWish {
        self.wish("memory").unwrap_or("20%".parse().unwrap())
    }

    fn first(&self) -> usize {
        self.number("first", 64_000).min(self.base.count())
    }

    /// A writer over the first rows, which are built where they are not: in an order of their own,
    /// as pages of an index whose ids are rows are not changed one by one.
    fn writer(&self) -> Writer {
        if !self.dir.join("MANIFEST").exists() {
            let ids: Vec<u64> = (0..self.first() as u64).rev().collect();
            self.build(&self.dir, &ids);
        }
        self.open()
    }

    fn open(&self) -> Writer {
        let update = UpdateOptions::default()
            .with_memory(self.wish("update"))
            .with_build_memory(self.wish("build"))
            .with_latency_target(self.target());
        Writer::open(&self.dir, &self.open_options(), &update).unwrap()
    }

    fn target(&self) -> Option<Duration> {
        let target = self.keys.get("target_us")?;
        Some(Duration::from_micros(target.parse().unwrap()))
    }

    fn open_options(&self) -> OpenOptions {
        let mut options = OpenOptions::default();
        options.threads = self.number("threads", 1);
        options.effort = Some(Effort::ListSize(500));
        options.memory = self.wish("open");
        options
    }

    /// Inserts rows from `first` on by several callers; microseconds of each call, sorted.
    fn put(&self, writer: &Writer, (first, rows): (usize, usize), stop: &AtomicBool) -> Vec<u64> {
        let (callers, batch) = (self.number("callers", 16), self.number("batch", 1));
        let rate = self.keys.get("rate").map(|_| self.number("rate", 0));
        let (next, started) = (AtomicU64::new(0), Instant::now());
        let shape = self.base.shape;
        let call = || {
            let mut times = Vec::new();
            loop {
                let at = next.fetch_add(batch as u64, Ordering::Relaxed) as usize;
                if at >= rows || stop.load(Ordering::Relaxed) {
                    return times;
                }
                let ids: Vec<u64> = (at..rows.min(at + batch))
                    .map(|at| (first + at) as u64)
                    .collect();
                let bytes: Vec<u8> = ids
                    .iter()
                    .flat_map(|id| self.base.row(*id as usize))
                    .copied()
                    .collect();
                if let Some(rate) = rate {
                    let due = Duration::from_secs_f64(at as f64 / rate as f64);
                    std::thread::sleep(due.saturating_sub(started.elapsed()));
                }
                let begun = Instant::now();
                let put = Rows::new(&bytes, shape).with_durability(Durability::Synced);
                writer.insert(&put.with_ids(&ids[..])).unwrap();
                times.push(begun.elapsed().as_micros() as u64);
            }
        };
        let mut times: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        times.sort_unstable();
        times
    }

    fn insert(&self) {
        let writer = self.writer();
        let rows = self.number("rows", 10_000);
        let first = self.first_id();
        let (begun, cpu) = (Instant::now(), process_cpu_time());
        let times = self.put(&writer, (first, rows), &AtomicBool::new(false));
        let seconds = begun.elapsed().as_secs_f64();
        writer.settle(&NoProgress).unwrap();
        let settled = begun.elapsed().as_secs_f64();
        let cpu = (process_cpu_time() - cpu).as_secs_f64();
        let changes = writer.changes().unwrap();
        let raw = (rows * self.base.shape.row_bytes()) as f64;
        self.show(json!({
            "rows": rows, "seconds": seconds, "settled_seconds": settled,
            "rows_per_second": rows as f64 / seconds,
            "settled_rows_per_second": rows as f64 / settled,
            "cpu_us_per_row": cpu * 1e6 / rows as f64,
            "call_us": quantiles(&times),
            "written_per_byte": changes.work.bytes_written as f64 / raw,
            "peak_memory_bytes": peak_memory_bytes(),
            "changes": changes,
        }));
    }

    fn delete(&self) {
        let writer = self.writer();
        let (rows, batch) = (self.number("rows", 10_000), self.number("batch", 1));
        let callers = self.number("callers", 16);
        let next = AtomicU64::new(0);
        let (begun, cpu) = (Instant::now(), process_cpu_time());
        std::thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(batch as u64, Ordering::Relaxed) as usize;
                        if at >= rows {
                            return;
                        }
                        let ids: Vec<u64> =
                            (at..rows.min(at + batch)).map(|at| at as u64).collect();
                        writer.delete(&ids, Durability::Synced).unwrap();
                    }
                });
            }
        });
        let seconds = begun.elapsed().as_secs_f64();
        let cpu = (process_cpu_time() - cpu).as_secs_f64();
        self.show(json!({
            "rows": rows, "seconds": seconds, "rows_per_second": rows as f64 / seconds,
            "cpu_us_per_row": cpu * 1e6 / rows as f64,
            "changes": writer.changes().unwrap(),
        }));
    }

    fn options(&self) -> SearchOptions {
        let mut options = SearchOptions::nearest(10);
        if let Some(list) = self.keys.get("list") {
            options.effort = Effort::ListSize(list.parse().unwrap());
        }
        options
    }

    /// Searches one query at a time until told to stop: microseconds of each, ascending, and what
    /// each cost in the mean.
    fn search(&self, index: &Index, stop: &AtomicBool) -> (Vec<u64>, Value) {
        let (options, mut times) = (self.options(), Vec::new());
        let mut spent = QueryStats::default();
        for at in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let begun = Instant::now();
            let query = Queries::new(self.queries.row(at), self.queries.shape);
            let answers = index.search(&query, &options).unwrap();
            times.push(begun.elapsed().as_micros() as u64);
            answers.stats.iter().for_each(|stats| spent.add(stats));
        }
        times.sort_unstable();
        let each = |sum: u64| sum as f64 / times.len().max(1) as f64;
        let mean = json!({
            "reads": each(spent.reads), "rounds": each(spent.rounds), "hops": each(spent.hops),
            "codes": each(spent.approximate_distances), "exact": each(spent.exact_distances),
        });
        (times, mean)
    }

    fn beside(&self) {
        let writer = self.writer();
        let seconds = Duration::from_secs(self.number("seconds", 20) as u64);
        let stop = AtomicBool::new(false);
        let quiet = std::thread::scope(|scope| {
            let searches = named("searches", scope, || self.search(writer.index(), &stop));
            std::thread::sleep(seconds);
            stop.store(true, Ordering::Relaxed);
            searches.join().unwrap()
        });
        let (quiet, spent) = quiet;
        self.show(json!({
            "what": "quiet", "searches": quiet.len(), "call_us": quantiles(&quiet), "each": spent,
        }));
        let (stop, rows) = (AtomicBool::new(false), self.number("rows", 1_000_000));
        let (searched, put) = std::thread::scope(|scope| {
            let searches = named("searches", scope, || self.search(writer.index(), &stop));
            let inserts = scope.spawn(|| self.put(&writer, (self.first_id(), rows), &stop));
            std::thread::sleep(seconds);
            stop.store(true, Ordering::Relaxed);
            (searches.join().unwrap(), inserts.join().unwrap())
        });
        let batch = self.number("batch", 1) as f64;
        let (searched, spent) = searched;
        self.show(json!({
            "what": "beside inserts", "searches": searched.len(), "call_us": quantiles(&searched),
            "each": spent,
            "inserts_per_second": put.len() as f64 * batch / seconds.as_secs_f64(),
            "insert_us": quantiles(&put),
            "changes": writer.changes().unwrap(), "memory": memory_parts(writer.index()),
        }));
        // What is left then is the price of the rows that came, and not of their coming.
        writer.close().unwrap();
        let index = Index::open(&self.dir, &self.open_options()).unwrap();
        let stop = AtomicBool::new(false);
        let (after, spent) = std::thread::scope(|scope| {
            let searches = named("searches", scope, || self.search(&index, &stop));
            std::thread::sleep(seconds);
            stop.store(true, Ordering::Relaxed);
            searches.join().unwrap()
        });
        self.show(json!({
            "what": "quiet again", "searches": after.len(), "call_us": quantiles(&after),
            "each": spent, "memory": memory_parts(&index),
        }));
    }

    fn recover(&self) {
        let writer = self.writer();
        let capacity = writer.changes().unwrap().delta_capacity as usize;
        self.put(
            &writer,
            (self.first_id(), capacity - 1),
            &AtomicBool::new(false),
        );
        drop(writer);
        let begun = Instant::now();
        let writer = self.open();
        let seconds = begun.elapsed().as_secs_f64();
        self.show(json!({"recovery_seconds": seconds, "changes": writer.changes().unwrap()}));
    }

    /// Generations that replace the oldest rows by new ones, each flushed; recall against the
    /// truth, and that of a fresh build of the same rows.
    fn churn(&self) {
        let mut writer = self.writer();
        let count = self.first();
        let step = count * self.number("share", 2) / 100;
        let (generations, every) = (self.number("generations", 50), self.number("every", 10));
        let (mut oldest, mut newest) = (0, count);
        for generation in 1..=generations {
            let dead: Vec<u64> = (oldest..oldest + step).map(|id| id as u64).collect();
            writer.delete(&dead, Durability::Synced).unwrap();
            self.put(&writer, (newest, step), &AtomicBool::new(false));
            writer.flush(&NoProgress).unwrap();
            (oldest, newest) = (oldest + step, newest + step);
            if generation % every > 0 {
                continue;
            }
            let live: Vec<u64> = (oldest..newest).map(|id| id as u64).collect();
            let truth = self.truth(&live);
            writer.settle(&NoProgress).unwrap();
            let changes = writer.changes().unwrap();
            writer.close().unwrap();
            let aged = self.measure(&self.dir, &truth);
            let fresh_dir = self.dir.with_extension("fresh");
            let _gone = std::fs::remove_dir_all(&fresh_dir);
            self.build(&fresh_dir, &live);
            let fresh = self.measure(&fresh_dir, &truth);
            std::fs::remove_dir_all(&fresh_dir).unwrap();
            self.show(json!({
                "generation": generation, "churned": (generation * step) as f64 / count as f64,
                "aged": aged, "fresh": fresh, "disk_bytes": disk_bytes(&self.dir),
                "changes": changes,
            }));
            writer = self.open();
        }
    }

    /// Rows that wait in the delta: what their inserts read, and what searches compare.
    fn delta(&self) {
        let (writer, rows) = (self.writer(), self.number("rows", 4000));
        self.put(&writer, (self.first(), rows), &AtomicBool::new(false));
        let live: Vec<u64> = (0..(self.first() + rows) as u64).collect();
        let truth = self.truth(&live);
        for what in ["waiting", "flushed"] {
            self.show(json!({
                "what": what, "measured": self.measured(writer.index(), &truth),
                "changes": writer.changes().unwrap(),
            }));
            writer.flush(&NoProgress).unwrap();
        }
    }

    /// Recall and pages of an index at some list sizes, and by its own calibration.
    fn measure(&self, dir: &Path, truth: &[Vec<u64>]) -> Value {
        self.measured(&Index::open(dir, &self.open_options()).unwrap(), truth)
    }

    /// The same of an open index, with the distances of each query.
    fn measured(&self, index: &Index, truth: &[Vec<u64>]) -> Value {
        let all = Queries::new(&self.queries.rows, self.queries.shape);
        let efforts = [None, Some(20), Some(50), Some(100), Some(200)];
        let measured = efforts.map(|list| {
            let mut options = SearchOptions::nearest(10);
            if let Some(list) = list {
                options.effort = Effort::ListSize(list);
            }
            let begun = Instant::now();
            let answers = index.search(&all, &options).unwrap();
            let seconds = begun.elapsed().as_secs_f64();
            let found: usize = truth
                .iter()
                .zip(answers.ids.chunks_exact(10))
                .map(|(truth, ids)| ids.iter().filter(|id| truth.contains(id)).count())
                .sum();
            let each = |count: fn(&QueryStats) -> u64| {
                answers.stats.iter().map(count).sum::<u64>() as f64 / truth.len() as f64
            };
            json!({
                "list": list, "recall": found as f64 / (10 * truth.len()) as f64,
                "pages": each(|stats| stats.pages), "exact": each(|stats| stats.exact_distances),
                "codes": each(|stats| stats.approximate_distances),
                "us": 1e6 * seconds / truth.len() as f64,
            })
        });
        json!(measured)
    }

    /// Ids of the ten nearest rows of each query.
    fn truth(&self, live: &[u64]) -> Vec<Vec<u64>> {
        let rows: Vec<u8> = live
            .iter()
            .flat_map(|id| self.base.row(*id as usize))
            .copied()
            .collect();
        let base = VectorSlice::new(&rows, self.base.shape).unwrap();
        let queries = VectorSlice::new(&self.queries.rows, self.queries.shape).unwrap();
        let question = ExactQuestion {
            queries,
            metric: self.metric,
            k: 10,
            exclude: None,
        };
        let options = ExactOptions {
            memory_bytes: 64 << 20,
            pool: &pageway::lab::thread_pool(1).unwrap(),
        };
        let truth = exact(&base, &question, &options, &NoProgress).unwrap();
        let rows = truth.ids.chunks_exact(10);
        rows.map(|rows| rows.iter().map(|row| live[*row as usize]).collect())
            .collect()
    }
}

fn disk_bytes(dir: &Path) -> u64 {
    let bytes = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            disk_bytes(&entry.path())
        } else {
            entry.metadata().unwrap().len()
        }
    };
    std::fs::read_dir(dir).unwrap().map(bytes).sum()
}

fn quantiles(sorted: &[u64]) -> Value {
    let at = |share: f64| {
        let last = sorted.len().saturating_sub(1);
        sorted.get((share * last as f64) as usize).copied()
    };
    json!({"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1.0), "calls": sorted.len()})
}
