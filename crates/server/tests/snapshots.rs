//! Collections as archives: made, sent, taken back, and refused where they are hostile.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic, and tests look at files"
)]

mod common;

use std::path::Path;

use common::{Answer, Server};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

const SNAPSHOTS: &str = "/collections/c/snapshots";

/// A server with a collection of two vectors and so many points.
fn filled(dir: &Path, count: usize) -> Server {
    let server = Server::open(dir);
    let config = json!({"vectors": {
        "a": {"size": 2, "distance": "Dot"}, "b": {"size": 3, "distance": "Euclid"},
    }, "metadata": {"x": 1}});
    server.put("/collections/c", &config).result();
    put(&server, 0..count);
    server
        .put(
            "/collections/c/index",
            &json!({"field_name": "n", "field_schema": "integer"}),
        )
        .result();
    server
}

fn put(server: &Server, ids: std::ops::Range<usize>) {
    let point =
        |id| json!({"id": id, "vector": {"a": [id, 1], "b": [0, id, 1]}, "payload": {"n": id}});
    let points: Vec<Value> = ids.map(point).collect();
    server
        .put(
            "/collections/c/points?wait=true",
            &json!({"points": points}),
        )
        .result();
}

fn count(server: &Server, collection: &str) -> Value {
    let path = format!("/collections/{collection}/points/count");
    server.post(&path, &json!({})).result()["count"].clone()
}

/// Sends an archive in a form.
fn upload(server: &Server, path: &str, archive: &[u8]) -> Answer {
    let head = "--x\r\ncontent-disposition: form-data; name=\"snapshot\"; filename=\"s\"\r\n\r\n";
    let body = [head.as_bytes(), archive, b"\r\n--x--\r\n"].concat();
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    server.ask_bytes(("POST", path), &kind, body)
}

/// The archive of a collection as it is now, and its name.
fn archive(server: &Server) -> (Vec<u8>, String) {
    let made = server.post(SNAPSHOTS, &json!({})).result();
    let name = made["name"].as_str().unwrap().to_owned();
    let bytes = server.get(&format!("{SNAPSHOTS}/{name}")).bytes;
    assert_eq!(made["size"], bytes.len());
    let digits = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(made["checksum"], digits);
    (bytes, name)
}

