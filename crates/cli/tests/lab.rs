//! `pageway lab`: a run that is cut short, a truth that is wrong, numbers that must be in the
//! records, and what cannot be measured.

mod common;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

use common::{Place, clustered};
use pageway_testkit::cargo;
use serde_json::Value;

const INVALID: i32 = 2;
const NOT_FOUND: i32 = 3;
const NO_SPACE: i32 = 7;
const UNSUPPORTED: i32 = 10;
const RUN: &str = "lab run small.toml --base base.u8bin --queries q.u8bin --metric l2 --quiet";

const SUITE: &str = r#"
name = "small"
description = "two designs on a little data"
[fixed]
repeats = 1
queries = 40
degree = 16
build_list = 24
calibration_queries = 20
[code_bytes]
own = 16
[memory]
own = "10MB"
[axes]
data = ["demo"]
designs = ["diskann", "starling"]
interleave = [1]
list_size = [10, 14, 20, 40]
[[experiment]]
name = "recall"
[[experiment]]
name = "build"
task = "build"
fresh = true
[[experiment]]
name = "segments"
task = "segments"
designs = ["starling"]
segments = [1, 2]
list_size = [20]
[[experiment]]
name = "open"
task = "processes"
designs = ["diskann"]
processes = [2]
list_size = [20]
"#;

/// A directory, and the program `pageway-lab` beside `pageway`: it is of another package, which
/// cargo does not build for the tests of this one. Of the whole workspace, so that libraries are
/// compiled once.
fn place() -> Place {
    static BUILT: LazyLock<bool> = LazyLock::new(|| {
        let mut build = cargo();
        build.args([
            "test",
            "--quiet",
            "--no-run",
            "--workspace",
            "--test",
            "report",
        ]);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        build.status().is_ok_and(|ended| ended.success())
    });
    assert!(*BUILT, "pageway-lab is built");
    Place::new()
}

fn prepared() -> Place {
    let place = place();
    place.write("base.u8bin", clustered(1500, 32, 1));
    place.write("q.u8bin", clustered(50, 32, 2));
    place.write("small.toml", SUITE);
    place
}

fn records(place: &Place, run: &str) -> Vec<Value> {
    let bytes = place.read(&format!("{run}/records.jsonl"));
    let text = String::from_utf8(bytes).expect("text");
    let parse = |line: &str| serde_json::from_str(line).expect("a record");
    text.lines().map(parse).collect()
}

/// What does not depend on time: cell, and recall and pages or index bytes.
fn table(place: &Place, run: &str) -> BTreeMap<String, (Value, Value, Value)> {
    let row = |record: &Value| {
        let result = &record["result"];
        let numbers = ["recall", "pages_per_query", "index_bytes"].map(|name| result[name].clone());
        let [recall, pages, bytes] = numbers;
        assert_eq!(record["error"], Value::Null, "{record}");
        (
            record["cell"].as_str().expect("a cell").to_owned(),
            (recall, pages, bytes),
        )
    };
    records(place, run).iter().map(row).collect()
}

#[test]
fn a_suite_cut_short_resumes_to_the_same_table() {
    let place = prepared();
    let whole = place.line(&format!("{RUN} --out whole --json")).json();
    assert_eq!(
        (whole["indexes"].as_u64(), whole["cells"].as_u64()),
        (Some(4), Some(11))
    );
    assert_eq!(whole["failed"], 0);
    for file in ["report.html", "report.md", "machine.json"] {
        assert!(place.exists(&format!("whole/{file}")), "{file}");
    }
    place.line(&format!("{RUN} --out cut --json")).json();
    let bytes = place.read("cut/records.jsonl");
    place.write("cut/records.jsonl", &bytes[..bytes.len() * 2 / 3]);
    let index = "cut/work/index/own_starling_p4096_m10MB_c16/MANIFEST";
    place.remove(index);

    let rest = place.line(&format!("{RUN} --out cut --json")).json();
    assert_eq!(rest["indexes"], 1, "the index that was lost: {rest}");
    assert!(
        rest["cells"]
            .as_u64()
            .is_some_and(|cells| (1..11).contains(&cells)),
        "{rest}"
    );
    assert_eq!(table(&place, "cut"), table(&place, "whole"));
    let again = place.line(&format!("{RUN} --out cut --json")).json();
    assert_eq!(
        (again["indexes"].as_u64(), again["cells"].as_u64()),
        (Some(0), Some(0))
    );
}

