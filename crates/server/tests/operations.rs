//! Every row of the table of operations: what is asked, and what is answered.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic, and looks at files of its own"
)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::Server;
use pageway_server::Keys;
use serde_json::{Value, json};

const WAIT: &str = "/collections/c/points?wait=true";

/// A server with a collection `c` of two named vectors, a sparse one, and five points.
fn filled() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let config = json!({
        "vectors": {
            "a": {"size": 2, "distance": "Dot"},
            "b": {"size": 3, "distance": "Euclid"},
        },
        "sparse_vectors": {"s": {}},
    });
    assert_eq!(server.put("/collections/c", &config).result(), json!(true));
    let points = json!({"points": [
        {"id": 1, "vector": {"a": [1, 0], "b": [0, 0, 1]}, "payload": {"n": 1, "k": "x"}},
        {"id": 2, "vector": {"a": [2, 0]}, "payload": {"n": 2, "k": "y"}},
        {"id": 3, "vector": {"b": [0, 0, 4]}, "payload": {"n": 3, "k": "x"}},
        {"id": 4, "vector": {"s": {"indices": [7, 3], "values": [0.5, 0.25]}}},
        {"id": "F47AC10B-58CC-4372-A567-0E02B2C3D479", "vector": {"a": [0, 3]},
         "payload": {"n": 5, "k": ["x", "y"]}},
    ]});
    let done = server.put(WAIT, &points).result();
    assert_eq!(done["status"], "completed");
    (dir, server)
}

const UUID: &str = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

fn ids(points: &Value) -> Vec<Value> {
    points
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["id"].clone())
        .collect()
}

fn scrolled(server: &Server, body: &Value) -> Vec<Value> {
    ids(&server.post("/collections/c/points/scroll", body).result()["points"])
}

#[test]
fn the_server_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let root = server.get("/").json();
    assert_eq!(root["version"], "1.19.0");
    assert!(
        root["title"]
            .as_str()
            .unwrap()
            .contains("vector search engine")
    );
    assert_eq!(server.get("/healthz").text, "healthz check passed");
    assert_eq!(server.get("/livez").text, "healthz check passed");
    assert_eq!(server.get("/readyz").text, "all shards are ready");
    assert_eq!(
        server.get("/cluster").result(),
        json!({"status": "disabled"})
    );
    assert!(
        server
            .get("/metrics")
            .text
            .contains("pageway_budget_bytes 234881024")
    );
    assert!(server.get("/telemetry").result()["app"].is_object());
    server.app.stop();
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/livez").status, 200);
    assert_eq!(server.get("/collections").status, 503);
}

#[test]
fn collections_are_made_described_changed_and_deleted() {
    let (_dir, server) = filled();
    let taken = server.put("/collections/c", &json!({})).error(409);
    assert_eq!(taken, "Wrong input: Collection `c` already exists!");
    assert_eq!(
        server.get("/collections").result(),
        json!({"collections": [{"name": "c"}]})
    );
    assert_eq!(
        server.get("/collections/c/exists").result(),
        json!({"exists": true})
    );
    assert_eq!(
        server.get("/collections/d/exists").result(),
        json!({"exists": false})
    );
    let absent = server.get("/collections/d").error(404);
    assert_eq!(absent, "Not found: Collection `d` doesn't exist!");
    let diff = json!({"hnsw_config": {"m": 32}, "metadata": {"x": 1}});
    assert_eq!(
        server.ask("PATCH", "/collections/c", &diff).result(),
        json!(true)
    );
    let own = server.get("/collections/c").result();
    assert_eq!(
        (&own["status"], &own["points_count"]),
        (&json!("green"), &json!(5))
    );
    assert_eq!(own["config"]["hnsw_config"]["m"], 32);
    assert_eq!(
        own["config"]["params"]["vectors"]["b"]["distance"],
        "Euclid"
    );
    assert_eq!(own["config"]["metadata"], json!({"x": 1}));
    let inside = server.get("/pageway/collections/c").result();
    assert_eq!(inside["indexes"].as_array().unwrap().len(), 2);
    assert_eq!(server.delete("/collections/c").result(), json!(true));
    assert_eq!(server.delete("/collections/c").result(), json!(false));
    assert_eq!(
        server.get("/collections/c/exists").result(),
        json!({"exists": false})
    );
    assert_eq!(server.put("/collections/a%2Fb", &json!({})).status, 422);
    assert_eq!(
        server
            .put(&format!("/collections/{}", "a".repeat(256)), &json!({}))
            .status,
        422
    );
}