#[test]
fn a_collection_comes_back_from_its_archive() {
    let dir = tempfile::tempdir().unwrap();
    let server = filled(dir.path(), 50);
    assert_eq!(server.get(SNAPSHOTS).result(), json!([]));
    let (bytes, name) = archive(&server);
    let listed = server.get(SNAPSHOTS).result();
    assert_eq!(listed[0]["name"], name);
    let checksum = listed[0]["checksum"].as_str().unwrap();
    put(&server, 50..60);
    assert_eq!(count(&server, "c"), 60);
    let file = dir.path().join("snapshots/c").join(&name);
    let location = format!("file://{}", file.display());
    let recover = |checksum: &str| {
        let body = json!({"location": location, "checksum": checksum, "priority": "snapshot"});
        server.put(&format!("{SNAPSHOTS}/recover"), &body)
    };
    assert!(
        recover(&"3".repeat(64))
            .error(400)
            .contains("checksum mismatch")
    );
    assert_eq!(count(&server, "c"), 60, "nothing has changed");
    assert_eq!(recover(checksum).result(), json!(true));
    assert_eq!(count(&server, "c"), 50);
    put(&server, 50..55);
    let query = json!({"query": [9, 0], "using": "a", "limit": 1, "with_payload": true});
    let found = server.post("/collections/c/points/query", &query).result();
    assert_eq!(found["points"][0]["payload"], json!({"n": 54}));
    let sent = upload(&server, "/collections/d/snapshots/upload?wait=true", &bytes);
    assert_eq!(sent.result(), json!(true));
    assert_eq!(count(&server, "d"), 50);
    let own = server.get("/collections/d").result();
    assert_eq!(own["config"]["metadata"], json!({"x": 1}));
    assert_eq!(own["payload_schema"]["n"]["points"], 50);
    server.close();
    let server = Server::open(dir.path());
    assert_eq!(
        (count(&server, "c"), count(&server, "d")),
        (json!(55), json!(50))
    );
    let gone = server.delete(&format!("{SNAPSHOTS}/{name}"));
    assert_eq!(gone.result(), json!(true));
    assert_eq!(server.get(SNAPSHOTS).result(), json!([]));
    assert!(
        server
            .delete(&format!("{SNAPSHOTS}/{name}"))
            .error(404)
            .contains("not found")
    );
    let left = std::fs::read_dir(dir.path().join("snapshots/c")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn an_archive_of_other_vectors_replaces_no_collection() {
    let dir = tempfile::tempdir().unwrap();
    let server = filled(dir.path(), 20);
    let (bytes, _) = archive(&server);
    let others = [
        json!({"size": 2, "distance": "Euclid"}),
        json!({"a": {"size": 7, "distance": "Euclid"}}),
    ];
    for (at, vectors) in others.into_iter().enumerate() {
        let path = format!("/collections/other-{at}");
        server.put(&path, &json!({"vectors": vectors})).result();
        let sent = upload(&server, &format!("{path}/snapshots/upload"), &bytes);
        let words = sent.error(400);
        assert!(
            words.contains("not compatible with existing collection"),
            "{words}"
        );
        let params = server.get(&path).result()["config"]["params"]["vectors"].clone();
        assert_eq!(params, vectors);
    }
    let collections = std::fs::read_dir(dir.path().join("collections")).unwrap();
    assert_eq!(
        collections.count(),
        3,
        "nothing is left of what was refused"
    );
}

#[test]
fn an_archive_is_one_moment_of_all_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let server = filled(dir.path(), 20);
    let (service, app) = (server.service(), server.app.clone());
    let (ends, ended) = std::sync::mpsc::channel::<()>();
    // Points come and go while archives are made: each has both vectors, or is not there.
    let writer = std::thread::spawn(move || {
        let own = Server::of(service, app);
        let mut round = 0;
        while ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            put(&own, 20..40);
            let ids: Vec<usize> = (20 + round % 5..40).collect();
            own.post(
                "/collections/c/points/delete?wait=true",
                &json!({"points": ids}),
            )
            .result();
            round += 1;
        }
    });
    for _ in 0..3 {
        let (bytes, _) = archive(&server);
        upload(&server, "/collections/d/snapshots/upload", &bytes).result();
        let count_of = |name: &str| {
            let filter = json!({"filter": {"must": [{"has_vector": name}]}});
            let counted = server.post("/collections/d/points/count", &filter);
            counted.result()["count"].as_u64().unwrap()
        };
        assert_eq!(count_of("a"), count_of("b"));
        let all = json!({"limit": 100, "with_vector": true});
        let points = server.post("/collections/d/points/scroll", &all).result();
        for point in points["points"].as_array().unwrap() {
            let vectors = point["vector"].as_object().unwrap();
            assert_eq!(vectors.len(), 2, "{point}");
        }
    }
    ends.send(()).unwrap();
    writer.join().unwrap();
}

