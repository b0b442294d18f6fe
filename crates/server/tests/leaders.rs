//! Changes through a router, in processes: two partitions on two of three nodes each, over a store
//! of files. What was acknowledged is there, once, whatever becomes of who leads.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test may panic, and tests write files"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Process, ask, result};
use common::routed::{End, done, refused, wait_for};
use serde_json::{Value, json};

/// Seconds that a lease lasts.
const LEASE: &str = "1.5";
/// Time in which somebody leads again.
const RECOVERY: Duration = Duration::from_secs(20);
const NODES: [(&str, &[&str]); 3] = [("a", &["t-0"]), ("b", &["t-0", "t-1"]), ("c", &["t-1"])];

fn vector(seed: u64) -> Vec<f64> {
    common::routed::vector(seed, 4)
}

fn point(id: u64, round: u64) -> Value {
    json!({"id": id, "vector": vector(id), "payload": {"n": id, "round": round, "g": id % 3}})
}

struct Whole {
    _dir: tempfile::TempDir,
    root: PathBuf,
    /// What nodes are started with beside all else.
    more: &'static [&'static str],
    nodes: Vec<Process>,
    router: Process,
}

fn start_node((root, more): (&Path, &[&str]), at: usize, address: &str) -> Process {
    let (name, partitions) = NODES[at];
    let store = format!("file://{}", root.join("store").display());
    let dir = root.join(name);
    let mut words: Vec<&str> = vec!["--listen", address, "--memory", "64MB", "--node", name];
    words.extend(["--store", &store, "--lease", LEASE]);
    words.extend(["--data-dir", dir.to_str().unwrap()]);
    for partition in partitions {
        words.extend(["--partition", partition]);
    }
    words.extend(more);
    Process::with_words(words)
}

impl Whole {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &'static [&'static str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_path_buf();
        let nodes = (0..NODES.len()).map(|at| start_node((&root, more), at, "127.0.0.1:0"));
        let nodes: Vec<Process> = nodes.collect();
        let mut map = String::from("version = 1\n[nodes]\n");
        for ((name, _), process) in NODES.iter().zip(&nodes) {
            writeln!(map, "{name} = 'http://{}'", process.address).unwrap();
        }
        map += "[collections.t]\ncut = 'id'\n";
        for (name, own) in [("t-0", "'a', 'b'"), ("t-1", "'b', 'c'")] {
            let head = format!("[[collections.t.shards]]\ncollection = '{name}'");
            writeln!(map, "{head}\nnodes = [{own}]").unwrap();
        }
        let path = root.join("map.toml");
        std::fs::write(&path, map).unwrap();
        let path = path.to_str().unwrap();
        let router = Process::with_words(["route", "--listen", "127.0.0.1:0", "--map", path]);
        let config = json!({"vectors": {"size": 4, "distance": "Cosine"}});
        let made = done(&router.address, ("PUT", "/collections/t"), &config);
        assert_eq!(made, json!(true));
        Self {
            _dir: dir,
            root,
            more,
            nodes,
            router,
        }
    }

    fn restart(&mut self, at: usize) {
        let address = self.nodes[at].address.clone();
        self.nodes[at] = start_node((&self.root, self.more), at, &address);
    }

    /// Who leads a partition, as the router knows.
    fn leader(&self, partition: usize) -> Option<usize> {
        let state = result(
            &self.router.address,
            ("GET", "/pageway/cluster"),
            &json!({}),
        )?;
        let leader = state["collections"]["t"][partition]["leader"]
            .as_str()?
            .to_owned();
        NODES.iter().position(|(name, _)| *name == leader)
    }
}

