//! Crash explorer of an index that changes: insert, upsert, delete, flush, merge, snapshot, kill,
//! end, recovery, and recovery of recovery.
//!
//! A life runs once on a simulated file system; moments between two operations become crash
//! images. Each must pass `verify` and open to a state that the index was in, change by change: not
//! before the last one that was told, with no row that was deleted, and go on from there. Then one
//! step at a time is planted wrong. What the explorer does not find is a failure: its silence about
//! the right protocol would prove nothing.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod explore;
mod oracle;
mod plant;
#[allow(dead_code, reason = "another suite uses all of it")]
mod story;

use std::sync::Arc;

use pageway::{Preset, Vfs};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

use explore::{Findings, Width, explore, explore_recovery};
use plant::{Plant, PlantVfs, accept_tail};
use story::{Step, Story, live, live_patched};

const LIFE: [Step; 32] = [
    Step::Insert(30),
    Step::Upsert(8),
    Step::Edit(6),
    Step::Delete(3),
    Step::Flush,
    Step::Edit(5),
    Step::Again,
    Step::Batched(4),
    Step::Deferred(3),
    Step::Sync,
    Step::Insert(5),
    Step::FlushBeside,
    Step::Kill,
    Step::Deferred(4),
    Step::Kill,
    Step::Upsert(6),
    Step::FailedSync,
    Step::MergeBeside,
    Step::Delete(4),
    Step::Insert(6),
    Step::FlushInMerge,
    Step::Delete(2),
    Step::Upsert(3),
    Step::Close,
    Step::Insert(4),
    Step::Snapshot,
    Step::Upsert(4),
    Step::Edit(3),
    Step::EditBeside,
    Step::Merge,
    Step::Kill,
    Step::Again,
];

/// A flush that is committed while a merge is under way, which is committed after it.
const WITHIN: [Step; 5] = [
    Step::Insert(30),
    Step::Flush,
    Step::Delete(3),
    Step::Insert(6),
    Step::FlushInMerge,
];

/// Rows that go into the segment that is there: to images of its pages, and with all of them.
const PATCHED: [Step; 13] = [
    Step::Insert(120),
    Step::Flush,
    Step::Insert(2),
    Step::FlushBeside,
    Step::Upsert(2),
    Step::Flush,
    Step::Delete(9),
    Step::Kill,
    Step::Upsert(6),
    Step::FlushBeside,
    Step::Snapshot,
    Step::Again,
    Step::MergeBeside,
];

/// What shows most mistakes, in fewer operations.
const SHORT: [Step; 10] = [
    Step::Insert(30),
    Step::Flush,
    Step::Delete(3),
    Step::FlushBeside,
    Step::Kill,
    Step::Insert(2),
    Step::MergeBeside,
    Step::Again,
    Step::Snapshot,
    Step::Upsert(40),
];

/// True for the long runs before a release: `PAGEWAY_SUITE=long`.
fn long() -> bool {
    std::env::var("PAGEWAY_SUITE").is_ok_and(|length| length == "long")
}

fn width(quick: Width, whole: Width) -> Width {
    if long() { whole } else { quick }
}

fn plain(sim: SimVfs) -> Arc<dyn Vfs> {
    Arc::new(sim)
}

fn leave(_: &SimVfs) {}

/// Wraps a file system so that every call of a kind on such a path is claimed and not done.
fn skipping(operation: Operation, suffix: &'static str) -> impl Fn(SimVfs) -> Arc<dyn Vfs> {
    move |sim| {
        let plan = FaultPlan::none().on_path(operation, suffix, Fault::Skip);
        Arc::new(FaultVfs::new(Arc::new(sim), plan))
    }
}

#[track_caller]
fn expect_none(findings: &Findings) {
    let Findings { broken, images } = findings;
    let some = &broken[..broken.len().min(5)];
    assert!(broken.is_empty(), "{} of {images}: {some:#?}", broken.len());
}

#[test]
fn every_crash_leaves_a_state_with_all_that_was_told() {
    let story = live(plain, &LIFE).unwrap();
    let quick = Width {
        stride: 1,
        images: 2,
        next: 40,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 16,
        next: 10,
        stops: false,
    };
    let findings = explore(&story, width(quick, whole), &leave);
    println!(
        "crash_update: {} moments, {} images",
        story.boundaries.len(),
        findings.images
    );
    expect_none(&findings);
    assert!(findings.images >= 900, "only {} images", findings.images);
}

#[test]
fn a_crash_of_patches_leaves_the_old_version_or_the_new() {
    let story = live_patched(plain, Preset::OdinAnn, &PATCHED).unwrap();
    let quick = Width {
        stride: 4,
        images: 2,
        next: 60,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 16,
        next: 10,
        ..quick
    };
    let findings = explore(&story, width(quick, whole), &leave);
    println!("crash_update: {} images of patches", findings.images);
    expect_none(&findings);
    assert!(findings.images >= 150, "only {} images", findings.images);
    let unsynced = skipping(Operation::SyncFile, ".pw");
    let story = live_patched(unsynced, Preset::OdinAnn, &PATCHED);
    found("patches unsynced", story, &leave);
}

#[test]
fn a_crash_of_pages_that_are_written_over_leaves_the_old_version_or_the_new() {
    let story = live_patched(plain, Preset::IpDiskAnn, &PATCHED).unwrap();
    let quick = Width {
        stride: 5,
        images: 2,
        next: 60,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 16,
        next: 10,
        ..quick
    };
    let findings = explore(&story, width(quick, whole), &leave);
    println!("crash_update: {} images of overwrites", findings.images);
    expect_none(&findings);
    assert!(findings.images >= 150, "only {} images", findings.images);
    let again = Width {
        stride: 17,
        ..quick
    };
    let findings = explore_recovery(&story, width(again, whole), &plain);
    println!("crash_update: {} images of journals", findings.images);
    expect_none(&findings);
    let planted = [
        Plant::JournalUnsynced,
        Plant::PlacesUnsynced,
        Plant::SegmentsGoFirst,
        Plant::NamesUnsynced,
    ];
    for plant in planted {
        let story = live_patched(PlantVfs::wrap(plant), Preset::IpDiskAnn, &PATCHED);
        found(&format!("{plant:?}, overwriting"), story, &leave);
    }
}

