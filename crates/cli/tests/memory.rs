//! The memory contract: a whole process stays within its budget plus a constant for code, stacks
//! and libraries. The kernel counts, per child process.
#![cfg(target_os = "linux")]

mod common;

use common::{Place, clustered};

/// What a process may take beyond its budget.
const CONSTANT_BYTES: u64 = 24 << 20;
/// 45 MB of vectors: a process that held them all would break every budget below.
const ROWS: u32 = 70_000;
const DIMENSION: u32 = 640;

fn bytes(report: &serde_json::Value, key: &str) -> u64 {
    report[key].as_u64().expect(key)
}

#[test]
fn builds_and_searches_stay_within_their_budgets() {
    let place = Place::new();
    place.write("base.u8bin", clustered(ROWS, DIMENSION, 1));
    place.write("q.u8bin", clustered(500, DIMENSION, 2));
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 4MB --degree 12 \
                 --preset diskann --build-list 16 --build-memory 20MB --calibration-queries 10 \
                 --json";
    let report = place.line(build).json();
    assert!(bytes(&report, "shards") > 1, "{report}");
    let peak = bytes(&report, "peak_memory_bytes");
    assert!(
        peak <= 12_000_000 + CONSTANT_BYTES,
        "build took {peak}: {report}"
    );
    for (memory, budget, resources) in [
        ("4MB", 4_000_000, "--threads 1 --interleave 8"),
        ("6MB", 6_000_000, "--threads 2 --interleave 16"),
        ("12MB", 12_000_000, "--threads 2 --interleave 16"),
    ] {
        let search = format!(
            "search --index my.index --queries q.u8bin -k 10 --list-size 60 --memory {memory} \
             {resources} --json"
        );
        let report = place.line(&search).json();
        assert_eq!(bytes(&report, "memory_budget_bytes"), budget);
        let peak = bytes(&report, "peak_memory_bytes");
        assert!(
            peak <= budget + CONSTANT_BYTES,
            "{memory} {resources}: took {peak}"
        );
    }
    // Vectors around the same centre lie within this radius; hundreds of them are found.
    let range = "range --index my.index --queries q.u8bin --radius 750000 --limit 3000 \
                 --memory 20MB --threads 2 --json";
    let report = place.line(range).json();
    assert!(
        report["results_per_query"].as_f64() > Some(300.0),
        "{report}"
    );
    let peak = bytes(&report, "peak_memory_bytes");
    assert!(peak <= 20_000_000 + CONSTANT_BYTES, "range took {peak}");
}

#[test]
fn many_queries_take_no_more_memory_than_few() {
    let place = Place::new();
    place.write("base.u8bin", clustered(1000, 64, 1));
    place.write("few.u8bin", clustered(100, 64, 2));
    place.write("many.u8bin", clustered(60_000, 64, 2));
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 3MB --degree 8 \
                 --build-list 12 --json";
    place.line(build).json();
    let peak = |queries: &str| {
        let search = format!(
            "search --index my.index --queries {queries} -k 10 --list-size 10 --interleave 4 --json"
        );
        bytes(&place.line(&search).json(), "peak_memory_bytes")
    };
    // All answers and counters at once would be 17 MB.
    let (few, many) = (peak("few.u8bin"), peak("many.u8bin"));
    assert!(
        many < few + (4 << 20),
        "100 queries took {few}, 60,000 took {many}"
    );
}

#[test]
fn exact_truth_stays_within_its_budget() {
    let place = Place::new();
    place.write("base.u8bin", clustered(ROWS, DIMENSION, 1));
    place.write("q.u8bin", clustered(20, DIMENSION, 2));
    let truth = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 -k 10 --out gt.ibin \
                 --memory 4MB --threads 2 --json";
    let peak = bytes(&place.line(truth).json(), "peak_memory_bytes");
    assert!(peak <= 4_000_000 + CONSTANT_BYTES, "took {peak}");
}