/// All points of a collection, by scrolls of few.
fn all_points(address: &str) -> BTreeMap<u64, Value> {
    let mut found = BTreeMap::new();
    let mut offset = json!(null);
    loop {
        let body = json!({"limit": 70, "offset": offset});
        let page = done(address, ("POST", "/collections/t/points/scroll"), &body);
        for point in page["points"].as_array().unwrap() {
            let id = point["id"].as_u64().unwrap();
            let twice = found.insert(id, point["payload"].clone());
            assert_eq!(twice, None, "point {id} is there twice");
        }
        offset = page["next_page_offset"].clone();
        if offset.is_null() {
            return found;
        }
    }
}

/// What a writer has been told.
#[derive(Default)]
struct Told {
    acknowledged: Mutex<BTreeMap<u64, u64>>,
    count: AtomicU64,
    refused: AtomicU64,
}

/// Puts points in for good, some anew and some again, each until it is acknowledged.
fn write_on(router: &str, (writer, ends): (u64, &AtomicBool), told: &Told) {
    for round in 1.. {
        let first = writer * 100_000 + round * 4;
        let ids: Vec<u64> = (first..first + 8).collect();
        let points: Vec<Value> = ids.iter().map(|id| point(*id, round)).collect();
        let body = json!({"points": points});
        loop {
            let request = ("PUT", "/collections/t/points?wait=true&ordering=strong");
            let (status, answer) = ask(router, request, &body).expect("a router that answers");
            if status == 200 {
                break;
            }
            assert_eq!(status, 503, "{answer}");
            told.refused.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(50));
            if ends.load(Ordering::Relaxed) {
                return;
            }
        }
        let own = ids.iter().map(|id| (*id, round));
        told.acknowledged.lock().unwrap().extend(own);
        told.count.fetch_add(1, Ordering::Relaxed);
        // What was acknowledged is seen by the same router, whoever answers.
        let path = format!("/collections/t/points/{}", first + 3);
        if let Some(found) = result(router, ("GET", &path), &json!({})) {
            assert_eq!(found["payload"]["round"], round, "{found}");
        }
        if ends.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn no_acknowledged_change_is_lost_or_done_twice_whoever_leads() {
    let mut whole = Whole::start();
    let router = whole.router.address.clone();
    let (ends, told) = (AtomicBool::new(false), Told::default());
    thread::scope(|scope| {
        let _end = End(&ends);
        let writing: Vec<_> = (0..2)
            .map(|writer| {
                let (router, ends, told) = (&router, &ends, &told);
                scope.spawn(move || write_on(router, (writer, ends), told))
            })
            .collect();
        let go_on = || {
            let from = told.count.load(Ordering::Relaxed);
            wait_for(("changes go on", RECOVERY), || {
                assert!(writing.iter().all(|own| !own.is_finished()));
                told.count.load(Ordering::Relaxed) > from + 8
            });
        };
        go_on();
        for partition in [0, 1] {
            wait_for(("a leader", RECOVERY), || whole.leader(partition).is_some());
            let leader = whole.leader(partition).unwrap();
            whole.nodes[leader].kill();
            wait_for(("another leads", RECOVERY), || {
                whole.leader(partition).is_some_and(|own| own != leader)
            });
            go_on();
            whole.restart(leader);
            go_on();
        }
        // One that is paused for longer than its lease finds that another leads.
        wait_for(("a leader", RECOVERY), || whole.leader(0).is_some());
        let paused = whole.leader(0).unwrap();
        whole.nodes[paused].signal("STOP");
        wait_for(("another leads", RECOVERY), || {
            whole.leader(0).is_some_and(|own| own != paused)
        });
        go_on();
        whole.nodes[paused].signal("CONT");
        go_on();
    });
    assert!(told.refused.load(Ordering::Relaxed) > 0, "nobody was away");
    let acknowledged = told.acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > 200);
    let is_there = || {
        let found = all_points(&router);
        for (id, round) in &acknowledged {
            let own = found.get(id).unwrap_or_else(|| panic!("{id} is lost"));
            // One that was not acknowledged may be there too, and is later.
            assert!(
                own["round"].as_u64().unwrap() >= *round,
                "{id}: {own}, {round}"
            );
        }
        found.len() as u64
    };
    let count = is_there();
    let counted = done(&router, ("POST", "/collections/t/points/count"), &json!({}));
    assert_eq!(counted["count"], count);
    // Each node alone has the same, when it has read on; also after a start.
    for at in 0..NODES.len() {
        whole.nodes[at].kill();
        whole.restart(at);
    }
    wait_for(("all shards answer", RECOVERY), || {
        result(&router, ("POST", "/collections/t/points/count"), &json!({})).is_some()
    });
    assert_eq!(is_there(), count);
    for (partition, pair) in [("t-0", [0, 1]), ("t-1", [1, 2])] {
        let path = format!("/collections/{partition}/points/scroll");
        let body = json!({"limit": 10_000, "with_vector": true});
        let points = |at: usize| done(&whole.nodes[at].address, ("POST", &path), &body);
        wait_for(("replicas are alike", RECOVERY), || {
            points(pair[0]) == points(pair[1])
        });
    }
}

