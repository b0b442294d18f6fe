//! Flushes and merges beside changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pageway_store::{DATA_EXTENSION, OsVfs, Vfs as _, clock};
use pageway_types::{Metric, NoProgress, Progress};

use super::model::{Model, SHAPE};
use crate::Durability;
use crate::error::ErrorKind;
use crate::manifest::Manifest;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions, Queries, SearchOptions};
use crate::source::{IdSlice, VectorSlice};
use crate::update::verify;
use crate::update::{Changes, CreateOptions, Rows, UpdateOptions, Writer};

fn opened(dir: &Path, update: u64, build: u64) -> Writer {
    let options = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(update))
        .with_build_memory(MemoryWish::Bytes(build));
    Writer::open(dir, &OpenOptions::default(), &options).unwrap()
}

/// Waits until something holds of a writer.
fn until(writer: &Writer, holds: impl Fn(&Changes) -> bool) -> Changes {
    let begun = clock::now();
    loop {
        let changes = writer.changes().unwrap();
        if holds(&changes) {
            return changes;
        }
        assert!(
            clock::now() - begun < Duration::from_secs(60),
            "{changes:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The clustered form, with rows whose ids are 0 and so on.
fn clustered(dir: &Path, count: u64) -> Model {
    let mut model = Model::new(1);
    let rows = model.rows(count as usize);
    let ids: Vec<u64> = (0..count).collect();
    let bytes = rows.concat();
    let input = BuildInput {
        vectors: &VectorSlice::new(&bytes, SHAPE).unwrap(),
        name: "rows",
        ids: Some(&IdSlice(&ids)),
        names: None,
        queries: None,
        attributes: None,
    };
    let options = BuildOptions {
        form: Some("clustered".to_owned()),
        calibration_queries: Some(20),
        ..BuildOptions::default()
    };
    crate::Index::build(dir, &input, &options, &NoProgress).unwrap();
    model.rows.extend((0..).zip(rows));
    model
}

#[test]
fn many_threads_change_while_segments_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = clustered(dir.path(), 12_000);
    let writer = opened(dir.path(), 12_000_000, 8_500_000);
    let changed = |thread: u64| {
        let (mut own, mut gone) = (BTreeMap::new(), Vec::new());
        let mut random = Model::new(thread);
        for round in 0..30u64 {
            let first = 100_000 * (thread + 1) + round * 500;
            let rows = random.rows(500);
            let ids: Vec<u64> = (first..first + 500).collect();
            let bytes = rows.concat();
            let put = Rows::new(&bytes, SHAPE).with_durability(Durability::Deferred);
            writer.insert(&put.with_ids(&ids[..])).unwrap();
            own.extend(ids.into_iter().zip(rows));
            // Some of these are in the delta, some are being flushed or merged, some were.
            let old: Vec<u64> = own.keys().copied().step_by(7).take(60).collect();
            let rows = random.rows(old.len());
            let bytes = rows.concat();
            let put = Rows::new(&bytes, SHAPE).with_durability(Durability::Deferred);
            writer.upsert(&put.with_ids(&old[..])).unwrap();
            own.extend(old.into_iter().zip(rows));
            let dead: Vec<u64> = own.keys().copied().skip(3).step_by(11).take(40).collect();
            writer.delete(&dead, Durability::Deferred).unwrap();
            own.retain(|id, _| !dead.contains(id));
            let built: Vec<u64> = (0..20).map(|at| thread * 3000 + round * 20 + at).collect();
            writer.delete(&built, Durability::Deferred).unwrap();
            gone.extend(built);
        }
        (own, gone)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|thread| scope.spawn(move || changed(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for (own, gone) in parts {
        model.rows.extend(own);
        model.rows.retain(|id, _| !gone.contains(id));
    }
    assert!(model.check(writer.index()) > 0.9);
    writer.settle(&NoProgress).unwrap();
    let changes = writer.changes().unwrap();
    assert!(
        changes.work.flushes > 3 && changes.work.merges > 0,
        "{changes:?}"
    );
    assert!(
        changes.segments <= 12 && changes.merge_refused.is_none(),
        "{changes:?}"
    );
    assert!(model.check(writer.index()) > 0.9);
    writer.close().unwrap();
    let writer = opened(dir.path(), 12_000_000, 8_500_000);
    assert!(model.check(writer.index()) > 0.9);
    verify(dir.path(), &NoProgress).unwrap();
}

#[test]
fn a_merge_in_little_memory_puts_rows_in_order_part_by_part() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = clustered(dir.path(), 100_000);
    let writer = opened(dir.path(), 12_500_000, 9_400_000);
    let ids: Vec<u64> = (0..4000).map(|at| 3 * at).collect();
    writer.delete(&ids, Durability::Synced).unwrap();
    model.rows.retain(|id, _| id % 3 > 0 || *id >= 12_000);
    writer.merge(true, &NoProgress).unwrap();
    let changes = writer.changes().unwrap();
    assert_eq!((changes.segments, changes.dead), (1, 0), "{changes:?}");
    assert!(changes.work.temporary_bytes > 0, "{changes:?}");
    assert!(model.check(writer.index()) > 0.95);
    writer.close().unwrap();
    verify(dir.path(), &NoProgress).unwrap();
}

/// Changes and flushes when a merge begins its first stage.
struct FlushWithin<'w> {
    writer: &'w Writer,
    rows: Vec<u8>,
    gone: Vec<u64>,
    is_done: AtomicBool,
}

impl Progress for FlushWithin<'_> {
    fn stage(&self, _: &'static str, _: u64) {
        if self.is_done.swap(true, Ordering::Relaxed) {
            return;
        }
        let ids: Vec<u64> = (90_000..).take(self.rows.len() / 12).collect();
        let put = Rows::new(&self.rows, SHAPE).with_ids(&ids[..]);
        self.writer.upsert(&put).unwrap();
        self.writer.flush(&NoProgress).unwrap();
        self.writer.delete(&self.gone, Durability::Synced).unwrap();
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn a_flush_ends_while_a_merge_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = clustered(dir.path(), 12_000);
    let writer = opened(dir.path(), 40_000_000, 32_000_000);
    let mut put = |first: u64, count: usize| {
        let rows = model.rows(count);
        let ids: Vec<u64> = (first..first + count as u64).collect();
        let bytes = rows.concat();
        (ids.clone(), rows, bytes)
    };
    let (ids, rows, bytes) = put(89_900, 300);
    writer
        .insert(&Rows::new(&bytes, SHAPE).with_ids(&ids[..]))
        .unwrap();
    writer.flush(&NoProgress).unwrap();
    let (later, new, bytes) = put(90_000, 400);
    // Of what was built, of what was flushed before, and of what comes meanwhile.
    let gone: Vec<u64> = (5..600).step_by(7).chain(89_950..90_050).collect();
    let within = FlushWithin {
        writer: &writer,
        rows: bytes,
        gone: gone.clone(),
        is_done: AtomicBool::new(false),
    };
    let report = writer.merge(true, &within).unwrap();
    assert_eq!((report.merges, report.merged_segments), (1, 2));
    model.rows.extend(ids.into_iter().zip(rows));
    model.rows.extend(later.into_iter().zip(new));
    model.rows.retain(|id, _| !gone.contains(id));
    let changes = writer.changes().unwrap();
    assert_eq!((changes.segments, changes.work.flushes), (2, 2));
    assert_eq!(changes.delta_rows, 0, "{changes:?}");
    assert!(model.check(writer.index()) > 0.95);
    drop(writer);
    verify(dir.path(), &NoProgress).unwrap();
    let writer = opened(dir.path(), 40_000_000, 32_000_000);
    assert!(model.check(writer.index()) > 0.95);
}

#[test]
fn what_fails_in_the_background_is_told_once_and_poisons_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = CreateOptions::new(SHAPE, Metric::L2).with_degree(12);
    Writer::create(dir.path(), &options).unwrap();
    let writer = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    )
    .unwrap();
    let capacity = writer.changes().unwrap().delta_capacity;
    let mut model = Model::new(5);
    // A directory is in the way of the segment's first file.
    let generation = Manifest::read(&OsVfs, dir.path()).unwrap().generation + 1;
    let blocked = dir.path().join(format!("codebook-{generation}.pw"));
    std::fs::create_dir(&blocked).unwrap();
    let mut put = |writer: &Writer, count: u64| {
        let rows = model.rows(count as usize);
        let put = writer.insert(&Rows::new(&rows.concat(), SHAPE));
        if let Ok(done) = &put {
            let first = done.first_id.unwrap();
            model.rows.extend((first..).zip(rows));
        }
        put
    };
    put(&writer, capacity).unwrap();
    put(&writer, 1).unwrap();
    let told = until(&writer, |changes| changes.background_failed.is_some());
    assert_eq!(told.work.flushes, 0);
    assert_eq!(told.delta_rows, capacity + 1, "nothing is lost");
    writer.delete(&[3], Durability::Synced).unwrap();
    let error = put(&writer, 1).unwrap_err();
    assert_eq!(Some(error.to_string()), told.background_failed);
    put(&writer, 1).unwrap();
    std::fs::remove_dir(&blocked).unwrap();
    writer.flush(&NoProgress).unwrap();
    assert_eq!(writer.changes().unwrap().delta_rows, 0);
    model.rows.remove(&3);
    assert!(model.check(writer.index()) > 0.95);
}

#[test]
fn what_is_cancelled_goes_on_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = clustered(dir.path(), 12_000);
    let writer = opened(dir.path(), 12_000_000, 8_500_000);
    let capacity = writer.changes().unwrap().delta_capacity;
    for number in 0..3 {
        let rows = model.rows(capacity as usize);
        let first = 50_000 + number * capacity;
        let ids: Vec<u64> = (first..first + capacity).collect();
        let bytes = rows.concat();
        let put = Rows::new(&bytes, SHAPE).with_durability(Durability::Deferred);
        writer.insert(&put.with_ids(&ids[..])).unwrap();
        model.rows.extend((first..).zip(rows));
        writer.cancel();
        assert!(writer.changes().unwrap().background.is_empty());
    }
    assert!(model.check(writer.index()) > 0.9);
    writer.sync().unwrap();
    drop(writer);
    let writer = opened(dir.path(), 12_000_000, 8_500_000);
    assert!(model.check(writer.index()) > 0.9);
    writer.settle(&NoProgress).unwrap();
    assert_eq!(writer.changes().unwrap().delta_rows, 0);
    assert!(model.check(writer.index()) > 0.9);
}

