//! Every call of a life of an index that changes fails, in turn: the error comes out, nothing that
//! was told is lost, and what is opened again goes on. A full disk, files of another index, and
//! logs that are not those of their manifests.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;
#[path = "crash_update/oracle.rs"]
#[allow(dead_code, reason = "each suite uses a part of this")]
mod oracle;
#[path = "crash_update/story.rs"]
#[allow(dead_code, reason = "each suite uses a part of this")]
mod story;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{contents, long, names};
use pageway::{
    Durability, ErrorKind, Index, NoProgress, OpenOptions, Preset, Rows, UpdateOptions, Vfs,
    Writer, verify_on,
};
use pageway_store::{OpenMode, create_directory};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

use oracle::{find, fit_copy, go_on, open_copy, recover};
use story::{DIR, Held, SHAPE, Step, World, empty, empty_of, live, open};

const LIFE: [Step; 13] = [
    Step::Insert(6),
    Step::Flush,
    Step::Upsert(4),
    Step::Delete(2),
    Step::Flush,
    Step::Batched(2),
    Step::Sync,
    Step::Merge,
    Step::Again,
    Step::Snapshot,
    Step::Kill,
    Step::Insert(3),
    Step::Close,
];

/// How often the index is opened in it: each time a log begins.
const OPENINGS: u32 = 3;

/// The same where pages change that there are: patched, or written over by a journal.
const PATCHED: [Step; 9] = [
    // So few that a search for the neighbours of a row asks for all.
    Step::Insert(60),
    Step::Flush,
    Step::Upsert(4),
    Step::Delete(5),
    Step::Flush,
    Step::Kill,
    Step::Insert(3),
    Step::Flush,
    Step::Close,
];

/// What is done with `sim` when calls fail as planned.
fn failing(sim: &SimVfs, plan: &FaultPlan) -> Arc<dyn Vfs> {
    Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan.clone()))
}

/// Positions of the failing call: the first ones, then ever fewer. All in the long run.
fn positions(dense: u64) -> impl Iterator<Item = u64> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let now = next;
        next += if long() || now < dense { 1 } else { now / 3 };
        Some(now)
    })
}

/// Lives with a call that fails; whether there was one, and whether anybody was told.
fn live_with(plan: &FaultPlan, moment: &str) -> (bool, bool) {
    let sim = empty();
    let world = World::new(&sim, failing(&sim, plan));
    judge(&sim, (&world, &LIFE), (plan, moment))
}

/// Lives one of the lives; as `live_with`.
fn judge(
    sim: &SimVfs,
    (world, life): (&World, &[Step]),
    (plan, moment): (&FaultPlan, &str),
) -> (bool, bool) {
    let outcome = world.run(life);
    if plan.injected() == 0 {
        outcome.unwrap_or_else(|e| panic!("{moment}: no call failed, yet {e}"));
        return (false, false);
    }
    if let Err(error) = &outcome {
        let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::ReadOnly];
        assert!(kinds.contains(&error.kind()), "{moment}: {error}");
    }
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let allowed = world.allowed();
    let (writer, found) = recover(&vfs, &allowed).unwrap_or_else(|e| panic!("{moment}: {e}"));
    go_on(&vfs, writer, &allowed[found]).unwrap_or_else(|e| panic!("{moment}: going on: {e}"));
    (true, outcome.is_err())
}

/// Whether a call may fail and nobody is told: what tidies up may, room of the log may stay, what
/// cannot be linked is copied, and a log begins with a shorter file.
fn is_made_up_for(operation: Operation, fault: Fault, plan: &FaultPlan) -> bool {
    let is_on = |name: &str| {
        let met = plan.met();
        met.iter()
            .all(|path| path.to_string_lossy().ends_with(name))
    };
    match operation {
        Operation::RemoveFile | Operation::List | Operation::SetLength | Operation::Link => true,
        // Room is given back behind the end of the file that the log ends in.
        Operation::Open => is_on(".pwl"),
        Operation::Create | Operation::Allocate | Operation::Write | Operation::SyncFile => {
            is_on("log.tmp") && matches!(fault, Fault::NoSpace | Fault::QuotaExceeded)
        }
        _ => false,
    }
}

/// How many calls of a kind may fail so, one for each opening of the index where not all may.
fn most_made_up_for(operation: Operation) -> u32 {
    match operation {
        Operation::RemoveFile | Operation::List | Operation::SetLength | Operation::Link => {
            u32::MAX
        }
        _ => OPENINGS,
    }
}

