//! Crash explorer of rewriting: units written over by a double write, and written apart.
//!
//! Two small protocols are built from what the store offers: growable files, writes and syncs
//! through lanes, epochs, and the manifest as the only commit. Each runs once on a simulated file
//! system; every moment between two operations becomes many crash images, and each image must
//! open to a generation that was acknowledged or under way, row by row, and go on from there. Then
//! one step at a time is planted wrong. What the explorer does not find is a failure: its silence
//! about the right protocols would prove nothing.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod explore;
mod pen;
mod protocol;
mod state;

use std::path::Path;
use std::sync::Arc;

use pageway_store::StoreError;
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

use explore::{DIR, GENERATIONS, SEED, check, explore, explore_recovery, go_on, live};
use protocol::{Form, Plant, advance, create, read_rows, recover};
use state::{Manifest, payload};

const FORMS: [Form; 2] = [Form::Journal, Form::Apart];

#[test]
fn every_crash_leaves_a_whole_generation() {
    for form in FORMS {
        let story = live(form, Plant::Nothing);
        let mut images = 0;
        for seed in SEED..SEED + 2 {
            let (tried, broken) = explore(&story, seed);
            let some = &broken[..broken.len().min(5)];
            assert!(broken.is_empty(), "{form:?}: {}: {some:#?}", broken.len());
            images += tried;
        }
        println!("{form:?}: {images} images");
        assert!(images >= 1500, "{form:?}: only {images} images");
    }
}

#[test]
fn every_canary_is_found() {
    let canaries = [
        (Form::Journal, Plant::PlacesFirst),
        (Form::Journal, Plant::JournalNotSynced),
        (Form::Journal, Plant::JournalReusedEarly),
        (Form::Journal, Plant::NoSyncBeforeCommit),
        (Form::Journal, Plant::GrowthNotSynced),
        (Form::Apart, Plant::NoSyncBeforeCommit),
        (Form::Apart, Plant::GrowthNotSynced),
        (Form::Apart, Plant::UnitTakenEarly),
    ];
    for (form, plant) in canaries {
        let (images, broken) = explore(&live(form, plant), SEED);
        println!(
            "{form:?}, {plant:?}: {} of {images} images broken",
            broken.len()
        );
        assert!(
            !broken.is_empty(),
            "{form:?}, {plant:?}: not found in {images} images"
        );
    }
}

/// Power may fail again while a journal is being rolled forward.
#[test]
fn a_crash_during_recovery_leaves_a_whole_generation_too() {
    let story = live(Form::Journal, Plant::Nothing);
    let (images, broken) = explore_recovery(&story, Plant::Nothing);
    println!("{images} images of recoveries");
    assert!(broken.is_empty(), "{:#?}", &broken[..broken.len().min(5)]);
    assert!(images >= 1000, "only {images} images");
    for plant in [Plant::NoSyncBeforeCommit, Plant::GrowthNotSynced] {
        let (images, broken) = explore_recovery(&story, plant);
        println!("{plant:?}: {} of {images} images broken", broken.len());
        assert!(
            !broken.is_empty(),
            "{plant:?}: not found in {images} images"
        );
    }
}

/// Rows that read as something else without an error, and rows with one, after the device has
/// claimed a write of the last generation and not done it: each of them in turn.
fn lose_writes(form: Form, plant: Plant) -> (u64, u64) {
    let dir = Path::new(DIR);
    let (mut silent, mut told) = (0, 0);
    for nth in 0.. {
        let sim = SimVfs::new();
        let mut state = create(&sim, dir, form).unwrap();
        for _ in 1..GENERATIONS {
            state = advance(&sim, dir, &state, plant).unwrap();
        }
        let plan = FaultPlan::none().once(Operation::Write, nth, Fault::Skip);
        let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
        let outcome = advance(&vfs, dir, &state, plant);
        if plan.injected() == 0 {
            return (silent, told);
        }
        let found = outcome.and_then(|state| Ok((read_rows(&sim, dir, &state)?, state)));
        match found {
            Ok((rows, state)) => {
                let right =
                    |(row, bytes): &(u64, &Vec<u8>)| **bytes == payload(*row, state.generation);
                silent += u64::from(!(0..).zip(&rows).all(|row| right(&row)));
            }
            Err(error) => told += u64::from(error.is_lost_write()),
        }
    }
    unreachable!("writes end")
}