#[test]
fn aliases_change_together_or_not_at_all() {
    let (_dir, server) = filled();
    let act = |actions: Value| server.post("/collections/aliases", &json!({"actions": actions}));
    let create = |alias: &str, of: &str| json!({"create_alias": {"collection_name": of, "alias_name": alias}});
    assert_eq!(
        act(json!([create("e", "c"), create("f", "c")])).result(),
        json!(true)
    );
    assert_eq!(
        server
            .post("/collections/e/points/count", &json!({}))
            .result()["count"],
        5
    );
    act(json!([create("g", "c"), create("h", "none")])).error(404);
    act(json!([create("c", "c")])).error(409);
    let list = |path: &str| {
        server.get(path).result()["aliases"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((list("/aliases"), list("/collections/e/aliases")), (2, 2));
    let rename = json!({"rename_alias": {"old_alias_name": "e", "new_alias_name": "i"}});
    let delete = json!({"delete_alias": {"alias_name": "f"}});
    assert_eq!(act(json!([rename, delete])).result(), json!(true));
    let own = json!({"aliases": [{"alias_name": "i", "collection_name": "c"}]});
    assert_eq!(server.get("/aliases").result(), own);
}

#[test]
fn points_come_back_as_they_were_put_in() {
    let (_dir, server) = filled();
    let own = server
        .get(&format!("/collections/c/points/{UUID}"))
        .result();
    assert_eq!(own["id"], UUID);
    assert_eq!(own["vector"], json!({"a": [0.0, 3.0]}));
    let body = json!({"ids": [4, 99, 1], "with_vector": true});
    let found = server.post("/collections/c/points", &body).result();
    assert_eq!(ids(&found), [json!(4), json!(1)]);
    let sparse = json!({"s": {"indices": [3, 7], "values": [0.25, 0.5]}});
    assert_eq!(found[0]["vector"], sparse);
    assert_eq!(
        found[1]["vector"],
        json!({"a": [1.0, 0.0], "b": [0.0, 0.0, 1.0]})
    );
    assert_eq!(found[1]["payload"], json!({"n": 1, "k": "x"}));
    let text = server.post("/collections/c/points", &body).text;
    assert!(
        text.contains("[0.25,0.5]"),
        "numbers are as short as they came: {text}"
    );
    let absent = server.get("/collections/c/points/99").error(404);
    assert!(absent.starts_with("Not found:"), "{absent}");
    server.get("/collections/c/points/x").error(400);
}

#[test]
fn scrolls_go_by_id_and_numbers_come_first() {
    let (_dir, server) = filled();
    assert_eq!(
        scrolled(&server, &json!({})),
        [json!(1), json!(2), json!(3), json!(4), json!(UUID)]
    );
    let page = server
        .post("/collections/c/points/scroll", &json!({"limit": 2}))
        .result();
    assert_eq!(page["next_page_offset"], 3);
    let page = json!({"limit": 2, "offset": 4});
    let page = server.post("/collections/c/points/scroll", &page).result();
    assert_eq!(
        (ids(&page["points"]), &page["next_page_offset"]),
        (vec![json!(4), json!(UUID)], &Value::Null)
    );
    let filter = json!({"filter": {"must": [{"key": "k", "match": {"value": "x"}}]}});
    assert_eq!(
        scrolled(&server, &filter),
        [json!(1), json!(3), json!(UUID)]
    );
    let ordered = json!({"order_by": {"key": "n", "direction": "desc"}, "limit": 2});
    let page = server
        .post("/collections/c/points/scroll", &ordered)
        .result();
    assert_eq!(ids(&page["points"]), [json!(UUID), json!(3)]);
    assert_eq!(page["points"][0]["order_value"], 5);
    let count = json!({"filter": {"must_not": [{"has_vector": "a"}]}});
    assert_eq!(
        server.post("/collections/c/points/count", &count).result()["count"],
        2
    );
    let count = json!({"filter": {"must": [{"has_vector": "s"}]}});
    assert_eq!(
        server.post("/collections/c/points/count", &count).result()["count"],
        1
    );
}

#[test]
fn long_integers_have_an_order() {
    let (_dir, server) = filled();
    let first = 1_700_000_000_000_000_000_u64;
    let mut values: Vec<Value> = (0..5).map(|at| json!(first + 50 - 10 * at)).collect();
    values.extend([json!(1.7e18), json!(1.7e19)]);
    let points = values.iter().zip(10..);
    let points: Vec<Value> = points
        .map(|(value, id)| json!({"id": id, "vector": {}, "payload": {"t": value}}))
        .collect();
    server.put(WAIT, &json!({"points": points})).result();
    let own = |direction: &str, start: Option<u64>| {
        let order = json!({"key": "t", "direction": direction, "start_from": start});
        scrolled(&server, &json!({"order_by": order}))
    };
    assert_eq!(own("asc", None), [15, 14, 13, 12, 11, 10, 16]);
    assert_eq!(own("desc", None), [16, 10, 11, 12, 13, 14, 15]);
    assert_eq!(own("asc", Some(first + 40)), [11, 10, 16]);
    assert_eq!(own("desc", Some(first + 20)), [13, 14, 15]);
}

#[test]
fn many_uuids_are_scrolled_in_order() {
    let (_dir, server) = filled();
    let id = |number: u32| format!("{number:08x}-0000-4000-8000-000000000000");
    let points: Vec<Value> = (0..300)
        .map(|number| json!({"id": id(number * 7919 % 300), "vector": {"a": [1, number]}}))
        .collect();
    server.put(WAIT, &json!({"points": points})).result();
    let (mut found, mut offset) = (Vec::new(), json!(id(0)));
    while !offset.is_null() {
        let body = json!({"limit": 37, "offset": offset});
        let page = server.post("/collections/c/points/scroll", &body).result();
        found.extend(ids(&page["points"]));
        offset = page["next_page_offset"].clone();
    }
    let mut expected: Vec<Value> = (0..300).map(|number| json!(id(number))).collect();
    expected.push(json!(UUID));
    assert_eq!(found, expected);
}

#[test]
fn what_was_acknowledged_is_scrolled_while_others_scroll() {
    let (_dir, server) = filled();
    let id = |number: u32| format!("{number:08x}-0000-4000-8000-000000000000");
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let service = server.service();
        let (app, has_ended) = (server.app.clone(), &has_ended);
        scope.spawn(move || {
            let other = Server::of(service, app);
            while !has_ended.load(Ordering::Acquire) {
                scrolled(&other, &json!({"limit": 1, "offset": id(0)}));
            }
        });
        let missed: Vec<u32> = (0..400)
            .filter(|number| {
                let points = json!([{"id": id(*number), "vector": {"a": [1, 0]}}]);
                server.put(WAIT, &json!({"points": points})).result();
                std::thread::sleep(std::time::Duration::from_millis(1));
                let found = scrolled(&server, &json!({"limit": 1, "offset": id(*number)}));
                found != [json!(id(*number))]
            })
            .collect();
        has_ended.store(true, Ordering::Release);
        assert!(missed.is_empty(), "{missed:?}");
    });
}

