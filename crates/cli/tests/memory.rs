//! The memory contract: a whole process stays within its budget plus a constant for code, stacks
//! and libraries. The kernel counts, per child process.
#![cfg(target_os = "linux")]

mod common;

use common::{Place, clustered};

/// What a process may take beyond its budget.
const CONSTANT_BYTES: u64 = 24 << 20;
const ROWS: u32 = 40_000;
const DIMENSION: u32 = 64;

fn bytes(report: &serde_json::Value, key: &str) -> u64 {
    report[key].as_u64().expect(key)
}

#[test]
fn searches_stay_within_their_budget_at_every_size() {
    let place = Place::new();
    place.write("base.u8bin", clustered(ROWS, DIMENSION, 1));
    place.write("q.u8bin", clustered(4000, DIMENSION, 2));
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 1500kB --degree 24 \
                 --build-list 40 --build-memory 30MB --json";
    let report = place.line(build).json();
    let peak = bytes(&report, "peak_memory_bytes");
    assert!(
        peak <= 30_000_000 + CONSTANT_BYTES,
        "build took {peak}: {report}"
    );
    for memory in ["1500kB", "2500kB", "5MB", "20MB"] {
        for resources in ["--threads 1 --interleave 8", "--threads 2 --interleave 16"] {
            let search = format!(
                "search --index my.index --queries q.u8bin -k 10 --list-size 60 --memory {memory} \
                 {resources} --json"
            );
            let report = place.line(&search).json();
            let (budget, peak) = (
                bytes(&report, "memory_budget_bytes"),
                bytes(&report, "peak_memory_bytes"),
            );
            let wished: u64 = memory
                .replace("kB", "000")
                .replace("MB", "000000")
                .parse()
                .unwrap();
            assert_eq!(budget, wished);
            assert!(
                peak <= budget + CONSTANT_BYTES,
                "{memory} {resources}: took {peak}"
            );
        }
    }
}

#[test]
fn many_queries_take_no_more_memory_than_few() {
    let place = Place::new();
    place.write("base.u8bin", clustered(2000, DIMENSION, 1));
    place.write("few.u8bin", clustered(100, DIMENSION, 2));
    place.write("many.u8bin", clustered(100_000, DIMENSION, 2));
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 3MB --degree 16 \
                 --build-list 24 --json";
    place.line(build).json();
    let peak = |queries: &str| {
        let search = format!(
            "search --index my.index --queries {queries} -k 10 --list-size 10 --interleave 1 --json"
        );
        bytes(&place.line(&search).json(), "peak_memory_bytes")
    };
    let (few, many) = (peak("few.u8bin"), peak("many.u8bin"));
    assert!(
        many < few + (4 << 20),
        "100 queries took {few}, 100,000 took {many}"
    );
}

#[test]
fn exact_truth_stays_within_its_budget() {
    let place = Place::new();
    place.write("base.u8bin", clustered(300_000, DIMENSION, 1));
    place.write("q.u8bin", clustered(20, DIMENSION, 2));
    let truth = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 -k 10 --out gt.ibin \
                 --memory 4MB --threads 2 --json";
    let peak = bytes(&place.line(truth).json(), "peak_memory_bytes");
    assert!(peak <= 4_000_000 + CONSTANT_BYTES, "took {peak}");
}
