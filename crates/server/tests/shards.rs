//! Shards that are indexes in object storage, and replicas that are not the same, in processes.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test may panic, and tests write files"
)]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::process::{Process, ask};
use common::routed::{done, wait_for};
use pageway::NoProgress;
use pageway_object::{open_url, publish};
use serde_json::{Value, json};

const POINTS: u64 = 300;
/// Time in which something is so.
const RECOVERY: Duration = Duration::from_secs(20);

fn vector(seed: u64) -> Vec<f64> {
    common::routed::vector(seed, 8)
}

/// Makes a collection of points whose payload says `word`, and an archive of it; both paths.
fn make(process: &Process, dir: &Path, (name, word): (&str, &str)) -> (PathBuf, PathBuf) {
    let config = json!({"vectors": {"size": 8, "distance": "Cosine"}});
    let path = format!("/collections/{name}");
    done(&process.address, ("PUT", &path), &config);
    let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    let point = |id: u64| json!({"id": id, "vector": vector(id), "payload": {"w": word, "n": id}});
    let mut points: Vec<Value> = (0..POINTS).map(point).collect();
    points.push(json!({"id": uuid, "vector": vector(9999), "payload": {"w": word}}));
    done(
        &process.address,
        ("PUT", &format!("{path}/points?wait=true")),
        &json!({"points": points}),
    );
    let made = done(
        &process.address,
        ("POST", &format!("{path}/snapshots")),
        &json!({}),
    );
    let archive = dir.join("snapshots").join(name);
    (
        dir.to_path_buf(),
        archive.join(made["name"].as_str().unwrap()),
    )
}

fn reads() -> Vec<(&'static str, Value)> {
    let filter = json!({"must": [{"key": "n", "range": {"lt": 40}}]});
    let exact = json!({"exact": true});
    vec![
        (
            "query",
            json!({"query": vector(1001), "limit": 9, "params": exact, "with_payload": true}),
        ),
        (
            "query",
            json!({"query": vector(1002), "filter": filter, "limit": 5, "params": exact}),
        ),
        (
            "query",
            json!({"query": 17, "limit": 4, "params": exact, "with_vector": true}),
        ),
        (
            "scroll",
            json!({"limit": 20, "with_vector": true, "offset": 35}),
        ),
        ("count", json!({"filter": filter})),
    ]
}

#[test]
fn an_index_in_object_storage_is_a_shard() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let maker = Process::start(&root.join("maker"));
    make(&maker, &root.join("maker"), ("c", "x"));
    let expected: Vec<Value> = reads()
        .into_iter()
        .map(|(path, body)| {
            let path = format!("/collections/c/points/{path}");
            done(&maker.address, ("POST", &path), &body)
        })
        .collect();
    drop(maker);
    let url = format!("file://{}", root.join("store").display());
    let index = root.join("maker/collections/0/v0");
    publish(&open_url(&url).unwrap(), &index, &NoProgress).unwrap();
    let shard = format!("s={url}");
    let node = |name: &str, address: &str| {
        let (data, cache) = (root.join(name), root.join(format!("{name}-cache")));
        let (data, cache) = (data.to_str().unwrap(), cache.to_str().unwrap());
        let words = ["--listen", address, "--memory", "64MB", "--node", name];
        let more = [
            "--data-dir",
            data,
            "--cache",
            cache,
            "--cache-bytes",
            "64MB",
        ];
        Process::with_words(words.into_iter().chain(more).chain(["--shard", &shard]))
    };
    let mut nodes = ["a", "b"].map(|name| node(name, "127.0.0.1:0"));
    let (a, b) = (&nodes[0].address, &nodes[1].address);
    let map = format!(
        "version = 1\n[nodes]\na = 'http://{a}'\nb = 'http://{b}'\n\
         [[collections.c.shards]]\ncollection = 's'\nnodes = ['a', 'b']\n"
    );
    std::fs::write(root.join("map.toml"), map).unwrap();
    let map = root.join("map.toml");
    let map = map.to_str().unwrap();
    let router = Process::with_words(["route", "--listen", "127.0.0.1:0", "--map", map]);
    let is_as_before = |address: &str, name: &str| {
        for ((path, body), expected) in reads().into_iter().zip(&expected) {
            let path = format!("/collections/{name}/points/{path}");
            assert_eq!(&done(address, ("POST", &path), &body), expected, "{path}");
        }
    };
    for address in [a, b] {
        is_as_before(address, "s");
    }
    is_as_before(&router.address, "c");
    let described = done(a, ("GET", "/collections/s"), &json!({}));
    assert_eq!(described["points_count"], POINTS + 1);
    assert_eq!(
        described["config"]["params"]["vectors"]["distance"],
        "Cosine"
    );
    let inspected = done(a, ("GET", "/pageway/collections/s"), &json!({}));
    assert_eq!(inspected["indexes"].as_array().unwrap().len(), 1);
    let told = done(a, ("GET", "/pageway/node"), &json!({}));
    assert_eq!(told["shards"]["s"]["digest"].as_str().unwrap().len(), 64);
    for request in [
        ("DELETE", "/collections/s"),
        ("POST", "/collections/s/snapshots"),
        ("PUT", "/collections/s/points"),
    ] {
        let body = json!({"points": []});
        assert_eq!(ask(a, request, &body).unwrap().0, 403, "{request:?}");
    }
    // It opens again out of the cache, and is gone where it is not asked for.
    let address = nodes[0].address.clone();
    nodes[0].kill();
    nodes[0] = node("a", &address);
    is_as_before(&address, "s");
    nodes[0].kill();
    let data = root.join("a");
    let data = data.to_str().unwrap();
    let plain = Process::with_words(["--listen", "127.0.0.1:0", "--data-dir", data]);
    let names = done(&plain.address, ("GET", "/collections"), &json!({}));
    assert_eq!(names, json!({"collections": []}));
    is_as_before(&router.address, "c");
}