#[test]
fn a_wrong_truth_is_noticed() {
    let place = prepared();
    place
        .line(&format!("{RUN} --out right --json --only recall"))
        .json();
    let warned = |run: &str| {
        let report = place.line(&format!("lab report {run} --json")).json();
        let warnings = report["warnings"].as_array().expect("warnings").clone();
        warnings
            .iter()
            .filter(|words| words.to_string().contains("truth"))
            .count()
    };
    assert_eq!(warned("right"), 0);

    // Behind the back of the lab: each query gets the neighbours of the one before.
    let truth = place.files("right/work/data").into_iter();
    let (name, bytes) = truth
        .rev()
        .find(|(name, _)| name.contains(".ibin"))
        .expect("a truth");
    let row = 100 * 4;
    let mut wrong = bytes.clone();
    wrong[8..8 + 40 * row].rotate_right(row);
    place.write(&format!("right/work/data/{name}"), wrong);
    let line = format!("{RUN} --out planted --work right/work --json --only recall");
    place.line(&line).json();
    assert!(warned("planted") > 0);

    // In front of it.
    place.write("other.ibin", bytes);
    place.write("q.u8bin", clustered(40, 32, 3));
    let refused = place.line(&format!("{RUN} --truth other.ibin --out refused"));
    assert_eq!(refused.code, INVALID, "{refused:?}");
    assert!(refused.stderr.contains("truth"), "{refused:?}");
}

#[test]
fn every_mark_of_the_page_is_in_the_records() {
    let place = prepared();
    place
        .line(&format!("{RUN} --out run --json --only recall"))
        .json();
    let mut numbers = Vec::new();
    for record in records(&place, "run") {
        collect(&record, &mut numbers);
    }
    let report = place.line("lab report run --json").json();
    let mut marks = 0;
    for section in report["sections"].as_array().expect("sections") {
        let figures = section["figures"].as_array().expect("figures");
        // Bars are read off between cells.
        for figure in figures.iter().filter(|figure| figure["kind"] == "line") {
            for mark in figure["marks"].as_array().expect("marks") {
                marks += 1;
                let numbers_of = ["x", "y"].map(|axis| mark[axis].as_f64());
                for number in numbers_of.into_iter().flatten() {
                    assert!(numbers.contains(&number), "{mark} in {figure}");
                }
            }
        }
    }
    assert!(marks >= 2 * 4 * 3, "{marks} marks");
    let page = String::from_utf8(place.read("run/report.html")).expect("text");
    assert!(page.contains("starling") && page.len() > 100_000);
}