#[test]
fn queries_find_the_nearest() {
    let (_dir, server) = filled();
    let query = |body: Value| server.post("/collections/c/points/query", &body);
    let found = query(json!({"query": [1, 1], "using": "a", "with_payload": ["n"]})).result();
    let points = &found["points"];
    assert_eq!(ids(points), [json!(UUID), json!(2), json!(1)]);
    assert_eq!(
        (&points[0]["score"], &points[0]["payload"]),
        (&json!(3.0), &json!({"n": 5}))
    );
    assert_eq!(points[0]["version"], 1);
    let near = query(json!({"query": [0, 0, 0], "using": "b", "score_threshold": 2})).result();
    assert_eq!(
        (ids(&near["points"]), &near["points"][0]["score"]),
        (vec![json!(1)], &json!(1.0))
    );
    let own = query(json!({"query": 1, "using": "a", "params": {"exact": true}})).result();
    assert_eq!(ids(&own["points"]), [json!(2), json!(UUID)]);
    let filter = json!({"must": [{"key": "k", "match": {"value": "y"}}]});
    let body =
        json!({"query": [1, 0], "using": "a", "filter": filter, "with_vector": ["a"], "limit": 1});
    let found = query(body).result();
    assert_eq!(found["points"][0]["vector"], json!({"a": [2.0, 0.0]}));
    let behind = query(json!({"query": [1, 1], "using": "a", "offset": 1, "limit": 1})).result();
    assert_eq!(ids(&behind["points"]), [json!(2)]);
    assert_eq!(ids(&query(json!({})).result()["points"]).len(), 5);
    let sample = query(json!({"query": {"sample": "random"}, "limit": 3})).result();
    assert_eq!(ids(&sample["points"]).len(), 3);
    let body = json!({"query": {"sample": "random"}, "limit": 3, "offset": 4});
    assert_eq!(ids(&query(body).result()["points"]).len(), 3);
    query(json!({"query": 99, "using": "a"})).error(404);
    query(json!({"query": 3, "using": "a"})).error(404);
    let wrong = query(json!({"query": [1], "using": "a"})).error(400);
    assert_eq!(
        wrong,
        "Wrong input: Vector dimension error: expected dim: 2, got 1"
    );
    let wrong = query(json!({"query": [1], "using": "z"})).error(400);
    assert_eq!(wrong, "Wrong input: Not existing vector name error: z");
    let wrong = query(json!({"query": {"context": []}, "using": "a"})).error(400);
    assert_eq!(wrong, "Unsupported: `query.context`");
    query(json!({"query": [1, 2], "using": "s"})).error(400);
    query(json!({"query": [1, 2], "using": "a", "limit": 0})).error(422);
}

#[test]
fn queries_come_in_batches_and_groups() {
    let (_dir, server) = filled();
    let one = json!({"query": [1, 1], "using": "a", "limit": 1});
    let body = json!({"searches": [one, {"query": 1, "using": "a", "limit": 1}]});
    let found = server
        .post("/collections/c/points/query/batch", &body)
        .result();
    assert_eq!(
        (ids(&found[0]["points"]), ids(&found[1]["points"])),
        (vec![json!(UUID)], vec![json!(2)])
    );
    let bad = json!({"searches": [one, {"query": [1], "using": "a"}]});
    server
        .post("/collections/c/points/query/batch", &bad)
        .error(400);
    let body = json!({"query": [1, 1], "using": "a", "group_by": "k", "group_size": 2});
    let found = server
        .post("/collections/c/points/query/groups", &body)
        .result();
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    let mut below = body.clone();
    below["prefetch"] = json!({"query": [1, 1], "using": "a", "limit": 1});
    let same = server.post("/collections/c/points/query/groups", &below);
    assert_eq!(
        same.result(),
        found,
        "groups need more than the limit below"
    );
    let group = |id: &str| groups.iter().find(|group| group["id"] == id).unwrap();
    assert_eq!(ids(&group("x")["hits"]), [json!(UUID), json!(1)]);
    assert_eq!(ids(&group("y")["hits"]), [json!(UUID), json!(2)]);
}

#[test]
fn payloads_are_changed() {
    let (_dir, server) = filled();
    let payload =
        |id: u64| server.get(&format!("/collections/c/points/{id}")).result()["payload"].clone();
    let done = |answer: common::Answer| assert_eq!(answer.result()["status"], "completed");
    let base = "/collections/c/points/payload";
    let set = json!({"payload": {"z": 1}, "points": [1]});
    done(server.post(&format!("{base}?wait=true"), &set));
    assert_eq!(payload(1), json!({"n": 1, "k": "x", "z": 1}));
    let set = json!({"payload": {"w": 1}, "filter": {"must": [{"key": "n", "range": {"gte": 3}}]}, "key": "m"});
    done(server.post(&format!("{base}?wait=true"), &set));
    assert_eq!(payload(3), json!({"n": 3, "k": "x", "m": {"w": 1}}));
    let all = json!({"payload": {"only": 1}, "points": [2]});
    done(server.put(&format!("{base}?wait=true"), &all));
    assert_eq!(payload(2), json!({"only": 1}));
    let keyed = json!({"payload": {"all": 2}, "key": "only", "points": [2]});
    done(server.put(&format!("{base}?wait=true"), &keyed));
    assert_eq!(payload(2), json!({"all": 2}), "a key says nothing here");
    for key in ["", "a[", "a..b"] {
        let wrong = json!({"payload": {"a": 1}, "key": key, "points": [2]});
        for method in ["PUT", "POST"] {
            server
                .ask_with((method, base), &[], &wrong.to_string())
                .error(400);
        }
    }
    done(server.put(&format!("{base}?wait=true"), &all));
    let keys = json!({"keys": ["k", "m.w"], "points": [3]});
    done(server.post(&format!("{base}/delete?wait=true"), &keys));
    assert_eq!(payload(3), json!({"n": 3, "m": {}}));
    let list = json!({"payload": {"l": [1, 2], "m": {"u": 1, "v": 2}}, "points": [3]});
    done(server.put(&format!("{base}?wait=true"), &list));
    let keys = json!({"keys": ["l[0]"], "points": [3]});
    done(server.post(&format!("{base}/delete?wait=true"), &keys));
    let nulls = json!({"payload": {"u": null, "x": null}, "key": "m", "points": [3]});
    done(server.post(&format!("{base}?wait=true"), &nulls));
    assert_eq!(payload(3), json!({"l": [1, 2], "m": {"v": 2}}));
    let nulls = json!({"payload": {"l": null}, "points": [3]});
    done(server.post(&format!("{base}?wait=true"), &nulls));
    assert_eq!(payload(3), json!({"m": {"v": 2}}));
    done(server.post(&format!("{base}/clear?wait=true"), &json!({"points": [3]})));
    assert_eq!(payload(3), json!({}));
    let found = server.post(
        "/collections/c/points/query",
        &json!({"query": [0, 0, 4], "using": "b", "limit": 1, "with_payload": true}),
    );
    assert_eq!(
        found.result()["points"][0]["payload"],
        json!({}),
        "every index has it"
    );
    server.post(base, &json!({"payload": {"a": 1}})).error(400);
}

