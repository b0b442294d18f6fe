//! Forks before, during and after searches of an open index, with all three ways of reading: parent
//! and children answer as ever. What preloading servers and `multiprocessing` do.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and one runs this program"
)]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Data, quick_as, search_first};
use pageway::{Index, OpenOptions, OsVfs, Preset, Vfs};
use pageway_testkit::{ChildEnd, in_child};

const FINE: ChildEnd = ChildEnd::Returned(true);
const QUERIES: usize = 100;
/// Set for a run of [`searches_survive_forks`] in a process of its own.
const WAY: &str = "PAGEWAY_IO";

#[test]
fn every_way_of_reading_survives_forks() {
    for way in ["uring", "threads", "blocking"] {
        let own = std::env::current_exe().unwrap();
        let mut run = Command::new(own);
        run.args(["--exact", "searches_survive_forks", "--nocapture"]);
        let run = run.env(WAY, way).output().unwrap();
        let words = String::from_utf8_lossy(&run.stderr);
        let is_denied = way == "uring" && words.contains("io_uring is denied");
        assert!(run.status.success() || is_denied, "{way}: {words}");
    }
}

#[test]
fn searches_survive_forks() {
    if std::env::var(WAY).is_err() {
        return;
    }
    let data = Data::new(2000, 16, 7);
    for preset in [Preset::DiskAnn, Preset::Gorgeous, Preset::Pageway] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("index");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        data.build(&vfs, &dir, &quick_as(preset)).unwrap();
        check(&dir, &data, preset);
    }
}

fn check(dir: &Path, data: &Data, preset: Preset) {
    let open = || Index::open(dir, &OpenOptions::default()).unwrap();
    let expected = search_first(&open(), data, QUERIES, 5).unwrap();
    let answers = |index: &Index| {
        let found = search_first(index, data, QUERIES, 5).unwrap();
        found.ids == expected.ids && found.distances == expected.distances
    };
    let index = open();
    let child = || answers(&index) && answers(&index);
    assert_eq!(in_child(child), FINE, "{preset}: before a search");
    assert!(answers(&index), "{preset}");
    let nested = || child() && in_child(child) == FINE && child();
    assert_eq!(in_child(nested), FINE, "{preset}: after a search");
    assert!(answers(&index), "{preset}");

    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let searches = || {
            while !ended.load(Ordering::Relaxed) {
                assert!(answers(&index), "{preset}: a parent's search");
            }
        };
        let searching = [scope.spawn(searches), scope.spawn(searches)];
        for _ in 0..10 {
            let end = in_child(child);
            if end != FINE {
                ended.store(true, Ordering::Relaxed);
            }
            assert_eq!(end, FINE, "{preset}: during searches");
        }
        ended.store(true, Ordering::Relaxed);
        for one in searching {
            one.join().unwrap();
        }
    });
    let last = || {
        let same = answers(&index);
        drop(index);
        same
    };
    assert_eq!(in_child(last), FINE, "{preset}: at the end");
}
