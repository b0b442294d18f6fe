//! Many collections within one budget of memory.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic"
)]

mod common;

use common::Server;
use pageway::lab::{clock, peak_memory_bytes};
use serde_json::{Value, json};

const SIZE: usize = 32;
/// Beyond the budget: the program, stacks, what the allocator keeps.
const BESIDE_BYTES: u64 = 64 << 20;

/// How many collections, and points of each.
fn scale() -> (usize, usize) {
    if std::env::var("PAGEWAY_SUITE").is_ok_and(|own| own == "long") {
        (1000, 1000)
    } else {
        (12, 20)
    }
}

/// A vector that is another for each collection and point.
fn vector(collection: usize, id: usize) -> Vec<f32> {
    let mut vector = vec![0.0; SIZE];
    for (at, number) in vector.iter_mut().enumerate() {
        let mixed = (collection * 7919 + id * 104_729 + at * 1_299_709) % 1009;
        *number = mixed as f32 / 1009.0 - 0.5;
    }
    vector
}

#[test]
fn all_collections_answer_within_one_budget() {
    let (collections, points) = scale();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let config = json!({"vectors": {"size": SIZE, "distance": "Euclid"}});
    for number in 0..collections {
        let path = format!("/collections/c{number}");
        server.put(&path, &config).result();
        let point = |id| json!({"id": id, "vector": vector(number, id), "payload": {"n": id}});
        let all: Vec<Value> = (0..points).map(point).collect();
        let body = json!({"points": all});
        server
            .put(&format!("{path}/points?wait=true"), &body)
            .result();
    }
    let mut cold = Vec::with_capacity(collections);
    for number in (0..collections).rev() {
        let id = number % points;
        let query = json!({"query": vector(number, id), "limit": 1, "params": {"exact": true}});
        let began = clock::now();
        let found = server.post(&format!("/collections/c{number}/points/query"), &query);
        cold.push(clock::now().saturating_duration_since(began));
        assert_eq!(found.result()["points"][0]["score"], 0.0);
    }
    cold.sort();
    let p99 = cold[(cold.len() * 99 / 100).min(cold.len() - 1)];
    let peak = peak_memory_bytes().unwrap();
    println!(
        "{collections} collections: cold p99 {p99:?}, peak {} MiB",
        peak >> 20
    );
    assert!(peak < (256 << 20) + BESIDE_BYTES, "{peak}");
    for number in 0..collections {
        let counted = server.post(&format!("/collections/c{number}/points/count"), &json!({}));
        assert_eq!(counted.result()["count"], points);
    }
}
