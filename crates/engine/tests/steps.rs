//! A build in steps makes the bytes of one that is done at once, whatever becomes of its processes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and a test looks at the files as they are"
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::Rows;
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, BuildStep, ElementType, ErrorKind, Index, MemoryWish, Metric,
    NoProgress, Preset, Result, SegmentCut, StepKind, StepReport, verify,
};

const ROWS: usize = 3000;
const SEGMENTS: u32 = 3;

fn base() -> Rows {
    Rows::clustered(ROWS, 16, ElementType::F32, 1)
}

fn options(preset: Preset, cut: SegmentCut) -> BuildOptions {
    BuildOptions::default()
        .with_preset(preset)
        .with_metric(Metric::Cosine)
        .with_memory(MemoryWish::Bytes(4 << 20))
        .with_degree(10)
        .with_build_list(20)
        .with_calibration_queries(30)
        .with_segments(SEGMENTS)
        .with_cut(cut)
}

/// Builds of the same rows, at once and in steps.
struct Builds {
    rows: Rows,
    ids: Option<Vec<u64>>,
    root: tempfile::TempDir,
}

impl Builds {
    fn of(rows: Rows, ids: Option<Vec<u64>>) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { rows, ids, root }
    }

    fn with_input<T>(&self, act: impl FnOnce(&BuildInput<'_>) -> T) -> T {
        let vectors = VectorSlice::new(&self.rows.bytes, self.rows.shape).unwrap();
        let ids = self.ids.as_ref().map(|ids| IdSlice(ids));
        act(&BuildInput::new(&vectors, "rows").with_ids(ids.as_ref().map(|ids| ids as _)))
    }

    fn step(&self, options: &BuildOptions, kind: StepKind) -> Result<StepReport> {
        let step = BuildStep::new(self.root.path().join("work"), kind);
        let dir = self.root.path().join("steps");
        self.with_input(|input| Index::build_step(&dir, input, options, &step, &NoProgress))
    }

    fn all_steps(&self, options: &BuildOptions) {
        self.step(options, StepKind::Prepare).unwrap();
        for number in (0..options.segments).rev() {
            self.step(options, StepKind::Segment(number)).unwrap();
        }
        self.step(options, StepKind::Join).unwrap();
    }

    fn at_once(&self, options: &BuildOptions) {
        let dir = self.root.path().join("once");
        self.with_input(|input| Index::build(&dir, input, options, &NoProgress))
            .unwrap();
    }

    fn check_same(&self, what: &str) {
        let [once, steps] = ["once", "steps"].map(|name| bytes_of(&self.root.path().join(name)));
        let names: Vec<_> = once.keys().collect();
        assert_eq!(names, steps.keys().collect::<Vec<_>>(), "{what}");
        for (name, bytes) in &once {
            assert!(steps[name] == *bytes, "{what}: {name} differs");
        }
        let report = verify(&self.root.path().join("steps"), &NoProgress).unwrap();
        assert!(report.is_sound(), "{what}: {:?}", report.problems);
    }
}

/// Name and bytes of every file, but for the lock.
fn bytes_of(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn every_design_and_cut_has_the_bytes_of_a_build_at_once() {
    for (preset, form) in [
        (Preset::DiskAnn, None),
        (Preset::Starling, None),
        (Preset::PageAnn, None),
        (Preset::Dgai, None),
        (Preset::Pageway, Some("resident")),
        (Preset::Pageway, Some("clustered")),
        (Preset::Pageway, Some("on-disk")),
    ] {
        for cut in [SegmentCut::Arrival, SegmentCut::Space] {
            let builds = Builds::of(base(), None);
            let options = options(preset, cut).with_form(form.map(str::to_owned));
            builds.at_once(&options);
            // Threads change nothing.
            builds.all_steps(&options.with_threads(1));
            builds.check_same(&format!("{preset} {form:?} {cut}"));
        }
    }
}

#[test]
fn a_build_in_little_memory_with_ids_has_those_bytes_too() {
    let ids = (0..ROWS as u64).map(|row| row * 7 + 3).collect();
    let builds = Builds::of(base(), Some(ids));
    let options = options(Preset::Pageway, SegmentCut::Space)
        .with_form("on-disk".to_owned())
        .with_build_memory(MemoryWish::Bytes(12 << 20));
    builds.at_once(&options);
    builds.all_steps(&options);
    builds.check_same("on-disk, ids");
}

#[test]
fn one_segment_is_a_build_in_steps_as_well() {
    let builds = Builds::of(base(), None);
    let options = options(Preset::Pageway, SegmentCut::Arrival).with_segments(1);
    builds.at_once(&options);
    builds.all_steps(&options);
    builds.check_same("one segment");
}

#[test]
fn what_is_finished_is_not_done_again_and_what_is_missing_is_named() {
    let builds = Builds::of(base(), None);
    let options = options(Preset::Pageway, SegmentCut::Space);
    let early = builds.step(&options, StepKind::Segment(0)).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::NotFound);
    assert!(early.context().contains("'prepare'"), "{early}");
    let first = builds.step(&options, StepKind::Prepare).unwrap();
    assert_eq!((first.done_before, first.segments), (false, SEGMENTS));
    assert!(
        builds
            .step(&options, StepKind::Prepare)
            .unwrap()
            .done_before
    );
    let beyond = builds.step(&options, StepKind::Segment(3)).unwrap_err();
    assert!(beyond.context().contains("0 to 2"), "{beyond}");
    let built = builds.step(&options, StepKind::Segment(1)).unwrap();
    assert_eq!((built.done_before, built.nodes), (false, 1000));
    assert!(
        builds
            .step(&options, StepKind::Segment(1))
            .unwrap()
            .done_before
    );
    let joined = builds.step(&options, StepKind::Join).unwrap_err();
    assert_eq!(joined.kind(), ErrorKind::NotFound);
    assert!(joined.context().contains("not there: 0, 2;"), "{joined}");
    // Other options are another build.
    let other = options.clone().with_seed(7);
    let other = builds.step(&other, StepKind::Segment(1)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::NotFound);
    for number in [0, 2] {
        builds.step(&options, StepKind::Segment(number)).unwrap();
    }
    let index = builds.step(&options, StepKind::Join).unwrap().index;
    assert_eq!(index.unwrap().nodes, ROWS as u64);
    // Once more, over the index that is there.
    builds.step(&options, StepKind::Join).unwrap();
    let report = verify(&builds.root.path().join("steps"), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn a_segment_that_lost_a_file_is_built_again() {
    let builds = Builds::of(base(), None);
    let options = options(Preset::DiskAnn, SegmentCut::Space);
    builds.all_steps(&options);
    let work = builds.root.path().join("work");
    let home = std::fs::read_dir(work).unwrap().next().unwrap().unwrap();
    let segment = home.path().join("segment-1").join("index");
    let records = segment.join("records-1-1.pw");
    std::fs::remove_file(records).unwrap();
    let again = builds.step(&options, StepKind::Segment(1)).unwrap();
    assert!(!again.done_before);
    builds.step(&options, StepKind::Join).unwrap();
    let report = verify(&builds.root.path().join("steps"), &NoProgress).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}