fn collect(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Number(number) => numbers.extend(number.as_f64()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, numbers)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Bytes of the program itself that may be read while it searches, after it was just built.
const PROGRAM_BYTES: f64 = 65_536.0;

#[test]
fn what_was_counted_agrees_inside_and_outside() {
    let place = prepared();
    place
        .line(&format!("{RUN} --out run --json --only recall"))
        .json();
    let (mut compared, mut peaks) = (0, 0);
    for record in records(&place, "run") {
        let result = &record["result"];
        let ours = result["bytes_per_query"].as_f64();
        // Without direct I/O the page cache stands between.
        let told = result["os_bytes_per_query"]
            .as_f64()
            .filter(|_| result["io_direct"] == true);
        if let (Some(ours), Some(told)) = (ours, told) {
            let queries = result["queries"].as_f64().expect("queries");
            let beside = PROGRAM_BYTES / queries;
            assert!(
                told >= 0.99 * ours && told <= 1.01 * ours + beside,
                "{ours} against {told}: {record}"
            );
            compared += 1;
        }
        // From outside a process is looked at now and then, which says little of a short one.
        let watched = record["process"]["wall_seconds"].as_f64() > Some(0.03);
        let peak = |from: &Value| from["peak_memory_bytes"].as_f64().filter(|_| watched);
        if let (Some(outside), Some(inside)) = (peak(&record["process"]), peak(result)) {
            assert!(outside > 0.5 * inside && outside < 1.5 * inside, "{record}");
            peaks += 1;
        }
    }
    assert!(peaks >= 1, "no peak was compared");
    println!("{compared} searches and {peaks} peaks compared");
}

#[test]
fn other_data_under_a_known_name_are_refused() {
    let place = prepared();
    let line = format!("{RUN} --out run --only recall --json");
    place.line(&line).json();
    let before = place.read("run/records.jsonl");
    place.write("base.u8bin", clustered(1500, 32, 9));
    for line in [&line, &format!("{RUN} --out other --work run/work")] {
        let refused = place.line(line);
        assert_eq!(refused.code, INVALID, "{refused:?}");
        for words in ["'own'", "base differ", "--name"] {
            assert!(refused.stderr.contains(words), "{refused:?}");
        }
    }
    assert_eq!(place.read("run/records.jsonl"), before);
    let named = place.line(&format!("{line} --name own-second")).json();
    assert_eq!(named["failed"], 0, "{named}");
    assert!(named["cells"].as_u64() > Some(0), "{named}");
    let data = records(&place, "run")
        .into_iter()
        .map(|record| record["data"].to_string());
    let data: std::collections::BTreeSet<String> = data.collect();
    assert_eq!(data.len(), 2, "{data:?}");
}

#[cfg(unix)]
#[test]
fn a_library_that_hangs_is_cut_off_and_the_run_goes_on() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = prepared();
    let more = "[[experiment]]\nname = \"comparators\"\ntask = \"comparator\"\n\
                designs = [\"hnswlib\"]\nlist_size = [10, 20]\n";
    let suite = SUITE.replace("repeats = 1", "repeats = 1\ntimeout_seconds = 2") + more;
    place.write("small.toml", suite);
    place.write("hangs", "#!/bin/sh\nsleep 60\n");
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("hangs"), all).expect("a program");
    let line = format!("{RUN} --out run --json --only comparators recall --python ./hangs");
    let ran = place.line(&line).json();
    assert_eq!((&ran["cells"], &ran["failed"]), (&10.into(), &2.into()));
    assert!(ran["seconds"].as_f64() < Some(30.0), "{ran}");
    let of = |task: &str| {
        let all = records(&place, "run").into_iter();
        all.filter(|record| record["task"] == task)
            .map(|record| record["error"].to_string())
            .collect::<Vec<_>>()
    };
    let cut_off = of("comparator");
    assert!(
        cut_off.len() == 2
            && cut_off
                .iter()
                .all(|words| words.contains("cut off after 2 s"))
    );
    assert_eq!(of("search"), vec!["null"; 8]);
}

#[test]
fn what_will_run_is_said_before_it_runs() {
    let place = prepared();
    let said = place.line(&format!("{RUN} --out run --dry-run"));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.stdout.contains("4 indexes") && said.stdout.contains("11 cells"),
        "{said:?}"
    );
    assert!(!place.exists("run"));
    let quick = place
        .line(&format!("{RUN} --out run --dry-run --quick --json"))
        .json();
    assert!(
        quick["cells"].as_u64().is_some_and(|cells| cells <= 11),
        "{quick}"
    );
}

#[test]
fn the_disk_that_is_said_to_be_taken_is_enough_and_not_far_too_much() {
    let place = prepared();
    let line = format!("{RUN} --out run --json --only recall");
    let said = place.line(&format!("{line} --dry-run")).json();
    place.line(&line).json();
    let builds = records(&place, "run").into_iter();
    let taken: u64 = builds
        .filter_map(|record| record["result"]["index_bytes"].as_u64())
        .sum();
    let said = said["disk_bytes"].as_u64().expect("bytes");
    assert!(taken <= said && said < 2 * taken, "{taken} of {said}");
    let after = place.line(&format!("{line} --dry-run")).json();
    assert_eq!((&after["indexes"], &after["cells"]), (&0.into(), &0.into()));
    assert_eq!(after["disk_bytes"], 0);
}