#[test]
fn vectors_are_changed_and_removed() {
    let (_dir, server) = filled();
    let vector =
        |id: u64| server.get(&format!("/collections/c/points/{id}")).result()["vector"].clone();
    let base = "/collections/c/points/vectors";
    let update = json!({"points": [{"id": 2, "vector": {"b": [1, 2, 3]}}]});
    server.put(base, &update).result();
    assert_eq!(vector(2), json!({"a": [2.0, 0.0], "b": [1.0, 2.0, 3.0]}));
    let absent = json!({"points": [{"id": 98, "vector": {"b": [1, 2, 3]}}]});
    server.put(base, &absent).error(404);
    let remove = json!({"points": [1, 2], "vector": ["a"]});
    server.post(&format!("{base}/delete"), &remove).result();
    assert_eq!(vector(1), json!({"b": [0.0, 0.0, 1.0]}));
    let found = server.post(
        "/collections/c/points/query",
        &json!({"query": [1, 1], "using": "a"}),
    );
    assert_eq!(
        ids(&found.result()["points"]),
        [json!(UUID)],
        "no vector of no meaning"
    );
}

#[test]
fn changes_of_points_that_are_not_there_change_the_others() {
    let (_dir, server) = filled();
    let point = |id: u64| server.get(&format!("/collections/c/points/{id}")).result();
    let base = "/collections/c/points";
    let missed = |path: &str, method: &str, body: &Value| {
        let path = format!("{base}/{path}?wait=true");
        let answer = server.ask_with((method, &path), &[], &body.to_string());
        assert_eq!(answer.error(404), "Not found: No point with id 98 found");
    };
    let set = |more: u64| json!({"payload": {"z": more}, "points": [1, 98, 2, 99]});
    missed("payload", "POST", &set(1));
    assert_eq!(point(2)["payload"], json!({"n": 2, "k": "y", "z": 1}));
    missed("payload", "PUT", &set(2));
    assert_eq!(point(2)["payload"], json!({"z": 2}));
    let keys = json!({"keys": ["z"], "points": [98, 1]});
    missed("payload/delete", "POST", &keys);
    assert_eq!(point(1)["payload"], json!({}));
    missed("payload/clear", "POST", &json!({"points": [98, 2]}));
    assert_eq!(point(2)["payload"], json!({}));
    let update = json!({"points": [
        {"id": 98, "vector": {"b": [1, 2, 3]}}, {"id": 2, "vector": {"b": [1, 2, 3]}}]});
    missed("vectors", "PUT", &update);
    assert_eq!(point(2)["vector"]["b"], json!([1.0, 2.0, 3.0]));
    let remove = json!({"points": [98, 2], "vector": ["b"]});
    missed("vectors/delete", "POST", &remove);
    assert_eq!(point(2)["vector"], json!({"a": [2.0, 0.0]}));
    server
        .put(&format!("{base}/vectors"), &json!({"points": []}))
        .error(422);
}

