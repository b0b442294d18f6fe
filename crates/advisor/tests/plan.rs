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
use pageway::spec::Shape;
use pageway::{
    BuildInput, BuildOptions, Effort, ErrorKind, Footprint, Index, MemoryWish, Metric, NoProgress,
    OpenOptions, OsVfs, Preset, Progress, Queries, Result, SearchOptions, VectorRead, VectorShape,
    Vfs,
};
use pageway_advisor::{Entry, Goal, Pins, Plan, PlanInput, Verdict, Wish, plan};

const ROWS: usize = 2_000;

/// The first rows of a file of the demo.
fn demo(name: &str, rows: usize) -> (Vec<u8>, VectorShape) {
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

/// Vectors and queries of the demo, and a directory for what is tried.
struct Demo {
    rows: Vec<u8>,
    asked: Vec<u8>,
    shape: VectorShape,
    dir: tempfile::TempDir,
}

impl Demo {
    fn new(rows: usize, queries: usize) -> Self {
        let (rows, shape) = demo("wordnet-10k.npy", rows);
        let (asked, _) = demo("wordnet-queries.npy", queries);
        let dir = tempfile::tempdir().unwrap();
        Self {
            rows,
            asked,
            shape,
            dir,
        }
    }

    fn vectors(&self) -> VectorSlice<'_> {
        VectorSlice::new(&self.rows, self.shape).unwrap()
    }

    fn queries(&self) -> VectorSlice<'_> {
        VectorSlice::new(&self.asked, self.shape).unwrap()
    }

    /// Plans, with the queries or with rows in their place.
    fn plan(&self, with_queries: bool, wish: &Wish, progress: &dyn Progress) -> Result<Plan> {
        let (vectors, queries) = (self.vectors(), self.queries());
        let input = PlanInput {
            vectors: &vectors,
            queries: with_queries.then_some(&queries as _),
            scratch: self.dir.path(),
        };
        plan(&input, wish, progress)
    }

    /// Files that are left of what was tried.
    fn left(&self) -> usize {
        OsVfs.list(self.dir.path()).unwrap().len()
    }
}

/// One form of our own design.
fn form_pins(form: &str, code_bytes: u32) -> Pins {
    Pins {
        presets: vec![Preset::Pageway],
        form: Some(form.to_owned()),
        page_bytes: Some(4096),
        degree: Some(24),
        code_bytes: Some(code_bytes),
        ..Pins::default()
    }
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
    let demo = Demo::new(ROWS, 100);
    let plan = demo.plan(true, &wish(), &NoProgress).unwrap();
    println!("{plan}");
    assert_eq!(demo.left(), 0);
    assert_eq!(plan.rows, ROWS as u64);
    let choice = plan.choice().unwrap();
    assert!(choice.least_memory_bytes <= plan.memory_bytes);
    assert!(!choice.tried.is_empty() && matches!(choice.verdict, Verdict::Chosen(_)));
    let better = plan.entries.iter().filter(|entry| entry.tried.len() > 1);
    let pages = |entry: &Entry| entry.cost.map_or(f64::MAX, |cost| cost.counts.pages);
    assert!(better.clone().count() > 0);
    assert!(
        better
            .into_iter()
            .all(|entry| pages(entry) >= pages(choice) - 0.1)
    );

    let built = demo.dir.path().join("index");
    let (vectors, queries) = (demo.vectors(), demo.queries());
    let input = BuildInput::new(&vectors, "demo").with_queries(Some(&queries));
    let options = choice
        .candidate
        .options
        .clone()
        .with_memory(MemoryWish::Bytes(plan.memory_bytes))
        .with_recall(plan.recall);
    Index::build(&built, &input, &options, &NoProgress).unwrap();
    let index = Index::open(&built, &OpenOptions::default()).unwrap();
    let search = SearchOptions::default().with_effort(Effort::Recall(plan.recall));
    let found = index
        .measure_recall(&Queries::new(&demo.asked, demo.shape), &search, &NoProgress)
        .unwrap();
    assert!(found.recall >= 0.88, "{found:?}");
    let predicted = pages(choice);
    let ratio = found.pages_per_query / predicted;
    assert!(
        (0.4..2.5).contains(&ratio),
        "{ratio}: {found:?}, predicted {predicted}"
    );
}