#[test]
fn what_the_disk_has_no_room_for_is_refused_before_it_begins() {
    let place = prepared();
    let registry = "[huge]\nmetric = \"l2\"\nelement = \"f32\"\ndimension = 1000\n\
                    rows = 4000000000\nbase = \"http://127.0.0.1:9/b.fbin\"\n\
                    queries = \"http://127.0.0.1:9/q.fbin\"\n";
    place.write("huge.toml", registry);
    let line = "lab run recall --data huge --registry huge.toml --out run";
    let refused = place.line(line);
    assert_eq!(refused.code, NO_SPACE, "{refused:?}");
    for words in ["are free", "--work", "--ignore-space"] {
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    assert!(!place.exists("run"));
    let said = place.line(&format!("{line} --dry-run"));
    assert!(
        said.code == 0 && said.stdout.contains("are free"),
        "{said:?}"
    );
}

#[test]
fn a_run_of_which_nothing_succeeded_says_why_and_fails() {
    let place = prepared();
    place.write("small.toml", SUITE.replace("10MB", "1kB"));
    let run = place.line(&format!("{RUN} --only recall --out poor"));
    assert_eq!(run.code, UNSUPPORTED, "{run:?}");
    for words in [
        "0 indexes built, 2 failed",
        "0 cells measured, 8 failed",
        "starling, 5 cells: ",
        "budget",
    ] {
        assert!(run.stdout.contains(words), "{words}: {run:?}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let place = prepared();
    for (line, code, words) in [
        ("lab run reecall --out r", INVALID, "recall"),
        ("lab run recall --data demmo --out r", NOT_FOUND, "demo"),
        ("lab run all --only speed --out r", INVALID, "recall"),
        (
            "lab run recall --skip recall --out r",
            INVALID,
            "no experiment",
        ),
        ("lab report nowhere", NOT_FOUND, "machine.json"),
        ("lab suites speed", INVALID, "recall"),
    ] {
        let refused = place.line(line);
        assert_eq!(refused.code, code, "{line}: {refused:?}");
        assert!(refused.stderr.contains(words), "{line}: {refused:?}");
    }
}

#[test]
fn suites_are_printed_to_be_changed() {
    let place = prepared();
    let all = place.line("lab suites all");
    assert_eq!(all.code, 0, "{all:?}");
    place.write("mine.toml", all.stdout);
    let said = place
        .line("lab run mine.toml --out run --dry-run --json")
        .json();
    assert!(
        said["cells"].as_u64().is_some_and(|cells| cells > 500),
        "{said}"
    );
    let sets = place.line("lab data --json").json();
    let demo = sets
        .as_array()
        .expect("sets")
        .iter()
        .find(|set| set["name"] == "demo");
    assert_eq!(demo.expect("the demo")["here"], true);
}

#[test]
fn the_lab_is_a_program_of_its_own() {
    let place = place();
    let help = place.line("lab --help");
    assert!(
        help.code == 0 && help.stdout.contains("predict"),
        "{help:?}"
    );
    let wrong = place.line("lab rnu all");
    assert!(
        wrong.code == INVALID && wrong.stderr.contains("Usage: pageway lab"),
        "{wrong:?}"
    );
    let json = place.line("--json lab suites").json();
    assert!(json.as_array().is_some_and(|suites| suites.len() > 5));

    // Without it beside: what to do.
    let alone = place.path("pageway");
    std::fs::copy(env!("CARGO_BIN_EXE_pageway"), &alone).expect("a copy");
    let says = |arguments: [&str; 2]| {
        let mut command = Command::new(&alone);
        let said = command.args(arguments).env("PATH", "").output();
        let said = said.expect("the program runs");
        (
            said.status.code(),
            String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned(),
        )
    };
    let (code, words) = says(["lab", "suites"]);
    assert_eq!(code, Some(NOT_FOUND), "{words}");
    assert!(
        words.contains("pageway-lab") && words.contains("cargo install"),
        "{words}"
    );
    assert_eq!(words.trim().lines().count(), 1, "{words}");
    let (code, words) = says(["lab", "--help"]);
    assert!(
        code == Some(0) && words.contains("cargo install"),
        "{words}"
    );
}
