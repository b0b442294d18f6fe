//! `pageway plan`, and a build that plans first.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod common;

use common::{Place, clustered};

/// Of a plan that is soon made.
const QUICK: &str = "--metric l2 --memory 2MB --pin page-size=4096 --pin degree=24 --sample 1200";

fn place() -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(1500, 32, 1));
    place.write("queries.u8bin", clustered(60, 32, 2));
    place
}

#[test]
fn a_plan_shows_its_choice_its_losers_and_the_tree() {
    let place = place();
    let line = format!("plan --data base.u8bin {QUICK} --pin preset=diskann --pin preset=starling");
    let found = place.line(&format!("{line} --explain --goal reads"));
    assert_eq!(found.code, 0, "{found:?}");
    for words in [
        "chosen: the fewest pages",
        "The decision tree",
        "Build it:\n  pageway build --data base.u8bin",
        "--page-size 4096",
        "--degree 24",
        "All of them:",
    ] {
        assert!(found.stdout.contains(words), "{words}: {}", found.stdout);
    }
    assert!(!found.stdout.contains("gorgeous"), "{}", found.stdout);
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let plan = place.line(&format!("{line} --json")).json();
    let choice = &plan["entries"][0];
    assert!(choice["verdict"].as_str().unwrap().starts_with("chosen"));
    assert!(choice["cost"]["latency_us"].as_f64().unwrap() > 0.0);
    assert_eq!(plan["tree"]["advice"]["steps"].as_array().unwrap().len(), 5);
}

#[test]
fn a_plan_for_several_nodes_says_what_each_takes_and_what_is_wrong() {
    let place = place();
    let line =
        format!("plan --data base.u8bin {QUICK} --pin preset=diskann --nodes 4 --replicas 2");
    let plan = place
        .line(&format!("{line} --memory-price 3 --json"))
        .json();
    let fleet = &plan["fleet"];
    assert_eq!(
        (&fleet["nodes"], &fleet["rows_of_node"]),
        (&4.into(), &750.into())
    );
    assert_eq!(fleet["memory_of_node"], 1_000_000);
    let month = fleet["price_per_month"].as_f64().unwrap();
    assert!((month - 4.0 * 0.001 * 3.0).abs() < 1e-9, "{fleet}");
    assert!(fleet["queries_per_second"].as_f64().unwrap() > 0.0);
    let wrong = place.line(&line.replace("--nodes 4", "--nodes 5"));
    assert!(
        wrong.code != 0 && wrong.stderr.contains("nodes = 5, replicas = 2"),
        "{wrong:?}"
    );
}

#[test]
fn a_build_can_plan_first_and_meets_the_recall() {
    let place = place();
    let built = place.line(
        "build --data base.u8bin --out it.index --metric l2 --memory 2MB --plan --json \
         --queries queries.u8bin --placement by_id --pin degree=24 --pin page-size=4096",
    );
    let report = built.json();
    assert!(
        report["plan"]["entries"][0]["tried"][0]["rows"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert!(report["best_recall_at_10"].as_f64().unwrap() >= 0.95);
    let truth = "ground-truth --data base.u8bin --queries queries.u8bin --metric l2 --out gt.ibin";
    assert_eq!(place.line(truth).code, 0);
    let search = "search --index it.index --queries queries.u8bin --truth gt.ibin --recall 0.95";
    let found = place.line(&format!("{search} --json")).json();
    assert!(found["recall"].as_f64().unwrap() >= 0.93, "{found}");
    let explained = place.line("explain it.index").stdout;
    assert!(explained.contains("--placement by_id"), "{explained}");
    let spec = &place.line("inspect it.index --json").json()["spec"];
    assert_eq!(spec["graph"]["max_degree"], 24);
    let alone = "build --data base.u8bin --out a --metric l2 --pin degree=24";
    assert_eq!(place.line(alone).code, 2);
}

#[test]
fn what_cannot_be_planned_says_what_can() {
    let place = place();
    for (line, words) in [
        (
            "--metric l2 --memory 1kB",
            "no design can be searched in 1.0 kB",
        ),
        (
            "--metric l2 --memory 2MB --pin size=3",
            "there is preset, form, page-size",
        ),
        (
            "--metric l2 --memory 2MB --goal speed",
            "latency, throughput and reads",
        ),
        ("--metric l2 --memory 2MB --recall 1.5", "recall = 1.5"),
        (
            "--metric l2 --memory 2MB --sample 5",
            "'5' for '--sample <ROWS>': 5 is not in 500..",
        ),
        (
            "--metric l2 --memory 2MB --queries none.u8bin",
            "none.u8bin",
        ),
    ] {
        let found = place.line(&format!("plan --data base.u8bin {line}"));
        assert_ne!(found.code, 0, "{line}");
        assert!(found.stderr.contains(words), "{line}: {}", found.stderr);
    }
    place.write("few.u8bin", clustered(100, 32, 1));
    let few = place.line("plan --data few.u8bin --metric l2 --memory 10MB");
    assert!(few.stderr.contains("too few to plan"), "{}", few.stderr);
    let both = "build --data base.u8bin --out a --metric l2 --plan --preset starling";
    assert_eq!(place.line(both).code, 2);
}