#[test]
fn a_filter_beside_points_counts_for_vectors_that_are_removed_alone() {
    let (_dir, server) = filled();
    let point = |id: u64| server.get(&format!("/collections/c/points/{id}")).result();
    let base = "/collections/c/points";
    let both = |more: Value| {
        let mut body = json!({"filter": {"must": [{"has_id": [1]}]}, "points": [2]});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let set = both(json!({"payload": {"z": 1}}));
    server.post(&format!("{base}/payload"), &set).result();
    assert_eq!(point(2)["payload"]["z"], 1);
    assert_eq!(point(1)["payload"], json!({"n": 1, "k": "x"}));
    let remove = both(json!({"vector": ["a"]}));
    server
        .post(&format!("{base}/vectors/delete"), &remove)
        .result();
    assert_eq!(point(2)["vector"], json!({}));
    assert_eq!(point(1)["vector"], json!({"b": [0.0, 0.0, 1.0]}));
    server
        .post(&format!("{base}/delete"), &both(json!({})))
        .result();
    assert_eq!(
        scrolled(&server, &json!({})),
        [json!(1), json!(3), json!(4), json!(UUID)]
    );
}

#[test]
fn points_are_deleted() {
    let (_dir, server) = filled();
    let path = "/collections/c/points/delete?wait=true";
    server
        .post(path, &json!({"points": [1, 77, UUID]}))
        .result();
    assert_eq!(
        scrolled(&server, &json!({})),
        [json!(2), json!(3), json!(4)]
    );
    let filter = json!({"filter": {"must": [{"key": "n", "match": {"value": 3}}]}});
    server.post(path, &filter).result();
    assert_eq!(scrolled(&server, &json!({})), [json!(2), json!(4)]);
    server.post(path, &json!({})).error(400);
}

#[test]
fn operations_come_in_batches_and_with_conditions() {
    let (_dir, server) = filled();
    let operations = json!({"operations": [
        {"upsert": {"points": [{"id": 10, "vector": {"a": [9, 9]}, "payload": {"v": 1}}]}},
        {"set_payload": {"payload": {"w": 2}, "points": [10]}},
        {"delete": {"points": [1]}},
        {"clear_payload": {"points": [2]}},
    ]});
    let done = server
        .post("/collections/c/points/batch?wait=true", &operations)
        .result();
    let numbers: Vec<u64> = done
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["operation_id"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.len() == 4 && numbers.is_sorted_by(|one, next| one < next),
        "{numbers:?}"
    );
    let own = server.get("/collections/c/points/10").result();
    assert_eq!(own["payload"], json!({"v": 1, "w": 2}));
    let insert = json!({"update_mode": "insert_only", "points": [
        {"id": 10, "vector": {"a": [0, 0]}}, {"id": 11, "vector": {"a": [0, 0]}}]});
    server.put(WAIT, &insert).result();
    let update = json!({"update_mode": "update_only", "points": [
        {"id": 11, "vector": {"a": [5, 5]}}, {"id": 12, "vector": {"a": [5, 5]}}]});
    server.put(WAIT, &update).result();
    let filter = json!({"update_filter": {"must": [{"has_id": [2]}]}, "points": [
        {"id": 2, "vector": {"a": [7, 7]}}, {"id": 3, "vector": {"a": [7, 7]}}]});
    server.put(WAIT, &filter).result();
    let body = json!({"ids": [2, 3, 10, 11, 12], "with_vector": ["a"], "with_payload": false});
    let found = server.post("/collections/c/points", &body).result();
    let vectors: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|point| &point["vector"])
        .collect();
    assert_eq!(
        vectors,
        [
            &json!({"a": [7.0, 7.0]}),
            &json!({}),
            &json!({"a": [9.0, 9.0]}),
            &json!({"a": [5.0, 5.0]})
        ]
    );
}

#[test]
fn values_are_counted() {
    let (_dir, server) = filled();
    let facet = json!({"key": "k"});
    let needed = server.post("/collections/c/facet", &facet).error(400);
    assert!(needed.contains("Index required"), "{needed}");
    let index = json!({"field_name": "k", "field_schema": "keyword"});
    for _ in 0..2 {
        server
            .put("/collections/c/index?wait=true", &index)
            .result();
    }
    let hits = server.post("/collections/c/facet", &facet).result()["hits"].clone();
    assert_eq!(
        hits,
        json!([{"value": "x", "count": 3}, {"value": "y", "count": 2}])
    );
    let schema = server.get("/collections/c").result()["payload_schema"].clone();
    assert_eq!(schema, json!({"k": {"data_type": "keyword", "points": 4}}));
    server.delete("/collections/c/index/k").result();
    assert_eq!(
        server.get("/collections/c").result()["payload_schema"],
        json!({})
    );
    server
        .put(
            "/collections/c/index",
            &json!({"field_name": "k", "field_schema": "magic"}),
        )
        .error(400);
}

