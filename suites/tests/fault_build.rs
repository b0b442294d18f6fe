//! Every call of a build and of a search fails once, in turn: the error comes out with its kind,
//! what was there stays, nothing is left behind, and what can be retried is.
//!
//! The vectors are read from a file of the same failing file system.
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

use common::{
    Data, build_from, check_tidy, long, names, open_uncached, quick, quick_as, recover, search_all,
};
use pageway::source::{OpenAs, VectorFile};
use pageway::{Answers, BuildOptions, Error, ErrorKind, NoProgress, Preset, Result, verify_on};
use pageway_store::{OpenMode, Vfs};
use pageway_testkit::{Fault, FaultPlan, FaultVfs, Operation, SimVfs};

const DIR: &str = "/indexes/one";
const BASE: &str = "/base.u8bin";

const ERRORS: [(Fault, &[ErrorKind]); 5] = [
    (Fault::Io, &[ErrorKind::Io]),
    (Fault::NoSpace, &[ErrorKind::NoSpace]),
    (Fault::QuotaExceeded, &[ErrorKind::NoSpace]),
    (Fault::AccessDenied, &[ErrorKind::Io, ErrorKind::ReadOnly]),
    (Fault::TooManyFiles, &[ErrorKind::Io]),
];

fn old() -> Data {
    Data::new(200, 8, 1)
}

fn new() -> Data {
    Data::new(200, 8, 2)
}

/// A file system with the new vectors in a file, and the old index where `rebuild` says so.
fn start(rebuild: bool) -> SimVfs {
    start_as(rebuild, &quick())
}

fn start_as(rebuild: bool, options: &BuildOptions) -> SimVfs {
    let (sim, data) = (SimVfs::new(), new());
    let mut bytes = (data.count() as u32).to_le_bytes().to_vec();
    bytes.extend(data.shape.dimension.to_le_bytes());
    bytes.extend(&data.rows);
    let file = sim.open(Path::new(BASE), OpenMode::CreateNew).unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    sim.create_dir_all(Path::new("/indexes")).unwrap();
    if rebuild {
        let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
        old().build(&vfs, Path::new(DIR), options).unwrap();
    }
    sim
}

fn build(vfs: &Arc<dyn Vfs>, options: &BuildOptions) -> Result<()> {
    let vectors = VectorFile::open(vfs, Path::new(BASE), OpenAs::default())?;
    build_from(&vectors, vfs, Path::new(DIR), options, &NoProgress)?;
    Ok(())
}

/// Little memory for the calibration, so that it reads pages.
fn options(preset: Preset) -> BuildOptions {
    let probe = quick_as(preset).with_memory(pageway::MemoryWish::Bytes(1));
    let vfs: Arc<dyn Vfs> = Arc::new(start(false));
    let least = common::smallest_that_works(&build(&vfs, &probe).unwrap_err());
    quick_as(preset).with_memory(pageway::MemoryWish::Bytes(least))
}

/// Positions of the failing call: each of the first ones, then ever fewer. All in the long run.
fn positions() -> impl Iterator<Item = u64> {
    positions_from(16)
}

fn positions_from(dense: u64) -> impl Iterator<Item = u64> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let now = next;
        next += if long() || now < dense { 1 } else { now / 3 };
        Some(now)
    })
}

/// What a build that failed may leave: nothing, or the old index and nothing else.
fn check_untouched(sim: &SimVfs, rebuild: bool, moment: &str) {
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let dir = Path::new(DIR);
    if rebuild {
        assert_eq!(recover(&vfs, dir, &[&old(), &new()]), Ok(1), "{moment}");
        check_tidy(&vfs, dir).unwrap_or_else(|e| panic!("{moment}: {e}"));
    } else {
        assert!(
            !sim.exists(dir).unwrap(),
            "{moment}: left {:?}",
            names(sim, dir)
        );
    }
}

/// After a failure from the rename on, either index may be there, whole.
fn check_either(sim: &SimVfs, rebuild: bool, moment: &str) {
    let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
    let found = recover(&vfs, Path::new(DIR), &[&old(), &new()]);
    let found = found.unwrap_or_else(|e| panic!("{moment}: {e}"));
    assert!(
        found == 2 || found == usize::from(rebuild),
        "{moment}: generation {found}"
    );
}

fn check_kind(error: &Error, kinds: &[ErrorKind], moment: &str) {
    assert!(kinds.contains(&error.kind()), "{moment}: {error}");
    assert!(
        error.context().contains('/') || error.context().contains("page "),
        "{moment}: no place in '{error}'"
    );
}

/// One build with one failing call.
struct Case {
    operation: Operation,
    fault: Fault,
    nth: u64,
    rebuild: bool,
}

/// How it ended.
#[derive(PartialEq, Eq)]
enum Ending {
    /// There was no such call.
    NoCall,
    Succeeded,
    Failed,
}