#[test]
fn every_failing_call_is_reported_and_loses_nothing() {
    let faults: &[Fault] = if long() {
        &[
            Fault::Io,
            Fault::NoSpace,
            Fault::QuotaExceeded,
            Fault::AccessDenied,
            Fault::TooManyFiles,
        ]
    } else {
        &[Fault::Io]
    };
    let (mut told, mut quiet) = (0, 0_u32);
    for operation in Operation::ALL {
        for fault in faults {
            let before = quiet;
            for nth in positions(4) {
                let moment = format!("{operation:?} {nth} {fault:?}");
                let plan = FaultPlan::none().once(operation, nth, *fault);
                match live_with(&plan, &moment) {
                    (false, _) => break,
                    (true, true) => told += 1,
                    (true, false) => {
                        let is_fine = is_made_up_for(operation, *fault, &plan);
                        assert!(is_fine, "{moment}: nobody was told");
                        quiet += 1;
                    }
                }
            }
            let own = quiet - before;
            let is_fine = own <= most_made_up_for(operation);
            assert!(
                is_fine,
                "{operation:?}, {fault:?}: {own} times nobody was told"
            );
        }
    }
    println!("fault_update: {told} failing calls told, {quiet} made up for, 0 violations");
    assert!(told > 60, "only {told}");
}

#[test]
fn a_failing_call_while_pages_change_loses_nothing() {
    let operations = [
        Operation::Write,
        Operation::Read,
        Operation::SyncFile,
        Operation::Rename,
        Operation::Create,
    ];
    let mut cases = 0;
    for preset in [Preset::OdinAnn, Preset::IpDiskAnn, Preset::Dgai] {
        for operation in operations {
            let nths: Vec<u64> = if long() {
                (0..200).collect()
            } else {
                vec![1, 5, 17, 40]
            };
            for nth in nths {
                let moment = format!("{preset}: {operation:?} {nth}");
                let plan = FaultPlan::none().once(operation, nth, Fault::Io);
                let sim = empty_of(preset);
                let world = World::patched(&sim, failing(&sim, &plan));
                if !judge(&sim, (&world, &PATCHED), (&plan, &moment)).0 {
                    break;
                }
                cases += 1;
            }
        }
    }
    println!("fault_update: {cases} failing calls while pages change, 0 violations");
    assert!(cases > 30, "only {cases}");
}

#[test]
fn interrupted_and_short_transfers_change_nothing() {
    let mut cases = 0;
    for operation in [Operation::Read, Operation::Write] {
        for fault in [Fault::Interrupted, Fault::Short] {
            for nth in positions(3) {
                let moment = format!("{operation:?} {nth} {fault:?}");
                let plan = FaultPlan::none().once(operation, nth, fault);
                match live_with(&plan, &moment) {
                    (false, _) => break,
                    (true, is_told) => assert!(!is_told, "{moment}: told"),
                }
                cases += 1;
            }
        }
    }
    println!("fault_update: {cases} interrupted or short transfers, 0 violations");
}

/// From some moment on the disk is full: nothing told is lost, also when it has room again.
#[test]
fn a_disk_that_fills_up_at_any_moment_loses_nothing() {
    let mut cases = 0;
    for operation in [Operation::Write, Operation::Allocate, Operation::Create] {
        for nth in positions(4) {
            let moment = format!("{operation:?} from {nth} on: no space");
            let plan = FaultPlan::none().for_ever(operation, nth, Fault::NoSpace);
            let (is_met, is_told) = live_with(&plan, &moment);
            if !is_met {
                break;
            }
            assert!(is_told, "{moment}: nobody was told");
            cases += 1;
        }
    }
    println!("fault_update: {cases} full disks, 0 violations");
    assert!(cases > 20, "only {cases}");
}

fn rows(count: usize) -> Vec<u8> {
    let row = |at: usize| (0..12).map(move |place| (at * 7 + place * 31) as u8);
    (0..count).flat_map(row).collect()
}

fn held(ids: &[u64], rows: &[u8]) -> Held {
    let rows = rows.chunks(12).map(<[u8]>::to_vec);
    ids.iter().copied().zip(rows).collect()
}

