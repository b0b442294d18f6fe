//! `kill -9` of `pageway build --resume`, a real process on a real file system, at random moments:
//! what goes on from there ends in the bytes of a build that nobody disturbed, and leaves nothing
//! beside them. In memory; in the long run (`make resume`) in pieces too, temporary files beside
//! the index and elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::{Data, long, names, program::program};
use pageway::lab::clock;
use pageway_store::{MANIFEST_FILE, OpenMode, OsVfs, Vfs};
use pageway_testkit::SplitMix64;

const SEED: u64 = 0xbead;
/// Kills of one build at most, before it may end.
const KILLS_OF_ONE: u64 = 4;
/// The list of what is kept.
const JOURNAL: &str = "resume.pw";

/// A way to build.
#[derive(Clone, Copy)]
struct Way {
    preset: &'static str,
    /// In pieces, where that is little.
    build_memory: &'static str,
    scratch: bool,
}

/// The last alone is tried in the short run.
const WAYS: [Way; 3] = [
    Way {
        preset: "starling",
        build_memory: "9.5MB",
        scratch: true,
    },
    Way {
        preset: "starling",
        build_memory: "9.5MB",
        scratch: false,
    },
    Way {
        preset: "pageann",
        build_memory: "1GB",
        scratch: false,
    },
];

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
        let rows = if long() { 24_000 } else { 2000 };
        Data::new(rows, 32, 1).write(scene.vfs.as_ref(), &scene.place("base.u8bin"));
        scene.vfs.create_dir_all(&scene.place("scratch")).unwrap();
        scene
    }

    fn place(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn spawn(&self, way: Way, out: &str) -> Child {
        let mut command = Command::new(&self.program);
        command.args(["build", "--quiet", "--metric", "l2", "--threads", "1"]);
        command.args(["--degree", "8", "--build-list", "16", "--memory", "2MB"]);
        command.args(["--calibration-queries", "10", "--preset", way.preset]);
        command.args(["--build-memory", way.build_memory, "--resume"]);
        command.arg("--data").arg(self.place("base.u8bin"));
        command.arg("--out").arg(self.place(out));
        if way.scratch {
            command.arg("--scratch").arg(self.place("scratch"));
        }
        command.stdout(Stdio::null());
        command.spawn().unwrap()
    }

    fn build(&self, way: Way, out: &str) {
        assert!(self.spawn(way, out).wait().unwrap().success());
    }

    fn files(&self, out: &str) -> Vec<(String, Vec<u8>)> {
        let dir = self.place(out);
        let read = |name: String| {
            let file = self.vfs.open(&dir.join(&name), OpenMode::Read).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            (name, bytes)
        };
        let names = names(self.vfs.as_ref(), &dir);
        names.into_iter().map(read).collect()
    }

    /// Whether a journal waits for a build that goes on.
    fn has_journal(&self, way: Way, out: &str) -> bool {
        let vfs = self.vfs.as_ref();
        let holds = |dir: &Path| vfs.exists(&dir.join(JOURNAL)).unwrap();
        if !way.scratch {
            return holds(&self.place(out));
        }
        let scratch = self.place("scratch");
        let own = vfs.list_others(&scratch).unwrap();
        own.iter().any(|name| holds(&scratch.join(name)))
    }

    fn is_committed(&self, out: &str) -> bool {
        let manifest = self.place(out).join(MANIFEST_FILE);
        self.vfs.exists(&manifest).unwrap()
    }

    fn remove(&self, out: &str) {
        let dir = self.place(out);
        for name in names(self.vfs.as_ref(), &dir) {
            self.vfs.remove_file(&dir.join(name)).unwrap();
        }
        if self.vfs.exists(&dir).unwrap() {
            self.vfs.remove_dir(&dir).unwrap();
        }
    }
}

/// Kills a build after `wait`.
fn kill(scene: &Scene, way: Way, wait: Duration) {
    let mut child = scene.spawn(way, "one");
    std::thread::sleep(wait);
    // SIGKILL: no handler runs, nothing is flushed or tidied up.
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_build_goes_on_to_the_same_bytes() {
    let scene = Scene::new();
    let mut random = SplitMix64::new(SEED);
    let (wanted, ways) = if long() {
        (200, WAYS.as_slice())
    } else {
        (4, &WAYS[2..])
    };
    let (mut kills, mut kept, mut builds) = (0, 0, 0);
    for (number, way) in (1..).zip(ways.iter().copied()) {
        let begin = clock::now();
        scene.build(way, "whole");
        let whole = clock::now() - begin;
        let expected = scene.files("whole");
        while kills < wanted * number / ways.len() as u32 {
            for _ in 0..=random.below(KILLS_OF_ONE) {
                let wait = whole * random.below(1000) as u32 / 1000;
                kill(&scene, way, wait);
                if scene.is_committed("one") {
                    break;
                }
                kills += 1;
                kept += u32::from(scene.has_journal(way, "one"));
            }
            // One that had come to its end would be replaced by another generation.
            if scene.is_committed("one") {
                scene.remove("one");
                continue;
            }
            scene.build(way, "one");
            builds += 1;
            let at = format!("seed {SEED:#x}, {}, kill {kills}", way.preset);
            assert!(scene.files("one") == expected, "{at}: other bytes");
            let left = scene.vfs.list_others(&scene.place("scratch")).unwrap();
            assert!(left.is_empty(), "{at}: {left:?} stay");
            scene.remove("one");
        }
        scene.remove("whole");
    }
    println!(
        "crash_resume, seed {SEED:#x}: {kills} kills of {builds} builds, {kept} left finished \
         stages, 0 differ"
    );
    assert!(
        !long() || kept * 4 > kills,
        "only {kept} of {kills} left anything"
    );
}
