//! Crash explorer of whole builds: whatever moment the power fails at, the directory holds the
//! index that was there, the new one, or none where none was; and the next build works.
//!
//! Two kinds of death: the machine loses power (crash images of every moment between two
//! operations), and the process is killed first and the machine loses power later, in the middle of
//! the build that cleans up after it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Data, check_tidy, long, quick, quick_as, recover};
use pageway::{BuildOptions, MemoryWish, NoProgress, Preset, Progress};
use pageway_store::Vfs;
use pageway_testkit::{Boundary, Fault, FaultPlan, FaultVfs, Operation, SimVfs};

const DIR: &str = "/indexes/one";
const SEED: u64 = 0x5eed;

fn data(generation: u64) -> Data {
    Data::new(200, 8, generation)
}

/// Images of every moment, and how many of them live on to another build.
#[derive(Clone, Copy)]
struct Width {
    images: u64,
    next: u64,
}

impl Width {
    fn new(images: u64, next: u64) -> Self {
        let factor = if long() { 4 } else { 1 };
        Self {
            images: images * factor,
            next: next * factor,
        }
    }
}

/// Moments with what may be found after a crash in them: generations `least ..= most`.
struct History {
    boundaries: Vec<Boundary>,
    /// Operations done when a generation was started, and when it was acknowledged.
    started: Vec<(u64, usize)>,
    acknowledged: Vec<(u64, usize)>,
}

impl History {
    fn newest(milestones: &[(u64, usize)], operations: u64) -> usize {
        let past = milestones.iter().filter(|(at, _)| *at <= operations);
        past.map(|(_, generation)| *generation).max().unwrap_or(0)
    }
}

/// Tries images of every moment, and counts them.
fn explore(history: &History, generations: &[&Data], width: Width, options: &BuildOptions) -> u64 {
    let (dir, later) = (Path::new(DIR), data(99));
    let mut known = generations.to_vec();
    known.push(&later);
    let mut images = 0;
    for boundary in &history.boundaries {
        let least = History::newest(&history.acknowledged, boundary.operations);
        let most = History::newest(&history.started, boundary.operations);
        for (number, image) in (0..).zip(boundary.images(width.images, SEED)) {
            images += 1;
            let moment = format!(
                "seed {SEED:#x}, after operation {} ({}), image {number}",
                boundary.operations, boundary.last
            );
            let vfs: Arc<dyn Vfs> = Arc::new(image);
            let found = recover(&vfs, dir, &known).unwrap_or_else(|e| panic!("{moment}: {e}"));
            assert!(
                (least..=most).contains(&found),
                "{moment}: generation {found}, {least} to {most} are right"
            );
            if number >= width.next {
                continue;
            }
            later
                .build(&vfs, dir, options)
                .unwrap_or_else(|e| panic!("{moment}: the next build: {e}"));
            let found = recover(&vfs, dir, &known).unwrap_or_else(|e| panic!("{moment}: {e}"));
            assert_eq!(found, known.len(), "{moment}: the next build");
            check_tidy(&vfs, dir).unwrap_or_else(|e| panic!("{moment}: {e}"));
        }
    }
    images
}

/// A first build and a rebuild over it.
fn live(sim: &SimVfs, generations: &[&Data], options: &BuildOptions) -> History {
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let (mut started, mut acknowledged) = (Vec::new(), Vec::new());
    sim.record();
    for (number, data) in (1..).zip(generations) {
        started.push((sim.operations(), number));
        data.build(&vfs, Path::new(DIR), options).unwrap();
        acknowledged.push((sim.operations(), number));
    }
    History {
        boundaries: sim.take_boundaries(),
        started,
        acknowledged,
    }
}

#[test]
fn a_crash_at_any_moment_of_a_build_leaves_the_old_or_the_new_index() {
    for preset in Preset::ALL {
        let width = if preset == Preset::DiskAnn {
            Width::new(8, 3)
        } else {
            Width::new(2, 1)
        };
        let images = check_build(width, &quick_as(preset));
        assert!(images >= 80, "{preset}: only {images} images");
    }
}

#[test]
fn a_crash_at_any_moment_of_a_build_of_segments_leaves_the_old_or_the_new_index() {
    for preset in [Preset::DiskAnn, Preset::Starling, Preset::Pageway] {
        let options = quick_as(preset).with_segments(2);
        let images = check_build(Width::new(2, 1), &options);
        assert!(images >= 120, "{preset}: only {images} images");
    }
}

fn check_build(width: Width, options: &BuildOptions) -> u64 {
    let (first, second) = (data(1), data(2));
    let history = live(&SimVfs::new(), &[&first, &second], options);
    let images = explore(&history, &[&first, &second], width, options);
    println!(
        "crash_build, seed {SEED:#x}: {}: {} moments, {images} images, 0 violations",
        options.preset,
        history.boundaries.len()
    );
    images
}

