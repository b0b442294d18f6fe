//! Nodes and a router in processes of their own, two shards on two nodes each: the router answers
//! as one server that has all points, whatever becomes of any one node.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test may panic, and tests write files"
)]

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Process, ask, result};
use common::routed::{End, done, wait_for};
use pageway::lab::clock;
use serde_json::{Value, json};

const POINTS: u64 = 400;
/// Time in which everything answers again.
const RECOVERY: Duration = Duration::from_secs(5);

fn vector(seed: u64) -> Vec<f64> {
    common::routed::vector(seed, 8)
}

fn point(id: u64) -> Value {
    let payload = json!({"g": id % 7, "n": id * 37 % 101, "w": format!("w{}", id % 3)});
    json!({"id": id, "vector": vector(id), "payload": payload})
}

/// One server with all points as `c`, and a part of them as `s0` and `s1`.
struct Maker {
    process: Process,
    dir: PathBuf,
}

impl Maker {
    fn start(dir: &Path) -> Self {
        let dir = dir.join("maker");
        let process = Process::start(&dir);
        for name in ["c", "s0", "s1"] {
            let config = json!({"vectors": {"size": 8, "distance": "Cosine"}});
            done(
                &process.address,
                ("PUT", &format!("/collections/{name}")),
                &config,
            );
            let index = json!({"field_name": "g", "field_schema": "integer"});
            let path = format!("/collections/{name}/index");
            done(&process.address, ("PUT", &path), &index);
        }
        let maker = Self { process, dir };
        maker.put(0..POINTS);
        maker
    }

    fn put(&self, ids: std::ops::Range<u64>) {
        for (name, rest) in [("c", None), ("s0", Some(0)), ("s1", Some(1))] {
            let own = ids
                .clone()
                .filter(|id| rest.is_none_or(|rest| id % 2 == rest));
            let points: Vec<Value> = own.map(point).collect();
            let path = format!("/collections/{name}/points?wait=true");
            done(
                &self.process.address,
                ("PUT", &path),
                &json!({"points": points}),
            );
        }
    }

    fn sequence(&self, shard: &str) -> u64 {
        let path = format!("/pageway/collections/{shard}");
        let own = done(&self.process.address, ("GET", &path), &json!({}));
        own["sequence"].as_u64().unwrap()
    }

    /// Puts a shard as it is into the directory of a node, under a name there.
    fn give(&self, shard: &str, node: &Node, name: &str) {
        let path = format!("/collections/{shard}/snapshots");
        let made = done(&self.process.address, ("POST", &path), &json!({}));
        let file = made["name"].as_str().unwrap();
        let folder = node.dir.join("snapshots").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let from = self.dir.join("snapshots").join(shard).join(file);
        std::fs::copy(from, folder.join(file)).unwrap();
        let location = format!("file://{}", folder.join(file).display());
        let path = format!("/collections/{name}/snapshots/recover");
        done(
            &node.process.address,
            ("PUT", &path),
            &json!({"location": location}),
        );
    }
}

struct Node {
    process: Process,
    name: &'static str,
    dir: PathBuf,
}

impl Node {
    fn start(dir: &Path, name: &'static str) -> Self {
        let dir = dir.join(name);
        let process = Self::process(&dir, name, "127.0.0.1:0");
        Self { process, name, dir }
    }

    fn process(dir: &Path, name: &str, address: &str) -> Process {
        let dir = dir.to_str().unwrap();
        Process::with_words([
            "--listen",
            address,
            "--memory",
            "64MB",
            "--data-dir",
            dir,
            "--node",
            name,
        ])
    }

    /// Starts again where it was.
    fn restart(&mut self) {
        let address = self.process.address.clone();
        self.process = Self::process(&self.dir, self.name, &address);
    }
}