#[test]
fn a_crash_of_lists_apart_and_of_merges_into_lists_leaves_the_old_version_or_the_new() {
    for preset in [Preset::Dgai, Preset::FreshDiskAnn] {
        let story = live_patched(plain, preset, &PATCHED).unwrap();
        let quick = Width {
            stride: 9,
            images: 2,
            next: 60,
            stops: false,
        };
        let whole = Width {
            stride: 1,
            images: 16,
            next: 10,
            ..quick
        };
        let findings = explore(&story, width(quick, whole), &leave);
        println!("crash_update: {} images of {preset}", findings.images);
        expect_none(&findings);
        assert!(findings.images >= 40, "only {} images", findings.images);
    }
}

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    let story = live(plain, &LIFE).unwrap();
    let quick = Width {
        stride: 11,
        images: 1,
        next: 40,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 4,
        next: 10,
        stops: false,
    };
    let findings = explore_recovery(&story, width(quick, whole), &plain);
    println!("crash_update: {} images of recoveries", findings.images);
    expect_none(&findings);
    assert!(findings.images >= 500, "only {} images", findings.images);
}

const FIND: Width = Width {
    stride: 3,
    images: 4,
    next: 60,
    stops: true,
};

/// How a mistake shows: in some image, or before any crash when the index is next opened.
fn found(name: &str, story: pageway::Result<Story>, before: &dyn Fn(&SimVfs)) {
    let story = match story {
        Err(error) => {
            println!("{name}: {error}");
            return;
        }
        Ok(story) => story,
    };
    for stride in [3 * FIND.stride, FIND.stride, 1] {
        let findings = explore(&story, Width { stride, ..FIND }, before);
        if let Some(first) = findings.broken.first() {
            println!("{name}: within {} images: {first}", findings.images);
            return;
        }
    }
    panic!("{name}: not found");
}

#[test]
fn every_wrong_protocol_is_found() {
    let planted = [
        Plant::NamesUnsynced,
        Plant::CommitUnsynced,
        Plant::ManifestInPlace,
        Plant::LogGoesFirst,
        Plant::SegmentsGoFirst,
        Plant::FloorTooHigh,
        Plant::FloorStays,
        Plant::DeadLost,
        Plant::DeadLostAtMerge,
        Plant::IdsReused,
    ];
    for plant in planted {
        let story = live(PlantVfs::wrap(plant), &SHORT);
        found(&format!("{plant:?}"), story, &leave);
    }
    let planted = [
        Plant::FlushLost,
        Plant::FloorOfMerge,
        Plant::DeadLostAtMerge,
        Plant::SegmentsGoFirst,
    ];
    for plant in planted {
        let story = live(PlantVfs::wrap(plant), &WITHIN);
        found(&format!("{plant:?}, flush in merge"), story, &leave);
    }
    // Groups of several sectors, which tear.
    let long = [Step::Insert(150), Step::Upsert(90)];
    found("torn tail accepted", live(plain, &long), &accept_tail);
}

#[test]
fn every_step_left_out_is_found() {
    let skipped = [
        // Changes are told before the log is synced.
        (Operation::SyncFile, "log.tmp"),
        // Files of segments, dead sets and tables are not.
        (Operation::SyncFile, ".pw"),
        (Operation::SyncFile, "MANIFEST.tmp"),
        // The names of files of the log are not.
        (Operation::SyncDirectory, "/log"),
        // A snapshot is told before its links are durable.
        (Operation::SyncDirectory, "/copy"),
    ];
    for (operation, suffix) in skipped {
        let name = format!("{operation:?} of *{suffix} skipped");
        found(&name, live(skipping(operation, suffix), &SHORT), &leave);
    }
}

#[test]
fn every_wrong_recovery_is_found() {
    // Commits whose rename is pending, and bytes that can be read and are not durable.
    let story = live(
        plain,
        &[Step::Insert(12), Step::Flush, Step::Upsert(4), Step::Flush],
    );
    let failed = live(plain, &[Step::Insert(4), Step::FailedSync, Step::Upsert(3)]);
    let (story, failed) = (story.unwrap(), failed.unwrap());
    let orphans = PlantVfs::wrap(Plant::OrphansGoFirst);
    let unwritten = skipping(Operation::Write, ".pwl");
    let unsynced = skipping(Operation::SyncFile, ".pwl");
    let names = skipping(Operation::SyncDirectory, "/log");
    type Wrap<'w> = &'w dyn Fn(SimVfs) -> Arc<dyn Vfs>;
    let wrong: [(&str, &Story, Wrap<'_>); 4] = [
        (
            "orphans go before what replaced them is durable",
            &story,
            &orphans,
        ),
        ("what was found is not written again", &failed, &unwritten),
        ("what was found is not synced", &failed, &unsynced),
        (
            "the new file of the log has no durable name",
            &story,
            &names,
        ),
    ];
    for (name, story, wrap) in wrong {
        let findings = explore_recovery(story, Width { stride: 1, ..FIND }, wrap);
        let (broken, images) = (findings.broken, findings.images);
        println!("{name}: within {images} images: {:?}", broken.first());
        assert!(!broken.is_empty(), "{name}: not found in {images} images");
    }
}
