//! What people try first: a place in place of a flag, help, completions, manual pages, a dry run;
//! and what they are told when something is not there.

mod common;

use common::{Place, clustered};

const CORRUPT: i32 = 5;
const NOT_FOUND: i32 = 3;
const USAGE: i32 = 2;

fn with_index() -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(600, 16, 1));
    place.write("q.u8bin", clustered(20, 16, 2));
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 4MB --degree 16 \
                 --build-list 30 --quiet";
    let run = place.line(build);
    assert_eq!(run.code, 0, "{run:?}");
    place
}

#[test]
fn an_index_is_given_in_its_place_or_by_name() {
    let place = with_index();
    let report = |line: &str| {
        let report = place.line(line).json();
        (report["pages_per_query"].clone(), report["queries"].clone())
    };
    let by_place = report("search my.index --queries q.u8bin --list-size 20 --json");
    let by_name = report("search --index my.index --queries q.u8bin --list-size 20 --json");
    assert_eq!(by_place, by_name);
    let range = place.line("range my.index --queries q.u8bin --radius 5000 --json");
    assert_eq!(range.code, 0, "{range:?}");
    for line in [
        "search my.index --index my.index --queries q.u8bin",
        "search --queries q.u8bin",
    ] {
        let run = place.line(line);
        assert_eq!(run.code, USAGE, "{line}: {run:?}");
        assert!(run.stderr.contains("INDEX"), "{run:?}");
    }
}

#[test]
fn a_dry_run_says_what_would_be_built_and_writes_nothing() {
    let place = Place::new();
    place.write("base.u8bin", clustered(600, 16, 1));
    let line = "build --data base.u8bin --out my.index --metric l2 --memory 4MB --dry-run";
    let outline = place.line(&format!("{line} --json")).json();
    assert_eq!(outline["nodes"], 600);
    assert!(outline["disk_bytes"].as_u64() > Some(600 * 16));
    let text = place.line(line).stdout;
    for words in ["Nothing is built", "pageway", "placement", "search memory"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let tight =
        place.line("build --data base.u8bin --out my.index --metric l2 --memory 20 --dry-run");
    assert_ne!(tight.code, 0);
    assert!(
        tight
            .stderr
            .contains("a memory budget of 20 B is too small"),
        "{tight:?}"
    );
    assert!(!place.exists("my.index"));
}

#[test]
fn help_completions_and_manual_name_every_command() {
    let place = Place::new();
    let help = place.line("help build");
    assert_eq!(
        (help.code, help.stdout.contains("--build-memory")),
        (0, true)
    );
    assert_eq!(place.line("help no-such-command").code, USAGE);
    let alike = place.line("help serach");
    assert_eq!(alike.code, USAGE);
    assert!(alike.stderr.contains("'search'"), "{alike:?}");
    assert!(!place.line("help search").stdout.contains('\\'));
    for shell in ["bash", "zsh", "fish"] {
        let script = place.line(&format!("completions {shell}"));
        assert_eq!(script.code, 0);
        assert!(script.stdout.contains("ground-truth") && script.stdout.contains("build-memory"));
    }
    let written = place.line("man --out man1 --json").json();
    assert!(written["pages"].as_array().expect("pages").len() > 10);
    let page = String::from_utf8(place.read("man1/pageway-ground-truth.1")).expect("text");
    assert!(page.starts_with(".ie") || page.contains(".TH"), "{page}");
    assert!(page.contains("exact neighbours"), "{page}");
    assert!(place.exists("man1/pageway.1"));
}

#[test]
fn what_is_not_there_is_named() {
    let place = with_index();
    let nowhere = place.line("inspect nowhere");
    assert_eq!(nowhere.code, NOT_FOUND);
    assert!(nowhere.stderr.contains("no such directory"), "{nowhere:?}");
    let files = place.files("my.index");
    let (name, bytes) = files
        .iter()
        .find(|(name, _)| name.contains("record"))
        .expect("a file of records");
    place.write(&format!("my.index/{name}"), &bytes[..bytes.len() / 2]);
    let short = place.line("inspect my.index");
    assert_eq!(short.code, CORRUPT, "{short:?}");
    assert!(
        short.stdout.contains("INCOMPLETE") && short.stdout.contains(name),
        "{short:?}"
    );
    place.remove(&format!("my.index/{name}"));
    let absent = place.line("inspect my.index --json");
    assert_eq!(absent.code, CORRUPT);
    assert!(
        absent.stdout.contains(&format!("\"missing\":[\"{name}\"]")),
        "{absent:?}"
    );
}