impl Case {
    /// What tidies up after the new index is there may fail; and a parent that we may not look into
    /// is none that we made the directory in.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other failure must be reported"
    )]
    fn may_go_unnoticed(&self) -> bool {
        match self.operation {
            Operation::RemoveFile | Operation::List => true,
            Operation::SyncDirectory => self.fault == Fault::AccessDenied && self.nth == 0,
            _ => false,
        }
    }

    /// Runs it over a copy of `before`.
    fn run(&self, before: &SimVfs, options: &BuildOptions, kinds: &[ErrorKind]) -> Ending {
        let moment = format!(
            "{:?} {} {:?}, rebuild {}",
            self.operation, self.nth, self.fault, self.rebuild
        );
        let sim = before.fork();
        let plan = FaultPlan::none().once(self.operation, self.nth, self.fault);
        let outcome = build(&failing(&sim, &plan), options);
        if plan.injected() == 0 {
            outcome.unwrap_or_else(|e| panic!("{moment}: no call failed, yet {e}"));
            return Ending::NoCall;
        }
        let ending = if let Err(error) = &outcome {
            check_kind(error, kinds, &moment);
            if plan.calls(Operation::Rename) > 0 && self.operation != Operation::Rename {
                check_either(&sim, self.rebuild, &moment);
            } else {
                check_untouched(&sim, self.rebuild, &moment);
            }
            Ending::Failed
        } else {
            Ending::Succeeded
        };
        let vfs: Arc<dyn Vfs> = Arc::new(sim.clone());
        if ending == Ending::Failed {
            build(&vfs, options).unwrap_or_else(|e| panic!("{moment}: the next build: {e}"));
            check_tidy(&vfs, Path::new(DIR)).unwrap_or_else(|e| panic!("{moment}: {e}"));
        }
        let found = recover(&vfs, Path::new(DIR), &[&old(), &new()]);
        assert_eq!(found, Ok(2), "{moment}");
        ending
    }
}

fn failing(sim: &SimVfs, plan: &FaultPlan) -> Arc<dyn Vfs> {
    Arc::new(FaultVfs::new(Arc::new(sim.clone()), plan.clone()))
}

#[test]
fn a_place_that_may_not_be_written_is_read_only() {
    for operation in [
        Operation::Create,
        Operation::Lock,
        Operation::CreateDirectory,
        Operation::Rename,
    ] {
        let sim = start(false);
        let plan = FaultPlan::none().for_ever(operation, 0, Fault::AccessDenied);
        let refused = build(&failing(&sim, &plan), &quick()).unwrap_err();
        assert_eq!(
            refused.kind(),
            ErrorKind::ReadOnly,
            "{operation:?}: {refused}"
        );
    }
}

#[test]
fn every_failing_call_of_a_build_is_reported_and_leaves_nothing() {
    let faults = if long() { 5 } else { 2 };
    let failed = check_build(Preset::DiskAnn, faults, &[false, true]);
    assert!(failed > 200, "only {failed} failing builds");
    let others = Preset::ALL.into_iter().skip(1);
    for preset in others {
        let failed = check_build(preset, faults - 1, &[true]);
        assert!(failed > 40, "{preset}: only {failed} failing builds");
    }
}

#[test]
fn every_failing_call_of_a_build_of_segments_is_reported_and_leaves_nothing() {
    let two = quick().with_segments(2);
    let failed = check_calls(&two, (1, 16), &[false, true]);
    assert!(failed > 100, "only {failed} failing builds");
}

fn check_build(preset: Preset, faults: usize, rebuilds: &[bool]) -> u32 {
    let dense = if preset == Preset::DiskAnn { 16 } else { 6 };
    check_calls(&options(preset), (faults, dense), rebuilds)
}

/// Fails every kind of call with some faults: the first ones of a kind each, then ever fewer.
fn check_calls(options: &BuildOptions, (faults, dense): (usize, u64), rebuilds: &[bool]) -> u32 {
    let preset = options.preset;
    let (mut failed, mut survived) = (0, 0);
    let before = [false, true].map(start);
    for operation in Operation::ALL {
        for (fault, kinds) in ERRORS.into_iter().take(faults) {
            for rebuild in rebuilds.iter().copied() {
                for nth in positions_from(dense) {
                    let case = Case {
                        operation,
                        fault,
                        nth,
                        rebuild,
                    };
                    match case.run(&before[usize::from(rebuild)], options, kinds) {
                        Ending::NoCall => break,
                        Ending::Failed => failed += 1,
                        Ending::Succeeded => {
                            let moment = format!("{preset}: {operation:?} {nth} {fault:?}");
                            assert!(case.may_go_unnoticed(), "{moment}");
                            survived += 1;
                        }
                    }
                }
            }
        }
    }
    println!("fault_build: {preset}: {failed} builds failed, {survived} went on, 0 violations");
    failed
}

