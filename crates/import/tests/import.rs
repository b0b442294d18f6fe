//! The program against a server of ours, in this process.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what is wrong by failing"
)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use pageway::{Filter, Index, OpenOptions, RowParts};
use pageway_server::{App, Keys, Level, Log, Service, ServiceOptions, listen};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

const KEY: &str = "a-key";

/// A server on a port of the system's choice.
struct Server {
    address: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(dir: &Path, keys: Keys) -> Self {
        let options = ServiceOptions {
            memory: 256 << 20,
            threads: 1,
            recall: 0.95,
            slow: Duration::from_secs(60),
            latency_target: None,
        };
        let service = Arc::new(Service::open(dir, options).unwrap());
        let app = App::new(Arc::clone(&service), keys, (1, Log(Level::Error))).unwrap();
        let (stop, stops) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listening = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
                tell.send(listening.address).unwrap();
                listening.serve(app.router(), None, stops).await;
            });
            drop(runtime);
            drop(app);
            service.close().unwrap();
        });
        let address = told.recv().unwrap().to_string();
        Self {
            address,
            stop,
            thread,
        }
    }

    fn put(&self, path: &str, body: &Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.to_string();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nhost: {}\r\napi-key: {KEY}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn stop(self) {
        let _ = self.stop.send(());
        self.thread.join().unwrap();
    }
}

/// Points with numbers or UUIDs, of which every fifth has no vector `b`.
fn fill(server: &Server, count: u64) {
    let one = json!({"vectors": {"size": 8, "distance": "Cosine"}});
    server.put("/collections/one", &one);
    let two = json!({
        "vectors": {
            "a": {"size": 8, "distance": "Euclid"},
            "b": {"size": 4, "distance": "Dot"},
        },
        "sparse_vectors": {"s": {}},
    });
    server.put("/collections/two", &two);
    let vector = |at: u64, size: u64| -> Vec<f64> {
        (0..size)
            .map(|axis| ((at * 37 + axis * 91) % 101) as f64 / 50.0 - 1.0)
            .collect()
    };
    let (mut ones, mut twos) = (Vec::new(), Vec::new());
    for at in 0..count {
        let id = if at % 2 == 0 {
            json!(at)
        } else {
            json!(format!("00000000-0000-0000-0000-{at:012}"))
        };
        let city = if at % 2 == 0 { "Oslo" } else { "Rome" };
        let payload = json!({"n": at, "city": city});
        ones.push(json!({"id": id, "vector": vector(at, 8), "payload": payload}));
        let mut named = json!({"a": vector(at, 8)});
        if at % 5 != 0 {
            named["b"] = json!(vector(at + 1, 4));
        }
        twos.push(json!({"id": id, "vector": named}));
    }
    server.put(
        "/collections/one/points?wait=true",
        &json!({"points": ones}),
    );
    server.put(
        "/collections/two/points?wait=true",
        &json!({"points": twos}),
    );
}

fn import(server: &str, collection: &str, out: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pageway-import-qdrant"))
        .args([
            "--url",
            &format!("http://{server}"),
            "--collection",
            collection,
        ])
        .args(["--json", "--out"])
        .arg(out)
        .args(more)
        .env("QDRANT_API_KEY", KEY)
        .output()
        .unwrap()
}

