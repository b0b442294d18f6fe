//! An index that changes, through the built program.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests copy and damage files directly"
)]

mod common;

use common::{Place, clustered, lines};
use serde_json::Value;

fn number(json: &Value, key: &str) -> u64 {
    json[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} in {json}"))
}

/// An empty index and files of vectors that fit it.
fn created(options: &str) -> Place {
    let place = Place::new();
    place.write("a.u8bin", clustered(1500, 32, 1));
    place.write("b.u8bin", clustered(300, 32, 2));
    place.write("q.u8bin", clustered(20, 32, 1));
    let line = format!(
        "create --out my.index --dimension 32 --metric l2 --element u8 --memory 8MB \
         --expected 2000 --degree 24 {options} --json"
    );
    let report = place.line(&line).json();
    assert_eq!(number(&report, "dimension"), 32);
    place
}

/// Nearest id of each query, each found by a search that reads everything.
fn nearest(place: &Place, index: &str) -> Vec<i32> {
    let line =
        format!("search --index {index} --queries q.u8bin -k 1 --list-size 200 --out f.ibin");
    let run = place.line(&line);
    assert_eq!(run.code, 0, "{run:?}");
    let bytes = place.read("f.ibin");
    let ids = bytes[8..8 + 20 * 4].chunks(4);
    ids.map(|id| i32::from_le_bytes(id.try_into().expect("4 bytes")))
        .collect()
}

#[test]
fn rows_go_in_are_replaced_deleted_merged_copied_and_told() {
    let place = created("");
    let empty = place.line("log my.index");
    assert!(empty.stdout.contains("no log"), "{empty:?}");

    let report = place.line("insert my.index --data a.u8bin --json").json();
    for key in [
        "inserted",
        "replaced",
        "lsn",
        "flushes",
        "merges",
        "bytes_written",
        "peak_memory_bytes",
    ] {
        assert!(report[key].is_u64(), "{key} in {report}");
    }
    assert_eq!(
        (number(&report, "inserted"), number(&report, "replaced")),
        (1500, 0)
    );
    assert_eq!(report["durable"], true);
    assert!(report["rows_per_second"].as_f64().expect("a speed") > 0.0);

    // The first rows again, under the ids of others and of new ones.
    place.write("ids.txt", lines(1400..1700));
    let line = "insert my.index --data b.u8bin --ids ids.txt";
    let refused = place.line(line);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("1400"), "{refused:?}");
    let report = place
        .line(&format!("{line} --upsert --durability batched:5ms --json"))
        .json();
    assert_eq!(
        (number(&report, "inserted"), number(&report, "replaced")),
        (200, 100)
    );

    place.write("gone.txt", lines((0..1000).chain(5000..5003)));
    let report = place.line("delete my.index --ids gone.txt --json").json();
    assert_eq!(
        (number(&report, "deleted"), number(&report, "absent")),
        (1000, 3)
    );
    assert_eq!(number(&report, "rows"), 700);
    let log = place.line("log my.index --json").json();
    assert_eq!(log["log"]["closed"], true);
    // Who only reads sees it too.
    let inspected = place.line("inspect my.index --json").json();
    // Dead rows are still in segments, or merged away.
    let dead = &inspected["changes"]["dead"];
    let dead = dead.as_array().expect("a number for each segment").iter();
    let dead: u64 = dead.filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(number(&inspected, "nodes") - dead, 700, "{inspected}");

    // With dead rows, and with those that came since.
    let measured = place.line("recall my.index --list-size 700 --most-queries 50 --json");
    let measured = measured.json();
    assert_eq!(measured["recall"], 1.0, "{measured}");
    assert_eq!(number(&measured, "rows"), 700, "{measured}");
    let report = place
        .line("snapshot my.index --out copy.index --json")
        .json();
    assert_eq!(number(&report, "rows"), 700);
    let report = place.line("merge my.index --full --json").json();
    assert_eq!(
        (number(&report, "segments"), number(&report, "dead")),
        (1, 0)
    );
    let inspected = place.line("inspect my.index --json").json();
    assert_eq!(number(&inspected, "nodes"), 700);
    assert_eq!(inspected["changes"]["dead_share"], 0.0);
    let text = place.line("inspect my.index").stdout;
    assert!(
        text.contains("Changes") && text.contains("last record"),
        "{text}"
    );
    for index in ["my.index", "copy.index"] {
        assert_eq!(place.line(&format!("verify {index}")).code, 0);
    }
    let found = nearest(&place, "my.index");
    assert_eq!(found, nearest(&place, "copy.index"));
    assert!(
        found.iter().all(|id| (1000..1700).contains(id)),
        "{found:?}"
    );
}

