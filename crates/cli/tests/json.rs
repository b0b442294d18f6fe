//! The keys that `--json` prints are those of docs/json.md.
#![expect(clippy::disallowed_methods, reason = "tests look at files directly")]

mod common;

use common::{Place, clustered, lines};
use serde_json::Value;

/// The sections of the page with these headings.
fn sections(headings: &[&str]) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let own = page.split("\n## ").filter(|section| {
        let heading = section.lines().next().unwrap_or_default();
        headings.contains(&heading)
    });
    own.collect()
}

/// Paths of the values that are no objects; `[]` for each of a list of objects.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    let fields = value.as_object().filter(|fields| !fields.is_empty());
    let list = value.as_array();
    if let Some(fields) = fields {
        for (key, own) in fields {
            let dot = if path.is_empty() { "" } else { "." };
            paths(own, &format!("{path}{dot}{key}"), found);
        }
    } else if let Some(all) = list.filter(|all| all.iter().any(Value::is_object)) {
        for own in all {
            paths(own, &format!("{path}[]"), found);
        }
    } else {
        found.push(path.to_owned());
    }
}

#[track_caller]
fn check(headings: &[&str], printed: &Value) {
    let page = sections(headings);
    let mut found = Vec::new();
    paths(printed, "", &mut found);
    assert!(found.len() > 5, "{printed}");
    let whole = |path: &str| {
        let ends = path.char_indices().filter(|(_, letter)| *letter == '.');
        ends.map(|(end, _)| &path[..end])
            .any(|before| page.contains(&format!("`{}.*`", before.trim_end_matches("[]"))))
    };
    let is_told = |path: &String| page.contains(&format!("`{path}`")) || whole(path);
    found.retain(|path| !is_told(path));
    assert!(found.is_empty(), "{headings:?} has no word for {found:?}");
}

#[test]
fn every_key_has_a_word() {
    let place = Place::new();
    place.write("base.u8bin", clustered(1200, 16, 1));
    place.write("more.u8bin", clustered(300, 16, 2));
    place.write("q.u8bin", clustered(40, 16, 3));
    place.write("gone.txt", lines(0..100));
    let document = |row: u32| format!("{{\"year\": {}}}\n", 2000 + row % 20);
    place.write("a.jsonl", (0..1200).map(document).collect::<String>());
    let run = |line: &str| place.line(&format!("{line} --json")).json();

    let build = "build --data base.u8bin --out i --metric l2 --memory 4MB --attributes a.jsonl";
    check(&["build"], &run(build));
    run("ground-truth --data base.u8bin --queries q.u8bin --metric l2 --out gt.ibin");
    let search = "search i --queries q.u8bin --show 2";
    check(&["search"], &run(&format!("{search} --truth gt.ibin")));
    let filtered = "--filter year>2010 --with-attributes";
    check(&["search"], &run(&format!("{search} {filtered}")));
    check(
        &["search"],
        &run("range i --queries q.u8bin --radius 9000 --exact"),
    );
    check(&["inspect"], &run("inspect i"));
    check(&["insert", "changes"], &run("insert i --data more.u8bin"));
    check(&["delete", "changes"], &run("delete i --ids gone.txt"));
    check(&["inspect"], &run("inspect i --fields"));
    check(&["merge", "changes"], &run("merge i --full"));
    check(&["verify"], &run("verify i"));
    let recall = run("recall i");
    assert_eq!(recall["asked"].to_string(), "0.95");
    check(&["recall"], &recall);
}