fn report(done: &Output) -> Value {
    let errors = String::from_utf8_lossy(&done.stderr);
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn errors(done: &Output) -> String {
    assert_ne!(done.status.code(), Some(0));
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn a_collection_becomes_indexes() {
    let place = tempfile::tempdir().unwrap();
    let keys = Keys::new(Some(KEY), None);
    let server = Server::start(&place.path().join("data"), keys);
    fill(&server, 300);
    let out = place.path().join("deep/one.index");
    let done = import(&server.address, "one", &out, &["--batch", "64"]);
    let report_of_one = report(&done);
    assert_eq!(done.status.code(), Some(0), "{report_of_one}");
    let index = &report_of_one["indexes"][0];
    assert_eq!(
        (&index["rows"], &index["without"]),
        (&json!(300), &json!(0))
    );
    assert_eq!(index["comparison"]["agreement"], 1.0);
    let opened = Index::open(&out, &OpenOptions::default()).unwrap();
    let rome = Filter::expression("city = 'Rome' and n < 100").unwrap();
    assert_eq!(opened.count(&rome).unwrap(), 50);
    let parts = RowParts {
        vectors: false,
        attributes: true,
    };
    let name = "00000000-0000-0000-0000-000000000007".to_owned();
    let named = opened.rows_named(&[name], parts).unwrap();
    assert_eq!(
        named[0].attributes.as_deref(),
        Some(r#"{"city":"Rome","n":7}"#)
    );
    assert_eq!(opened.rows(&[8], parts).unwrap().len(), 1);
    assert!(!place.path().join("deep/one.index.import").exists());
    let again = errors(&import(&server.address, "one", &out, &[]));
    assert!(again.contains("is there already"), "{again}");

    let two = place.path().join("two");
    let done = import(&server.address, "two", &two, &[]);
    let report_of_two = report(&done);
    assert_eq!(done.status.code(), Some(0), "{report_of_two}");
    assert_eq!(report_of_two["left_out"], json!(["'s' (sparse)"]));
    for (at, name, rows, without) in [(0, "a", 300, 0), (1, "b", 240, 60)] {
        let index = &report_of_two["indexes"][at];
        assert_eq!(
            (&index["vector"], &index["rows"]),
            (&json!(name), &json!(rows))
        );
        assert_eq!(index["without"], without);
        assert_eq!(index["comparison"]["agreement"], 1.0);
        let opened = Index::open(&two.join(name), &OpenOptions::default()).unwrap();
        assert_eq!(opened.len(), rows);
    }
    let alone = place.path().join("b.index");
    let done = import(
        &server.address,
        "two",
        &alone,
        &["--vector", "b", "--compare", "0"],
    );
    assert_eq!(report(&done)["indexes"][0]["comparison"], Value::Null);
    assert!(alone.join("MANIFEST").exists());
    let nothing = errors(&import(
        &server.address,
        "none",
        &place.path().join("n"),
        &[],
    ));
    assert!(nothing.contains("404"), "{nothing}");
    let absent = errors(&import(
        &server.address,
        "two",
        &place.path().join("n"),
        &["--vector", "s"],
    ));
    assert!(absent.contains("no dense vector 's'"), "{absent}");
    let file = place.path().join("key");
    std::fs::write(&file, "wrong\n").unwrap();
    let more = ["--api-key-file", file.to_str().unwrap()];
    let refused = errors(&import(
        &server.address,
        "one",
        &place.path().join("n"),
        &more,
    ));
    assert!(
        refused.contains("401") || refused.contains("403"),
        "{refused}"
    );
    assert!(!place.path().join("n").exists());
    server.stop();
}

/// Passes `pages` scrolls on to a server, then drops connections.
fn relay(server: String, pages: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut scrolls = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = read_request(&mut stream);
            scrolls += usize::from(request.contains("/points/scroll"));
            if scrolls > pages {
                continue;
            }
            let mut behind = TcpStream::connect(&server).unwrap();
            let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
            behind.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            behind.read_to_end(&mut answer).unwrap();
            let _ = stream.write_all(&answer);
        }
    });
    address
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut request, mut some) = (String::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut some).unwrap_or(0);
        request.push_str(std::str::from_utf8(&some[..length]).unwrap());
        let Some((head, body)) = request.split_once("\r\n\r\n") else {
            continue;
        };
        let lower = head.to_lowercase();
        let wanted = lower.split("content-length: ").nth(1);
        let wanted = wanted.map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
        if length == 0 || body.len() >= wanted {
            return request;
        }
    }
}

