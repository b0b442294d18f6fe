//! Range search through the built program: exact results, searches, precision, files, refusals.
#![expect(
    clippy::indexing_slicing,
    reason = "offsets in files that were just made"
)]

mod common;

use common::{Place, clustered, lines, small_fbin, smallest};
use serde_json::Value;

const INVALID: i32 = 2;
const NOT_FOUND: i32 = 3;
const ROWS: u32 = 3000;
const QUERIES: u32 = 120;
const DIMENSION: u32 = 32;
/// Within it lie a few to a few hundred rows of each query.
const RADIUS: u32 = 34_000;

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().expect(key)
}

/// Words of a file.
fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect()
}

/// Ids and distances per query, from a `.rangeres` file.
fn ranges(bytes: &[u8]) -> Vec<Vec<(u32, f32)>> {
    let words = words(bytes);
    let (queries, results) = (words[0] as usize, words[1] as usize);
    assert_eq!(words.len(), 2 + queries + 2 * results);
    let counts = &words[2..2 + queries];
    let ids = &words[2 + queries..2 + queries + results];
    let distances = &words[2 + queries + results..];
    let mut pairs = ids
        .iter()
        .zip(distances)
        .map(|(id, bits)| (*id, f32::from_bits(*bits)));
    let lists = counts
        .iter()
        .map(|count| pairs.by_ref().take(*count as usize).collect());
    lists.collect()
}

/// All rows within the radius of each query, by looking at every pair.
fn oracle(base: &[u8], queries: &[u8]) -> Vec<Vec<(u32, f32)>> {
    let rows = |bytes: &[u8]| -> Vec<Vec<i32>> {
        let rows = bytes[8..].chunks(DIMENSION as usize);
        rows.map(|row| row.iter().map(|value| i32::from(*value)).collect())
            .collect()
    };
    let base = rows(base);
    let near = |query: &Vec<i32>| {
        let distances = base.iter().map(|row| {
            let squares = row.iter().zip(query).map(|(a, b)| (a - b) * (a - b));
            squares.sum::<i32>() as f32
        });
        let mut near: Vec<(u32, f32)> = (0..).zip(distances).collect();
        near.retain(|(_, distance)| *distance <= RADIUS as f32);
        near.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        near
    };
    rows(queries).iter().map(near).collect()
}

fn with_vectors() -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(ROWS, DIMENSION, 1));
    place.write("q.u8bin", clustered(QUERIES, DIMENSION, 2));
    place
}

const TRUTH: &str = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 --radius 34000 \
                     --json";

/// A directory with vectors, queries, their truth and an index.
fn prepared() -> Place {
    let place = with_vectors();
    place.line(&format!("{TRUTH} --out gt.rangeres")).json();
    let build = "build --data base.u8bin --out my.index --metric l2 --memory 20MB --degree 24 \
                 --build-list 50 --code-bytes 16 --preset starling --calibration-queries 50";
    let run = place.line(build);
    assert_eq!(run.code, 0, "{run:?}");
    place
}

const RANGE: &str = "range --index my.index --queries q.u8bin --radius 34000 --json";

#[test]
fn the_smallest_budget_of_a_range_search_works() {
    let place = prepared();
    for (limit, list_size) in [
        (10_000, 20),
        (500, 20),
        (40, 20),
        (20, 20),
        (20, 60),
        (1, 1),
    ] {
        let range = |memory: u64| {
            place.line(&format!(
                "{RANGE} --limit {limit} --list-size {list_size} --memory {memory}"
            ))
        };
        let bytes = smallest(&range(1000).stderr);
        assert_eq!(
            range(bytes).code,
            0,
            "{limit}, {list_size}: {:?}",
            range(bytes)
        );
        assert_eq!(range(bytes - 1).code, INVALID, "{limit}, {list_size}");
    }
}