#[test]
fn every_change_of_points_goes_through_the_router() {
    let whole = Whole::start();
    let router = &whole.router.address;
    let write = |method: &str, path: &str, body: Value| {
        let path = format!("/collections/t/points{path}");
        done(router, (method, &path), &body)
    };
    let points: Vec<Value> = (0..60).map(|id| point(id, 0)).collect();
    let told = write("PUT", "?wait=true", json!({"points": points}));
    assert_eq!(told["status"], "completed");
    assert!(told["operation_id"].as_u64().unwrap() > 0, "{told}");
    let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    let columns = json!({"ids": [60, uuid], "vectors": [vector(60), vector(61)]});
    let told = write("PUT", "", json!({"batch": columns}));
    assert_eq!(told["status"], "acknowledged");
    let count = |filter: Value| {
        let path = ("POST", "/collections/t/points/count");
        done(router, path, &json!({"filter": filter}))["count"].clone()
    };
    let with = |key: &str, value: Value| json!({"must": [{"key": key, "match": {"value": value}}]});
    assert_eq!(count(json!(null)), 62);
    write("POST", "/delete", json!({"points": [1, 2, 3, 4, 9999]}));
    write("POST", "/delete", json!({"filter": with("g", json!(0))}));
    // 0, 3, 6 ..: 20 of them, and 3 was gone.
    assert_eq!(count(json!(null)), 62 - 4 - 19);
    write(
        "POST",
        "/payload",
        json!({"payload": {"x": 1}, "points": [5, 7, 8, 60]}),
    );
    write(
        "POST",
        "/payload",
        json!({"payload": {"y": 2}, "filter": with("g", json!(1))}),
    );
    assert_eq!(
        (count(with("x", json!(1))), count(with("y", json!(2)))),
        (json!(4), json!(18))
    );
    write(
        "PUT",
        "/payload",
        json!({"payload": {"z": 3}, "points": [5]}),
    );
    write(
        "POST",
        "/payload/delete",
        json!({"keys": ["x"], "points": [7]}),
    );
    write("POST", "/payload/clear", json!({"points": [8]}));
    let get = |id: &str| {
        done(
            router,
            ("GET", &format!("/collections/t/points/{id}")),
            &json!({}),
        )
    };
    assert_eq!(get("5")["payload"], json!({"z": 3}));
    assert_eq!(get("7")["payload"]["x"], json!(null));
    assert_eq!(get("8")["payload"], json!({}));
    write(
        "PUT",
        "/vectors",
        json!({"points": [{"id": 60, "vector": vector(999)}]}),
    );
    let query = json!({"query": vector(999), "limit": 1, "params": {"exact": true}});
    let best = done(router, ("POST", "/collections/t/points/query"), &query);
    assert_eq!(best["points"][0]["id"], 60, "{best}");
    write(
        "POST",
        "/vectors/delete",
        json!({"vector": [""], "points": [60]}),
    );
    let told = write(
        "POST",
        "/batch?wait=true",
        json!({"operations": [
            {"upsert": {"points": [point(200, 1), point(201, 1), point(202, 1)]}},
            {"delete": {"points": [201]}},
            {"set_payload": {"payload": {"q": 5}, "points": [202]}}]}),
    );
    assert_eq!(told.as_array().unwrap().len(), 3);
    assert_eq!(count(with("q", json!(5))), 1);
    assert_eq!(count(json!(null)), 62 - 4 - 19 + 2);
    write(
        "PUT",
        "",
        json!({"points": [point(200, 7), point(300, 7)], "update_mode": "insert_only"}),
    );
    assert_eq!(
        (
            count(with("round", json!(7))),
            count(with("round", json!(1)))
        ),
        (json!(1), json!(2))
    );
    assert_eq!(all_points_with_uuids(router), 62 - 4 - 19 + 3);
    // What one partition would refuse, none has.
    let mut wrong = point(400, 1);
    wrong["vector"] = json!([1.0]);
    let some = json!({"points": [point(401, 1), point(402, 1), point(403, 1), wrong]});
    let (status, text) = refused(router, ("PUT", "/collections/t/points"), &some);
    assert!(status == 400 && text.contains("dimension"), "{text}");
    assert_eq!(count(json!(null)), 62 - 4 - 19 + 3);
    // Changes come through a router, and to who leads.
    for node in &whole.nodes[..2] {
        let body = json!({"points": [point(1, 1)]});
        let (status, text) = refused(&node.address, ("PUT", "/collections/t-0/points"), &body);
        assert!(status == 403 && text.contains("router"), "{text}");
        let (status, _) = refused(&node.address, ("DELETE", "/collections/t-0"), &json!({}));
        assert_eq!(status, 403);
    }
    // Payload indexes are made on all nodes, and taken away there.
    let schema = |at: usize, partition: &str| {
        let path = format!("/collections/{partition}");
        let own = done(&whole.nodes[at].address, ("GET", &path), &json!({}));
        own["payload_schema"].clone()
    };
    let places = [(0, "t-0"), (1, "t-0"), (1, "t-1"), (2, "t-1")];
    let index = json!({"field_name": "g.h", "field_schema": "integer"});
    let told = done(router, ("PUT", "/collections/t/index?wait=true"), &index);
    assert_eq!(told["status"], "completed");
    for (at, partition) in places {
        assert_eq!(schema(at, partition)["g.h"]["data_type"], "integer");
    }
    let path = "/collections/t/index/g.h";
    done(router, ("DELETE", path), &json!({}));
    for (at, partition) in places {
        assert_eq!(schema(at, partition), json!({}));
    }
    let wrong = json!({"field_name": "g", "field_schema": "colour"});
    assert_eq!(
        refused(router, ("PUT", "/collections/t/index"), &wrong).0,
        400
    );
    let config = json!({"vectors": {"size": 4, "distance": "Cosine"}});
    assert_eq!(
        done(router, ("PUT", "/collections/t"), &config),
        json!(true)
    );
    let other = json!({"vectors": {"size": 5, "distance": "Cosine"}});
    assert_eq!(refused(router, ("PUT", "/collections/t"), &other).0, 409);
}