#[test]
fn an_import_that_loses_the_server_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("data"), Keys::default());
    fill(&server, 200);
    let out = place.path().join("one.index");
    let near = relay(server.address.clone(), 2);
    let lost = errors(&import(
        &near,
        "one",
        &out,
        &["--batch", "50", "--attempts", "2"],
    ));
    assert!(
        lost.contains("100 points are imported; the same command goes on"),
        "{lost}"
    );
    assert!(place.path().join("one.index.import").exists());
    let other = errors(&import(&server.address, "two", &out, &["--vector", "a"]));
    assert!(
        other.contains("of an import of collection 'one'"),
        "{other}"
    );
    let done = import(&server.address, "one", &out, &["--batch", "50"]);
    let report = report(&done);
    assert_eq!(done.status.code(), Some(0), "{report}");
    assert_eq!(
        (&report["points"], &report["resumed"]),
        (&json!(200), &json!(100))
    );
    assert_eq!(report["indexes"][0]["rows"], 200);
    server.stop();
}

/// Stands for a Python whose program answers for two points in two pages, and dies before the
/// second where `until` says so.
fn pages_of_a_snapshot(dir: &Path, until: &str) -> String {
    let place = dir.join("python");
    let program = format!(
        r#"#!/bin/sh
while read -r line; do case "$line" in
*points/count*) echo '{{"result": {{"count": 2}}}}' ;;
*offset*points/scroll*) {until}
    echo '{{"result": {{"points": [{{"id": 2, "payload": null, "vector": [0, 1]}}], "next_page_offset": null}}}}' ;;
*points/scroll*) echo '{{"result": {{"points": [{{"id": 1, "payload": {{"n": 5}}, "vector": [1, 0]}}], "next_page_offset": [1, null]}}}}' ;;
*points/query*) echo '{{"result": {{"points": [{{"score": 1}}, {{"score": 0}}]}}}}' ;;
*) echo '{{"result": {{"config": {{"params": {{"vectors": {{"size": 2, "distance": "Cosine"}}}}}}}}}}' ;;
esac; done
"#
    );
    std::fs::write(&place, program).unwrap();
    place.to_str().unwrap().to_owned()
}

fn import_snapshot(python: &str, out: &Path) -> Output {
    // Run by the shell, since a file that was just written may still be busy.
    let shell = out.with_file_name("run");
    if !shell.exists() {
        let run = format!("#!/bin/sh\nexec /bin/sh '{python}'\n");
        std::fs::write(&shell, run).unwrap();
        let is_run = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&shell, is_run).unwrap();
    }
    Command::new(env!("CARGO_BIN_EXE_pageway-import-qdrant"))
        .args(["--snapshot", "texts.snapshot", "--json", "--out"])
        .arg(out)
        .arg("--python")
        .arg(&shell)
        .output()
        .unwrap()
}

#[test]
fn a_snapshot_is_read_by_another_process_and_gone_on_with() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("one.index");
    let refusing = pages_of_a_snapshot(place.path(), r#"echo '{"error": "no such page"}'"#);
    let refused = errors(&import_snapshot(&refusing, &out));
    let words = "texts.snapshot: no such page";
    assert!(
        refused.contains(words) && refused.contains("1 points are imported"),
        "{refused}"
    );
    let dying = pages_of_a_snapshot(place.path(), "exit 1");
    let ended = errors(&import_snapshot(&dying, &out));
    assert!(ended.contains("has ended"), "{ended}");
    let done = import_snapshot(&pages_of_a_snapshot(place.path(), ""), &out);
    let report = report(&done);
    assert_eq!(done.status.code(), Some(0), "{report}");
    assert_eq!(
        (&report["points"], &report["resumed"], &report["collection"]),
        (&json!(2), &json!(1), &json!("texts.snapshot"))
    );
    assert_eq!(report["indexes"][0]["comparison"]["agreement"], 1.0);
    let opened = Index::open(&out, &OpenOptions::default()).unwrap();
    assert_eq!(
        opened.count(&Filter::expression("n = 5").unwrap()).unwrap(),
        1
    );
    let missing = Command::new(env!("CARGO_BIN_EXE_pageway-import-qdrant"))
        .args(["--snapshot", "a", "--python", "/no/python", "--out", "b"])
        .output()
        .unwrap();
    let missing = errors(&missing);
    assert!(missing.contains("--python /no/python"), "{missing}");
}
