//! Memory goes from one collection to another.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use pageway::server::clock;
use serde_json::json;

use super::opening::SEARCH_LEAST;
use super::*;
use crate::collection::{Schema, created};
use crate::service::{Service, ServiceOptions};

/// A service with collections of these names, and room for two of them.
fn service(dir: &Path, names: &[&str]) -> Service {
    service_of(dir, (names, 4), 64 << 20)
}

/// A service with collections of these names and vectors of a size, and so much memory.
fn service_of(dir: &Path, (names, size): (&[&str], u32), memory: u64) -> Service {
    let options = ServiceOptions {
        memory,
        threads: 1,
        recall: 0.9,
        slow: Duration::from_secs(1),
        latency_target: None,
    };
    let service = Service::open(dir, options).unwrap();
    let body = json!({"vectors": {"size": size, "distance": "Dot"}});
    let config = created(body.as_object().unwrap()).unwrap();
    let registry = &service.registry;
    let turn = registry.turn();
    for name in names {
        let add = |names: &mut crate::registry::Names| {
            let dir = registry.dir_of(names.add(name, config.clone()));
            let schema = Schema::of(&config)?;
            OpenCollection::create(registry.vfs(), &dir, &schema)
        };
        registry.change(&turn, add).unwrap();
    }
    drop(turn);
    service
}

fn bytes_of(service: &Service, name: &str) -> Option<u64> {
    service
        .shelf
        .bytes_of(service.entry(name).unwrap().1.number)
}

fn grow(service: &Service, name: &str, unused_since: u64) -> bool {
    let (name, entry) = service.entry(name).unwrap();
    service.grow(&name, &entry, unused_since).unwrap()
}

#[test]
fn memory_grows_out_of_what_nobody_uses() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path(), &["a", "b"]);
    let used = service.collection("a").unwrap();
    let before = bytes_of(&service, "a").unwrap();
    assert!(!grow(&service, "a", 0), "in use");
    drop(used);
    drop(service.collection("b").unwrap());
    let since = service.shelf.uses();
    drop(service.collection("a").unwrap());
    assert!(!grow(&service, "a", 0), "no room beside another");
    assert_eq!(bytes_of(&service, "a"), Some(before));
    assert!(grow(&service, "a", since));
    assert_eq!(bytes_of(&service, "a"), Some(before + SEARCH_LEAST));
    assert_eq!(bytes_of(&service, "b"), None);
    let (budget, taken) = service.shelf.memory();
    assert!(taken <= budget && taken == before + SEARCH_LEAST);
}

#[test]
fn writers_of_long_vectors_stay_within_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let service = service_of(dir.path(), (&["a", "b"], 1536), 256 << 20);
    let held = (service.collection("a"), service.collection("b"));
    assert!(held.0.is_ok() && held.1.is_ok(), "{:?}", held.1.err());
    let bytes = ["a", "b"].map(|name| bytes_of(&service, name).unwrap());
    let (budget, taken) = service.shelf.memory();
    assert!(taken == bytes[0] + bytes[1] && taken <= budget, "{bytes:?}");
}

#[test]
fn memory_is_divided_again_after_the_first_flush() {
    let dir = tempfile::tempdir().unwrap();
    let service = service_of(dir.path(), (&["a"], 128), 32 << 20);
    let open = service.collection("a").unwrap();
    let (name, entry) = service.entry("a").unwrap();
    let is_due = || service.shelf.is_divided_for_first(entry.number);
    assert!(!is_due(), "nothing was flushed");
    let value = |id: u64, at: u64| (id * 7 + at * at) % 13;
    let vector = |id: u64| (0..128).map(|at| value(id, at)).collect::<Vec<_>>();
    let point = |id: u64| json!({"id": id, "vector": vector(id)});
    let points: Vec<_> = (0..400).map(point).collect();
    let body = json!({"upsert": {"points": points}});
    open.change(serde_json::from_value(body).unwrap()).unwrap();
    let ends = clock::now() + Duration::from_secs(60);
    while !is_due() && clock::now() < ends {
        std::thread::sleep(PAUSE);
    }
    assert!(is_due(), "more rows than a delta has");
    let capacity = |open: &OpenCollection| {
        let state = open.state().unwrap();
        state.indexes[0]["changes"]["delta_capacity"].as_u64()
    };
    let before = capacity(&open);
    assert!(!service.divide_again(&name, &entry).unwrap(), "in use");
    drop(open);
    assert!(service.divide_again(&name, &entry).unwrap() && !is_due());
    let open = service.collection("a").unwrap();
    assert!(capacity(&open) > before);
    assert_eq!(open.len(), 400);
}

#[test]
fn who_has_grown_gives_way_to_who_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let service = service(dir.path(), &["a", "b", "c"]);
    // What one had that is closed by now is no reason to give it as much again.
    drop(service.collection("b").unwrap());
    assert!(grow(&service, "b", 0) && grow(&service, "b", 0));
    assert!(service.shelf.close_oldest((u64::MAX, u64::MAX)).unwrap());
    drop(service.collection("a").unwrap());
    assert!(grow(&service, "a", 0));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for pause in [17, 23] {
            let (ends, service) = (&ends, &service);
            scope.spawn(move || {
                while !ends.load(Ordering::Acquire) {
                    // Whether it can be opened again later is of no interest.
                    let own = service.collection("a");
                    std::thread::sleep(Duration::from_millis(pause));
                    drop(own);
                }
            });
        }
        let held = (service.collection("b").unwrap(), service.collection("c"));
        ends.store(true, Ordering::Release);
        assert!(held.1.is_ok(), "{:?}", held.1.err());
    });
}