/// How many points a scroll over the router shows, each once, whatever their ids.
fn all_points_with_uuids(address: &str) -> usize {
    let body = json!({"limit": 1000, "with_payload": false});
    let page = done(address, ("POST", "/collections/t/points/scroll"), &body);
    let ids = page["points"].as_array().unwrap().iter();
    let ids: std::collections::BTreeSet<String> = ids.map(|own| own["id"].to_string()).collect();
    assert_eq!(ids.len(), page["points"].as_array().unwrap().len());
    ids.len()
}

#[test]
fn a_partition_without_a_leader_is_named_and_the_others_go_on() {
    let mut whole = Whole::start();
    let router = whole.router.address.clone();
    let points: Vec<Value> = (0..20).map(|id| point(id, 0)).collect();
    let body = json!({"points": points});
    done(&router, ("PUT", "/collections/t/points"), &body);
    // The first two nodes have the first partition; the last goes on with the second.
    whole.nodes[0].kill();
    whole.nodes[1].kill();
    wait_for(("the second leads", RECOVERY), || {
        whole.leader(1) == Some(2)
    });
    let (status, text) = refused(&router, ("PUT", "/collections/t/points"), &body);
    assert_eq!(status, 503, "{text}");
    // Nobody took the connection, so it is known that nothing was done.
    assert!(text.contains("t-0"), "{text}");
    assert!(!text.contains("nobody knows"), "{text}");
    wait_for(("told who has it", RECOVERY), || {
        let (_, text) = refused(&router, ("PUT", "/collections/t/points"), &body);
        text.contains("t-0 (no node leads it)") && text.contains("done in t-1")
    });
    whole.restart(1);
    wait_for(("all of it again", RECOVERY), || {
        ask(&router, ("PUT", "/collections/t/points"), &body).is_some_and(|own| own.0 == 200)
    });
    assert_eq!(all_points(&router).len(), 20);
}

