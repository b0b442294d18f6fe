//! `pageway open`: times, bytes and memory of opening and of switching.

mod common;

use common::{Place, clustered, smallest};
use serde_json::Value;

const INVALID: i32 = 2;
const NOT_FOUND: i32 = 3;

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().expect(key)
}

fn build(place: &Place, rows: u32, index: &str, options: &str) {
    place.write("base.u8bin", clustered(rows, 32, 1));
    let line = format!(
        "build --data base.u8bin --out {index} --metric l2 --memory 10MB --degree 16 \
         --build-list 24 --code-bytes 16 --calibration-queries 20 {options}"
    );
    let run = place.line(&line);
    assert_eq!(run.code, 0, "{run:?}");
}

/// Two indexes that share a codebook, and queries.
fn prepared() -> Place {
    let place = Place::new();
    build(&place, 1000, "a.index", "--preset aisaq");
    build(
        &place,
        1500,
        "b.index",
        "--preset aisaq --codebook-from a.index",
    );
    place.write("q.u8bin", clustered(7, 32, 2));
    place
}

#[track_caller]
fn check_times(times: &Value) {
    let [min, p50, p99, mean] = ["min", "p50", "p99", "mean"].map(|key| number(times, key));
    assert!(0.0 < min && min <= p50 && p50 <= p99, "{times}");
    assert!(min <= mean && mean <= p99.max(mean), "{times}");
}

#[test]
fn every_stable_key_is_there() {
    let place = prepared();
    let line = "open a.index --switch-to b.index --queries q.u8bin --repeats 12 --json";
    let report = place.line(line).json();
    assert_eq!(number(&report, "repeats"), 12.0);
    assert_eq!(number(&report, "nodes"), 1000.0);
    for key in ["load_ms", "switch_ms", "first_answer_ms"] {
        check_times(&report[key]);
    }
    let least = |key: &str| number(&report[key], "min");
    assert!(least("first_answer_ms") > least("load_ms"), "{report}");
    assert!(
        number(&report, "first_load_ms") >= least("load_ms"),
        "{report}"
    );
    assert_eq!(number(&report, "memory_budget_bytes"), 10e6, "{report}");
    for key in ["cached_nodes", "cached_pages"] {
        assert!(report[key].is_u64(), "{key} in {report}");
    }
    assert!(report["io_backend"].is_string() && report["io_direct"].is_boolean());
    if cfg!(target_os = "linux") {
        assert!(number(&report, "peak_memory_bytes") > 0.0, "{report}");
    }
}

#[test]
fn what_was_not_asked_for_is_null() {
    let place = prepared();
    let report = place.line("open a.index --repeats 1 --json").json();
    check_times(&report["load_ms"]);
    for key in [
        "switch_ms",
        "first_answer_ms",
        "bytes_read_at_switch",
        "bytes_loaded_at_switch",
    ] {
        assert!(report[key].is_null(), "{key} in {report}");
    }
}

#[test]
fn people_see_times_and_bytes() {
    let place = prepared();
    let line = "open a.index --switch-to b.index --queries q.u8bin --repeats 3";
    let text = place.line(line).stdout;
    for words in [
        "Opened a.index, 1,000 vectors, 3 times.",
        "opening ",
        "first opening",
        "switching",
        "first answer",
        "memory",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    if cfg!(target_os = "linux") {
        assert!(text.contains("from the disk at the first switch"), "{text}");
    }
    let text = place.line("open a.index --repeats 3").stdout;
    assert!(!text.contains("switching") && !text.contains("first answer"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_shared_codebook_is_not_loaded_again() {
    let place = prepared();
    // 256 centroids of 32 dimensions, 4 bytes each.
    const CODEBOOK_BYTES: f64 = 256.0 * 32.0 * 4.0;
    let switch = |to: &str| {
        let line = format!("open a.index --switch-to {to} --repeats 2 --json");
        let report = place.line(&line).json();
        let keys = ["bytes_loaded_at_open", "bytes_loaded_at_switch"];
        let [Some(open), Some(switch)] = keys.map(|key| report[key].as_f64()) else {
            panic!("Linux counts what system calls read: {report}");
        };
        assert!(open > CODEBOOK_BYTES, "{report}");
        open - switch
    };
    assert!(switch("b.index") > CODEBOOK_BYTES * 0.9);
    // One of its own.
    build(&place, 1500, "c.index", "--preset aisaq");
    assert!(switch("c.index") < CODEBOOK_BYTES * 0.5);
}

#[test]
#[cfg(target_os = "linux")]
fn only_a_design_without_codes_in_memory_opens_in_constant_bytes() {
    let place = Place::new();
    let loaded = |preset: &str, rows: u32| {
        build(&place, rows, "my.index", &format!("--preset {preset}"));
        let report = place
            .line("open my.index --memory 3MB --repeats 1 --json")
            .json();
        number(&report, "bytes_loaded_at_open")
    };
    // Manifests differ by some digits.
    let slack = 2048.0;
    assert!((loaded("aisaq", 3000) - loaded("aisaq", 500)).abs() < slack);
    let code_bytes = 16.0;
    assert!(loaded("starling", 3000) - loaded("starling", 500) > 2500.0 * code_bytes - slack);
}

#[test]
fn refusals_say_why() {
    let place = prepared();
    for (line, code, words) in [
        ("open no.index", NOT_FOUND, "no.index"),
        ("open a.index --switch-to no.index", NOT_FOUND, "no.index"),
        ("open a.index --repeats 0", INVALID, "--repeats"),
        ("open a.index --queries q.u8bin -k 0", INVALID, "k = 0"),
        ("open a.index --queries no.u8bin", NOT_FOUND, "no.u8bin"),
    ] {
        let run = place.line(line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(words), "{line}: {run:?}");
    }
    let refused = place.line("open a.index --memory 1kB");
    assert_eq!(refused.code, INVALID, "{refused:?}");
    let memory = smallest(&refused.stderr);
    let line = format!("open a.index --memory {memory} --repeats 2 --json");
    let report = place.line(&line).json();
    assert_eq!(number(&report, "memory_budget_bytes"), memory as f64);
}
