//! Points of an answer: each once, in one order, and whole.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use common::Server;
use serde_json::{Value, json};

const WAIT: &str = "/collections/c/points?wait=true";

fn server_of(vectors: &Value) -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    server
        .put("/collections/c", &json!({"vectors": vectors}))
        .result();
    (dir, server)
}

fn ids(points: &Value) -> Vec<u64> {
    let points = points.as_array().unwrap().iter();
    points.map(|point| point["id"].as_u64().unwrap()).collect()
}

#[test]
fn pages_of_equal_scores_have_every_point_once_in_the_order_of_ids() {
    let (_dir, server) = server_of(&json!({"size": 4, "distance": "Cosine"}));
    let vector = |id: u64| {
        if id < 20 {
            json!([1, 0, 0, 0])
        } else {
            json!([1, 1, 0, id])
        }
    };
    let points = (0..100)
        .rev()
        .map(|id| json!({"id": id, "vector": vector(id)}));
    let points: Vec<Value> = points.collect();
    server.put(WAIT, &json!({"points": points})).result();
    for exact in [true, false] {
        let page = |limit: usize, offset: usize| {
            let body = json!({"query": [1, 0, 0, 0], "limit": limit, "offset": offset,
                "params": {"exact": exact}});
            ids(&server.post("/collections/c/points/query", &body).result()["points"])
        };
        let whole = page(20, 0);
        assert_eq!(whole, (0..20).collect::<Vec<_>>());
        for limit in [1, 3, 7] {
            let pages = (0..20)
                .step_by(limit)
                .flat_map(|offset| page(limit, offset));
            let pages: Vec<u64> = pages.take(20).collect();
            assert_eq!(pages, whole, "pages of {limit}");
        }
    }
}

#[test]
fn a_point_is_there_once_for_each_of_its_values() {
    let (_dir, server) = server_of(&json!({"size": 2, "distance": "Dot"}));
    let point = |id: u64, n: Value| json!({"id": id, "vector": [1, 1], "payload": {"n": n}});
    let values = [json!([5, 5, 5.0, 8]), json!([6, 5]), json!(7)];
    let points: Vec<Value> = (1..).zip(values).map(|(id, n)| point(id, n)).collect();
    server.put(WAIT, &json!({"points": points})).result();
    let ordered = |limit: usize, direction: &str| {
        let order = json!({"key": "n", "direction": direction});
        let body = json!({"order_by": order, "limit": limit});
        ids(&server.post("/collections/c/points/scroll", &body).result()["points"])
    };
    assert_eq!(ordered(10, "asc"), [1, 2, 2, 3, 1]);
    assert_eq!(ordered(3, "asc"), [1, 2, 2]);
    assert_eq!(ordered(9, "desc"), [1, 3, 2, 2, 1]);
}

/// Changes points of two vectors, each in one step, while `look` is called.
fn beside_changes(server: &Server, look: &dyn Fn()) {
    let ends = AtomicBool::new(false);
    let (service, app) = (server.service(), server.app.clone());
    std::thread::scope(|scope| {
        let ends = &ends;
        scope.spawn(move || {
            let server = Server::of(service, app);
            for version in 2.. {
                if ends.load(Ordering::Acquire) {
                    break;
                }
                put(&server, version);
            }
        });
        // Where a look fails, changes end too.
        let _guard = Ends(ends);
        for _ in 0..100 {
            look();
        }
    });
}

struct Ends<'e>(&'e AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn put(server: &Server, version: u64) {
    let vector = json!({"a": [version, 1], "b": [version, 1]});
    let payload = json!({"v": version, "odd": version % 2});
    let point = |id: u64| json!({"id": id, "vector": vector, "payload": payload});
    // Others of them each time, so that some come and some go.
    let points: Vec<Value> = (0..20).map(point).collect();
    server.put(WAIT, &json!({"points": points})).result();
    let gone: Vec<u64> = (0..10).map(|at| (version + at) % 20).collect();
    let path = "/collections/c/points/delete?wait=true";
    server.post(path, &json!({"points": gone})).result();
}

