//! A plan over the sentences of the demo: what it chooses can be built and meets the wish.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pageway::source::{OpenAs, VectorFile, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, Effort, ErrorKind, Index, MemoryWish, Metric, NoProgress,
    OpenOptions, OsVfs, Progress, Queries, SearchOptions, VectorRead, Vfs,
};
use pageway_advisor::{Goal, Pins, PlanInput, Wish, plan};

const ROWS: usize = 2_000;

/// The first rows of a file of the demo.
fn demo(name: &str, rows: usize) -> (Vec<u8>, pageway::VectorShape) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/demo")
        .join(name);
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let file = VectorFile::open(&vfs, &path, OpenAs { element: None }).unwrap();
    let rows = rows.min(file.count() as usize);
    let mut bytes = vec![0; rows * file.shape().row_bytes()];
    file.read(0, &mut bytes).unwrap();
    (bytes, file.shape())
}

fn wish() -> Wish {
    let mut pins = Pins::default();
    for pin in [
        "page-size=4096",
        "degree=24",
        "preset=diskann",
        "preset=pageann",
    ] {
        pins.set(pin).unwrap();
    }
    Wish {
        metric: Metric::Cosine,
        memory: MemoryWish::Bytes(2_000_000),
        recall: 0.9,
        goal: Goal::Reads,
        sample_rows: 1_000,
        device_seconds: 0.3,
        pins,
        ..Wish::default()
    }
}

#[test]
fn what_is_chosen_meets_memory_and_recall_and_nothing_is_left() {
    let (bytes, shape) = demo("wordnet-10k.npy", ROWS);
    let (asked, _) = demo("wordnet-queries.npy", 100);
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    let queries = VectorSlice::new(&asked, shape).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let input = PlanInput {
        vectors: &vectors,
        queries: Some(&queries),
        scratch: dir.path(),
    };
    let plan = plan(&input, &wish(), &NoProgress).unwrap();
    println!("{plan}");
    assert!(OsVfs.list(dir.path()).unwrap().is_empty());
    assert_eq!(plan.rows, ROWS as u64);
    let choice = plan.choice().unwrap();
    assert!(choice.least_memory_bytes <= plan.memory_bytes);
    assert!(!choice.tried.is_empty() && choice.verdict.starts_with("chosen"));
    let better = plan.entries.iter().filter(|entry| entry.tried.len() > 1);
    let pages =
        |entry: &pageway_advisor::Entry| entry.cost.map_or(f64::MAX, |cost| cost.counts.pages);
    assert!(better.clone().count() > 0);
    assert!(
        better
            .into_iter()
            .all(|entry| pages(entry) >= pages(choice) - 0.1)
    );

    let built = dir.path().join("index");
    let input = BuildInput {
        vectors: &vectors,
        name: "demo",
        ids: None,
        queries: Some(&queries),
    };
    let options = BuildOptions {
        memory: Some(MemoryWish::Bytes(plan.memory_bytes)),
        recall: plan.recall,
        ..choice.candidate.options.clone()
    };
    Index::build(&built, &input, &options, &NoProgress).unwrap();
    let index = Index::open(&built, &OpenOptions::default()).unwrap();
    let search = SearchOptions {
        effort: Effort::Recall(plan.recall),
        ..SearchOptions::default()
    };
    let found = index
        .measure_recall(&Queries::new(&asked, shape), &search, &NoProgress)
        .unwrap();
    assert!(found.recall >= 0.88, "{found:?}");
    let predicted = pages(choice);
    let ratio = found.pages_per_query / predicted;
    assert!(
        (0.4..2.5).contains(&ratio),
        "{ratio}: {found:?}, predicted {predicted}"
    );
}

/// Cancels at once.
struct Stopped(AtomicBool);

impl Progress for Stopped {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_plan_that_is_cancelled_leaves_nothing() {
    let (bytes, shape) = demo("wordnet-10k.npy", ROWS);
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let input = PlanInput {
        vectors: &vectors,
        queries: None,
        scratch: dir.path(),
    };
    let error = plan(&input, &wish(), &Stopped(AtomicBool::new(false))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(OsVfs.list(dir.path()).unwrap().is_empty());
}

#[test]
fn a_plan_without_time_tries_one_design_and_chooses_it() {
    let (bytes, shape) = demo("wordnet-10k.npy", ROWS);
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let input = PlanInput {
        vectors: &vectors,
        queries: None,
        scratch: dir.path(),
    };
    let wish = Wish {
        seconds: Some(0.001),
        ..wish()
    };
    let plan = plan(&input, &wish, &NoProgress).unwrap();
    let tried = |entry: &&pageway_advisor::Entry| !entry.tried.is_empty();
    assert_eq!(plan.entries.iter().filter(tried).count(), 1);
    assert!(!plan.choice().unwrap().tried.is_empty());
}
