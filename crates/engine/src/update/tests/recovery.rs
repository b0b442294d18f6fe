//! What is left after a crash at any moment, and after any write or sync that failed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pageway_store::Vfs;
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};
use pageway_types::{Metric, NoProgress};

use super::model::{Model, SHAPE, update};
use super::small::tightest;
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryWish;
use crate::options::{Effort, OpenOptions, Queries, SearchOptions};
use crate::source::kernels;
use crate::update::{CreateOptions, Rows, UpdateOptions, Writer};
use crate::{Durability, Index};

const DIR: &str = "/data/index";

/// Ids, and how far their rows are from the middle.
type Held = BTreeMap<u64, u32>;

fn far(row: &[u8]) -> u32 {
    let distance = kernels().unwrap().distance(SHAPE.element, Metric::L2);
    distance(&[100; 12], row) as u32
}

fn held(index: &Index) -> Held {
    let options = SearchOptions {
        effort: Effort::ListSize(400),
        ..SearchOptions::nearest(300)
    };
    let answers = index
        .search(&Queries::new(&[100; 12], SHAPE), &options)
        .unwrap();
    let found = answers.ids.iter().zip(&answers.distances);
    let held: Held = found
        .filter(|(id, _)| **id != u64::MAX)
        .map(|(id, distance)| (*id, *distance as u32))
        .collect();
    assert_eq!(held.len() as u64, index.len());
    held
}

fn open(vfs: &Arc<dyn Vfs>) -> Result<Writer> {
    Writer::open_on(vfs, Path::new(DIR), &OpenOptions::default(), &update())
}

fn create(vfs: &Arc<dyn Vfs>) {
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(8)
        .with_expected(500);
    Writer::create_on(vfs, Path::new(DIR), &options).unwrap();
}

/// What the script did so far.
#[derive(Default)]
struct Story {
    /// What the index should hold, step by step.
    states: Vec<Held>,
    /// Operations of the file system when each step began, and when it was acknowledged.
    begun: Vec<u64>,
    acknowledged: Vec<u64>,
}

impl Story {
    fn begin(&mut self, state: Held, now: u64) {
        self.states.push(state);
        self.begun.push(now);
    }
}

/// Changes with flushes and merges between; stops at the first error.
fn script(writer: &Writer, story: &mut Story, now: &dyn Fn() -> u64) -> Result<()> {
    let mut model = Model::new(77);
    let mut state = Held::new();
    for step in 0..26u64 {
        match step {
            7 | 14 | 21 => writer.flush(&NoProgress)?,
            17 => {
                writer.merge(true, &NoProgress)?;
            }
            24 => writer.snapshot(Path::new("/data/copy"), &NoProgress)?,
            _ if step % 5 == 4 => {
                let ids: Vec<u64> = model_ids(&state, &mut model, 2);
                for id in &ids {
                    state.remove(id);
                }
                story.begin(state.clone(), now());
                writer.delete(&ids, Durability::Synced)?;
                story.acknowledged.push(now());
            }
            _ => {
                let mut ids = model_ids(&state, &mut model, 1);
                ids.push(100 + step);
                let rows = model.rows(ids.len());
                let new = ids.iter().copied().zip(rows.iter().map(|row| far(row)));
                state.extend(new);
                story.begin(state.clone(), now());
                let bytes = rows.concat();
                writer.upsert(&Rows::new(&bytes, SHAPE).with_ids(&*ids))?;
                story.acknowledged.push(now());
            }
        }
    }
    Ok(())
}