/// The map of nodes `a`, `b` with shard 0 and `c`, `d` with shard 1, but for some.
fn write_map(dir: &Path, version: u64, nodes: &[&Node], sequences: (u64, u64)) -> PathBuf {
    let mut text = format!("version = {version}\n[nodes]\n");
    for node in nodes {
        writeln!(text, "{} = 'http://{}'", node.name, node.process.address).unwrap();
    }
    for (number, (own, sequence)) in [("ab", sequences.0), ("cd", sequences.1)]
        .iter()
        .enumerate()
    {
        let names = nodes.iter().filter(|node| own.contains(node.name));
        let names: Vec<String> = names.map(|node| format!("'{}'", node.name)).collect();
        let head = format!("[[collections.c.shards]]\ncollection = 's{number}'");
        let names = names.join(", ");
        writeln!(text, "{head}\nnodes = [{names}]\nsequence = {sequence}").unwrap();
    }
    let path = dir.join("map.toml");
    // In one step, as a reader may look at any time.
    std::fs::write(dir.join("next.toml"), text).unwrap();
    std::fs::rename(dir.join("next.toml"), &path).unwrap();
    path
}

fn router(map: &Path) -> Process {
    let map = map.to_str().unwrap();
    Process::with_words(["route", "--listen", "127.0.0.1:0", "--map", map])
}

struct Whole {
    _dir: tempfile::TempDir,
    root: PathBuf,
    maker: Maker,
    nodes: Vec<Node>,
    router: Process,
}

fn cluster() -> Whole {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_path_buf();
    let maker = Maker::start(&root);
    let nodes = ["a", "b", "c", "d"].map(|name| Node::start(&root, name));
    for node in &nodes {
        let shard = if "ab".contains(node.name) { "s0" } else { "s1" };
        maker.give(shard, node, shard);
    }
    let sequences = (maker.sequence("s0"), maker.sequence("s1"));
    let all: Vec<&Node> = nodes.iter().collect();
    let router = router(&write_map(&root, 1, &all, sequences));
    Whole {
        _dir: dir,
        root,
        maker,
        nodes: nodes.into(),
        router,
    }
}