/// The version of a point of which payload and vectors are of one.
fn version_of(point: &Value) -> u64 {
    let version = point["payload"]["v"].as_u64().unwrap();
    let vector = json!([version as f64, 1.0]);
    assert_eq!(
        point["vector"],
        json!({"a": vector, "b": vector}),
        "{point}"
    );
    version
}

fn odd() -> Value {
    json!({"must": [{"key": "odd", "match": {"value": 1}}]})
}

#[test]
fn points_are_whole_while_others_write_them() {
    let vector = json!({"size": 2, "distance": "Euclid"});
    let (_dir, server) = server_of(&json!({"a": vector, "b": vector}));
    put(&server, 1);
    let odd = odd();
    beside_changes(&server, &|| {
        let wish = json!({"limit": 20, "with_vector": true, "with_payload": true});
        let page = server.post("/collections/c/points/scroll", &wish).result();
        for point in page["points"].as_array().unwrap() {
            version_of(point);
        }
        let mut wish = wish;
        (wish["query"], wish["using"]) = (json!([0, 1]), json!("b"));
        for filter in [json!({}), odd.clone()] {
            wish["filter"] = filter;
            let found = server.post("/collections/c/points/query", &wish).result();
            for point in found["points"].as_array().unwrap() {
                let version = version_of(point);
                assert_eq!(point["score"].as_f64().unwrap() as u64, version, "{point}");
                assert!(wish["filter"] == json!({}) || version % 2 == 1, "{point}");
            }
        }
    });
}

#[test]
fn groups_and_fused_points_are_whole_while_others_write_them() {
    let vector = json!({"size": 2, "distance": "Euclid"});
    let (_dir, server) = server_of(&json!({"a": vector, "b": vector}));
    put(&server, 1);
    let below = json!({"query": [0, 1], "using": "a", "limit": 20});
    beside_changes(&server, &|| {
        let mut wish = json!({"query": [0, 1], "using": "b", "group_by": "odd", "limit": 2,
            "group_size": 20, "with_vector": true, "with_payload": true});
        let path = "/collections/c/points/query/groups";
        let found = server.post(path, &wish).result();
        for group in found["groups"].as_array().unwrap() {
            for point in group["hits"].as_array().unwrap() {
                let version = version_of(point);
                assert_eq!(point["score"].as_f64().unwrap() as u64, version, "{point}");
                assert_eq!(group["id"].as_u64().unwrap(), version % 2, "{point}");
            }
        }
        wish["prefetch"] = below.clone();
        (wish["filter"], wish["query"]) = (odd(), json!({"fusion": "dbsf"}));
        (wish["limit"], wish["using"]) = (json!(20), Value::Null);
        let found = server.post("/collections/c/points/query", &wish).result();
        let mut scores = BTreeMap::new();
        for point in found["points"].as_array().unwrap() {
            let version = version_of(point);
            assert_eq!(version % 2, 1, "{point}");
            let known = scores.entry(version).or_insert(&point["score"]);
            assert_eq!(
                *known, &point["score"],
                "of one version, so as near: {point}"
            );
        }
        wish["prefetch"] = json!({"query": {"sample": "random"}, "limit": 20});
        let found = server.post("/collections/c/points/query", &wish).result();
        for point in found["points"].as_array().unwrap() {
            assert_eq!(version_of(point) % 2, 1, "{point}");
        }
    });
}

#[test]
fn pages_have_what_their_filter_lets_through_while_others_write() {
    let vector = json!({"size": 2, "distance": "Euclid"});
    let (_dir, server) = server_of(&json!({"a": vector, "b": vector}));
    put(&server, 1);
    beside_changes(&server, &|| {
        let mut wish = json!({"filter": odd(), "limit": 20, "with_vector": true});
        let path = "/collections/c/points/scroll";
        for order in [Value::Null, json!("v")] {
            wish["order_by"] = order;
            let page = server.post(path, &wish).result();
            for point in page["points"].as_array().unwrap() {
                let version = version_of(point);
                assert_eq!(version % 2, 1, "{point}");
                let order = &point["order_value"];
                assert!(order.is_null() || order == version, "{point}");
            }
        }
    });
}
