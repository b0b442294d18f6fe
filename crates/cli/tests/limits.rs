//! What the system refuses: memory, file sizes, things that are no files, places that may not be
//! written. Each is an error with its exit code, and no signal, hang or half index.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests make what is in the way themselves"
)]

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use common::{Place, small_fbin};

const INVALID: i32 = 2;
const IO: i32 = 6;
const NO_SPACE: i32 = 7;
const OUT_OF_MEMORY: i32 = 12;

/// Exit code and messages of `pageway` under a limit of the shell.
fn under(place: &Place, limit: &str, line: &str) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_pageway");
    let script = format!("ulimit {limit}; exec {program} {line}");
    let mut shell = Command::new("sh");
    let ended = shell.args(["-c", &script]).current_dir(place.path("."));
    let ended = ended.output().expect("a shell");
    let words = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code(), words)
}

fn built(place: &Place) {
    place.write("v.fbin", small_fbin(200, 16));
    let run = place.line("build --data v.fbin --out i --metric l2 --memory 8MB --threads 1");
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let place = Place::new();
    built(&place);
    for line in [
        "build --data v.fbin --out j --metric l2 --memory 8MB --threads 1",
        "convert v.fbin w.fbin",
    ] {
        let (code, words) = under(&place, "-f 8", line);
        assert_eq!(code, Some(NO_SPACE), "{line}: {words}");
        assert!(
            words.contains("ulimit -f") || words.contains("too large"),
            "{words}"
        );
    }
    assert!(!place.exists("j") && !place.exists("w.fbin"));
}

#[test]
fn a_limit_of_address_space_is_an_error() {
    let place = Place::new();
    built(&place);
    let lines = [
        "search --index i --queries v.fbin -k 3 --list-size 50 --memory 8MB --threads 1",
        "build --data v.fbin --out j --metric l2 --memory 8MB --threads 1",
    ];
    let mut refused = 0;
    for line in lines {
        for kilobytes in [24_000, 32_000, 40_000, 1_000_000] {
            let limit = format!("-v {kilobytes}");
            let (code, words) = under(&place, &limit, line);
            // Below some size not even the loader of programs works.
            let loads = under(&place, &limit, "--version").0 == Some(0);
            let known = [Some(0), Some(OUT_OF_MEMORY)].contains(&code);
            assert!(known || !loads, "{line}: {kilobytes}: {code:?} {words}");
            refused += u32::from(code == Some(OUT_OF_MEMORY));
        }
    }
    assert!(refused > 0, "no limit was met");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let place = Place::new();
    built(&place);
    std::fs::create_dir(place.path("folder.fbin")).expect("a directory");
    symlink("/dev/zero", place.path("device.fbin")).expect("a link");
    make_pipe(&place, "pipe.fbin");
    for name in ["folder.fbin", "device.fbin", "pipe.fbin"] {
        let run = place.line(&format!(
            "build --data {name} --out j --metric l2 --memory 8MB"
        ));
        assert_eq!(run.code, INVALID, "{run:?}");
        assert!(
            run.stderr.contains(name) && run.stderr.contains("regular file"),
            "{run:?}"
        );
    }
    let files: Vec<_> = place.files("i").into_iter().map(|(name, _)| name).collect();
    for name in files.iter().filter(|name| *name != "LOCK") {
        let own = place.path("i").join(name);
        let aside = place.path("aside");
        std::fs::rename(&own, &aside).expect("a file to move");
        make_pipe(&place, &format!("i/{name}"));
        expect_refusal(&place, name);
        std::fs::remove_file(&own).expect("a pipe");
        symlink(&aside, &own).expect("a link");
        expect_refusal(&place, name);
        std::fs::remove_file(&own).expect("a link");
        std::fs::rename(&aside, &own).expect("a file to move back");
    }
}

#[track_caller]
fn expect_refusal(place: &Place, name: &str) {
    let search = "search --index i --queries v.fbin -k 3 --list-size 50";
    for line in [search, "verify i"] {
        let run = place.line(line);
        assert!([1, IO, 5].contains(&run.code), "{name}: {line}: {run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("regular file"), "{name}: {line}: {said}");
    }
}

fn make_pipe(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.path(name)).status();
    assert!(made.expect("mkfifo").success());
}

#[test]
fn what_stands_in_the_place_of_a_new_file_does_not_stop_a_rebuild() {
    let place = Place::new();
    built(&place);
    let own = |name: &str| place.path("i").join(name);
    symlink("/nowhere", own("codes-2.pw")).expect("a link");
    symlink(place.path("v.fbin"), own("records-9.pw")).expect("a link");
    std::fs::create_dir_all(own("records-2.pw").join("full")).expect("a directory");
    std::fs::create_dir(own("MANIFEST.tmp")).expect("a directory");
    make_pipe(&place, "i/hot-3.pw");
    let run = place.line("build --data v.fbin --out i --metric l2 --memory 8MB --threads 1");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(place.line("verify i").code, 0);
    assert!(own("records-2.pw").join("full").exists() && place.exists("v.fbin"));
    assert!(own("records-4.pw").exists(), "{:?}", place.files("i").len());
}

#[test]
fn exact_neighbours_of_what_has_none_are_refused() {
    let place = Place::new();
    let mut rows = small_fbin(50, 4);
    place.write("sound.fbin", &rows);
    let value = |row: usize| 8 + row * 16;
    rows.splice(value(7)..value(7) + 4, f32::NAN.to_le_bytes());
    place.write("nan.fbin", &rows);
    rows.splice(value(7)..value(8), [0; 16]);
    place.write("zero.fbin", &rows);
    for (data, queries, metric, refused) in [
        ("nan", "sound", "l2", true),
        ("sound", "nan", "l2", true),
        ("zero", "sound", "cosine", true),
        ("sound", "zero", "cosine", true),
        ("zero", "zero", "l2", false),
    ] {
        let run = place.line(&format!(
            "ground-truth --data {data}.fbin --queries {queries}.fbin --metric {metric} -k 3 --out t.ibin"
        ));
        assert_eq!(run.code, if refused { INVALID } else { 0 }, "{run:?}");
        assert!(!refused || run.stderr.contains("row 7"), "{run:?}");
    }
}

#[test]
fn outputs_whose_names_are_no_text_are_written_and_reported() {
    let place = Place::new();
    place.write("v.fbin", small_fbin(50, 4));
    let name = OsStr::from_bytes(b"\xff\xfe.fbin");
    for flags in [&[][..], &["--json"]] {
        let words = flags.iter().map(OsStr::new);
        let run = place.run(words.chain([OsStr::new("convert"), OsStr::new("v.fbin"), name]));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(place.path(".").join(name).exists());
    }
    place
        .line("build --data v.fbin --out i --metric l2 --memory 2MB --calibration-queries 10")
        .text_of_success();
    let run = place.run([
        OsStr::new("export"),
        OsStr::new("i"),
        name,
        OsStr::new("--json"),
    ]);
    assert_eq!(run.code, 0, "{run:?}");
}