#[test]
fn attributes_come_change_are_shown_and_go() {
    let place = created("");
    let text = |row: u64| format!("{{\"n\": {row}, \"of\": {{\"three\": {}}}}}\n", row % 3);
    place.write("b.jsonl", (0..300).map(text).collect::<String>());
    place.write("few.jsonl", (0..299).map(text).collect::<String>());
    let refused = place.line("insert my.index --data b.u8bin --attributes few.jsonl");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("299 documents for 300"),
        "{refused:?}"
    );
    let cells = |row: u64| format!("{row},\"{{\"\"three\"\": {}}}\"\n", row % 3);
    place.write(
        "b.csv",
        format!("n,of\n{}", (0..300).map(cells).collect::<String>()),
    );
    let report = place.line("insert my.index --data b.u8bin --attributes b.csv --json");
    assert_eq!(number(&report.json(), "inserted"), 300);
    let report =
        place.line("build --data b.u8bin --out built.index --metric l2 --attributes b.csv");
    assert_eq!(report.code, 0, "{report:?}");
    place.write(
        "kinds.json",
        "{\"n\": \"keyword\", \"of.three\": \"integer\"}",
    );
    let schema = "build --data b.u8bin --out kinds.index --metric l2 --schema kinds.json";
    let refused = place.line(&format!("{schema} --attributes b.jsonl"));
    let words = "b.jsonl, row 0: n: holds 0, the schema says keyword";
    assert!(
        refused.code == 2 && refused.stderr.contains(words),
        "{refused:?}"
    );
    assert_eq!(place.line(&format!("{schema} --attributes b.csv")).code, 0);
    let inspected = place.line("inspect kinds.index --fields --json").json();
    assert_eq!(inspected["schema"]["of.three"], "integer");
    assert_eq!(inspected["fields"][0]["path"], "n");
    assert_eq!(inspected["fields"][0]["kinds"][0], "text");
    let count = ["count", "built.index", "--filter", "of.three = 2", "--json"];
    assert_eq!(number(&place.run(count).json(), "matches"), 100);
    let json = r#"{"must": {"key": "of.three", "match": {"value": 2}}}"#;
    place.write("filter.json", json);
    for given in [json, "filter.json"] {
        let count = ["count", "built.index", "--filter-json", given, "--json"];
        assert_eq!(number(&place.run(count).json(), "matches"), 100);
    }
    place.write("ids.txt", lines([7, 8, 4000].into_iter()));
    let set = [
        "set",
        "my.index",
        "{\"four\": 4}",
        "--at",
        "of",
        "--ids",
        "ids.txt",
        "--json",
    ];
    let report = place.run(set).json();
    assert_eq!(
        (number(&report, "changed"), number(&report, "absent")),
        (2, 1)
    );
    let unset = [
        "unset", "my.index", "of.three", "--filter", "n = 8", "--json",
    ];
    assert_eq!(number(&place.run(unset).json(), "changed"), 1);
    let shown = place
        .line("scroll my.index --from 7 --limit 2 --json")
        .json();
    let expected = "{\"rows\":[{\"id\":7,\"attributes\":{\"n\":7,\"of\":{\"four\":4,\"three\":1}}},\
                    {\"id\":8,\"attributes\":{\"n\":8,\"of\":{\"four\":4}}}],\"next\":9}";
    assert_eq!(
        shown,
        serde_json::from_str::<Value>(expected).expect("JSON")
    );
    let shown = place.line("scroll my.index --ids ids.txt");
    assert!(shown.stdout.contains("8: {\"n\":8"), "{shown:?}");
    let delete = ["delete", "my.index", "--filter", "of.three = 2", "--json"];
    assert_eq!(number(&place.run(delete).json(), "deleted"), 99);
    let count = place
        .run(["count", "my.index", "--filter", "n >= 0", "--json"])
        .json();
    assert_eq!(
        (number(&count, "rows"), number(&count, "matches")),
        (201, 201)
    );
    let cases = [
        (
            &["set", "my.index", "[1]", "--ids", "ids.txt"][..],
            "object",
        ),
        (
            &["set", "my.index", "{}", "--at", "a..b", "--ids", "ids.txt"],
            "a name is missing",
        ),
        (
            &["unset", "my.index", "n", "--filter", "m = 1"],
            "no row has a field m",
        ),
        (&["unset", "my.index", "--ids", "ids.txt"], "PATH"),
        (&["delete", "my.index"], "--ids"),
        (
            &["count", "my.index", "--filter-json", "{\"must\": 3}"],
            "filter.must: an object is expected",
        ),
        (
            &["count", "my.index", "--filter", "n > '2020-99-01'"],
            "'2020-99-01' is no date",
        ),
        (&["scroll", "my.index", "--limit", "0"], "0 rows at a time"),
    ];
    for (line, words) in cases {
        let refused = place.run(line);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
}

