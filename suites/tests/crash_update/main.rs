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

#[path = "../common/mod.rs"]
mod common;
mod design;
mod explore;
mod oracle;
mod plant;
#[allow(dead_code, reason = "another suite uses all of it")]
mod story;

use std::sync::Arc;

use pageway::{Preset, Vfs};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs, Tally};

use common::long;
use design::Design;
use explore::{Explorer, Findings, Width, explore, explore_recovery, seed};
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

/// Says how many images there were, and that none broke a promise.
#[track_caller]
fn expect_none(name: &str, findings: &Findings, least: u64) {
    let Findings { broken, tally } = findings;
    let Tally {
        images,
        distinct,
        checked,
    } = tally;
    println!(
        "crash_update, {name}: {images} images, {distinct} distinct, {checked} checked, \
         {} violations",
        broken.len()
    );
    let some = &broken[..broken.len().min(5)];
    assert!(broken.is_empty(), "{} of {images}: {some:#?}", broken.len());
    assert!(*images >= least, "only {images} images");
}

#[test]
fn every_crash_leaves_a_state_with_all_that_was_told() {
    let story = live(plain, &LIFE).unwrap();
    let quick = Width {
        stride: 1,
        images: 2,
        next: 20,
        stops: false,
    };
    let whole = Width {
        images: 16,
        next: 10,
        ..quick
    };
    let findings = explore(&story, width(quick, whole), &leave);
    expect_none("segments", &findings, 900);
}

/// The value of a variable of the environment, where it is set.
fn wished<T: std::str::FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    let parsed = value.parse().ok();
    Some(parsed.unwrap_or_else(|| panic!("{name}={value}")))
}

/// Every policy of updates, in many lives of each until there were `PAGEWAY_CRASH_IMAGES` images of
/// it; `PAGEWAY_CRASH_POLICY` names one.
#[test]
fn every_policy_leaves_the_old_version_or_the_new() {
    let quick = Width {
        stride: 23,
        images: 2,
        next: 20,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 256,
        next: 200,
        ..quick
    };
    let asked = wished("PAGEWAY_CRASH_IMAGES").unwrap_or(if long() { 312_500 } else { 30 });
    let only: Option<String> = wished("PAGEWAY_CRASH_POLICY");
    let is_asked = |design: &Design| only.as_ref().is_none_or(|only| *only == design.name);
    for design in Design::all().into_iter().filter(is_asked) {
        let mut explorer = Explorer::new(width(quick, whole), true);
        let mut recoveries = Explorer::new(width(quick, AGAIN), false);
        let mut images = 0;
        while images < asked {
            let story = design.live(explorer.seed).unwrap();
            explorer.explore(&story, &leave);
            if long() {
                recoveries.explore_recoveries(&story, &plain);
            }
            images = explorer.tally().images + recoveries.tally().images;
            explorer.seed += 1;
            recoveries.seed += 1;
        }
        let lives = explorer.seed - seed();
        let name = format!("{}, lives {lives}", design.name);
        expect_none(&name, &explorer.findings(), 10);
        if long() {
            expect_none(&format!("{name}, recoveries"), &recoveries.findings(), 10);
        }
    }
}

/// Recoveries in the long run.
const AGAIN: Width = Width {
    stride: 13,
    images: 32,
    next: 200,
    stops: false,
};

#[test]
fn a_crash_of_patches_leaves_the_old_version_or_the_new() {
    let story = live_patched(plain, Preset::OdinAnn, &PATCHED).unwrap();
    expect_none("patches", &explore(&story, SOME, &leave), 150);
    let unsynced = skipping(Operation::SyncFile, ".pw");
    let story = live_patched(unsynced, Preset::OdinAnn, &PATCHED);
    found("patches unsynced", story, &leave);
}

#[test]
fn a_crash_of_pages_that_are_written_over_leaves_the_old_version_or_the_new() {
    let story = live_patched(plain, Preset::IpDiskAnn, &PATCHED).unwrap();
    expect_none("overwrites", &explore(&story, SOME, &leave), 150);
    let again = Width { stride: 17, ..SOME };
    let findings = explore_recovery(&story, again, &plain);
    expect_none("journals", &findings, 150);
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

/// Images of a life that others are tried of too.
const SOME: Width = Width {
    stride: 4,
    images: 2,
    next: 30,
    stops: false,
};

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    let story = live(plain, &LIFE).unwrap();
    let quick = Width {
        stride: 11,
        images: 1,
        next: 20,
        stops: false,
    };
    let whole = Width {
        stride: 1,
        images: 4,
        ..quick
    };
    let findings = explore_recovery(&story, width(quick, whole), &plain);
    expect_none("recoveries", &findings, 500);
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
            println!("{name}: within {:?}: {first}", findings.tally);
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

/// Images of which some break promises: what is said without a check is what a check says.
#[test]
fn an_image_that_is_not_checked_again_is_judged_as_if_it_was() {
    let width = Width {
        stride: 5,
        images: 12,
        next: 1000,
        stops: false,
    };
    for plant in [Plant::NamesUnsynced, Plant::LogGoesFirst] {
        let story = live(PlantVfs::wrap(plant), &SHORT).unwrap();
        let mut explorer = Explorer::new(width, true);
        explorer.confirm(&story);
        let Tally {
            images, checked, ..
        } = explorer.tally();
        assert!(checked < images && images > 500, "{checked} of {images}");
    }
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
        let (broken, tally) = (findings.broken, findings.tally);
        println!("{name}: within {tally:?}: {:?}", broken.first());
        assert!(!broken.is_empty(), "{name}: not found in {tally:?}");
    }
}
