//! What the operating system counts during searches is what we count.
#![cfg(target_os = "linux")]

mod common;

use common::{Place, clustered, smallest};
use serde_json::Value;

/// Ways of reading; the first is the best that works here.
const BACKENDS: [Option<&str>; 3] = [None, Some("threads"), Some("blocking")];

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().expect(key)
}

/// A directory with vectors, queries and an index of a design.
fn prepared(design: &str) -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(3000, 32, 1));
    place.write("q.u8bin", clustered(200, 32, 2));
    let build = format!(
        "build --data base.u8bin --out my.index --metric l2 --memory 20MB --degree 24 \
         --build-list 50 --code-bytes 16 --calibration-queries 50 {design}"
    );
    let run = place.line(&build);
    assert_eq!(run.code, 0, "{run:?}");
    place
}

/// The report of a line at little more than the least memory, which leaves next to no room for
/// caches.
fn run(place: &Place, backend: Option<&str>, line: &str) -> Value {
    let refused = place.line_with("PAGEWAY_IO", backend, &format!("{line} --memory 1kB"));
    let memory = smallest(&refused.stderr) + 20_000;
    let line = format!("{line} --memory {memory} --json");
    place.line_with("PAGEWAY_IO", backend, &line).json()
}

/// Why the counters of this machine cannot be compared with ours.
fn incomparable(report: &Value) -> Option<&'static str> {
    if report["io_direct"] == Value::Bool(false) {
        return Some("the file system has no direct reads");
    }
    if report["os_bytes_per_query"].is_null() {
        return Some("the system does not count the bytes of a process");
    }
    if report["os_reads_per_query"].is_null() {
        return Some("the file system lies on no block device");
    }
    None
}

/// Compares the counters of a line on all backends; gives why not where that is impossible.
#[track_caller]
fn compare(place: &Place, line: &str) -> Option<&'static str> {
    for backend in BACKENDS {
        let report = run(place, backend, line);
        assert!(number(&report, "cpu_us_per_query") > 1.0, "{report}");
        if let Some(why) = incomparable(&report) {
            return Some(why);
        }
        let (bytes, counted) = (
            number(&report, "bytes_per_query"),
            number(&report, "os_bytes_per_query"),
        );
        assert!(bytes > 4096.0, "{backend:?}: {report}");
        assert!(
            (counted - bytes).abs() <= bytes / 100.0,
            "{backend:?}: {bytes} bytes, the system counted {counted}: {report}"
        );
        // The device serves others, too.
        let (reads, counted) = (
            number(&report, "reads_per_query"),
            number(&report, "os_reads_per_query"),
        );
        assert!(
            counted >= reads * 0.99,
            "{backend:?}: {reads} reads, the system counted {counted}: {report}"
        );
    }
    None
}

#[test]
fn the_system_counts_the_reads_of_a_search() {
    for design in ["--preset starling", "--preset pipeann", "--page-size 16384"] {
        let place = prepared(design);
        for resources in ["--interleave 1", "--interleave 8 --threads 2"] {
            let line =
                format!("search --index my.index --queries q.u8bin --list-size 30 {resources}");
            if let Some(why) = compare(&place, &line) {
                eprintln!("skipped: {why}");
                return;
            }
        }
    }
}

#[test]
fn the_system_counts_the_reads_of_a_range_search() {
    let place = prepared("--preset starling");
    let line = "range --index my.index --queries q.u8bin --radius 34000 --limit 500";
    if let Some(why) = compare(&place, line) {
        eprintln!("skipped: {why}");
    }
}

#[test]
fn people_see_what_the_system_counted() {
    let place = prepared("--preset starling");
    let text = place
        .line("search --index my.index --queries q.u8bin")
        .stdout;
    assert!(text.contains("system counted"), "{text}");
    assert!(text.contains("of processor time per query"), "{text}");
}