#[test]
fn an_index_that_would_cut_texts_otherwise_is_refused() {
    let (_dir, server) = filled();
    let index = |more: Value| {
        let mut schema = json!({"type": "text", "tokenizer": "word", "lowercase": true});
        let all = schema.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        let body = json!({"field_name": "k", "field_schema": schema});
        server.put("/collections/c/index", &body)
    };
    for (more, word) in [
        (json!({"tokenizer": "prefix"}), "tokenizer"),
        (json!({"lowercase": false}), "lowercase"),
        (json!({"stopwords": "english"}), "stopwords"),
        (json!({"stopwords": {"custom": ["the"]}}), "stopwords"),
        (json!({"ascii_folding": true}), "ascii_folding"),
        (json!({"stemmer": {"type": "snowball"}}), "stemmer"),
    ] {
        let text = index(more).error(400);
        assert!(text.contains(&format!("field_schema.{word}")), "{text}");
    }
    index(json!({"stopwords": [], "stemmer": null, "ascii_folding": false})).result();
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_lost() {
    let (_dir, server) = filled();
    let insert = |body: Value| server.put(WAIT, &body);
    for (point, status, word) in [
        (
            json!({"id": -1, "vector": {}}),
            400,
            "Format error in JSON body",
        ),
        (
            json!({"id": "1", "vector": {}}),
            400,
            "not a valid point ID",
        ),
        (
            json!({"id": 8, "vector": {"a": [1]}}),
            400,
            "expected dim: 2, got 1",
        ),
        (
            json!({"id": 8, "vector": {"z": [1]}}),
            400,
            "Not existing vector name error: z",
        ),
        (
            json!({"id": 8, "vector": [1, 2]}),
            400,
            "Not existing vector name error: ",
        ),
        (
            json!({"id": 8, "vector": {"a": [1e39, 0]}}),
            422,
            "points[0].vector.a",
        ),
        (json!({"id": 8, "vector": {"a": [[1, 2]]}}), 400, "multi"),
        (
            json!({"id": 8, "vector": {"a": [1, 2]}, "payload": {"\u{1}": 1}}),
            400,
            "control",
        ),
        (
            json!({"id": 8, "vector": {"s": {"indices": [1], "values": []}}}),
            422,
            "same length",
        ),
    ] {
        let error = insert(json!({"points": [point]})).error(status);
        assert!(error.contains(word), "{error}");
    }
    let text = server
        .ask_with(("PUT", WAIT), &[], "{\"points\": [")
        .error(400);
    assert!(text.starts_with("Format error in JSON body: "), "{text}");
    insert(json!({"points": [], "shard_key": "a"})).error(400);
    server
        .put("/collections/c/points?wait=maybe", &json!({"points": []}))
        .error(400);
    server
        .put("/collections/c/points?timeout=0", &json!({"points": []}))
        .error(422);
    let large = [("content-length", "40000000")];
    server.ask_with(("PUT", WAIT), &large, "{}").error(413);
    server
        .put("/collections/none/points", &json!({"points": []}))
        .error(404);
    assert!(
        server
            .post("/collections/c/points/search/matrix/pairs", &json!({}))
            .error(400)
            .contains("matrix_pairs")
    );
    assert_eq!(server.get("/no/such/path").status, 404);
    assert_eq!(
        server
            .post("/collections/c/points/count", &json!({}))
            .result()["count"],
        5
    );
}

#[test]
fn older_clients_search_and_recommend() {
    let (_dir, server) = filled();
    let post =
        |path: &str, body: Value| server.post(&format!("/collections/c/points/{path}"), &body);
    let found = |path: &str, body: Value| post(path, body).result();
    let named = json!({"name": "a", "vector": [1, 0]});
    let plain = json!({"vector": named, "limit": 2, "with_payload": ["k"], "with_vector": ["b"]});
    let asked = json!({"query": [1, 0], "using": "a", "limit": 2, "with_payload": ["k"],
        "with_vector": ["b"]});
    let expected = found("query", asked);
    let points = found("search", plain.clone());
    assert_eq!(ids(&points), [json!(2), json!(1)]);
    assert_eq!(points, expected["points"]);
    let both = found("search/batch", json!({"searches": [plain, plain]}));
    assert_eq!(both, json!([points, points]));
    let groups = json!({"vector": named, "group_by": "k", "limit": 2});
    let groups = found("search/groups", groups);
    let query = json!({"query": [1, 0], "using": "a", "group_by": "k", "limit": 2});
    assert_eq!(groups, found("query/groups", query));

    // Away from the second, which is one of them as the first is: what is left is the third.
    let like = json!({"positive": [1], "negative": [2], "using": "a", "limit": 5});
    assert_eq!(ids(&found("recommend", like.clone())), [json!(UUID)]);
    let query = json!({"recommend": {"positive": [1], "negative": [2]}});
    let query = json!({"query": query, "using": "a", "limit": 5});
    assert_eq!(
        found("query", query)["points"],
        found("recommend", like.clone())
    );
    let many = found("recommend/batch", json!({"searches": [like]}));
    assert_eq!(many[0], found("recommend", like.clone()));
    let mut grouped = like;
    grouped["group_by"] = json!("k");
    let groups = found("recommend/groups", grouped);
    assert_eq!(groups["groups"][0]["hits"][0]["id"], UUID);

    for (path, body, word) in [
        ("search", json!({"vector": named}), "`limit`"),
        ("search", json!({"vector": 1, "limit": 1}), "numbers"),
        (
            "search",
            json!({"vector": {"name": "x", "vector": [1]}, "limit": 1}),
            "x",
        ),
        (
            "recommend",
            json!({"negative": [1], "using": "a", "limit": 1}),
            "positive",
        ),
        (
            "recommend",
            json!({"positive": [9], "using": "a", "limit": 1}),
            "9",
        ),
        (
            "recommend",
            json!({"positive": [[1]], "using": "a", "limit": 1}),
            "dim: 2, got 1",
        ),
        (
            "search/batch",
            json!({"searches": [{"limit": 1}]}),
            "searches[0]",
        ),
    ] {
        let answer = post(path, body.clone());
        assert!(matches!(answer.status, 400 | 404), "{path} {body}");
        assert!(
            answer.text.contains(word),
            "{path} {body}: {:?}",
            answer.text
        );
    }
}

#[test]
fn the_last_of_two_points_of_an_id_counts() {
    let (_dir, server) = filled();
    let points = json!({"points": [
        {"id": 50, "vector": {"a": [1, 1]}, "payload": {"x": 1}},
        {"id": 50, "vector": {"a": [2, 2]}, "payload": {"x": 2}},
        {"id": u64::MAX, "vector": {"a": [3, 3]}},
    ]});
    server.put(WAIT, &points).result();
    assert_eq!(
        server.get("/collections/c/points/50").result()["payload"],
        json!({"x": 2})
    );
    let last = server
        .get(&format!("/collections/c/points/{}", u64::MAX))
        .result();
    assert_eq!(last["id"], json!(u64::MAX));
}

#[test]
fn cosine_vectors_come_back_at_length_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let config = json!({"vectors": {"size": 2, "distance": "Cosine"}});
    server.put("/collections/u", &config).result();
    let points = json!({"batch": {"ids": [1, 2], "vectors": [[3, 4], [0, 2]]}});
    server
        .put("/collections/u/points?wait=true", &points)
        .result();
    let own = server.get("/collections/u/points/1").result();
    assert_eq!(own["vector"], json!([0.6, 0.8]));
    let found = server
        .post("/collections/u/points/query", &json!({"query": [0, 5]}))
        .result();
    assert_eq!(ids(&found["points"]), [json!(2), json!(1)]);
    assert_eq!(found["points"][0]["score"], 1.0);
    let zero = json!({"points": [{"id": 3, "vector": [0, 0]}]});
    server.put("/collections/u/points", &zero).error(400);
}

#[test]
fn keys_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::with_keys(dir.path(), Keys::new(Some("all"), Some("read")));
    let ask = |method: &str, path: &str, key: &str| {
        server
            .ask_with((method, path), &[("api-key", key)], "{}")
            .status
    };
    assert_eq!(server.get("/").status, 200);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!(server.get("/collections").status, 401);
    assert_eq!(ask("GET", "/collections?api-key=all", "wrong"), 401);
    assert_eq!(ask("GET", "/collections", "read"), 200);
    assert_eq!(ask("PUT", "/collections/a", "read"), 403);
    assert_eq!(ask("PUT", "/collections/a", "all"), 200);
    assert_eq!(ask("POST", "/collections/a/points/query", "read"), 200);
    assert_eq!(ask("POST", "/collections/a/points/delete", "read"), 403);
}