#[test]
fn a_limit_that_nobody_gave_is_what_memory_has_room_for() {
    let place = prepared();
    let given =
        |limit: u32, memory: u64| place.line(&format!("{RANGE} --limit {limit} --memory {memory}"));
    let bytes = smallest(&given(10_000, 1000).stderr) - 1;
    let words = given(10_000, bytes).stderr;
    assert!(
        words.contains("with room for --limit 10000 per query"),
        "{words}"
    );
    let cut = place.line(&format!("{RANGE} --memory {bytes}")).json();
    let limit = number(&cut, "limit") as u32;
    assert!((20..10_000).contains(&limit), "{cut}");
    assert_eq!(given(limit, bytes).json()["limit"], limit);
    let line = RANGE.replace(" --json", "");
    let shown = place.line(&format!("{line} --memory {bytes}"));
    let words = "as memory has no room for 10,000";
    assert!(shown.text_of_success().contains(words), "{shown:?}");
    let whole = place.line(&format!("{RANGE} --memory 20MB")).json();
    assert_eq!(whole["limit"], 10_000);
}

#[test]
fn exact_results_are_those_of_the_oracle() {
    let place = with_vectors();
    let report = place
        .line(&format!("{TRUTH} --out gt.rangeres --threads 3"))
        .json();
    let found = ranges(&place.read("gt.rangeres"));
    let expected = oracle(&place.read("base.u8bin"), &place.read("q.u8bin"));
    assert!(found == expected);
    let results: usize = expected.iter().map(Vec::len).sum();
    assert!(results > QUERIES as usize * 3, "{results}");
    assert_eq!(number(&report, "results"), results as f64);
    assert_eq!(number(&report, "radius"), f64::from(RADIUS));
    assert!(report["k"].is_null(), "{report}");
    // A cap that does not hold the results names one that does.
    let run = place.line(&format!("{TRUTH} --out again.rangeres --memory 4220kB"));
    assert_eq!(run.code, INVALID, "{run:?}");
    let (_, after) = run.stderr.split_once("takes ").expect("the bytes it takes");
    let bytes: u64 = after
        .split(' ')
        .next()
        .expect("a word")
        .parse()
        .expect("bytes");
    let queries = u64::from(QUERIES * DIMENSION);
    let enough = format!("{TRUTH} --out again.rangeres --memory {}", bytes + queries);
    place.line(&enough).json();
    assert!(place.read("again.rangeres") == place.read("gt.rangeres"));
}

