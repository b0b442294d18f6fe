//! Crash explorer of the write-ahead log: append, sync, rotate, checkpoint, kill, failed sync, end,
//! and recovery of recovery.
//!
//! A life runs once on a simulated file system; every moment between two operations becomes many
//! crash images. Each must recover to a prefix of the records that were begun, with all that were
//! told to be durable, and take more. Then one step at a time is planted wrong, and must be found.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod callers;
mod explore;
mod story;

use std::sync::Arc;

use pageway_store::{LOG_EXTENSION, LogWriter, Lsn, Room, StoreError, Vfs};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

use explore::{SEED, check, explore, explore_recovery, go_on};
use story::{Plant, Step, World, empty, live, place};

const LIFE: [Step; 16] = [
    Step::Synced(3),
    Step::Written(4),
    Step::Written(2),
    Step::Rotate,
    Step::Synced(30),
    Step::Written(1),
    Step::Cover,
    Step::Kill,
    Step::Written(5),
    Step::Kill,
    Step::Checkpoint,
    Step::FailedSync,
    Step::Synced(2),
    Step::Close,
    Step::Checkpoint,
    Step::Synced(1),
];

fn plain(sim: SimVfs) -> Arc<dyn Vfs> {
    Arc::new(sim)
}

/// Wraps a file system so that every call of a kind on such a path is claimed and not done.
fn skipping(operation: Operation, suffix: &str) -> impl FnOnce(SimVfs) -> Arc<dyn Vfs> {
    let plan = FaultPlan::none().on_path(operation, suffix, Fault::Skip);
    move |sim| Arc::new(FaultVfs::new(Arc::new(sim), plan))
}

fn some(broken: &[String]) -> &[String] {
    &broken[..broken.len().min(5)]
}

#[test]
fn every_crash_leaves_a_prefix_with_all_that_was_told() {
    let story = live(plain, &LIFE, Plant::Nothing).unwrap();
    let mut images = 0;
    for seed in SEED..SEED + 2 {
        let (tried, broken) = explore(&story, seed);
        assert!(broken.is_empty(), "{}: {:#?}", broken.len(), some(&broken));
        images += tried;
    }
    println!("{images} images");
    assert!(images >= 1500, "only {images} images");
}

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    let story = live(plain, &LIFE, Plant::Nothing).unwrap();
    let (images, broken) = explore_recovery(&story);
    println!("{images} images of recoveries");
    assert!(broken.is_empty(), "{}: {:#?}", broken.len(), some(&broken));
    assert!(images >= 5000, "only {images} images");
}

#[test]
fn every_canary_is_found() {
    let planted = [
        Plant::ToldBeforeSync,
        Plant::RemovedBeforeCommit,
        Plant::FloorAtCommit,
        Plant::RemovedAboveFloor,
    ];
    for plant in planted {
        let shown = found(live(plain, &LIFE, plant));
        println!("{plant:?}: {shown}");
    }
    let skipped = [
        // Groups, the header and the length are not synced.
        (Operation::SyncFile, "log.tmp"),
        // The names of new files are not.
        (Operation::SyncDirectory, "/log"),
        // What a recovery found is not written again, or not synced.
        (Operation::Write, ".pwl"),
        (Operation::SyncFile, ".pwl"),
        // The space of a file is not set aside, so its length is not known.
        (Operation::Allocate, "log.tmp"),
    ];
    for (operation, suffix) in skipped {
        // A sync that is not done cannot fail.
        let synced = (operation, suffix) != (Operation::SyncFile, "log.tmp");
        let kept = |step: &Step| synced || *step != Step::FailedSync;
        let steps: Vec<Step> = LIFE.into_iter().filter(kept).collect();
        let story = live(skipping(operation, suffix), &steps, Plant::Nothing);
        println!("{operation:?} of *{suffix} skipped: {}", found(story));
    }
}

/// How a mistake shows: in some image, or before any crash when the log is next opened.
fn found(story: Result<story::Story, StoreError>) -> String {
    let story = match story {
        Err(StoreError::Corrupt { what, .. }) => return what.to_owned(),
        story => story.unwrap(),
    };
    let (images, broken) = explore(&story, SEED);
    assert!(!broken.is_empty(), "not found in {images} images");
    format!("{} of {images} images broken", broken.len())
}