#[test]
fn interrupted_and_short_transfers_change_nothing() {
    let (options, before) = (options(Preset::DiskAnn), start(false));
    let mut cases = 0;
    for operation in [Operation::Read, Operation::Write] {
        for fault in [Fault::Interrupted, Fault::Short] {
            for nth in positions() {
                let case = Case {
                    operation,
                    fault,
                    nth,
                    rebuild: false,
                };
                match case.run(&before, &options, &[]) {
                    Ending::NoCall => break,
                    Ending::Succeeded => cases += 1,
                    Ending::Failed => panic!("{operation:?} {nth} {fault:?} failed"),
                }
            }
        }
    }
    println!("fault_build: {cases} interrupted or short transfers, 0 violations");
    assert!(cases > 50, "only {cases} cases");
}

/// Opens, searches for every row, checks every byte.
fn use_index(vfs: &Arc<dyn Vfs>) -> Result<Answers> {
    let index = open_uncached(vfs, Path::new(DIR))?;
    search_all(&index, &old(), 3)
}

#[test]
fn every_failing_call_of_open_and_search_is_reported_or_changes_nothing() {
    for preset in Preset::ALL {
        check_searches(preset);
    }
}

fn check_searches(preset: Preset) {
    let sim = start_as(true, &quick_as(preset));
    let expected = use_index(&failing(&sim, &FaultPlan::none())).unwrap();
    let retried = [Fault::Interrupted, Fault::Short];
    let faults = ERRORS.map(|(fault, _)| fault).into_iter().chain(retried);
    let mut cases = 0;
    for fault in faults {
        for operation in [Operation::Open, Operation::Length, Operation::Read] {
            for nth in positions() {
                let plan = FaultPlan::none().once(operation, nth, fault);
                let outcome = use_index(&failing(&sim, &plan));
                if plan.injected() == 0 {
                    break;
                }
                cases += 1;
                let moment = format!("{preset}: {operation:?} {nth} {fault:?}");
                match outcome {
                    Ok(answers) => {
                        assert!(retried.contains(&fault), "{moment}: nothing was reported");
                        assert_eq!(answers.ids, expected.ids, "{moment}");
                        assert_eq!(answers.distances, expected.distances, "{moment}");
                    }
                    Err(error) => {
                        let kinds = [ErrorKind::Io, ErrorKind::NoSpace];
                        check_kind(&error, &kinds, &moment);
                        assert!(
                            operation != Operation::Read || !retried.contains(&fault),
                            "{moment}: {error}"
                        );
                    }
                }
            }
        }
    }
    println!("fault_build: {preset}: {cases} failing calls of open and search, 0 violations");
    assert!(cases > 100, "{preset}: only {cases} cases");
}

/// A failed read costs the search it belongs to and no other.
#[test]
fn an_index_goes_on_after_a_failed_search() {
    for preset in Preset::ALL {
        check_going_on(preset);
    }
}

fn check_going_on(preset: Preset) {
    let sim = start_as(true, &quick_as(preset));
    let plan = FaultPlan::none();
    let index = open_uncached(&failing(&sim, &plan), Path::new(DIR)).unwrap();
    let expected = search_all(&index, &old(), 3).unwrap();
    for skipped in [0, 1, 7, 50] {
        let _armed = plan.clone().once(Operation::Read, skipped, Fault::Io);
        assert_eq!(
            search_all(&index, &old(), 3).unwrap_err().kind(),
            ErrorKind::Io
        );
        assert_eq!(search_all(&index, &old(), 3).unwrap().ids, expected.ids);
    }
    assert!(index.memory().searches_peak_bytes <= index.memory().budget_bytes);
}

/// `verify` is for the day on which the disk fails: it says so and does not pass.
#[test]
fn verify_never_passes_over_a_failing_read() {
    for preset in Preset::ALL {
        check_verify(preset);
    }
}

fn check_verify(preset: Preset) {
    let sim = start_as(true, &quick_as(preset));
    let mut cases = 0;
    for operation in [Operation::Open, Operation::Length, Operation::Read] {
        for nth in 0.. {
            // For ever: what fails once is read again, unit by unit, and may be right.
            let plan = FaultPlan::none().for_ever(operation, nth, Fault::Io);
            let vfs = failing(&sim, &plan);
            let sound =
                verify_on(&vfs, Path::new(DIR), &NoProgress).is_ok_and(|report| report.is_sound());
            if plan.injected() == 0 {
                assert!(sound);
                break;
            }
            cases += 1;
            assert!(!sound, "{preset}: {operation:?} {nth}");
        }
    }
    assert!(cases > 10, "{preset}: only {cases} cases");
}
