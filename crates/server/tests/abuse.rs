//! Requests that nobody should send: each is refused or answered, and the server goes on.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic, and tests look at files"
)]

mod common;

use common::Server;
use pageway_server::{App, listen};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

fn filled() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(&dir.path().join("data"));
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    server.put("/collections/c", &config).result();
    let points = json!({"points": [{"id": 1, "vector": [1, 0], "payload": {"a": 1, "g": {"lon": 1, "lat": 1}}}]});
    server
        .put("/collections/c/points?wait=true", &points)
        .result();
    (dir, server)
}

fn count(server: &Server) -> Value {
    server
        .post("/collections/c/points/count", &json!({}))
        .result()["count"]
        .clone()
}

#[test]
fn names_lead_nowhere_else() {
    let (dir, server) = filled();
    let alias = json!({"actions": [{"create_alias": {"collection_name": "c", "alias_name": "e"}}]});
    server.post("/collections/aliases", &alias).result();
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    for name in [
        "%2e%2e",
        "..%2f..%2fx",
        "a%00b",
        "a%0ab",
        "%5c",
        "a%3cb",
        "%ff",
        "e",
        "c",
        "aliases",
    ] {
        let made = server.put(&format!("/collections/{name}"), &config);
        assert!((400..500).contains(&made.status), "{name}: {}", made.status);
    }
    let long = "a".repeat(255);
    for name in ["con", "exists", "%F0%9F%A6%80", "a%20b", &long] {
        let path = format!("/collections/{name}");
        assert_eq!(server.put(&path, &config).result(), json!(true), "{name}");
        assert_eq!(
            server.get(&format!("{path}/exists")).result()["exists"],
            true
        );
        assert_eq!(
            server.post(&format!("{path}/snapshots"), &json!({})).status,
            200,
            "{name}"
        );
        assert_eq!(server.delete(&path).result(), json!(true));
    }
    let there = std::fs::read_dir(dir.path()).unwrap();
    assert_eq!(there.count(), 1, "nothing beside the directory of data");
}

#[test]
fn a_vector_too_long_for_an_index_changes_none() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let vectors = json!({
        "a": {"size": 2, "distance": "Dot"}, "b": {"size": 2, "distance": "Dot"},
    });
    server
        .put("/collections/c", &json!({"vectors": vectors}))
        .result();
    let point = |id: u64, b: f64| json!({"id": id, "vector": {"a": [1, id], "b": [b, 1]}});
    let path = "/collections/c/points?wait=true";
    server
        .put(path, &json!({"points": [point(1, 1.0)]}))
        .result();
    let long = json!({"points": [point(2, 1.0), point(1, 1e19)]});
    let words = server.put(path, &long).error(422);
    assert!(words.contains("points[1].vector.b"), "{words}");
    let update = json!({"points": [{"id": 1, "vector": {"b": [1e19, 1]}}]});
    server
        .put("/collections/c/points/vectors?wait=true", &update)
        .error(422);
    assert_eq!(count(&server), 1);
    server
        .put(path, &json!({"points": [point(3, 9e18)]}))
        .result();
    server.close();
    assert_eq!(count(&Server::open(dir.path())), 2);
}

/// Puts longer and longer payloads into a collection of two vectors, in so much memory, kills and
/// stops the server; how many of the ten were taken.
fn taken_payloads(memory: u64) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let open = || Server::with_memory(dir.path(), memory);
    let server = open();
    let field = json!({"size": 2, "distance": "Dot"});
    let config = json!({"vectors": {"a": field, "b": field}});
    server.put("/collections/c", &config).result();
    let put = |server: &Server, kilobytes: usize| {
        let payload = json!({"x": "y".repeat(1000 * kilobytes)});
        let vector = json!({"a": [1, 1], "b": [1, 1]});
        let point = json!({"id": kilobytes, "vector": vector, "payload": payload});
        server.put(
            "/collections/c/points?wait=true",
            &json!({"points": [point]}),
        )
    };
    let mut known = 0;
    for kilobytes in [1, 5, 10, 20, 40, 60, 100, 200, 400, 1000] {
        match put(&server, kilobytes) {
            answer if answer.status == 200 => known += 1,
            answer => _ = answer.error(507),
        }
        assert_eq!(count(&server), known, "{kilobytes}");
    }
    // As a kill leaves it: indexes take out of their journal what they may lack.
    drop(server);
    let server = open();
    assert_eq!(count(&server), known);
    put(&server, 3).result();
    server.close();
    assert_eq!(count(&open()), known + 1);
    known
}

#[test]
fn payloads_stay_or_do_not_fit_and_change_nothing() {
    let taken = taken_payloads(48 << 20);
    assert!((3..10).contains(&taken), "{taken}");
    let taken = taken_payloads(64 << 20);
    assert!(taken >= 9, "{taken}");
}

