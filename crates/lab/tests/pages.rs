//! Every kind of page opens in a browser without a complaint: the report, an index, walks.
//!
//! Skipped, with a word, where Node and Chromium (or what `CHROMIUM` names) are not installed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::print_stderr,
    reason = "a failed test may panic; browsers are looked for directly"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use pageway::source::VectorSlice;
use pageway::{
    BuildInput, BuildOptions, ElementType, Index, Metric, NoProgress, OpenOptions, Preset, Queries,
    SearchOptions, VectorShape,
};
use pageway_lab::record::Run;
use pageway_lab::{picture, report};
use pageway_shell::trace::{Header, Measured, QueryWork, Settings, Subject, Trace};

const ROWS: u32 = 1200;
const DIMENSION: u32 = 16;

/// The browser, if it and Node are there.
fn browser() -> Option<String> {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let there = |program: &str| {
        let shown = Command::new(program).arg("--version").output();
        shown.is_ok_and(|shown| shown.status.success())
    };
    let found = there("node") && there(&chromium);
    if !found {
        eprintln!("skipped: no Node or no Chromium");
    }
    found.then_some(chromium)
}

/// Opens a page light and dark, wide and narrow, clicks, and reads the console.
fn check(page: &Path, chromium: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/check_in_chromium.mjs");
    let checked = Command::new("node")
        .arg(script)
        .arg(page)
        .env("CHROMIUM", chromium)
        .output()
        .unwrap();
    let said = [checked.stdout, checked.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(checked.status.success(), "{}: {said}", page.display());
}

fn vectors() -> Vec<u8> {
    let component = |at: u32| (at as f32 * 0.37).sin() + (at / DIMENSION % 7) as f32;
    (0..ROWS * DIMENSION)
        .flat_map(|at| component(at).to_le_bytes())
        .collect()
}

fn built(place: &Path, preset: Preset) -> PathBuf {
    let (dir, rows) = (place.join(preset.name()), vectors());
    let shape = VectorShape {
        dimension: DIMENSION,
        element: ElementType::F32,
    };
    let rows = VectorSlice::new(&rows, shape).unwrap();
    let options = BuildOptions::default()
        .with_metric(Metric::L2)
        .with_preset(preset)
        .with_calibration_queries(20);
    let input = BuildInput::new(&rows, "rows");
    Index::build(&dir, &input, &options, &NoProgress).unwrap();
    dir
}

#[test]
fn an_index_is_drawn() {
    let place = tempfile::tempdir().unwrap();
    for preset in [Preset::default(), Preset::DiskAnn] {
        let dir = built(place.path(), preset);
        let drawn = picture::index(&dir, &NoProgress).unwrap();
        let ids: Vec<&str> = drawn
            .sections
            .iter()
            .flat_map(|section| &section.figures)
            .map(|figure| figure.id.as_str())
            .collect();
        for id in ["memory", "calibration-pages", "files"] {
            assert!(ids.contains(&id), "{ids:?}");
        }
        let degrees = drawn.sections.iter().flat_map(|section| &section.figures);
        let degrees = degrees.filter(|figure| figure.id == "degrees");
        for figure in degrees {
            let nodes: f64 = figure.marks.iter().map(|mark| mark.y).sum();
            assert!((nodes - f64::from(ROWS)).abs() < 0.5, "{nodes} nodes");
        }
        let page = place.path().join("index.html");
        report::write_page(&drawn, &page).unwrap();
        if let Some(chromium) = browser() {
            check(&page, &chromium);
        }
    }
}

#[test]
fn walks_are_drawn() {
    let place = tempfile::tempdir().unwrap();
    let dir = built(place.path(), Preset::DiskAnn);
    let options = OpenOptions::default().with_threads(1).with_interleave(1);
    let index = Index::open(&dir, &options).unwrap();
    let rows = vectors();
    let shape = index.shape();
    let bytes = rows.get(..40 * shape.row_bytes()).unwrap();
    let queries = Queries::new(bytes, shape);
    let options = SearchOptions::nearest(10);
    let recorded = index.search_recorded(&queries, &options, 40, &NoProgress);
    let Ok((_, traces)) = recorded else {
        eprintln!("skipped: reads are made one at a time here");
        return;
    };
    let header = Header::new(Subject::default(), Settings::default(), Measured::default());
    let trace = Trace::new(header.with_work(QueryWork::default()), traces);
    let again = Trace::parse(&trace.to_text().unwrap()).unwrap();
    assert_eq!(again, trace);
    let drawn = picture::walk(&again);
    assert_eq!(drawn.sections.len(), 3);
    let page = place.path().join("walk.html");
    report::write_page(&drawn, &page).unwrap();
    if let Some(chromium) = browser() {
        check(&page, &chromium);
    }
}

#[test]
fn the_report_of_a_run_opens() {
    let Some(chromium) = browser() else { return };
    let place = tempfile::tempdir().unwrap();
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/runs");
    let run = Run::read(&runs.join("2026-11-22-own-design")).unwrap();
    let page = place.path().join("report.html");
    report::write_page(&report::report(&run).unwrap(), &page).unwrap();
    check(&page, &chromium);
}
