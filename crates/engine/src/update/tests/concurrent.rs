//! Changes from several threads while others search.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pageway_types::{IdSet, Metric, NoProgress};

use super::model::{Model, SHAPE, open};
use crate::Durability;
use crate::filter::Filter;
use crate::options::{Effort, Queries, SearchOptions};
use crate::update::{CreateOptions, Rows, Writer};

/// An empty index, open to be changed.
fn created(dir: &Path) -> Writer {
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(12)
        .with_expected(2000);
    Writer::create(dir, &options).unwrap();
    open(dir)
}

#[test]
fn a_row_that_is_replaced_all_the_time_is_found_once_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let writer = created(dir.path());
    let mut model = Model::new(9);
    let rows = model.rows(60);
    let bytes = rows.concat();
    writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    let (done, round) = (AtomicBool::new(false), AtomicU64::new(0));
    let stop = Finally(&done);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let options = SearchOptions {
                    effort: Effort::ListSize(300),
                    ..SearchOptions::nearest(200)
                };
                while !done.load(Ordering::Relaxed) {
                    let gone = round.load(Ordering::Acquire);
                    let queries = Queries::new(&rows[0], SHAPE);
                    let answers = writer.index().search(&queries, &options).unwrap();
                    let seen = |id: u64| answers.ids.iter().filter(|own| **own == id).count();
                    assert_eq!(seen(5), 1, "{:?}", answers.ids);
                    // What was deleted before the search began is not there.
                    for id in 10..10 + gone.min(40) {
                        assert_eq!(seen(id), 0, "id {id} of {gone}");
                    }
                }
            });
        }
        let mut random = Model::new(11);
        for number in 0..40 {
            for _ in 0..4 {
                let row = random.row();
                let put = Rows::new(&row, SHAPE).with_durability(Durability::Deferred);
                writer.upsert(&put.with_ids(&[5][..])).unwrap();
            }
            writer.delete(&[10 + number], Durability::Deferred).unwrap();
            round.store(number + 1, Ordering::Release);
            tend(&writer, number);
        }
        drop(stop);
    });
}

#[test]
fn rows_that_are_replaced_are_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let writer = created(dir.path());
    let mut model = Model::new(3);
    let rows = model.rows(200).concat();
    let ids: Vec<u64> = (0..200).collect();
    let put = Rows::new(&rows, SHAPE).with_durability(Durability::Deferred);
    let put = put.with_ids(&ids[..]);
    writer.upsert(&put).unwrap();
    let done = AtomicBool::new(false);
    let stop = Finally(&done);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let filter = Filter::ids((0..150).collect::<IdSet>());
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(writer.index().len(), 200);
                    assert_eq!(writer.index().count(&filter).unwrap(), 150);
                }
            });
        }
        for number in 0..200 {
            writer.upsert(&put).unwrap();
            tend(&writer, number);
        }
        drop(stop);
    });
}

/// Flushes and merges now and then.
fn tend(writer: &Writer, number: u64) {
    match number % 8 {
        3 => writer.flush(&NoProgress).unwrap(),
        7 => {
            writer.merge(number % 16 == 7, &NoProgress).unwrap();
        }
        _ => {}
    }
}

/// Ends the searches however the test ends.
struct Finally<'f>(&'f AtomicBool);

impl Drop for Finally<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn threads_share_an_index_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let writer = created(dir.path());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let writer = &writer;
            scope.spawn(move || {
                let mut model = Model::new(thread);
                for number in 0..25 {
                    let row = model.row();
                    let id = thread * 1000 + number;
                    let put = Rows::new(&row, SHAPE);
                    writer.insert(&put.with_ids(&[id][..])).unwrap();
                    if number % 3 == 0 {
                        let done = writer.delete(&[id], Durability::Synced).unwrap();
                        assert_eq!(done.deleted, 1);
                    }
                    if number == 12 && thread == 0 {
                        writer.merge(true, &NoProgress).unwrap();
                    }
                }
            });
        }
    });
    // Of 25 rows of each thread 9 went.
    assert_eq!(writer.index().len(), 4 * 16);
    drop(writer);
    assert_eq!(open(dir.path()).index().len(), 4 * 16);
}
