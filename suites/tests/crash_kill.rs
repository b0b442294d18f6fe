//! `kill -9` of a real process on a real file system: `pageway build` dies at a random moment of a
//! rebuild, and the directory holds the old index or the new one, sound, with nothing that stops
//! the next build.
//!
//! The program is the one in `PAGEWAY_BIN`, or the one built beside this test.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::{Data, check_tidy, long, program::program, recover};
use pageway::lab::clock;
use pageway_store::{OsVfs, Vfs};
use pageway_testkit::SplitMix64;

const SEED: u64 = 0xdead;

struct Scene {
    program: PathBuf,
    vfs: Arc<dyn Vfs>,
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            program: program(),
            vfs: Arc::new(OsVfs),
            root: tempfile::tempdir().unwrap(),
        };
        for seed in 1..=2 {
            let data = data(seed);
            data.write(scene.vfs.as_ref(), &scene.file(seed));
        }
        scene
    }

    fn file(&self, seed: u64) -> PathBuf {
        self.root.path().join(format!("base-{seed}.u8bin"))
    }

    fn index(&self) -> PathBuf {
        self.root.path().join("index")
    }

    /// Begins to build the index of data set `seed`.
    fn spawn(&self, seed: u64) -> Child {
        let mut command = Command::new(&self.program);
        command.args(["build", "--quiet", "--metric", "l2", "--threads", "1"]);
        command.args(["--degree", "8", "--build-list", "16", "--code-bytes", "1"]);
        command.args(["--calibration-queries", "50"]);
        command.arg("--data").arg(self.file(seed));
        command.arg("--out").arg(self.index());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Builds the index of data set `seed` and tells how long it took.
    fn build(&self, seed: u64) -> Duration {
        let begin = clock::now();
        assert!(
            self.spawn(seed).wait().unwrap().success(),
            "data set {seed}"
        );
        clock::now() - begin
    }

    /// The data set whose index is there, 0 for none.
    fn found(&self) -> Result<usize, String> {
        recover(&self.vfs, &self.index(), &[&data(1), &data(2)])
    }
}

fn data(seed: u64) -> Data {
    Data::new(300, 8, seed)
}

/// Kills a build of data set `seed` after `wait`. True when it was still running.
fn kill(scene: &Scene, seed: u64, wait: Duration) -> bool {
    let mut child = scene.spawn(seed);
    std::thread::sleep(wait);
    let finished = child.try_wait().unwrap().is_some();
    // SIGKILL: no handler runs, nothing is flushed or tidied up.
    child.kill().unwrap();
    child.wait().unwrap();
    !finished
}

/// One test, so that the builds that are timed do not run beside each other.
#[test]
fn a_killed_build_leaves_the_old_or_the_new_index() {
    first_builds(&Scene::new());
    rebuilds(&Scene::new());
}

fn rebuilds(scene: &Scene) {
    let mut whole = scene.build(1);
    let mut random = SplitMix64::new(SEED);
    let kills = if long() { 200 } else { 20 };
    let (mut old, mut running) = (1, 0);
    let mut outcomes = [0; 2];
    for round in 0..kills {
        let new = 3 - old;
        // Half of them late, where files are written and switched.
        let from = if round % 2 == 0 { 0 } else { 700 };
        let wait = whole * (from + random.below(1050 - u64::from(from)) as u32) / 1000;
        let moment = format!("seed {SEED:#x}, round {round}, after {wait:?} of {whole:?}");
        running += u32::from(kill(scene, new as u64, wait));
        let found = scene.found().unwrap_or_else(|e| panic!("{moment}: {e}"));
        assert!(found == old || found == new, "{moment}: data set {found}");
        outcomes[usize::from(found == new)] += 1;
        // The next build: of the other data, so that it has to replace what is there.
        old = 3 - found;
        // Moments are shares of the last build: other work on the machine comes and goes.
        whole = scene.build(old as u64);
        assert_eq!(scene.found(), Ok(old), "{moment}: the next build");
        check_tidy(&scene.vfs, &scene.index()).unwrap_or_else(|e| panic!("{moment}: {e}"));
    }
    println!(
        "crash_kill, seed {SEED:#x}: {kills} kills, {running} of a running build, {} left the old \
         index, {} the new one, 0 violations",
        outcomes[0], outcomes[1]
    );
    assert!(
        running * 3 > kills,
        "only {running} of {kills} hit a running build"
    );
}

fn first_builds(scene: &Scene) {
    let whole = scene.build(1);
    let mut random = SplitMix64::new(SEED);
    for round in 0..if long() { 50 } else { 5 } {
        // Also after a killed build has left its files there.
        if round % 2 == 0 {
            remove(scene);
        }
        let wait = whole * random.below(1000) as u32 / 1000;
        kill(scene, 2, wait);
        let found = scene
            .found()
            .unwrap_or_else(|e| panic!("round {round}, {wait:?}: {e}"));
        assert!(found == 0 || found == 2, "round {round}: data set {found}");
    }
    scene.build(2);
    assert_eq!(scene.found(), Ok(2));
    check_tidy(&scene.vfs, &scene.index()).unwrap();
}

fn remove(scene: &Scene) {
    for name in common::names(scene.vfs.as_ref(), &scene.index()) {
        scene.vfs.remove_file(&scene.index().join(name)).unwrap();
    }
    if scene.vfs.exists(&scene.index()).unwrap() {
        scene.vfs.remove_dir(&scene.index()).unwrap();
    }
}
