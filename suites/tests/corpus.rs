//! The corpus of the fuzz targets, replayed: each file as it is, cut at many places, and with many
//! bits flipped. What fuzzing finds is put there, and never comes back.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a failed test may panic, and the corpus is on disk"
)]

#[path = "../../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;

use pageway_testkit::{SplitMix64, flip_bit};

const SEED: u64 = 0x_c0_49;

/// Changed copies of each file, and places where it is cut.
const COPIES: u64 = 200;

fn replay(name: &str, target: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(name);
    let mut random = SplitMix64::new(SEED);
    let mut files = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        target(&bytes);
        let length = bytes.len() as u64;
        for _ in 0..COPIES {
            target(&bytes[..random.below(length + 1) as usize]);
            let mut copy = bytes.clone();
            for _ in 0..=random.below(3) {
                // What comes first says how to read the rest.
                let end = if random.below(2) == 0 {
                    length.min(64)
                } else {
                    length
                };
                flip_bit(&mut copy, random.below(end * 8));
            }
            target(&copy);
        }
        files += 1;
    }
    assert!(files > 0, "no corpus in {}", dir.display());
}

#[test]
fn codebooks() {
    replay("codebook", targets::codebook);
}

#[test]
fn entries() {
    replay("entry", targets::entry);
}

#[test]
fn inputs() {
    replay("input", targets::input);
}

#[test]
fn manifests() {
    replay("manifest", targets::manifest);
}

#[test]
fn libraries() {
    replay("library", targets::library);
}