#[test]
fn lost_writes_are_found_by_their_epoch() {
    for form in FORMS {
        let (silent, told) = lose_writes(form, Plant::Nothing);
        assert!(silent == 0 && told > 0, "{form:?}: {silent} {told}");
        let (silent, _) = lose_writes(form, Plant::EpochKept);
        println!("{form:?}, EpochKept: {silent} lost writes unnoticed");
        assert!(silent > 0, "{form:?}: the epoch is not what finds them");
    }
}

/// Every call of a generation fails once, in turn: nothing panics, what was acknowledged stays,
/// the error comes out, and the store goes on.
#[test]
fn every_failing_call_is_reported_and_loses_nothing() {
    let dir = Path::new(DIR);
    for form in FORMS {
        let built = SimVfs::new();
        let first = create(&built, dir, form).unwrap();
        let first = advance(&built, dir, &first, Plant::Nothing).unwrap();
        let cases = Operation::ALL
            .into_iter()
            .flat_map(|operation| [(operation, Fault::Io), (operation, Fault::NoSpace)]);
        for (operation, fault) in cases {
            for nth in 0.. {
                let sim = built.fork();
                let plan = FaultPlan::none().once(operation, nth, fault);
                let vfs = FaultVfs::new(Arc::new(sim.clone()), plan.clone());
                let result = advance(&vfs, dir, &first, Plant::Nothing);
                if plan.injected() == 0 {
                    result.unwrap();
                    break;
                }
                let error = result.expect_err("a failed call must come out");
                let full = matches!(error, StoreError::NoSpace { .. });
                assert_eq!(
                    full,
                    fault == Fault::NoSpace,
                    "{operation:?} {nth}: {error}"
                );
                let found = check(&sim, Plant::Nothing).unwrap();
                assert!(found == Some(1) || found == Some(2), "{operation:?} {nth}");
                go_on(&sim).unwrap();
            }
        }
    }
}

/// A sync that fails loses what it should have saved, and the next one would succeed: the
/// generation must not be committed by it.
#[test]
fn a_failed_sync_is_final() {
    let dir = Path::new(DIR);
    for form in FORMS {
        let built = SimVfs::new();
        let first = create(&built, dir, form).unwrap();
        for nth in 0.. {
            let sim = built.fork();
            sim.record();
            sim.fail_sync(nth);
            if advance(&sim, dir, &first, Plant::Nothing).is_ok() {
                assert!(nth >= 4, "{form:?}: only {nth} syncs");
                break;
            }
            for boundary in sim.take_boundaries() {
                for image in boundary.images(4, SEED) {
                    let found = check(&image, Plant::Nothing).unwrap();
                    assert!(found <= Some(1), "{form:?}, sync {nth}: {found:?}");
                    go_on(&image).unwrap();
                }
            }
        }
    }
}

/// What a writer left behind the committed units is neither read nor in the way.
#[test]
fn a_tail_that_was_not_committed_is_ignored_and_written_over() {
    let dir = Path::new(DIR);
    for form in FORMS {
        let sim = SimVfs::new();
        let state = create(&sim, dir, form).unwrap();
        let plan = FaultPlan::none().on_path(Operation::Rename, "MANIFEST", Fault::Io);
        let vfs = FaultVfs::new(Arc::new(sim.clone()), plan);
        advance(&vfs, dir, &state, Plant::Nothing).unwrap_err();
        assert_eq!(
            recover(&sim, dir, Plant::Nothing).unwrap(),
            Some(state.clone())
        );
        assert_eq!(Manifest::read(&sim, dir).unwrap().now, state);
        let next = advance(&sim, dir, &state, Plant::Nothing).unwrap();
        let rows = read_rows(&sim, dir, &next).unwrap();
        assert!((0..).zip(rows).all(|(row, bytes)| bytes == payload(row, 1)));
    }
}