#[test]
fn every_form_can_be_tried_and_is_kept_over_a_sample() {
    let demo = Demo::new(1_500, 60);
    for (form, memory, code_bytes) in [
        ("resident", 2_000_000, 80),
        ("clustered", 2_000_000, 124),
        ("clustered", 1_200_000, 60),
        ("on-disk", 1_500_000, 48),
    ] {
        let mut wish = wish();
        wish.pins = form_pins(form, code_bytes);
        wish.memory = MemoryWish::Bytes(memory);
        let plan = demo.plan(true, &wish, &NoProgress);
        let plan = plan.unwrap_or_else(|e| panic!("{form}: {e}"));
        let of_form = |entry: &&Entry| entry.candidate.options.form.as_deref() == Some(form);
        let entry = plan.entries.iter().find(of_form).unwrap();
        assert!(!plan.entries.iter().any(Entry::has_failed), "{plan}");
        let counts = entry.tried.iter().map(|tried| tried.counts.unwrap());
        assert!(counts.len() > 0 && entry.cost.is_some(), "{plan}");
        assert_eq!(entry.degree == 0, form == "clustered");
        assert_eq!(entry.code_bytes, code_bytes);
        // Where a walk reads nothing, what is read is one batch or two.
        let mut rounds = counts.map(|counts| counts.rounds);
        assert!(
            form == "on-disk" || rounds.all(|rounds| rounds <= 2.0),
            "{plan}"
        );
    }
}

/// In the least memory that a build takes, a plan can try the same design, with wider beams where
/// they fit.
#[test]
fn what_a_build_can_search_a_plan_can_try() {
    let demo = Demo::new(800, 40);
    for (form, code_bytes) in [("resident", 80), ("clustered", 60)] {
        let options = BuildOptions::default()
            .with_metric(Metric::Cosine)
            .with_form(Some(form.to_owned()))
            .with_degree(24)
            .with_code_bytes(Some(code_bytes))
            .with_memory(MemoryWish::Bytes(4_000_000));
        let whole = Shape {
            dimension: demo.shape.dimension,
            element: demo.shape.element,
            metric: Metric::Cosine,
        };
        let spec = options.spec_for(whole, 800).unwrap();
        let least = Footprint::of(&spec, 800).unwrap().memory_bytes();
        let wish = Wish {
            goal: Goal::Latency,
            memory: MemoryWish::Bytes(least + 1_000),
            device_seconds: 0.1,
            pins: form_pins(form, code_bytes),
            ..wish()
        };
        let plan = demo.plan(true, &wish, &NoProgress);
        let plan = plan.unwrap_or_else(|e| panic!("{form}: {e}"));
        assert!(
            !plan.entries.iter().any(Entry::has_failed),
            "{form}: {plan}"
        );
        let choice = plan.choice().unwrap();
        assert!(choice.least_memory_bytes <= plan.memory_bytes, "{form}");
    }
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
    let demo = Demo::new(ROWS, 1);
    let stopped = Stopped(AtomicBool::new(false));
    let error = demo.plan(false, &wish(), &stopped).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(demo.left(), 0);
}

#[test]
fn a_plan_without_time_tries_one_design_and_chooses_it() {
    let demo = Demo::new(ROWS, 1);
    let wish = Wish {
        seconds: Some(0.001),
        ..wish()
    };
    let plan = demo.plan(false, &wish, &NoProgress).unwrap();
    let tried = |entry: &&Entry| !entry.tried.is_empty();
    assert_eq!(plan.entries.iter().filter(tried).count(), 1);
    assert!(!plan.choice().unwrap().tried.is_empty());
}