/// What the log has set aside is enough to delete and to end in peace.
#[test]
fn a_full_disk_takes_deletes_and_a_clean_end() {
    let (sim, plan) = (empty(), FaultPlan::none());
    let vfs = failing(&sim, &plan);
    let writer = open(&vfs).unwrap();
    let (ids, bytes) = ((0..50).collect::<Vec<u64>>(), rows(50));
    let put = Rows::new(&bytes, SHAPE).with_ids(&*ids);
    writer.insert(&put).unwrap();
    let _full = plan
        .clone()
        .for_ever(Operation::Allocate, 0, Fault::NoSpace)
        .on_path(Operation::Write, ".pw", Fault::NoSpace)
        .on_path(Operation::Write, "MANIFEST.tmp", Fault::NoSpace);
    for _ in 0..2 {
        let error = writer.flush(&NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    }
    let mut state = held(&ids, &bytes);
    writer.delete(&[7, 8], Durability::Synced).unwrap();
    state.retain(|id, _| ![7, 8].contains(id));
    find(writer.index(), std::slice::from_ref(&state)).unwrap();
    writer.close().unwrap();
    // Who opens it needs room for a log, and searches need none.
    let error = open(&vfs).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    Index::open_on(&vfs, Path::new(DIR), &OpenOptions::default()).unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let (writer, _) = recover(&vfs, std::slice::from_ref(&state)).unwrap();
    go_on(&vfs, writer, &state).unwrap();
}

/// An index that was flushed, and changed since: its state.
fn changed() -> (SimVfs, Held) {
    let sim = empty();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let writer = open(&vfs).unwrap();
    let (ids, bytes) = ((0..40).collect::<Vec<u64>>(), rows(40));
    let put = |own: std::ops::Range<usize>| {
        let bytes = &bytes[own.start * 12..own.end * 12];
        writer
            .insert(&Rows::new(bytes, SHAPE).with_ids(&ids[own]))
            .unwrap();
    };
    put(0..30);
    writer.flush(&NoProgress).unwrap();
    put(30..40);
    (sim, held(&ids, &bytes))
}

fn copy(vfs: &dyn Vfs, from: &Path, to: &Path) {
    create_directory(vfs, to).unwrap();
    for name in names(vfs, from) {
        let target = to.join(&name);
        if vfs.exists(&target).unwrap() {
            vfs.remove_file(&target).unwrap();
        }
        let file = vfs.open(&target, OpenMode::CreateNew).unwrap();
        file.write_all_at(&contents(vfs, &from.join(name)), 0)
            .unwrap();
    }
}

fn copy_whole(vfs: &dyn Vfs, to: &Path) {
    copy(vfs, Path::new(DIR), to);
    copy(vfs, &Path::new(DIR).join("log"), &to.join("log"));
}

fn replace_log(vfs: &dyn Vfs, from: &Path, to: &Path) {
    for name in names(vfs, &to.join("log")) {
        vfs.remove_file(&to.join("log").join(name)).unwrap();
    }
    copy(vfs, &from.join("log"), &to.join("log"));
}

fn open_at(vfs: &Arc<dyn Vfs>, dir: &Path, salvage: bool) -> pageway::Result<Writer> {
    let update = UpdateOptions::default()
        .with_threads(1)
        .with_salvage(salvage);
    Writer::open_on(vfs, dir, &OpenOptions::default(), &update)
}

#[track_caller]
fn expect_corrupt(vfs: &Arc<dyn Vfs>, dir: &Path, words: &str) {
    let error = open_at(vfs, dir, false).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    let report = verify_on(vfs, dir, &NoProgress).unwrap();
    assert!(!report.is_sound());
}

#[test]
fn a_missing_or_foreign_segment_is_named_and_nothing_is_removed() {
    let (sim, state) = changed();
    let before = names(&sim, Path::new(DIR));
    let own = |name: &&String| name.ends_with(".pw");
    let other = changed_otherwise();
    for name in before.iter().filter(own) {
        let path: PathBuf = Path::new(DIR).join(name);
        for foreign in [None, Some(contents(&other, &path))] {
            let damaged = sim.fork();
            damaged.remove_file(&path).unwrap();
            if let Some(foreign) = foreign {
                let file = damaged.open(&path, OpenMode::CreateNew).unwrap();
                file.write_all_at(&foreign, 0).unwrap();
            }
            let vfs: Arc<dyn Vfs> = Arc::new(damaged.clone());
            assert!(!common::sound(&vfs, Path::new(DIR)), "{name}");
            // What only warms caches is not looked at where all is held.
            match open(&vfs).map(drop) {
                Ok(()) => assert!(name.starts_with("hot"), "{name}"),
                Err(error) => {
                    let kinds = [ErrorKind::Corrupt, ErrorKind::NotFound];
                    assert!(kinds.contains(&error.kind()), "{name}: {error}");
                    assert!(error.to_string().contains(name.as_str()), "{name}: {error}");
                }
            }
            // It is as it was once the file is back.
            if damaged.exists(&path).unwrap() {
                damaged.remove_file(&path).unwrap();
            }
            let file = damaged.open(&path, OpenMode::CreateNew).unwrap();
            file.write_all_at(&contents(&sim, &path), 0).unwrap();
            assert_eq!(names(&damaged, Path::new(DIR)), before);
            recover(&vfs, std::slice::from_ref(&state)).unwrap();
        }
    }
}

/// The same files with other rows.
fn changed_otherwise() -> SimVfs {
    let sim = empty();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let writer = open(&vfs).unwrap();
    let bytes: Vec<u8> = rows(30).iter().map(|byte| byte ^ 0x55).collect();
    writer.insert(&Rows::new(&bytes, SHAPE)).unwrap();
    writer.flush(&NoProgress).unwrap();
    sim
}

/// Two indexes of the same rows, changed alike, have logs of their own.
#[test]
fn the_log_of_another_index_is_refused_also_to_be_salvaged() {
    let sim = empty();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let dirs = [Path::new(DIR), Path::new("/data/other")];
    // A copy before it was ever changed.
    copy(&sim, dirs[0], dirs[1]);
    for dir in dirs {
        let writer = open_at(&vfs, dir, false).unwrap();
        writer.insert(&Rows::new(&rows(5), SHAPE)).unwrap();
    }
    replace_log(&sim, dirs[1], dirs[0]);
    expect_corrupt(&vfs, dirs[0], "another index");
    let error = open_at(&vfs, dirs[0], true).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn the_log_of_a_copy_that_went_another_way_is_refused() {
    let (sim, mut state) = changed();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let other = Path::new("/data/other");
    copy_whole(&sim, other);
    for (dir, first) in [(Path::new(DIR), 100), (other, 200)] {
        let writer = open_at(&vfs, dir, false).unwrap();
        let ids = [first, first + 1];
        let bytes: Vec<u8> = rows(2).iter().map(|byte| byte ^ first as u8).collect();
        writer
            .insert(&Rows::new(&bytes, SHAPE).with_ids(&ids[..]))
            .unwrap();
        writer.flush(&NoProgress).unwrap();
        if first == 100 {
            state.extend(held(&ids, &bytes));
        }
        writer.insert(&Rows::new(&rows(1), SHAPE)).unwrap();
    }
    replace_log(&sim, other, Path::new(DIR));
    expect_corrupt(&vfs, Path::new(DIR), "went another way");
    // Somebody decides that what was not flushed is lost: all else is there, now and later.
    let writer = open_at(&vfs, Path::new(DIR), true).unwrap();
    find(writer.index(), std::slice::from_ref(&state)).unwrap();
    drop(writer);
    let (writer, _) = recover(&vfs, std::slice::from_ref(&state)).unwrap();
    go_on(&vfs, writer, &state).unwrap();
}

/// Somebody puts an older manifest and its files back, and forgets the log.
#[test]
fn a_log_that_begins_behind_the_floor_is_refused() {
    let (sim, _) = changed();
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let old = Path::new("/data/old");
    copy(&sim, Path::new(DIR), old);
    let writer = open(&vfs).unwrap();
    writer.flush(&NoProgress).unwrap();
    writer.insert(&Rows::new(&rows(1), SHAPE)).unwrap();
    drop(writer);
    copy(&sim, &Path::new(DIR).join("log"), &old.join("log"));
    expect_corrupt(&vfs, old, "first records above the floor");
    Index::open_on(&vfs, old, &OpenOptions::default()).unwrap();
    let writer = open_at(&vfs, old, true).unwrap();
    assert_eq!(writer.index().len(), 30);
    drop(writer);
    assert!(common::sound(&vfs, old));
    assert_eq!(open_at(&vfs, old, false).unwrap().index().len(), 30);
}

/// Links of a snapshot where there are none are copies, and as durable.
#[test]
fn a_snapshot_without_links_is_whole() {
    let no_links = |sim: SimVfs| -> Arc<dyn Vfs> {
        let plan = FaultPlan::none().for_ever(Operation::Link, 0, Fault::AccessDenied);
        Arc::new(FaultVfs::new(Arc::new(sim), plan))
    };
    let story = live(
        no_links,
        &[Step::Insert(20), Step::Snapshot, Step::Upsert(4)],
    )
    .unwrap();
    let (state, told) = story.copied.unwrap();
    let mut images = 0;
    for boundary in &story.boundaries {
        for image in boundary.images(4, 3) {
            let vfs: Arc<dyn Vfs> = Arc::new(image);
            let is_told = boundary.operations >= told;
            let copy = open_copy(&vfs);
            copy.and_then(|copy| fit_copy(copy.as_ref(), &story.states[state], is_told))
                .unwrap_or_else(|e| panic!("after {}: {e}", boundary.last));
            images += 1;
        }
    }
    assert!(images > 40, "only {images}");
}