fn forged(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(*kind);
        if *kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        // The name as it is: `set_path` would refuse what is hostile.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = filled(dir.path(), 5);
    let config = server.get("/collections/c").result()["config"].clone();
    let head = |format: u32| {
        let head = json!({
            "pageway_snapshot": format, "config": config, "payload_schema": {}, "indexes": 2,
        });
        head.to_string().into_bytes()
    };
    let (own, regular) = (head(1), EntryType::Regular);
    let long = vec![b'a'; 100];
    let long = std::str::from_utf8(&long).unwrap();
    for (what, entries) in [
        ("no archive", vec![]),
        (
            "another first entry",
            vec![("v0/MANIFEST", regular, b"{}".as_slice())],
        ),
        ("no JSON", vec![("snapshot.json", regular, b"{".as_slice())]),
        (
            "no indexes",
            vec![("snapshot.json", regular, own.as_slice())],
        ),
    ] {
        let sent = upload(
            &server,
            "/collections/d/snapshots/upload",
            &forged(&entries),
        );
        assert!(sent.error(400).starts_with("Wrong input: "), "{what}");
    }
    let later = head(2);
    let entries = [("snapshot.json", regular, later.as_slice())];
    let sent = upload(
        &server,
        "/collections/d/snapshots/upload",
        &forged(&entries),
    );
    assert!(sent.error(400).contains("its version is 2"));
    for name in [
        "../x",
        "v0/../../x",
        "/etc/x",
        "v0//x",
        "v0/.x",
        "v2/x",
        "v00/x",
        "v0/LOCK",
        "x",
        "v0/a/b",
        long,
    ] {
        let entries = [
            ("snapshot.json", regular, own.as_slice()),
            (name, regular, b"x"),
        ];
        let sent = upload(
            &server,
            "/collections/d/snapshots/upload",
            &forged(&entries),
        );
        assert!(sent.error(400).contains("the entry"), "{name}");
    }
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::GNULongName,
        EntryType::GNUSparse,
        EntryType::XHeader,
    ] {
        let entries = [
            ("snapshot.json", regular, own.as_slice()),
            ("v0/x", kind, b""),
        ];
        let sent = upload(
            &server,
            "/collections/d/snapshots/upload",
            &forged(&entries),
        );
        assert!(sent.error(400).contains("Snapshot"), "{kind:?}");
    }
    let twice = [
        ("snapshot.json", regular, own.as_slice()),
        ("v0/x", regular, b"x"),
        ("v0/x", regular, b"y"),
    ];
    let sent = upload(&server, "/collections/d/snapshots/upload", &forged(&twice));
    assert!(sent.error(400).contains("twice"));
    let (bytes, _) = archive(&server);
    let end = bytes.len() - 1024;
    for cut in [600, bytes.len() / 2, end, end + 512, end + 1023] {
        let sent = upload(&server, "/collections/d/snapshots/upload", &bytes[..cut]);
        assert!(
            sent.error(400).starts_with("Wrong input: Snapshot"),
            "{cut}"
        );
    }
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 512].fill(0x5a);
    upload(&server, "/collections/d/snapshots/upload", &damaged).error(400);
    for location in [
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        "file://etc/passwd",
        "http://169.254.169.254/",
        &format!("file://{}/snapshots/../MANIFEST", dir.path().display()),
        &format!(
            "file://{}/snapshots/c/../c/x.snapshot",
            dir.path().display()
        ),
        "",
    ] {
        let body = json!({"location": location});
        let told = server
            .put("/collections/d/snapshots/recover", &body)
            .error(400);
        assert!(told.starts_with("Bad request: "), "{told}");
    }
    for name in [
        "..%2F..%2FMANIFEST",
        "%2Fetc%2Fpasswd",
        "x.snapshot",
        ".x.snapshot",
    ] {
        server.get(&format!("{SNAPSHOTS}/{name}")).error(404);
    }
    assert_eq!(
        server.get("/collections/d/exists").result()["exists"],
        false
    );
    let kept = std::fs::read_dir(dir.path().join("collections")).unwrap();
    assert_eq!(kept.count(), 1, "what was taken out is gone");
    let kept = std::fs::read_dir(dir.path().join("snapshots")).unwrap();
    assert_eq!(kept.count(), 1, "what was sent is gone");
    assert_eq!(count(&server, "c"), 5);
}

#[test]
fn what_nobody_waits_for_is_done_later() {
    let dir = tempfile::tempdir().unwrap();
    let server = filled(dir.path(), 5);
    let made = server.post(&format!("{SNAPSHOTS}?wait=false"), &json!({}));
    assert_eq!(
        (made.status, &made.json()["status"]),
        (202, &json!("accepted"))
    );
    for _ in 0..1000 {
        if server.get(SNAPSHOTS).result() != json!([]) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_ne!(server.get(SNAPSHOTS).result(), json!([]));
}