#[test]
fn two_shards_of_one_name_and_number_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let mut nodes = Vec::new();
    for (name, word) in [("a", "x"), ("b", "y")] {
        let made = root.join(format!("maker-{name}"));
        let maker = Process::start(&made);
        let (_, archive) = make(&maker, &made, ("s", word));
        drop(maker);
        let data = root.join(name);
        let folder = data.join("snapshots/s");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(archive.file_name().unwrap());
        std::fs::copy(&archive, &file).unwrap();
        let data = data.to_str().unwrap();
        let words = [
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "64MB",
            "--node",
            name,
        ];
        let node = Process::with_words(words.into_iter().chain(["--data-dir", data]));
        let location = json!({"location": format!("file://{}", file.display())});
        done(
            &node.address,
            ("PUT", "/collections/s/snapshots/recover"),
            &location,
        );
        nodes.push(node);
    }
    let content = |at: usize| {
        let node: &Process = &nodes[at];
        let told = done(&node.address, ("GET", "/pageway/node"), &json!({}));
        told["shards"]["s"].clone()
    };
    let (one, other) = (content(0), content(1));
    assert_eq!(one["sequence"], other["sequence"], "alike by their numbers");
    assert_ne!(one["digest"], other["digest"]);
    let write_map = |version: u64, digest: Option<&str>| {
        let digest = digest.map_or(String::new(), |own| format!("digest = '{own}'\n"));
        let (a, b) = (&nodes[0].address, &nodes[1].address);
        let map = format!(
            "version = {version}\n[nodes]\na = 'http://{a}'\nb = 'http://{b}'\n\
             [[collections.c.shards]]\ncollection = 's'\nnodes = ['a', 'b']\nsequence = {}\n\
             {digest}",
            one["sequence"]
        );
        std::fs::write(root.join("next.toml"), map).unwrap();
        std::fs::rename(root.join("next.toml"), root.join("map.toml")).unwrap();
    };
    write_map(1, None);
    let map = root.join("map.toml");
    let map = map.to_str().unwrap();
    let router = Process::with_words(["route", "--listen", "127.0.0.1:0", "--map", map]);
    let router = &router.address;
    let state = || done(router, ("GET", "/pageway/cluster"), &json!({}));
    let differs = |node: &str| state()["collections"]["c"][0]["differs"] == json!([node]);
    let words = || {
        let path = ("POST", "/collections/c/points/scroll");
        let page = done(router, path, &json!({"limit": 1}));
        page["points"][0]["payload"]["w"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    wait_for(("b is another", RECOVERY), || differs("b"));
    assert!(
        (0..30).all(|_| words() == "x"),
        "the first of the map counts"
    );
    write_map(2, other["digest"].as_str());
    wait_for(("a is another", RECOVERY), || differs("a"));
    assert!((0..30).all(|_| words() == "y"), "what the map says counts");
}
