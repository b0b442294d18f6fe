//! `pageway build --step`: an index in steps, by processes of their own.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use common::{Place, clustered};

const BUILD: &str = "build --data base.u8bin --metric l2 --segments 3 --degree 16 --memory 2MB \
                     --calibration-queries 20";

fn place() -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(900, 16, 1));
    place
}

#[test]
fn steps_make_the_index_of_a_build_at_once_and_are_not_done_twice() {
    let place = place();
    place
        .line(&format!("{BUILD} --out whole.index"))
        .text_of_success();
    let step = |step: &str| {
        let line = format!("{BUILD} --out parts.index --work w --step {step}");
        place.line(&line)
    };
    assert!(
        step("prepare")
            .text_of_success()
            .contains("Did step prepare of 3 segments")
    );
    // In any order, and one of them twice.
    for number in ["2", "0", "1"] {
        let words = format!("Did step {number} of 3 segments: 300 vectors.");
        let text = step(number).text_of_success().to_owned();
        assert!(text.contains(&words), "{text}");
        assert!(text.contains("Memory: peak"), "{text}");
    }
    assert!(
        step("2")
            .text_of_success()
            .contains("Step 2 was done before.")
    );
    let joined = step("join").text_of_success().to_owned();
    assert!(
        joined.contains("Joined 3 segments into parts.index: 900 vectors"),
        "{joined}"
    );
    let names = |index: &str| -> Vec<(String, usize)> {
        let files = place.files(index).into_iter();
        files.map(|(name, bytes)| (name, bytes.len())).collect()
    };
    assert_eq!(names("whole.index"), names("parts.index"));
    place.line("verify parts.index").text_of_success();
}

#[test]
fn steps_tell_what_they_did_and_what_is_missing() {
    let place = place();
    let line = |more: &str| place.line(&format!("{BUILD} --out it.index {more}"));
    let early = line("--work w --step 1");
    assert!(
        early.code != 0 && early.stderr.contains("prepare"),
        "{early:?}"
    );
    let prepared = line("--work w --step prepare --json").json();
    assert_eq!(
        (&prepared["step"], &prepared["segments"]),
        (&"prepare".into(), &3.into())
    );
    assert_eq!(prepared["done_before"], false);
    line("--work w --step 0").text_of_success();
    let unfinished = line("--work w --step join");
    assert!(
        unfinished.code != 0 && !unfinished.stderr.is_empty(),
        "{unfinished:?}"
    );
    assert!(!place.exists("it.index/MANIFEST"));
    for wrong in ["--work w --step 3", "--work w --step last", "--step 0"] {
        let found = line(wrong);
        assert!(
            found.code != 0 && found.stderr.contains("step"),
            "{wrong}: {found:?}"
        );
    }
}