/// Reads, by path below a collection.
fn reads() -> Vec<(&'static str, Value)> {
    let exact = json!({"exact": true});
    let filter = json!({"must": [{"key": "g", "match": {"value": 3}}]});
    let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    vec![
        (
            "points/query",
            json!({"query": vector(1001), "limit": 12, "params": exact}),
        ),
        (
            "points/query",
            json!({"query": vector(1002), "limit": 5, "offset": 7, "params": exact,
            "with_payload": true, "with_vector": true}),
        ),
        (
            "points/query",
            json!({"query": vector(1003), "filter": filter, "params": exact,
            "score_threshold": 0.1, "with_payload": ["g"]}),
        ),
        (
            "points/query",
            json!({"query": 17, "limit": 6, "params": exact}),
        ),
        (
            "points/query",
            json!({"filter": filter, "limit": 9, "offset": 2}),
        ),
        (
            "points/query",
            json!({"query": {"order_by": "n"}, "limit": 9, "with_payload": true}),
        ),
        (
            "points/query",
            json!({"query": {"order_by": {"key": "n", "direction": "desc"}}}),
        ),
        (
            "points/query",
            json!({"query": {"fusion": "rrf"}, "limit": 8, "with_payload": true,
            "prefetch": [{"query": vector(1004), "limit": 20, "params": exact},
                {"query": vector(1005), "limit": 20, "params": exact, "filter": filter}]}),
        ),
        (
            "points/query",
            json!({"query": vector(1006), "limit": 4, "prefetch":
            {"query": vector(1007), "limit": 30, "params": exact}}),
        ),
        (
            "points/query/batch",
            json!({"searches": [
            {"query": vector(1008), "limit": 3, "params": exact},
            {"query": 5, "limit": 2, "params": exact, "with_payload": true}]}),
        ),
        (
            "points/query/batch",
            json!({"searches": [
            {"query": vector(1009), "limit": 3, "params": exact}, {"limit": 4}]}),
        ),
        (
            "points/query/groups",
            json!({"query": vector(1010), "group_by": "w", "limit": 3,
            "group_size": 2, "params": exact, "with_payload": true, "with_vector": true}),
        ),
        (
            "points/query",
            json!({"query": {"recommend": {"positive": [3, vector(1011), 40], "negative": [8]}},
            "limit": 6, "params": exact}),
        ),
        (
            "points/search",
            json!({"vector": vector(1012), "limit": 5, "offset": 2, "params": exact,
            "filter": filter, "with_payload": true}),
        ),
        (
            "points/search/batch",
            json!({"searches": [{"vector": vector(1013), "limit": 3, "params": exact},
            {"vector": vector(1014), "limit": 2, "params": exact}]}),
        ),
        (
            "points/search/groups",
            json!({"vector": vector(1015), "group_by": "w", "limit": 3, "group_size": 2,
            "params": exact}),
        ),
        (
            "points/recommend",
            json!({"positive": [3, 40], "negative": [8, 9], "limit": 6, "params": exact}),
        ),
        (
            "points/recommend/batch",
            json!({"searches": [{"positive": [7], "limit": 3, "params": exact}]}),
        ),
        (
            "points/recommend/groups",
            json!({"positive": [3], "group_by": "w", "limit": 3, "group_size": 2,
            "params": exact}),
        ),
        ("points/scroll", json!({"limit": 30, "with_vector": true})),
        (
            "points/scroll",
            json!({"limit": 30, "offset": 35, "filter": filter}),
        ),
        (
            "points/scroll",
            json!({"limit": 10, "order_by": {"key": "n", "start_from": 50}}),
        ),
        ("points/count", json!({"filter": filter})),
        ("points/count", json!({})),
        (
            "points",
            json!({"ids": [9, 4, 100_000, 11, uuid], "with_vector": true}),
        ),
        ("facet", json!({"key": "g", "limit": 4})),
    ]
}