#[test]
fn everything_is_there_after_a_stop() {
    let (dir, server) = filled();
    let before = server
        .post(
            "/collections/c/points/scroll",
            &json!({"with_vector": true}),
        )
        .result();
    server.close();
    let server = Server::open(dir.path());
    let after = server
        .post(
            "/collections/c/points/scroll",
            &json!({"with_vector": true}),
        )
        .result();
    assert_eq!(before, after);
}

#[test]
fn queries_are_about_what_others_find() {
    let (_dir, server) = filled();
    let query = |body: Value| server.post("/collections/c/points/query", &body);
    let near = json!({"query": [1, 1], "using": "a", "limit": 2});
    let far = json!({"query": [-1, -1], "using": "a", "limit": 2});
    let first = ids(&query(near.clone()).result()["points"]);
    // Among two, by another vector: an order of their own, and no others.
    let again = json!({"prefetch": near, "query": [-1, -1], "using": "a", "with_payload": true});
    let mut found = ids(&query(again).result()["points"]);
    found.reverse();
    assert_eq!(found, first);
    let both = json!([near, far]);
    for fusion in [
        json!({"fusion": "rrf"}),
        json!({"fusion": "dbsf"}),
        json!({"rrf": {"k": 1, "weights": [5, 1]}}),
    ] {
        let fused = query(json!({"prefetch": both, "query": fusion, "with_payload": true}));
        let points = fused.result()["points"].clone();
        assert!(ids(&points).contains(&first[0]), "{points}");
        assert!(points[0]["payload"].is_object());
        let few = json!({"prefetch": both, "query": fusion, "limit": 1, "offset": 1});
        assert_eq!(ids(&query(few).result()["points"]), ids(&points)[1..2]);
        let least = points[0]["score"].clone();
        let some = json!({"prefetch": both, "query": fusion, "score_threshold": least});
        assert!(!ids(&query(some).result()["points"]).is_empty());
    }
    // A filter above holds below, and a prefetch may have its own.
    let none =
        json!({"prefetch": both, "query": {"fusion": "rrf"}, "filter": {"must": [{"has_id": []}]}});
    assert!(ids(&query(none).result()["points"]).is_empty());
    let nested = json!({"prefetch": {"prefetch": both, "query": {"fusion": "rrf"}, "limit": 1},
        "query": {"sample": "random"}});
    assert_eq!(ids(&query(nested).result()["points"]).len(), 1);
    let unlike = |share: f64| {
        let nearest = json!({"nearest": [1, 1], "mmr": {"diversity": share}});
        let found = query(json!({"query": nearest, "using": "a", "limit": 2}));
        ids(&found.result()["points"])
    };
    assert_eq!(unlike(0.0), first);
    assert_eq!(
        (unlike(1.0).len(), unlike(1.0)[0].clone()),
        (2, first[0].clone())
    );
    for (wrong, status) in [
        (
            json!({"query": {"nearest": [1, 1], "mmr": {"diversity": 2}}, "using": "a"}),
            422,
        ),
        (json!({"prefetch": both}), 400),
        (json!({"query": {"fusion": "rrf"}}), 400),
        (
            json!({"prefetch": both, "query": {"fusion": "rrf"}, "using": "a"}),
            400,
        ),
        (
            json!({"prefetch": both, "query": {"rrf": {"weights": [1]}}}),
            400,
        ),
        (
            json!({"prefetch": {"query": [1], "using": "a"}, "query": {"fusion": "rrf"}}),
            400,
        ),
        (
            json!({"prefetch": {"limit": 0}, "query": {"fusion": "rrf"}}),
            422,
        ),
        (json!({"prefetch": 5, "query": {"fusion": "rrf"}}), 400),
    ] {
        query(wrong).error(status);
    }
}

#[test]
fn points_of_other_collections_are_looked_up() {
    let (_dir, server) = filled();
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    server.put("/collections/other", &config).result();
    let points = json!({"points": [{"id": 7, "vector": [1, 1], "payload": {"n": 1}}]});
    server
        .put("/collections/other/points?wait=true", &points)
        .result();
    let query = |body: Value| server.post("/collections/c/points/query", &body);
    let given = query(json!({"query": [1, 1], "using": "a"})).result();
    let from = json!({"query": 7, "using": "a", "lookup_from": {"collection": "other"}});
    assert_eq!(query(from.clone()).result(), given);
    let below = json!({"prefetch": [from], "query": {"fusion": "rrf"}});
    assert_eq!(ids(&query(below).result()["points"]), ids(&given["points"]));
    for (from, status) in [
        (json!({"collection": "none"}), 404),
        (json!({"collection": "other", "vector": "x"}), 400),
        (json!({"collection": "other", "shard_key": "x"}), 400),
    ] {
        query(json!({"query": 7, "using": "a", "lookup_from": from})).error(status);
    }
    query(json!({"query": 8, "using": "a", "lookup_from": {"collection": "other"}})).error(404);
    let numbers = json!({"payload": {"of": 7}, "points": [1, 2]});
    server
        .post("/collections/c/points/payload?wait=true", &numbers)
        .result();
    for (lookup, payload) in [
        (json!("other"), json!({"n": 1})),
        (
            json!({"collection": "other", "with_payload": false}),
            Value::Null,
        ),
    ] {
        let body = json!({"query": [1, 1], "using": "a", "group_by": "of", "with_lookup": lookup});
        let found = server
            .post("/collections/c/points/query/groups", &body)
            .result();
        let group = &found["groups"][0];
        assert_eq!(
            (&group["id"], &group["lookup"]["id"]),
            (&json!(7), &json!(7))
        );
        assert_eq!(group["lookup"]["payload"], payload);
    }
    let body = json!({"query": [1, 1], "using": "a", "group_by": "of", "with_lookup": "none"});
    server
        .post("/collections/c/points/query/groups", &body)
        .error(404);
}

