//! Forged indexes: every file of every preset and form, in several segments too, changed by one who
//! knows the format and makes the checksums right. Such an index is refused as corrupt, or answers
//! with vectors that there are at distances that there can be; what it answers of files that were
//! not forged is right; and nothing panics.
//!
//! `PAGEWAY_FORGERIES` says how many; 2,000 where it is not set.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

#[path = "../common/mod.rs"]
mod common;
mod forge;
mod subject;

use std::panic::{AssertUnwindSafe, catch_unwind};

use forge::Forge;
use pageway_testkit::SplitMix64;
use subject::{ROWS, Seen, Subject};

const SEED: u64 = 0xf0_46ed;

/// Forgeries after which the file system, which remembers all that was done to it, is made anew.
const PER_COPY: usize = 200;

fn forgeries() -> usize {
    let wished = std::env::var("PAGEWAY_FORGERIES").ok();
    wished.and_then(|count| count.parse().ok()).unwrap_or(2000)
}

#[test]
fn a_forged_index_is_refused_or_answers_with_what_there_is() {
    let subjects = Subject::all();
    let each = forgeries().div_ceil(subjects.len());
    let mut random = SplitMix64::new(SEED);
    let mut wrong = Vec::new();
    for subject in &subjects {
        let seen = attack(subject, each, &mut random, &mut wrong);
        println!(
            "forged, seed {SEED:#x}: {}: {each} forgeries, {seen}",
            subject.name
        );
        assert!(
            each < 20 || seen.refused > 0,
            "{}: all were believed",
            subject.name
        );
    }
    assert!(
        wrong.is_empty(),
        "{} forgeries:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn attack(
    subject: &Subject,
    count: usize,
    random: &mut SplitMix64,
    wrong: &mut Vec<String>,
) -> Seen {
    let mut seen = Seen::default();
    for first in (0..count).step_by(PER_COPY) {
        let copy = subject.copy();
        let forge = Forge::new(&copy, ROWS as u32);
        for number in first..count.min(first + PER_COPY) {
            let forgery = forge.forge(random);
            let judged = catch_unwind(AssertUnwindSafe(|| {
                subject.judge(&copy, &forgery.file, &mut seen)
            }));
            forge.undo(&forgery);
            let verdict = judged.unwrap_or_else(|_| Err("panicked".to_owned()));
            if let Err(what) = verdict {
                let name = &subject.name;
                wrong.push(format!("{name}, number {number}: {forgery}: {what}"));
            }
        }
    }
    seen
}