/// Stops at the first question asked in a stage.
struct StopIn(&'static str, AtomicBool);

impl Progress for StopIn {
    fn stage(&self, name: &'static str, _: u64) {
        self.1.store(name == self.0, Ordering::Relaxed);
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }
}

#[test]
fn a_crash_while_a_cancelled_build_cleans_up_leaves_the_old_index() {
    let (first, second) = (data(1), data(2));
    for stage in ["write records", "calibrate recall"] {
        let sim = SimVfs::new();
        let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
        first.build(&vfs, Path::new(DIR), &quick()).unwrap();
        sim.record();
        let stop = StopIn(stage, AtomicBool::new(false));
        let outcome = second.build_watched(&vfs, Path::new(DIR), &quick(), &stop);
        assert_eq!(outcome.unwrap_err().kind(), pageway::ErrorKind::Cancelled);
        check_tidy(&vfs, Path::new(DIR)).unwrap();
        let history = History {
            boundaries: sim.take_boundaries(),
            started: vec![(0, 1)],
            acknowledged: vec![(0, 1)],
        };
        explore(&history, &[&first], Width::new(8, 2), &quick());
    }
}

/// The process dies at its `nth` call of a kind: that call and what would tidy up after it fail.
/// The machine lives on. False when the build was done before that call.
fn kill(
    sim: &SimVfs,
    (data, options): (&Data, &BuildOptions),
    (operation, nth): (Operation, u64),
) -> bool {
    let plan = FaultPlan::none()
        .for_ever(operation, nth, Fault::Io)
        .for_ever(Operation::RemoveDirectory, 0, Fault::Io)
        .on_path(Operation::RemoveFile, ".pw", Fault::Io)
        .on_path(Operation::RemoveFile, "LOCK", Fault::Io);
    let vfs: Arc<dyn Vfs> = Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan));
    data.build(&vfs, Path::new(DIR), options).is_err()
}

#[test]
fn power_loss_in_the_build_after_a_killed_one_loses_nothing() {
    check_killed(&quick(), Width::new(4, 0));
}

#[test]
fn power_loss_in_the_build_after_a_killed_one_of_segments_loses_nothing() {
    let two = quick().with_segments(2);
    check_killed(&two, Width::new(1, 0));
}

fn check_killed(options: &BuildOptions, width: Width) {
    let (first, killed, third) = (data(1), data(2), data(3));
    let operations = [
        Operation::CreateDirectory,
        Operation::Create,
        Operation::Write,
        Operation::SyncFile,
        Operation::Rename,
        Operation::SyncDirectory,
    ];
    let (mut deaths, mut images) = (0, 0);
    for rebuild in [false, true] {
        for operation in operations {
            for nth in 0.. {
                let sim = SimVfs::new();
                let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
                if rebuild {
                    first.build(&vfs, Path::new(DIR), options).unwrap();
                }
                if !kill(&sim, (&killed, options), (operation, nth)) {
                    break;
                }
                deaths += 1;
                sim.record();
                let begun = sim.operations();
                third.build(&vfs, Path::new(DIR), options).unwrap();
                let least = usize::from(rebuild);
                let history = History {
                    acknowledged: vec![(0, least), (sim.operations(), 3)],
                    boundaries: sim.take_boundaries(),
                    // The killed one may have got as far as its rename.
                    started: vec![(0, 2), (begun, 3)],
                };
                images += explore(&history, &[&first, &killed, &third], width, options);
            }
        }
    }
    println!("crash_build, killed first: {deaths} deaths, {images} images, 0 violations");
    assert!(deaths >= 20, "only {deaths} deaths");
}

/// Shards go through temporary files. The least shard is 5,000 nodes, so this one takes minutes.
#[test]
fn a_crash_of_a_build_in_shards_leaves_the_old_or_the_new_index() {
    if !long() {
        println!("not run: PAGEWAY_SUITE=long runs it");
        return;
    }
    let (first, second) = (Data::new(15_000, 128, 1), Data::new(15_000, 128, 2));
    let options = sharded(&first);
    let history = live(&SimVfs::new(), &[&first, &second], &options);
    assert!(
        history
            .boundaries
            .iter()
            .any(|b| b.last.contains("spill-lists"))
    );
    // A moment in ten: images are large.
    let history = History {
        boundaries: history.boundaries.into_iter().step_by(10).collect(),
        ..history
    };
    let images = explore(&history, &[&first, &second], Width::new(2, 0), &options);
    println!("crash_build, shards: {images} images, 0 violations");
}

/// The least memory that a build of `data` works with, which forces shards.
fn sharded(data: &Data) -> BuildOptions {
    let mut options = quick();
    options.build_memory = Some(MemoryWish::Bytes(1));
    let vfs: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let refused = data.build_watched(&vfs, Path::new(DIR), &options, &NoProgress);
    let bytes = common::smallest_that_works(&refused.unwrap_err());
    options.build_memory = Some(MemoryWish::Bytes(bytes));
    options
}