#[test]
fn an_index_that_was_built_accepts_changes() {
    let place = created("");
    let build = "build --data a.u8bin --out built.index --metric l2 --memory 8MB --degree 24 \
                 --build-list 50";
    assert_eq!(place.line(build).code, 0);
    let before = nearest(&place, "built.index");
    place.write(
        "gone.txt",
        lines(
            before
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .map(|id| *id as u64),
        ),
    );
    let report = place
        .line("delete built.index --ids gone.txt --json")
        .json();
    assert_eq!(number(&report, "absent"), 0);
    let report = place
        .line("insert built.index --data b.u8bin --durability deferred --json")
        .json();
    assert_eq!(number(&report, "inserted"), 300);
    assert_eq!(place.line("merge built.index").code, 0);
    let after = nearest(&place, "built.index");
    assert!(
        after.iter().all(|id| !before.contains(id)),
        "{before:?} {after:?}"
    );
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let place = created("");
    let refused = |line: &str, code: i32, words: &str| {
        let run = place.line(line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(words), "{line}: {run:?}");
    };
    refused(
        "create --out my.index --dimension 32 --metric l2",
        2,
        "already",
    );
    refused(
        "create --out x --dimension 32 --metric l2 --memory 10%",
        2,
        "none yet",
    );
    refused(
        "insert my.index --data a.u8bin --durability often",
        2,
        "synced, batched",
    );
    refused("insert my.index --data a.u8bin --upsert", 2, "--ids");
    refused("insert nothing.index --data a.u8bin", 3, "no index");
    refused(
        "insert my.index --data a.u8bin --update-memory 1kB",
        2,
        "smallest that works",
    );
    place.write("few.txt", lines(0..3));
    refused(
        "insert my.index --data a.u8bin --ids few.txt",
        2,
        "one for each",
    );
    place.write("twice.txt", lines([4, 4].into_iter()));
    refused("delete my.index --ids twice.txt", 2, "4");
    refused("delete my.index", 2, "--names");
    refused(
        "delete my.index --ids twice.txt --filter a=1",
        2,
        "cannot be used with",
    );
    place.write("other.u8bin", clustered(10, 16, 1));
    refused("insert my.index --data other.u8bin", 2, "16");
}

