//! The console: what it consists of, and what it asks for beside what clients do.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a failed test may panic"
)]

mod common;

use common::Server;
use pageway_server::Keys;
use serde_json::json;

#[test]
fn the_page_is_open_to_everybody_and_needs_nothing_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::with_keys(dir.path(), Keys::new(Some("all"), Some("read")));
    for path in ["/console", "/console/console.css", "/console/console.js"] {
        let file = server.get(path);
        assert_eq!(file.status, 200, "{path}");
        // The name of the namespace of SVG is no address that is asked.
        let text = file.text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http:") && !text.contains("https:"),
            "{path}"
        );
        assert!(
            !text.contains("innerHTML") && !text.contains("eval("),
            "{path}"
        );
    }
    assert_eq!(server.get("/pageway/collections").status, 401);
    let read = server.ask_with(("GET", "/pageway/collections"), &[("api-key", "read")], "");
    assert_eq!(read.result(), json!({"collections": []}));
}

#[test]
fn collections_tell_what_they_hold_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::open(dir.path());
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    for name in ["a", "b"] {
        server
            .put(&format!("/collections/{name}"), &config)
            .result();
    }
    server.close();
    let server = Server::open(dir.path());
    server.get("/collections/b").result();
    let own = server.get("/pageway/collections").result();
    let (a, b) = (&own["collections"][0], &own["collections"][1]);
    assert_eq!(a, &json!({"name": "a", "open": false, "memory_bytes": 0}));
    assert_eq!((&b["name"], &b["open"]), (&json!("b"), &json!(true)));
    assert!(b["memory_bytes"].as_u64().unwrap() > 1 << 20);
}