#[test]
fn points_that_are_none_change_nothing() {
    let (_dir, server) = filled();
    let put = |body: &str| server.ask_with(("PUT", "/collections/c/points?wait=true"), &[], body);
    let long = format!("[{}]", vec!["1"; 65_537].join(","));
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let bomb = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let whole = |id: &str, vector: &str, payload: &str| {
        format!(r#"{{"points": [{{"id": {id}, "vector": {vector}, "payload": {payload}}}]}}"#)
    };
    for body in [
        whole("-1", "[1, 0]", "{}"),
        whole("1.0", "[1, 0]", "{}"),
        whole("\"1\"", "[1, 0]", "{}"),
        whole("18446744073709551616", "[1, 0]", "{}"),
        whole("2", "[]", "{}"),
        whole("2", "[1e39, 0]", "{}"),
        whole("2", "[1e999, 0]", "{}"),
        whole("2", "[NaN, 0]", "{}"),
        whole("2", "[\"1\", 0]", "{}"),
        whole("2", "[1, 0, 0]", "{}"),
        whole("2", "[1e19, 0]", "{}"),
        whole("2", &long, "{}"),
        whole("2", "{\"x\": [1, 0]}", "{}"),
        whole("2", "[1, 0]", "[]"),
        whole("2", "[1, 0]", &format!("{{\"x\": {deep}}}")),
        whole("2", "[1, 0]", &format!("{{\"x\": {bomb}}}")),
        whole("2", "[1, 0]", "{\"x\": \"\\ud800\"}"),
        bomb.clone(),
        "{\"points\": 5}".to_owned(),
        "{\"points\": [{}]}".to_owned(),
        "[".repeat(1 << 20),
        "\u{feff}{}".to_owned(),
    ] {
        let answer = put(&body);
        let told = &answer.text[..answer.text.len().min(200)];
        assert!(
            (400..500).contains(&answer.status),
            "{}: {told}",
            &body[..body.len().min(80)]
        );
    }
    assert_eq!(count(&server), 1);
    let odd =
        r#"{"": 1, "a.b": 2, "a[]": 3, "n": 9223372036854775808, "z": -0.0, "t": "a\u0000b"}"#;
    assert_eq!(put(&whole("3", "[1e-45, -0.0]", odd)).status, 200);
    let own = server.get("/collections/c/points/3").result()["payload"].clone();
    assert_eq!(own, serde_json::from_str::<Value>(odd).unwrap());
    assert_eq!(count(&server), 2);
}

#[test]
fn filters_and_queries_of_no_sense_are_borne() {
    let (_dir, server) = filled();
    let ask = |filter: Value| {
        server
            .post("/collections/c/points/count", &json!({"filter": filter}))
            .status
    };
    let many = vec![json!({"key": "a", "match": {"value": 1}}); 1001];
    assert_eq!(ask(json!({"should": many})), 400);
    for filter in [
        json!({"should": []}),
        json!({"min_should": {"conditions": [{"key": "a", "match": {"value": 1}}], "min_count": 0}}),
        json!({"min_should": {"conditions": [{"key": "a", "match": {"value": 1}}], "min_count": 9}}),
        json!({"must": [{"key": "a", "range": {"lt": 1, "gt": 1}}]}),
        json!({"must": [{"key": "a", "range": {"gte": "2024-06-30T23:59:60Z"}}]}),
        json!({"must": [{"key": "g", "geo_radius": {"center": {"lon": 0, "lat": 0}, "radius": -1}}]}),
        json!({"must": [{"key": "g", "geo_bounding_box": {
            "top_left": {"lon": 170, "lat": 10}, "bottom_right": {"lon": -170, "lat": -10}}}]}),
        json!({"must": [{"key": "g", "geo_polygon": {"exterior": {"points": [
            {"lon": 0, "lat": 0}, {"lon": 1, "lat": 1}]}}}]}),
        json!({"must": [{"key": "", "match": {"value": 1}}]}),
        json!({"must": {"must": {"must": {"must": {}}}}}),
        json!({"must": 5}),
        json!({"has_id": [u64::MAX, -1]}),
        json!("x"),
        json!({"must": [{"has_id": (0..100_000).collect::<Vec<u32>>()}]}),
    ] {
        let status = ask(filter.clone());
        assert!(
            status < 500,
            "{status}: {}",
            &filter.to_string()[..80.min(filter.to_string().len())]
        );
    }
    let query = |body: Value| server.post("/collections/c/points/query", &body).status;
    assert_eq!(query(json!({"query": [1, 0], "offset": 10_000})), 422);
    assert_eq!(query(json!({"query": 77})), 404);
    assert_eq!(query(json!({"query": [1, 0], "limit": -1})), 400);
    assert_eq!(query(json!({"query": [1, 0], "limit": 0})), 422);
    assert_eq!(query(json!({"query": [1, 0], "score_threshold": "x"})), 400);
    let batch = json!({"searches": [{"query": [1, 0]}, {"query": [1]}]});
    server
        .post("/collections/c/points/query/batch", &batch)
        .error(400);
    let batch = json!({"searches": vec![json!({"query": [1, 0]}); 1001]});
    server
        .post("/collections/c/points/query/batch", &batch)
        .error(422);
    for address in [
        "?wait=maybe",
        "?timeout=0",
        "?timeout=-5",
        "?ordering=x",
        "?consistency=0",
        "?x=%ff",
    ] {
        let path = format!("/collections/c/points/count{address}");
        let status = server.post(&path, &json!({})).status;
        assert!((400..500).contains(&status), "{address}: {status}");
    }
    let far = "/collections/c/points/count?timeout=1000000000000&timeout=5&wait=true";
    assert_eq!(server.post(far, &json!({})).status, 200);
    let long = format!("/collections/c?x={}", "a".repeat(9 << 10));
    assert_eq!(server.get(&long).status, 400);
    assert_eq!(server.ask("get", "/collections", &json!({})).status, 405);
    assert_eq!(server.ask("TRACE", "/collections", &json!({})).status, 405);
    assert_eq!(count(&server), 1);
}

#[test]
fn collections_come_and_go_while_they_are_asked() {
    let (_dir, server) = filled();
    let (service, app) = (server.service(), server.app.clone());
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    let alias = |target: &str| {
        let one = json!({"collection_name": target, "alias_name": "always"});
        let actions = json!({"actions": [{"create_alias": one}]});
        server.post("/collections/aliases", &actions).result();
    };
    alias("c");
    server.put("/collections/d", &config).result();
    let asker = std::thread::spawn(move || {
        let own = Server::of(service, app);
        for _ in 0..150 {
            let query = json!({"query": [1, 0], "limit": 1});
            let answer = own.post("/collections/x/points/query", &query);
            assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            // An alias that moves from one collection to another is never missing.
            let answer = own.post("/collections/always/points/query", &query);
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
    });
    let mut turn = 0;
    while !asker.is_finished() {
        server.put("/collections/x", &config).result();
        let points = json!({"points": [{"id": 1, "vector": [1, 0]}]});
        server.put("/collections/x/points", &points).result();
        alias(if turn % 2 == 0 { "d" } else { "c" });
        server.delete("/collections/x").result();
        turn += 1;
    }
    asker.join().unwrap();
    assert_eq!(count(&server), 1);
}

/// What a connection is answered with until the server closes it.
async fn talk(port: u16, said: &[u8], ends: bool) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // The server may close before all is said.
    let _ = stream.write_all(said).await;
    if ends {
        let _ = stream.shutdown().await;
    }
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

async fn attack(app: App) {
    let listening = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let port = listening.address.port();
    let (stop, stops) = oneshot::channel();
    let serving = tokio::spawn(listening.serve(app.router(), None, stops));
    let mut half_open = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream
            .write_all(b"POST /collections/c/points/query HT")
            .await
            .unwrap();
        half_open.push(stream);
    }
    let post = "POST /collections/c/points/count HTTP/1.1\r\nhost: a\r\n";
    for (said, statuses) in [
        (
            format!("{post}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            [400, 200].as_slice(),
        ),
        (
            format!("{post}transfer-encoding: chunked\r\n\r\n8000000000000000\r\nab"),
            &[400],
        ),
        (
            format!("{post}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nab"),
            &[400],
        ),
        (
            format!("{post}content-length: 99999999999\r\n\r\n{{}}"),
            &[413],
        ),
        (format!("{post}content-length: -1\r\n\r\n{{}}"), &[400]),
        (
            format!("{post}content-length: 1\r\ncontent-length: 2\r\n\r\n{{}}"),
            &[400],
        ),
        (
            format!("{post}content-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x1b\x08"),
            &[400],
        ),
        (
            format!("{post}x: {}\r\n\r\n", "a".repeat(1 << 20)),
            &[431, 400],
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), &[400, 505]),
        ("\0\0\0\0".to_owned(), &[400]),
    ] {
        let text = talk(port, said.as_bytes(), true).await;
        let status = text
            .split(' ')
            .nth(1)
            .and_then(|own| own.parse::<u16>().ok());
        let known = status.is_none_or(|status| statuses.contains(&status));
        assert!(known, "{:?}: {text}", &said[..said.len().min(120)]);
    }
    let closed = talk(
        port,
        format!("{post}content-length: 100\r\n\r\n").as_bytes(),
        true,
    )
    .await;
    assert!(!closed.starts_with("HTTP/1.1 200"));
    for path in ["/collections/c/points/count", "/nowhere"] {
        let bytes = 33 << 20;
        let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {bytes}\r\n\r\n");
        let said = format!("{head}{}", " ".repeat(bytes));
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        // All is taken, and then answered.
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert!([b"HTTP/1.1 413", b"HTTP/1.1 404"].contains(&&answer));
    }
    let waits =
        format!("{post}expect: 100-continue\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    assert!(
        talk(port, waits.as_bytes(), false)
            .await
            .contains("HTTP/1.1 200")
    );
    let one = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let many = format!("{}{last}", one.repeat(999));
    let all = talk(port, many.as_bytes(), false).await;
    assert_eq!(all.matches("HTTP/1.1 200").count(), 1000);
    drop(half_open);
    stop.send(()).unwrap();
    serving.await.unwrap();
}

#[test]
fn connections_that_misbehave_harm_nobody() {
    let (_dir, server) = filled();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(attack(server.app.clone()));
    assert_eq!(count(&server), 1);
}