/// The same as one server says; versions are those of a shard.
fn without_versions(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(own) => {
            own.remove("version");
            own.values_mut()
                .for_each(|one| *one = without_versions(one.take()));
        }
        Value::Array(all) => all
            .iter_mut()
            .for_each(|one| *one = without_versions(one.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    answer
}

#[test]
fn a_router_answers_as_one_server() {
    let whole = cluster();
    let (one, routed) = (&whole.maker.process.address, &whole.router.address);
    for (path, body) in reads() {
        let path = format!("/collections/c/{path}");
        let found = done(routed, ("POST", &path), &body);
        let expected = done(one, ("POST", &path), &body);
        let (found, expected) = (without_versions(found), without_versions(expected));
        assert_eq!(found, expected, "{path} {body}");
        let is_empty = expected == json!([]) || expected["points"] == json!([]);
        assert!(!is_empty, "{path} {body} says nothing");
    }
    for path in ["/collections/c/points/21", "/collections/c/exists"] {
        let get = |address: &str| done(address, ("GET", path), &json!({}));
        assert_eq!(get(routed), get(one), "{path}");
    }
    let names = done(routed, ("GET", "/collections"), &json!({}));
    assert_eq!(names, json!({"collections": [{"name": "c"}]}));
    let own = done(routed, ("GET", "/collections/c"), &json!({}));
    assert_eq!(
        (
            &own["points_count"],
            &own["config"]["params"]["shard_number"]
        ),
        (&json!(POINTS), &json!(2))
    );
    assert_eq!(own["payload_schema"]["g"]["points"], json!(POINTS));
    for (request, body, status, word) in [
        (
            ("GET", "/collections/c/points/9999"),
            json!({}),
            404,
            "9999",
        ),
        (("GET", "/collections/x"), json!({}), 404, "`x`"),
        (
            ("POST", "/collections/c/points/query"),
            json!({"query": [1]}),
            400,
            "dimension",
        ),
        (
            ("POST", "/collections/c/points/query"),
            json!({"query": {"sample": "random"}}),
            400,
            "sample",
        ),
        (
            ("POST", "/collections/c/points/query"),
            json!({"query": {"nearest": vector(1), "mmr": {}}}),
            400,
            "mmr",
        ),
        (
            ("POST", "/collections/c/points/query"),
            json!({"query": 99_999}),
            404,
            "99999",
        ),
        (
            ("POST", "/collections/c/points/query"),
            json!({"query": vector(1), "filter": {"must": [{"key": "g", "match": {"x": 1}}]}}),
            400,
            "match",
        ),
        (
            ("POST", "/collections/c/facet"),
            json!({"key": "zz"}),
            400,
            "Index required",
        ),
        (
            ("PUT", "/collections/c/points"),
            json!({"points": [point(1)]}),
            403,
            "cut",
        ),
        (
            ("DELETE", "/collections/c"),
            json!({}),
            403,
            "delete_collection",
        ),
        (("GET", "/telemetry"), json!({}), 400, "telemetry"),
    ] {
        let (found, answer) = ask(routed, request, &body).unwrap();
        let text = answer["status"]["error"].as_str().unwrap_or_default();
        assert!(
            found == status && text.contains(word),
            "{request:?} {body}: {found} {answer}"
        );
    }
    let write = json!({"points": [point(1)]});
    let node = &whole.nodes[0].process.address;
    let (status, answer) = ask(node, ("PUT", "/collections/s0/points"), &write).unwrap();
    assert_eq!(status, 403, "{answer}");
    let query = json!({"query": vector(1), "params": {"pageway": {"explain": true}}});
    let told = done(routed, ("POST", "/collections/c/points/query"), &query);
    assert_eq!(
        told["pageway"]["shards"].as_array().unwrap().len(),
        2,
        "{told}"
    );
    let state = done(routed, ("GET", "/pageway/cluster"), &json!({}));
    assert_eq!(state["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(state["collections"]["c"][1]["ready"], json!(["c", "d"]));
}

/// Asks a router for good, and holds every answer to what one server says.
fn ask_on(router: &str, expected: &[(Value, Value)], ends: &AtomicBool, asked: &AtomicU64) {
    for (query, answer) in expected.iter().cycle() {
        if ends.load(Ordering::Relaxed) {
            return;
        }
        let request = ("POST", "/collections/c/points/query");
        let found = done(router, request, query);
        assert_eq!(&found, answer);
        asked.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_query_is_lost_or_wrong_whatever_becomes_of_a_node() {
    let mut whole = cluster();
    let router = whole.router.address.clone();
    let expected: Vec<(Value, Value)> = (0..20)
        .map(|number| {
            let query =
                json!({"query": vector(2000 + number), "limit": 8, "params": {"exact": true}});
            let one = &whole.maker.process.address;
            let answer = done(one, ("POST", "/collections/c/points/query"), &query);
            (query, answer)
        })
        .collect();
    let (ends, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _end = End(&ends);
        let asking: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| ask_on(&router, &expected, &ends, &asked)))
            .collect();
        let go_on = |least: u64| {
            let from = asked.load(Ordering::Relaxed);
            let began = clock::now();
            while asked.load(Ordering::Relaxed) < from + least {
                let is_well = asking.iter().all(|own| !own.is_finished());
                assert!(is_well && clock::now() - began < Duration::from_secs(60));
                thread::sleep(Duration::from_millis(5));
            }
        };
        go_on(30);
        for at in 0..4 {
            whole.nodes[at].process.kill();
            go_on(30);
            whole.nodes[at].restart();
            wait_for(("in rotation again", RECOVERY), || ready(&router, at));
            whole.nodes[at].process.signal("STOP");
            go_on(30);
            whole.nodes[at].process.signal("CONT");
            wait_for(("in rotation again", RECOVERY), || ready(&router, at));
        }
        let sequences = (whole.maker.sequence("s0"), whole.maker.sequence("s1"));
        for (version, absent) in [(2, 0), (3, 1), (4, 2), (5, 3)] {
            let left = whole
                .nodes
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != absent);
            let left: Vec<&Node> = left.map(|(_, node)| node).collect();
            write_map(&whole.root, version, &left, sequences);
            wait_for(("the next map", RECOVERY), || {
                version_of(&router) == version
            });
            go_on(30);
        }
    });
    assert!(asked.load(Ordering::Relaxed) >= 13 * 30);
}

fn version_of(router: &str) -> u64 {
    let state = result(router, ("GET", "/pageway/cluster"), &json!({}));
    state
        .and_then(|state| state["version"].as_u64())
        .unwrap_or(0)
}

fn ready(router: &str, at: usize) -> bool {
    let state = result(router, ("GET", "/pageway/cluster"), &json!({}));
    state.is_some_and(|state| state["nodes"][at]["in_rotation"] == true)
}

#[test]
fn what_is_missing_is_said_and_what_is_old_is_not_used() {
    let mut whole = cluster();
    let router = whole.router.address.clone();
    let query = json!({"query": vector(3000), "limit": 8, "params": {"exact": true}});
    let path = "/collections/c/points/query";
    for at in [2, 3] {
        whole.nodes[at].process.kill();
    }
    let (status, answer) = ask(&router, ("POST", path), &query).unwrap();
    let text = answer["status"]["error"].as_str().unwrap();
    assert!(status == 503 && text.contains("s1"), "{answer}");
    let partial = format!("{path}?allow_partial=true");
    let (status, answer) = ask(&router, ("POST", &partial), &query).unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        answer["pageway"],
        json!({"complete": false, "missing": ["s1"]})
    );
    let own = done(
        &whole.maker.process.address,
        ("POST", "/collections/s0/points/query"),
        &query,
    );
    assert_eq!(answer["result"], own, "what the other shard has");
    let (status, _) = ask(
        &router,
        ("GET", "/collections/c/points/21?allow_partial=true"),
        &json!({}),
    )
    .unwrap();
    assert_eq!(status, 503, "nobody knows whether it is there");
    wait_for(("not ready", RECOVERY), || {
        // An answer of words is none of JSON.
        let answer = ask(&router, ("GET", "/readyz"), &json!({}));
        answer.is_some_and(|(status, _)| status == 503)
    });
    whole.nodes[3].restart();
    wait_for(("complete again", RECOVERY), || {
        let (status, answer) = ask(&router, ("POST", &partial), &query).unwrap();
        status == 200 && answer["pageway"]["complete"] == true
    });
    // One node has more of a shard; the map asks for it, and the other is passed over.
    whole.maker.put(POINTS..POINTS + 50);
    whole.maker.give("s0", &whole.nodes[0], "s0");
    whole.maker.give("s1", &whole.nodes[3], "s1");
    let sequences = (whole.maker.sequence("s0"), whole.maker.sequence("s1"));
    let all: Vec<&Node> = whole.nodes.iter().collect();
    write_map(&whole.root, 2, &all, sequences);
    wait_for(("the next map", RECOVERY), || version_of(&router) == 2);
    let expected = done(&whole.maker.process.address, ("POST", path), &query);
    for _ in 0..40 {
        assert_eq!(done(&router, ("POST", path), &query), expected);
    }
    // A map that is none, or older, changes nothing.
    std::fs::write(whole.root.join("map.toml"), "version = ").unwrap();
    thread::sleep(Duration::from_millis(1500));
    write_map(&whole.root, 1, &all, (0, 0));
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(version_of(&router), 2);
    assert_eq!(done(&router, ("POST", path), &query), expected);
}