/// No sync of the log is idle: whichever is left out, some crash shows it.
#[test]
fn every_sync_bears_load() {
    let steps = [
        Step::Synced(3),
        Step::Written(4),
        Step::Rotate,
        Step::Synced(2),
        Step::Written(2),
        Step::Kill,
        Step::Synced(1),
        Step::Close,
        Step::Synced(1),
    ];
    let mut syncs = 0;
    for operation in [Operation::SyncFile, Operation::SyncDirectory] {
        for nth in 0.. {
            let plan = FaultPlan::none().once(operation, nth, Fault::Skip);
            let wrap =
                |sim| -> Arc<dyn Vfs> { Arc::new(FaultVfs::new(Arc::new(sim), plan.clone())) };
            let story = live(wrap, &steps, Plant::Nothing).unwrap();
            if plan.injected() == 0 {
                break;
            }
            syncs += 1;
            let (images, broken) = explore(&story, SEED);
            assert!(!broken.is_empty(), "{operation:?} {nth}: {images} images");
        }
    }
    println!("{syncs} syncs, each left out in turn");
    assert!(syncs >= 12, "{syncs}");
}

/// Every call of a life fails once, in turn: the error comes out, nothing that was told is lost, a
/// log that failed to write takes nothing more, and one that is opened again goes on.
#[test]
fn every_failing_call_is_reported_and_loses_nothing() {
    let cases = Operation::ALL
        .into_iter()
        .flat_map(|operation| [(operation, Fault::Io), (operation, Fault::NoSpace)]);
    let mut injected = 0;
    for (operation, fault) in cases {
        for nth in 0.. {
            let sim = empty();
            let plan = FaultPlan::none().once(operation, nth, fault);
            let vfs = Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan.clone()));
            let world = World::begin(&sim, vfs, Plant::Nothing);
            let Ok(mut world) = world else {
                assert_eq!(check(&sim), Ok(Lsn::NONE));
                injected += plan.injected();
                continue;
            };
            let lived = LIFE.iter().try_for_each(|step| world.step(*step));
            if plan.injected() == 0 {
                lived.unwrap();
                break;
            }
            injected += 1;
            let (least, most) = world.story().range(u64::MAX);
            if lived.is_err() && matches!(operation, Operation::Write | Operation::SyncFile) {
                let refused = world.writer().sync();
                let kept = world.writer().check().is_ok();
                assert!(kept || matches!(refused, Err(StoreError::Poisoned { .. })));
            }
            let found = check(&sim.fork()).unwrap();
            assert!(
                least <= found && found <= most,
                "{operation:?} {nth}: found {found}, not {least} to {most}"
            );
            go_on(&sim).unwrap();
        }
    }
    println!("{injected} calls failed");
    assert!(injected >= 100, "{injected}");
}

/// A log begins with less where a whole file does not fit: deletes go on, and what needs more waits
/// for room.
#[test]
fn a_log_begins_on_a_disk_without_room_for_a_whole_file() {
    for failing in 1..=3 {
        let sim = empty();
        let plan = (0..failing).fold(FaultPlan::none(), |plan, nth| {
            plan.once(Operation::Allocate, nth, Fault::NoSpace)
        });
        let vfs = Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan));
        let begun = LogWriter::create(&place(vfs), Lsn::NONE);
        let mut writer = match begun {
            Ok(writer) => writer,
            Err(error) => {
                assert!(matches!(error, StoreError::NoSpace { .. }), "{error}");
                assert_eq!(failing, 3);
                continue;
            }
        };
        assert!(failing < 3);
        let mut put = |room: Room| {
            let bytes = story::record(writer.last().next());
            writer.reserve(1, bytes.len() as u64, room).unwrap();
            writer.append(&[&bytes]).unwrap();
            (writer.sync().unwrap(), logs(&sim))
        };
        assert_eq!(put(Room::Reserve), (Lsn(1), 1));
        assert_eq!(put(Room::Ordinary), (Lsn(2), 2));
        let last = writer.close().unwrap();
        assert_eq!(check(&sim), Ok(last));
    }
}

/// Files of the log.
fn logs(sim: &SimVfs) -> usize {
    let names = sim.list(&place(Arc::new(sim.clone())).dir).unwrap();
    names
        .iter()
        .filter(|name| name.ends_with(LOG_EXTENSION))
        .count()
}

/// The disk is full: inserts are refused whole, deletes and a clean stop still work.
#[test]
fn a_full_disk_takes_deletes_and_a_clean_stop() {
    let sim = empty();
    let plan = FaultPlan::none().for_ever(Operation::Allocate, 1, Fault::NoSpace);
    let vfs = Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan));
    let place = place(vfs);
    let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
    let mut put = |room: Room| {
        let bytes = story::record(writer.last().next());
        writer.reserve(1, bytes.len() as u64, room)?;
        writer.append(&[&bytes])?;
        writer.sync()
    };
    let mut inserted = Lsn::NONE;
    let full = loop {
        match put(Room::Ordinary) {
            Ok(last) => inserted = last,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, StoreError::NoSpace { .. }), "{full}");
    assert!(inserted > Lsn(3));
    let deleted = put(Room::Reserve).unwrap();
    assert_eq!(deleted, inserted.next());
    while put(Room::Reserve).is_ok() {}
    let last = writer.close().unwrap();
    assert!(last >= deleted);
    assert_eq!(check(&sim), Ok(last));
}