#[test]
fn a_range_search_finds_nearly_all_and_nothing_else() {
    let place = prepared();
    let line = format!("{RANGE} --truth gt.rangeres --list-size 60 --out found.rangeres");
    let report = place.line(&line).json();
    let precision = number(&report, "average_precision");
    assert!(precision > 0.95, "{report}");
    let (found, truth) = (
        ranges(&place.read("found.rangeres")),
        ranges(&place.read("gt.rangeres")),
    );
    let mut shares = Vec::new();
    for (query, (found, truth)) in found.iter().zip(&truth).enumerate() {
        assert!(
            found.iter().all(|result| truth.contains(result)),
            "query {query}"
        );
        if !truth.is_empty() {
            shares.push(found.len() as f64 / truth.len() as f64);
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((mean - precision).abs() < 1e-9, "{mean} {precision}");
    assert_eq!(number(&report, "queries_with_results"), shares.len() as f64);
    let results: usize = found.iter().map(Vec::len).sum();
    assert_eq!(
        number(&report, "results_per_query"),
        results as f64 / f64::from(QUERIES)
    );
    for key in [
        "qps",
        "radius",
        "queries",
        "pages_per_query",
        "reads_per_query",
        "rounds_per_query",
        "refine_reads_per_query",
        "early_reads_per_query",
        "page_hits_per_query",
        "true_results",
        "truncated",
        "list_size",
        "threads",
        "interleave",
        "open_ms",
        "beam",
        "memory_budget_bytes",
        "io_utilisation",
    ] {
        assert!(report[key].is_number(), "{key} in {report}");
    }
}

#[test]
fn every_kind_of_truth_gives_the_same_precision() {
    let place = prepared();
    let nearest = "ground-truth --data base.u8bin --queries q.u8bin --metric l2";
    let all = place.line(&format!("{nearest} -k {ROWS} --out all.ibin"));
    assert_eq!(all.code, 0, "{all:?}");
    let wider = format!("{} --out wide.rangeres", TRUTH.replace("34000", "50000"));
    place.line(&wider).json();
    let precision = |truth: &str| {
        let report = place.line(&format!("{RANGE} --list-size 1 {truth}")).json();
        number(&report, "average_precision")
    };
    let own = precision("--truth gt.rangeres");
    assert!((0.5..=1.0).contains(&own), "{own}");
    for truth in ["--exact", "--truth all.ibin", "--truth wide.rangeres"] {
        assert_eq!(precision(truth), own, "{truth}");
    }
}

#[test]
fn a_longer_list_and_more_threads_change_what_they_should() {
    let place = prepared();
    let run = |options: &str, name: &str| {
        let line = format!("{RANGE} --truth gt.rangeres --out {name}.rangeres {options}");
        (
            place.line(&line).json(),
            place.read(&format!("{name}.rangeres")),
        )
    };
    let (short, first) = run("--list-size 5", "short");
    let (long, _) = run("--list-size 100", "long");
    assert!(number(&long, "pages_per_query") > number(&short, "pages_per_query"));
    assert!(number(&long, "average_precision") >= number(&short, "average_precision"));
    let (_, again) = run("--list-size 5 --threads 3 --interleave 2", "threads");
    assert!(first == again);
    let (cut, few) = run("--list-size 5 --limit 2", "cut");
    assert!(number(&cut, "truncated") > 0.0, "{cut}");
    assert!(ranges(&few).iter().all(|found| found.len() <= 2));
}

#[test]
fn speed_stands_beside_precision() {
    let place = prepared();
    let line = RANGE.replace(" --json", "");
    let shown = place
        .line(&format!("{line} --truth gt.rangeres --show 2"))
        .stdout;
    let at = |words: &str| {
        shown
            .find(words)
            .unwrap_or_else(|| panic!("{words}: {shown}"))
    };
    assert!(at("avg. precision") < at("queries/second"), "{shown}");
    assert!(at("query 0:") < at("query 1:"), "{shown}");
    assert!(!shown.contains("query 2:"), "{shown}");
    let shown = place.line(&line).stdout;
    assert!(
        shown.contains("unknown; give --truth or --exact"),
        "{shown}"
    );
    let cut = place.line(&format!("{line} --limit 2")).stdout;
    assert!(cut.contains("reached --limit"), "{cut}");
    // A radius that nothing lies within.
    let none = line.replace("34000", "0.5");
    let report = place.line(&format!("{none} --exact --json")).json();
    assert!(report["average_precision"].is_null(), "{report}");
    assert_eq!(number(&report, "queries_with_results"), 0.0);
    let shown = place.line(&format!("{none} --exact")).stdout;
    assert!(shown.contains("no query has a true result"), "{shown}");
}

#[test]
fn other_designs_metrics_and_ids_search_ranges_too() {
    let place = Place::new();
    place.write("base.fbin", small_fbin(800, 12));
    place.write("ids.txt", lines((0..800).map(|row| 5_000_000_000 + row)));
    for (preset, metric, radius, ids) in [
        ("dgai", "l2", "2.5", ""),
        ("pageann", "cosine", "0.4", ""),
        ("gorgeous", "ip", "-2.0", ""),
        ("diskann", "ip", "-2", "--ids ids.txt"),
    ] {
        let build = format!(
            "build --data base.fbin --out {preset}.index --metric {metric} --preset {preset} \
             --degree 16 --build-list 40 --calibration-queries 20 {ids}"
        );
        let run = place.line(&build);
        assert_eq!(run.code, 0, "{preset}: {run:?}");
        let range = format!(
            "range --index {preset}.index --queries base.fbin --radius {radius} --limit 800 \
             --list-size 80 --exact"
        );
        let report = place.line(&format!("{range} --json")).json();
        assert!(
            number(&report, "average_precision") > 0.9,
            "{preset}: {report}"
        );
        assert!(
            number(&report, "true_results") > 800.0,
            "{preset}: {report}"
        );
        let shown = place.line(&format!("{range} --show 40")).stdout;
        let first = if ids.is_empty() {
            "  0 ("
        } else {
            "  5000000000 ("
        };
        let line = shown.lines().find(|line| line.starts_with("query 0:"));
        assert!(
            metric == "ip" || line.expect("query 0").contains(first),
            "{preset}: {shown}"
        );
        let run = place.line(&format!("{range} --out {preset}.rangeres"));
        assert_eq!(
            run.code,
            if ids.is_empty() { 0 } else { INVALID },
            "{preset}: {run:?}"
        );
        assert_eq!(place.exists(&format!("{preset}.rangeres")), ids.is_empty());
        assert!(ids.is_empty() || run.stderr.contains("50000000"), "{run:?}");
    }
}

/// What follows `range --index my.index --queries q.u8bin`, and what it must say.
const REFUSED: [(&str, i32, &str); 17] = [
    ("", INVALID, "--radius"),
    ("--radius far", INVALID, "far"),
    ("--radius nan", INVALID, "not a number"),
    ("--radius 34000 --list-size 0", INVALID, "list size 0"),
    ("--radius 34000 --limit 0", INVALID, "limit 0"),
    ("--radius 34000 --beam 65", INVALID, "beam = 65"),
    (
        "--radius 34000 --memory 1kB",
        INVALID,
        "--limit 20 per query",
    ),
    (
        "--radius 34000 --truth gt.rangeres --exact",
        INVALID,
        "--exact",
    ),
    (
        "--radius 34000 --truth absent.rangeres",
        NOT_FOUND,
        "absent.rangeres",
    ),
    ("--radius 34000 --truth q.u8bin", INVALID, "extension"),
    (
        "--radius 34000 --truth cut.rangeres",
        INVALID,
        "cut.rangeres",
    ),
    (
        "--radius 34000 --truth few.rangeres",
        INVALID,
        "but there are 120",
    ),
    (
        "--radius 34000 --truth narrow.rangeres",
        INVALID,
        "smaller radius",
    ),
    (
        "--radius 34000 --truth gt5.ibin",
        INVALID,
        "still within the radius",
    ),
    ("--radius 34000 --truth ids.ibin", INVALID, "no distances"),
    ("--radius 34000 --out found.ibin", INVALID, ".rangeres"),
    (
        "--radius 34000 --queries base.u8bin --queries q.u8bin",
        INVALID,
        "--queries",
    ),
];

#[test]
fn a_bad_range_names_the_fault_and_leaves_no_file() {
    let place = prepared();
    let truth = place.read("gt.rangeres");
    place.write("cut.rangeres", &truth[..truth.len() - 4]);
    place.write("few.rangeres", [1_u32, 0, 0].map(u32::to_le_bytes).concat());
    let narrow = TRUTH.replace("34000", "9000");
    place
        .line(&format!("{narrow} --out narrow.rangeres"))
        .json();
    let nearest = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 -k 5";
    assert_eq!(place.line(&format!("{nearest} --out gt5.ibin")).code, 0);
    let nearest = place.read("gt5.ibin");
    place.write("ids.ibin", &nearest[..8 + (nearest.len() - 8) / 2]);
    for (options, code, words) in REFUSED {
        let line = format!("range --index my.index --queries q.u8bin {options} --out out.rangeres");
        let line = if options.contains("--out") {
            line.replace(" --out out.rangeres", "")
        } else {
            line
        };
        let run = place.line(&line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(words), "{line}: '{words}': {run:?}");
        assert!(run.stdout.is_empty(), "{line}: {run:?}");
    }
    for (name, _) in place.files("") {
        assert!(!name.contains("out.") && !name.contains("found."), "{name}");
    }
}

#[test]
fn a_bad_exact_range_names_the_fault() {
    let place = with_vectors();
    for (options, words) in [
        ("--radius 5 -k 10 --out out.rangeres", "--radius"),
        ("--radius nan --out out.rangeres", "not a number"),
        ("--radius 5 --out out.ibin", ".rangeres"),
        ("-k 5 --out out.rangeres", ".ibin"),
        ("--radius 5 --out out.rangeres --memory 1kB", "memory"),
    ] {
        let line = "ground-truth --data base.u8bin --queries q.u8bin --metric l2";
        let run = place.line(&format!("{line} {options}"));
        assert_eq!(run.code, INVALID, "{options}: {run:?}");
        assert!(run.stderr.contains(words), "{options}: {run:?}");
        assert!(
            !place.exists("out.rangeres") && !place.exists("out.ibin"),
            "{options}"
        );
    }
}
