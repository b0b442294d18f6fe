//! Killing the server while points are written: what was acknowledged is there afterwards, whole.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::process::{Process, result};
use serde_json::{Value, json};

const WRITERS: u64 = 3;

#[test]
fn a_change_under_way_does_not_keep_a_server_from_stopping() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "--stop-time",
        "1",
        "--listen",
        "127.0.0.1:0",
        "--memory",
        "256MB",
    ];
    let data = ["--data-dir", dir.path().to_str().unwrap()];
    let start = || Process::with_words(words.iter().chain(&data));
    let mut server = start();
    let field = json!({"size": 4, "distance": "Dot"});
    let names: Vec<String> = (0..8).map(|at| format!("v{at}")).collect();
    let vectors: BTreeMap<_, _> = names.iter().map(|name| (name, &field)).collect();
    let made = json!({"vectors": vectors});
    ask(&server.address, "PUT", "/collections/c", &made).unwrap();
    let put = |ids: std::ops::Range<u64>| {
        let point = |id: u64| {
            let vector: BTreeMap<_, _> = names.iter().map(|name| (name, [id, 1, 2, 3])).collect();
            json!({"id": id, "vector": vector, "payload": {"x": "y".repeat(8000)}})
        };
        json!({"points": ids.map(point).collect::<Vec<_>>()})
    };
    let path = "/collections/c/points?wait=true";
    ask(&server.address, "PUT", path, &put(0..20)).unwrap();
    let (address, long) = (server.address.clone(), put(20..600));
    thread::spawn(move || ask(&address, "PUT", path, &long));
    thread::sleep(Duration::from_secs(1));
    server.signal("TERM");
    let ended = server.ended_within(Duration::from_secs(15));
    assert!(ended.is_some(), "still there");
    let server = start();
    let count = ask(
        &server.address,
        "POST",
        "/collections/c/points/count",
        &json!({}),
    );
    assert!(count.unwrap()["count"].as_u64().unwrap() >= 20);
}

/// Asks for a result; none where the server is gone.
fn ask(address: &str, method: &str, path: &str, body: &Value) -> Option<Value> {
    result(address, (method, path), body)
}

/// A point as its id and the number of its last change say.
fn point(id: u64, change: u64) -> Value {
    let mut vector = json!({"a": [id, change], "b": [change, id, 1]});
    if change.is_multiple_of(3) {
        vector.as_object_mut().unwrap().remove("b");
    }
    json!({"id": id, "vector": vector, "payload": {"change": change}})
}

/// Writes until the server is gone; notes what was acknowledged.
fn write(
    address: &str,
    (writer, first): (u64, u64),
    known: &Mutex<BTreeMap<u64, Option<u64>>>,
    doubtful: &Mutex<BTreeMap<u64, Option<u64>>>,
) {
    for change in first.. {
        let ids: Vec<u64> = (0..20)
            .map(|at| writer + WRITERS * ((change * 7 + at) % 200))
            .collect();
        let (path, body, state) = if change % 5 == 4 {
            ("delete", json!({"points": ids}), None)
        } else {
            let points: Vec<Value> = ids.iter().map(|id| point(*id, change)).collect();
            ("", json!({"points": points}), Some(change))
        };
        let states = |into: &Mutex<BTreeMap<u64, Option<u64>>>| {
            into.lock()
                .unwrap()
                .extend(ids.iter().map(|id| (*id, state)));
        };
        states(doubtful);
        let wait = change.is_multiple_of(2);
        let done = if path.is_empty() {
            ask(
                address,
                "PUT",
                &format!("/collections/c/points?wait={wait}"),
                &body,
            )
        } else {
            ask(
                address,
                "POST",
                &format!("/collections/c/points/delete?wait={wait}"),
                &body,
            )
        };
        if done.is_none() {
            return;
        }
        states(known);
        let mut doubtful = doubtful.lock().unwrap();
        for id in &ids {
            doubtful.remove(id);
        }
    }
}

/// Every point is as it was acknowledged, or as a request that was under way left it; whole.
fn check(address: &str, known: &BTreeMap<u64, Option<u64>>, doubtful: &BTreeMap<u64, Option<u64>>) {
    let body = json!({"limit": 10_000, "with_vector": true});
    let found = ask(address, "POST", "/collections/c/points/scroll", &body).unwrap();
    let found = found["points"].as_array().unwrap();
    let found: BTreeMap<u64, &Value> = found
        .iter()
        .map(|own| (own["id"].as_u64().unwrap(), own))
        .collect();
    let ids = known.keys().chain(doubtful.keys()).chain(found.keys());
    for id in ids {
        let own = found.get(id).copied();
        let change = own.map(|own| own["payload"]["change"].as_u64().unwrap());
        let as_known = known.get(id).copied().flatten() == change;
        assert!(
            as_known || doubtful.get(id) == Some(&change),
            "point {id}: {own:?}"
        );
        if let (Some(own), Some(change)) = (own, change) {
            let expected = point(*id, change)["vector"].clone();
            for (name, vector) in expected.as_object().unwrap() {
                let numbers = |value: &Value| -> Vec<f64> {
                    value
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|one| one.as_f64().unwrap())
                        .collect()
                };
                assert_eq!(numbers(&own["vector"][name]), numbers(vector), "point {id}");
            }
            let count = expected.as_object().unwrap().len();
            assert_eq!(
                own["vector"].as_object().unwrap().len(),
                count,
                "point {id}"
            );
        }
    }
    // The index of each vector holds the points that have it, and no others.
    for (name, query) in [("a", json!([1, 1])), ("b", json!([1, 1, 1]))] {
        let body = json!({"query": query, "using": name, "limit": 5000, "params": {"exact": true}});
        let hits = ask(address, "POST", "/collections/c/points/query", &body).unwrap();
        let hits = hits["points"].as_array().unwrap().len();
        let have = found
            .values()
            .filter(|own| own["vector"].get(name).is_some())
            .count();
        assert_eq!(hits, have, "{name}");
    }
}

#[test]
fn what_is_acknowledged_survives_kills() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    let config = json!({"vectors": {
        "a": {"size": 2, "distance": "Euclid"}, "b": {"size": 3, "distance": "Dot"},
    }});
    ask(&process.address, "PUT", "/collections/c", &config).unwrap();
    let known = Mutex::new(BTreeMap::new());
    for round in 0..6 {
        let doubtful = Mutex::new(BTreeMap::new());
        let address = process.address.clone();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (address, known, doubtful) = (&address, &known, &doubtful);
                scope.spawn(move || write(address, (writer, 1000 * round), known, doubtful));
            }
            while known.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(10));
            }
            thread::sleep(Duration::from_millis(120 + 90 * round));
            process.kill();
            process = Process::start(dir.path());
        });
        let mut known = known.lock().unwrap();
        check(&process.address, &known, &doubtful.lock().unwrap());
        // What came of doubtful requests is known now.
        let body = json!({"limit": 10_000});
        let found = ask(
            &process.address,
            "POST",
            "/collections/c/points/scroll",
            &body,
        )
        .unwrap();
        known.values_mut().for_each(|state| *state = None);
        for own in found["points"].as_array().unwrap() {
            let change = own["payload"]["change"].as_u64();
            known.insert(own["id"].as_u64().unwrap(), change);
        }
    }
    process.kill();
}