/// The number of the first record of a partition's log that is there still.
fn first_record(whole: &Whole, partition: &str) -> u64 {
    let log = whole.root.join("store").join(partition).join("log");
    let names = std::fs::read_dir(log).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.parse().ok()).min().unwrap()
}

#[test]
fn logs_are_cut_and_nodes_begin_with_a_snapshot() {
    let mut whole = Whole::start_with(&["--snapshot-each", "12", "--snapshot-grace", "0"]);
    let router = whole.router.address.clone();
    let mut round = 0;
    let mut write = || {
        round += 1;
        let points: Vec<Value> = (0..24)
            .map(|id| point(round % 7 * 24 + id, round))
            .collect();
        let body = json!({"points": points});
        let request = ("PUT", "/collections/t/points?wait=true");
        wait_for(("an acknowledgement", RECOVERY), || {
            ask(&router, request, &body).is_some_and(|own| own.0 == 200)
        });
    };
    // One that is away comes to a log that does not begin where it ended; another has lost its
    // disk.
    write();
    whole.nodes[2].kill();
    for partition in ["t-0", "t-1"] {
        wait_for(("a log that is cut", RECOVERY), || {
            write();
            first_record(&whole, partition) > 12
        });
    }
    whole.nodes[0].kill();
    std::fs::remove_dir_all(whole.root.join("a")).unwrap();
    whole.restart(0);
    whole.restart(2);
    write();
    let count = |address: &str, name: &str| {
        let path = format!("/collections/{name}/points/count");
        result(address, ("POST", &path), &json!({})).map(|own| own["count"].clone())
    };
    assert_eq!(count(&router, "t"), Some(json!(7 * 24)));
    for (partition, pair) in [("t-0", [0, 1]), ("t-1", [1, 2])] {
        let path = format!("/collections/{partition}/points/scroll");
        let body = json!({"limit": 10_000, "with_vector": true});
        let points = |at: usize| result(&whole.nodes[at].address, ("POST", &path), &body);
        wait_for(("replicas are alike", RECOVERY), || {
            let one = points(pair[0]);
            one.is_some() && one == points(pair[1])
        });
    }
    // Each of them may lead, and is started from its own disk.
    whole.nodes[1].kill();
    wait_for(("others lead", RECOVERY), || {
        whole.leader(0) == Some(0) && whole.leader(1) == Some(2)
    });
    write();
    for at in [0, 2] {
        whole.nodes[at].kill();
        whole.restart(at);
    }
    write();
    wait_for(("all of it", RECOVERY), || {
        count(&router, "t") == Some(json!(7 * 24))
    });
}