#[test]
fn what_a_search_cost_is_told() {
    let (_dir, server) = filled();
    let body = json!({"query": [1, 1], "using": "a", "params": {"pageway": {"explain": true}}});
    let found = server.post("/collections/c/points/query", &body).result();
    let plan = &found["pageway"]["searches"][0];
    assert_eq!(
        (&plan["vector"], &plan["exact"]),
        (&json!("a"), &json!(false))
    );
    assert!(plan["exact_distances"].is_number() && plan["list_size"].is_number());
    // Every request is slow to this server.
    let own = server.get("/pageway/collections/c").result();
    let slow = &own["slow"][0];
    assert_eq!(
        (&slow["op"], &slow["searches"][0]["vector"]),
        (&json!("query_points"), &json!("a"))
    );
    assert!(own["indexes"][0]["calibration"]["curves"].is_array());
    // The first query of all is answered again exactly.
    let line = "pageway_recall_sampled{collection=\"c\"} 1";
    let told = (0..3000).any(|_| {
        let text = server.get("/metrics").text;
        let is_told = text.lines().any(|own| own == line);
        if is_told {
            assert!(text.contains("pageway_searches_total 1\n"), "{text}");
            assert!(text.contains("pageway_points{collection=\"c\"} "), "{text}");
        } else {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        is_told
    });
    assert!(told, "{line}");
}

#[test]
fn answers_stay_within_their_memory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    server.put("/collections/c", &config).result();
    let text = "t".repeat(900_000);
    for id in 0..8 {
        let point = json!({"id": id, "vector": [id, 1], "payload": {"text": text}});
        server.put(WAIT, &json!({"points": [point]})).result();
    }
    let ask = |path: &str, limit: usize, payload: bool| {
        let body = json!({"query": [1, 1], "limit": limit, "with_payload": payload});
        server.post(&format!("/collections/c/points/{path}"), &body)
    };
    for path in ["query", "scroll"] {
        for (limit, payload) in [(3, true), (8, false)] {
            assert_eq!(
                ask(path, limit, payload).result()["points"]
                    .as_array()
                    .unwrap()
                    .len(),
                limit
            );
        }
        let error = ask(path, 8, true).error(507);
        assert!(error.contains("ask for fewer"), "{error}");
    }
    // What was refused holds nothing.
    assert_eq!(ask("query", 3, true).status, 200);
}

#[test]
fn a_collection_has_a_recall_of_its_own() {
    let (_dir, server) = filled();
    let told = |query: &Value| {
        let found = server.post("/collections/c/points/query", query).result();
        found["pageway"]["searches"][0].clone()
    };
    let query = json!({"query": [1, 1], "using": "a", "params": {"pageway": {"explain": true}}});
    assert!((told(&query)["recall"].as_f64().unwrap() - 0.95).abs() < 1e-6);
    let recall = |recall: f64| json!({"metadata": {"pageway": {"recall": recall}}});
    let change =
        |body: &Value| server.ask_with(("PATCH", "/collections/c"), &[], &body.to_string());
    assert!(
        change(&recall(1.0))
            .error(422)
            .contains("metadata.pageway.recall")
    );
    change(&recall(0.5)).result();
    let shown = server.get("/collections/c").result();
    assert_eq!(shown["config"]["metadata"], recall(0.5)["metadata"]);
    assert_eq!(told(&query)["recall"], 0.5);
    for (own, status, word) in [
        (json!({"recall": 2}), 422, "params.pageway.recall"),
        (json!({"recal": 0.9}), 400, "recal"),
    ] {
        let query = json!({"query": [1, 1], "using": "a", "params": {"pageway": own}});
        let refused = server.post("/collections/c/points/query", &query);
        assert!(refused.error(status).contains(word));
    }
}

#[test]
fn a_collection_that_does_not_open_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let vectors: serde_json::Map<String, Value> = (0..16)
        .map(|at| (at.to_string(), json!({"size": 16384, "distance": "Dot"})))
        .collect();
    let path = "/collections/c";
    let refusal = server.put(path, &json!({"vectors": vectors})).error(507);
    let named = refusal.split_once("--memory ").unwrap().1;
    let named = named.split_once(' ').unwrap().0.parse().unwrap();
    server.get(path).error(404);
    let left = std::fs::read_dir(dir.path().join("collections")).unwrap();
    assert_eq!(left.count(), 0);
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    assert_eq!(server.put(path, &config).result(), json!(true));
    // With what the refusal names it is.
    let dir = tempfile::tempdir().unwrap();
    let server = Server::with_memory(dir.path(), named);
    server.put(path, &json!({"vectors": vectors})).result();
}

#[test]
fn three_vectors_fit_the_least_memory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::with_memory(dir.path(), 64 << 20);
    let vectors: serde_json::Map<String, Value> = (0..3)
        .map(|at| (at.to_string(), json!({"size": 128, "distance": "Cosine"})))
        .collect();
    server
        .put("/collections/c", &json!({"vectors": vectors}))
        .result();
    for round in 0..10 {
        let point = |id: u64| {
            let vector: Vec<u64> = (0..128).map(|at| 1 + id * (at + 7) % 97).collect();
            let named = json!({"0": vector, "1": vector, "2": vector});
            json!({"id": id, "vector": named, "payload": {"n": id}})
        };
        let points: Vec<Value> = (100 * round..100 * (round + 1)).map(point).collect();
        server.put(WAIT, &json!({"points": points})).result();
    }
    let body = json!({"query": 7, "using": "2", "limit": 3, "with_payload": true});
    let found = server.post("/collections/c/points/query", &body).result();
    assert_eq!(found["points"].as_array().unwrap().len(), 3);
}
