//! Calls beside and after each other: workers are kept, given back whatever happens, and waited for
//! no longer than a call may take.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic, and one panics on purpose"
)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{Rows, smallest_that_works};
use pageway::lab::clock;
use pageway::{
    Answers, BuildOptions, Effort, ElementType, ErrorKind, Index, MemoryWish, OpenOptions, Preset,
    Progress, Queries, Result, SearchOptions,
};

const ROWS: usize = 2000;

fn built() -> (tempfile::TempDir, Rows) {
    let base = Rows::clustered(ROWS, 16, ElementType::F32, 1);
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_degree(16)
        .with_build_list(32)
        .with_calibration_queries(20);
    base.build(dir.path(), &options).unwrap();
    (dir, Rows::clustered(40, 16, ElementType::F32, 2))
}

/// Opens with the least memory that works: room for one worker.
fn open_tight(dir: &Path, list_size: u32) -> Index {
    let with = |bytes| {
        let options = OpenOptions::default()
            .with_memory(MemoryWish::Bytes(bytes))
            .with_effort(Effort::ListSize(list_size));
        Index::open(dir, &options)
    };
    with(smallest_that_works(&with(1).err().unwrap())).unwrap()
}

fn wanted(k: u32, list_size: u32) -> SearchOptions {
    SearchOptions::nearest(k).with_effort(Effort::ListSize(list_size))
}

fn search(index: &Index, queries: &Rows, options: &SearchOptions) -> Result<Answers> {
    index.search(&Queries::new(&queries.bytes, queries.shape), options)
}

#[test]
fn sizes_that_alternate_share_their_workers() {
    let (dir, queries) = built();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let calls = [wanted(10, 50), wanted(20, 60)];
    let expected = calls.map(|call| {
        let fresh = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        search(&fresh, &queries, &call).unwrap()
    });
    for _ in 0..20 {
        for (call, expected) in calls.iter().zip(&expected) {
            let answers = search(&index, &queries, call).unwrap();
            assert_eq!(answers.ids, expected.ids);
            assert_eq!(answers.distances, expected.distances);
        }
    }
    let made = index.memory().workers_made;
    assert!((1..=2).contains(&made), "{made} workers");
}

#[test]
fn a_short_search_takes_the_only_worker_that_fits() {
    let (dir, queries) = built();
    let index = open_tight(dir.path(), 400);
    let one = &queries.bytes[..queries.shape.row_bytes()];
    for _ in 0..20 {
        for options in [wanted(10, 400), wanted(1, 10)] {
            let answers = index.search(&Queries::new(one, queries.shape), &options);
            assert_eq!(answers.unwrap().k as u32, options.k);
        }
    }
    let made = index.memory().workers_made;
    assert!(made <= 2, "{made} workers");
}

/// Panics at the third query that is answered.
struct Panics(Mutex<u64>);

impl Progress for Panics {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, units: u64) {
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *done += units;
        assert!(*done < 3, "on purpose");
    }

    fn cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_search_that_panics_gives_its_memory_back() {
    let (dir, queries) = built();
    let roomy = OpenOptions::default().with_threads(2);
    for index in [
        open_tight(dir.path(), 60),
        Index::open(dir.path(), &roomy).unwrap(),
    ] {
        let call = wanted(10, 50);
        let expected = search(&index, &queries, &call).unwrap();
        let peak = index.memory().searches_peak_bytes;
        for _ in 0..5 {
            let rows = Queries::new(&queries.bytes, queries.shape);
            let panics = Panics(Mutex::new(0));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                index.search_with(&rows, &call, &panics).map(|_| ())
            }));
            // On a thread of the search it is an error, on that of the caller it goes on.
            if let Ok(ended) = ended {
                assert_eq!(ended.unwrap_err().kind(), ErrorKind::Internal);
            }
            let again = search(&index, &queries, &call).unwrap();
            assert_eq!(again.ids, expected.ids);
            assert_eq!(again.settings, expected.settings, "as many threads as ever");
        }
        assert_eq!(index.memory().searches_peak_bytes, peak);
    }
}

#[test]
fn no_time_is_no_answer() {
    let (dir, queries) = built();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let calls = [
        wanted(10, 50),
        SearchOptions::within(1e9).with_k(ROWS as u32 / 20),
    ];
    for call in calls {
        let refused = search(&index, &queries, &call.with_timeout(Duration::ZERO));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::TimedOut);
        let patient = call.with_timeout(Duration::from_secs(600));
        let answers = search(&index, &queries, &patient).unwrap();
        assert_eq!(answers.ids, search(&index, &queries, &call).unwrap().ids);
        let endless = call.with_timeout(Duration::MAX);
        assert_eq!(search(&index, &queries, &endless).unwrap().ids, answers.ids);
    }
}

/// Says when the first query is answered, and then waits to be told to go on.
struct Waits {
    reached: Mutex<Option<Sender<()>>>,
    go_on: Mutex<Receiver<()>>,
}

impl Progress for Waits {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {
        if let Some(reached) = self.reached.lock().unwrap().take() {
            reached.send(()).unwrap();
            self.go_on.lock().unwrap().recv().unwrap();
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

#[test]
fn waiting_for_a_worker_ends_with_the_timeout() {
    let (dir, queries) = built();
    let index = open_tight(dir.path(), 60);
    let (reached, begun) = channel();
    let (resume, go_on) = channel();
    let waits = Waits {
        reached: Mutex::new(Some(reached)),
        go_on: Mutex::new(go_on),
    };
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let rows = Queries::new(&queries.bytes, queries.shape);
            index.search_with(&rows, &wanted(10, 60), &waits)
        });
        begun.recv().unwrap();
        let started = clock::now();
        let timeout = Duration::from_millis(200);
        let late = search(&index, &queries, &wanted(10, 60).with_timeout(timeout));
        let waited = started.elapsed();
        // Before what could fail, or the other one waits for ever.
        resume.send(()).unwrap();
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(
            waited >= timeout && waited < 20 * timeout,
            "{waited:?} of {timeout:?}"
        );
        holder.join().unwrap().unwrap();
    });
    search(&index, &queries, &wanted(10, 60)).unwrap();
}