fn model_ids(state: &Held, model: &mut Model, most: usize) -> Vec<u64> {
    let ids: Vec<u64> = state.keys().copied().collect();
    let chosen = (0..most).filter(|_| !ids.is_empty());
    let mut chosen: Vec<u64> = chosen
        .map(|_| ids[model.below(ids.len() as u64) as usize])
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

#[test]
fn what_is_acknowledged_survives_a_crash_at_any_moment() {
    let sim = SimVfs::new();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    vfs.create_dir_all(Path::new("/data")).unwrap();
    vfs.sync_dir(Path::new("/")).unwrap();
    create(&vfs);
    sim.record();
    let mut story = Story::default();
    story.begin(Held::new(), 0);
    story.acknowledged.push(0);
    let writer = open(&vfs).unwrap();
    script(&writer, &mut story, &|| sim.operations()).unwrap();
    drop(writer);
    let boundaries = sim.take_boundaries();
    assert!(boundaries.len() > 100, "{}", boundaries.len());
    for boundary in boundaries.iter().step_by(9) {
        let before = |moments: &[u64]| moments.partition_point(|at| *at <= boundary.operations);
        let least = before(&story.acknowledged) - 1;
        let most = before(&story.begun);
        for image in boundary.images(2, 5) {
            let vfs: Arc<dyn Vfs> = Arc::new(image);
            let place = format!("after {} ({})", boundary.operations, boundary.last);
            let writer = open(&vfs).unwrap_or_else(|error| panic!("{place}: {error}"));
            let found = held(writer.index());
            let allowed = &story.states[least..most];
            assert!(
                allowed.contains(&found),
                "{place}: {found:?}, not of {allowed:?}"
            );
            // What was recovered is an ordinary index: it is flushed, and there when opened again.
            writer.flush(&NoProgress).unwrap();
            drop(writer);
            let again = open(&vfs).unwrap();
            assert_eq!(held(again.index()), found, "{place}");
        }
    }
}

#[test]
fn a_write_or_sync_that_fails_loses_nothing_acknowledged() {
    for operation in [
        Operation::Write,
        Operation::SyncFile,
        Operation::SyncDirectory,
        Operation::Rename,
    ] {
        for skipped in (0..400).step_by(if operation == Operation::Write { 5 } else { 2 }) {
            let sim: Arc<dyn Vfs> = Arc::new(SimVfs::new());
            sim.create_dir_all(Path::new("/data")).unwrap();
            create(&sim);
            let plan = FaultPlan::none().once(operation, skipped, Fault::NoSpace);
            let faulty: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::clone(&sim), plan.clone()));
            let mut story = Story::default();
            story.begin(Held::new(), 0);
            let outcome = open(&faulty).and_then(|writer| {
                let done = script(&writer, &mut story, &|| 0);
                if let Err(error) = &done {
                    assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                    // Searches go on.
                    held(writer.index());
                }
                done
            });
            if plan.injected() == 0 {
                outcome.unwrap();
                break;
            }
            let writer = open(&sim).unwrap();
            let found = held(writer.index());
            let allowed = &story.states[story.acknowledged.len()..];
            assert!(
                allowed.contains(&found),
                "{operation:?} {skipped}: {found:?}, not of {allowed:?}"
            );
        }
    }
}

#[test]
fn a_snapshot_that_fails_leaves_no_copy() {
    let sim: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    sim.create_dir_all(Path::new("/data")).unwrap();
    create(&sim);
    let mut story = Story::default();
    script(&open(&sim).unwrap(), &mut story, &|| 0).unwrap();
    let mut failed = 0;
    for name in sim.list(Path::new("/data/copy")).unwrap() {
        for operation in [Operation::Create, Operation::Write, Operation::Rename] {
            let plan = FaultPlan::none()
                .on_path(Operation::Link, "", Fault::Io)
                .on_path(operation, &format!("again/{name}"), Fault::NoSpace);
            let faulty: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::clone(&sim), plan));
            let writer = open(&faulty).unwrap();
            for (dir, is_there) in [("/data/again", false), ("/data/old/again", true)] {
                let dir = Path::new(dir);
                if is_there {
                    sim.create_dir_all(dir).unwrap();
                }
                let outcome = writer.snapshot(dir, &NoProgress);
                let names = sim.list(dir).unwrap_or_default();
                if outcome.is_err() {
                    failed += 1;
                    assert_eq!(sim.exists(dir).unwrap(), is_there, "{operation:?} {name}");
                    assert!(names.iter().all(|own| own == "LOCK"), "{name}: {names:?}");
                }
                for own in names {
                    sim.remove_file(&dir.join(own)).unwrap();
                }
                let _ = sim.remove_dir(dir);
            }
        }
    }
    assert!(failed > 8, "{failed}");
}

#[test]
fn two_deltas_that_are_replayed_are_flushed_in_the_memory_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let options = CreateOptions::new(SHAPE, Metric::L2)
        .with_degree(12)
        .with_expected(2000);
    Writer::create(dir.path(), &options).unwrap();
    let with = |build: u64| {
        let options = UpdateOptions::default()
            .with_memory(MemoryWish::Bytes(128 << 20))
            .with_build_memory(MemoryWish::Bytes(build))
            .with_threads(1);
        Writer::open(dir.path(), &OpenOptions::default(), &options)
    };
    let build = tightest(with);
    let writer = with(build).unwrap();
    let capacity = writer.changes().unwrap().delta_capacity;
    let mut model = Model::new(9);
    let mut put = |writer: &Writer, count: u64| {
        let rows = model.rows(count as usize);
        let first = model.rows.len() as u64;
        writer.insert(&Rows::new(&rows.concat(), SHAPE)).unwrap();
        model.rows.extend((first..).zip(rows));
    };
    // What is replayed is cut elsewhere, within a file of the log.
    put(&writer, capacity - 20);
    writer.common.freeze().unwrap();
    (0..capacity / 8).for_each(|_| put(&writer, 8));
    let replayed = |writer: Writer| {
        drop(writer);
        let writer = with(build).unwrap();
        let changes = writer.changes().unwrap();
        assert_eq!(changes.rows, capacity - 20 + capacity / 8 * 8);
        (writer, changes.delta_rows)
    };
    let (writer, rows) = replayed(writer);
    assert_eq!(rows, writer.index().len());
    writer.common.flush_closed(&NoProgress).unwrap();
    let (writer, rows) = replayed(writer);
    assert_eq!(rows, writer.index().len() - (capacity - 20) - 16);
    writer.flush(&NoProgress).unwrap();
    let (writer, rows) = replayed(writer);
    assert_eq!(rows, 0);
    assert!(model.check(writer.index()) > 0.95);
}