#[test]
fn rows_with_names_are_found_changed_and_deleted_by_them() {
    let place = Place::new();
    place.write("a.u8bin", clustered(300, 32, 1));
    place.write("b.u8bin", clustered(2, 32, 2));
    let names: Vec<String> = (0..300).map(|row| format!("row {row}")).collect();
    place.write("a.txt", names.join("\n"));
    place.write("b.txt", "row 3\nnew one\n");
    let build = "build --data a.u8bin --names a.txt --out my.index --metric l2 --memory 8MB \
                 --calibration-queries 10 --degree 24";
    assert_eq!(place.line(build).code, 0);
    for file in ["found.csv", "found.jsonl", "found.parquet"] {
        let search = format!("search my.index --queries a.u8bin -k 1 --out {file}");
        assert_eq!(place.line(&search).code, 0, "{file}");
    }
    let text = |file: &str| String::from_utf8(place.read(file)).expect("UTF-8");
    assert!(text("found.csv").contains("\n5,1,\"row 5\",0\n"));
    assert!(text("found.jsonl").contains("{\"query\": 5, \"ids\": [\"row 5\"], "));
    let parquet = place.read("found.parquet");
    let holds = |name: &[u8]| parquet.windows(name.len()).any(|some| some == name);
    assert!(holds(b"row 299"));
    for file in ["found.npy", "found.ibin"] {
        let search = format!("search my.index --queries a.u8bin -k 1 --out {file}");
        let refused = place.line(&search);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.stderr.contains(".csv .jsonl or .parquet"),
            "{refused:?}"
        );
        assert!(!place.exists(file));
    }
    let taken = place.line("insert my.index --data b.u8bin --names b.txt");
    assert_eq!(taken.code, 2);
    assert!(taken.stderr.contains("name \"row 3\""), "{taken:?}");
    let report = place.line("insert my.index --data b.u8bin --names b.txt --upsert --json");
    let report = report.json();
    assert_eq!(
        (number(&report, "inserted"), number(&report, "replaced")),
        (1, 1)
    );
    let search = "search my.index --queries b.u8bin -k 1 --list-size 60 --show 2 --json";
    let answers = place.line(search).json();
    for (query, name) in ["row 3", "new one"].into_iter().enumerate() {
        assert_eq!(answers["answers"][query]["names"][0], name, "{answers}");
    }
    place.write("some.txt", "row 5\nnobody\n");
    let report = place
        .line("set my.index {\"n\":1} --names some.txt --json")
        .json();
    assert_eq!(
        (number(&report, "changed"), number(&report, "absent")),
        (1, 1)
    );
    let shown = place.line("scroll my.index --names some.txt");
    assert_eq!(shown.stdout.trim(), "row 5: {\"n\":1}");
    let report = place.line("delete my.index --names some.txt --json").json();
    assert_eq!(
        (number(&report, "deleted"), number(&report, "absent")),
        (1, 1)
    );
    assert!(
        place
            .line("scroll my.index --names some.txt")
            .stdout
            .contains("No rows")
    );
}

/// What a kill leaves: the files of an index that a writer has open.
fn copied(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).expect("files of an index");
    for entry in std::fs::read_dir(from).expect("files of an index") {
        let entry = entry.expect("files of an index");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("files of an index").is_dir() {
            copied(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("files of an index");
        }
    }
}

#[test]
fn salvage_tells_and_keeps_what_it_gives_up() {
    let place = created("");
    let index = place.path("my.index");
    let writer = pageway::Writer::open(
        &index,
        &pageway::OpenOptions::default(),
        &pageway::UpdateOptions::default(),
    )
    .unwrap();
    let shape = pageway::VectorShape {
        dimension: 32,
        element: pageway::ElementType::U8,
    };
    for row in 0..20_u8 {
        let vectors = [row; 32];
        let rows = pageway::Rows::new(&vectors, shape);
        writer.insert(&rows).unwrap();
    }
    copied(&index, &place.path("killed"));
    drop(writer);
    let name = "killed/log/log-0000000000000001.pwl";
    let sound = place.read(name);
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    let mut damaged = sound;
    damaged[used / 2] ^= 1;
    place.write(name, &damaged);

    assert_eq!(place.line("merge killed").code, 5);
    let report = place.line("merge killed --salvage --json").json();
    let salvaged = &report["salvaged"];
    assert_eq!(salvaged["file"], "log-0000000000000001.pwl", "{report}");
    let first = number(salvaged, "first");
    assert!((2..20).contains(&first), "{report}");
    assert_eq!(number(&report, "rows"), first - 1);
    assert_eq!(number(salvaged, "last"), 20);
    assert!(!place.exists(name), "what was sound is flushed");
    assert_eq!(place.read(&format!("{name}.lost")), damaged);

    let again = place.line("merge killed --salvage --json").json();
    assert!(again.get("salvaged").is_none(), "{again}");
}