/// Does something where a build begins to write records.
struct AtRecords<F>(F, AtomicBool);

impl<F: Fn() + Sync> Progress for AtRecords<F> {
    fn stage(&self, name: &'static str, _: u64) {
        if name == "write records" && !self.1.swap(true, Ordering::Relaxed) {
            (self.0)();
        }
    }

    fn advance(&self, _: u64) {}
}

/// Stops a build there.
#[derive(Default)]
struct StopAtRecords(AtomicBool);

impl Progress for StopAtRecords {
    fn stage(&self, name: &'static str, _: u64) {
        self.0.fetch_or(name == "write records", Ordering::Relaxed);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Files of segments that no manifest names.
fn unnamed(dir: &Path) -> Vec<String> {
    let manifest = Manifest::read(&OsVfs, dir).unwrap();
    let named = manifest.files();
    let mut names = OsVfs.list(dir).unwrap();
    names
        .retain(|name| name.ends_with(DATA_EXTENSION) && named.iter().all(|own| own.name != *name));
    names
}

#[test]
fn what_is_stopped_leaves_no_files_and_those_of_others_stay() {
    let (dir, mut model) = (tempfile::tempdir().unwrap(), Model::new(9));
    let options = CreateOptions::new(SHAPE, Metric::L2).with_degree(12);
    Writer::create(dir.path(), &options).unwrap();
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_merge_by_hand(true);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    let mut first = 0;
    let mut put = |count: usize| {
        let rows = model.rows(count);
        writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
        model.rows.extend((first..).zip(rows));
        first += count as u64;
    };
    for _ in 0..2 {
        put(900);
        writer.flush(&NoProgress).unwrap();
    }
    let stop = StopAtRecords::default();
    let error = writer.merge(true, &stop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(unnamed(dir.path()).is_empty());
    let late = Model::new(10).rows(300).concat();
    let beside = || {
        let own = unnamed(dir.path());
        assert!(!own.is_empty());
        writer.insert(&Rows::new(&late, SHAPE)).unwrap();
        let error = writer.flush(&StopAtRecords::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(unnamed(dir.path()), own);
    };
    let merge = AtRecords(beside, AtomicBool::new(false));
    writer.merge(true, &merge).unwrap();
    assert!(unnamed(dir.path()).is_empty());
    let late = late.chunks(SHAPE.row_bytes()).map(<[u8]>::to_vec);
    model.rows.extend((first..).zip(late));
    writer.flush(&NoProgress).unwrap();
    assert!(model.check(writer.index()) > 0.95);
    drop(writer);
    assert!(verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn an_error_amid_a_long_call_says_how_many_rows_are_in() {
    let dir = tempfile::tempdir().unwrap();
    let options = CreateOptions::new(SHAPE, Metric::L2).with_degree(12);
    Writer::create(dir.path(), &options).unwrap();
    let update = UpdateOptions::default().with_in_foreground(true);
    let writer = Writer::open(dir.path(), &OpenOptions::default(), &update).unwrap();
    // A directory is in the way of the segment's first file.
    let generation = Manifest::read(&OsVfs, dir.path()).unwrap().generation + 1;
    let blocked = dir.path().join(format!("codebook-{generation}.pw"));
    std::fs::create_dir(&blocked).unwrap();
    let count = 2 * writer.changes().unwrap().delta_capacity;
    let rows = Model::new(5).rows(count as usize).concat();
    let error = writer.insert(&Rows::new(&rows, SHAPE)).unwrap_err();
    let there = writer.index().len();
    assert!((1..count).contains(&there), "{there} of {count}");
    let words = format!("the first {there} of {count} rows are in: ");
    assert!(error.context().starts_with(&words), "{error}");
    // Where none is in nothing is said of them.
    let error = writer.insert(&Rows::new(&rows, SHAPE).with_ids(&[0][..]));
    assert!(!error.unwrap_err().context().contains("are in"));
}

#[test]
fn an_impossible_latency_holds_up_no_change_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = clustered(dir.path(), 12_000);
    let options = UpdateOptions::default()
        .with_memory(MemoryWish::Bytes(12_000_000))
        .with_build_memory(MemoryWish::Bytes(8_500_000));
    let none = options.with_latency_target(Duration::ZERO);
    let open = OpenOptions::default();
    let error = Writer::open(dir.path(), &open, &none).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let options = options.with_latency_target(Duration::from_nanos(1));
    let writer = Writer::open(dir.path(), &open, &options).unwrap();
    let (stop, query) = (AtomicBool::new(false), model.row());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let query = Queries::new(&query, SHAPE);
            while !stop.load(Ordering::Relaxed) {
                let found = writer.index().search(&query, &SearchOptions::nearest(10));
                found.unwrap();
            }
        });
        let _stops = Stops(&stop);
        until(&writer, |changes| {
            changes
                .latency
                .is_some_and(|own| own.background_share < 0.04)
        });
        let capacity = writer.changes().unwrap().delta_capacity;
        for round in 0..2 {
            let rows = model.rows(capacity as usize);
            let first = 50_000 + round * capacity;
            let ids: Vec<u64> = (first..first + capacity).collect();
            let put = writer.insert(&Rows::new(&rows.concat(), SHAPE).with_ids(&ids[..]));
            put.unwrap();
            model.rows.extend((first..).zip(rows));
        }
        let changes = until(&writer, |changes| changes.work.flushes > 0);
        let latency = changes.latency.unwrap();
        assert!(latency.p99_us > Some(latency.target_us), "{latency:?}");
        writer.cancel();
    });
    assert!(model.check(writer.index()) > 0.9);
}

/// Stops a thread also where the test fails.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
