//! The main job through the built program: files to index to answers.

mod common;

use common::{Place, clustered, fbin, lines, small_fbin, smallest};
use serde_json::Value;

fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().expect(key)
}

/// A directory with 3,000 vectors, 200 queries, their truth and an index.
fn prepared() -> Place {
    prepared_with("")
}

fn prepared_with(choices: &str) -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(3000, 32, 1));
    place.write("q.u8bin", clustered(200, 32, 2));
    let truth = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 -k 20 --out gt.ibin";
    assert_eq!(place.line(truth).code, 0);
    let build = format!(
        "build --data base.u8bin --out my.index --metric l2 --memory 4MB --degree 24 \
         --build-list 50 --code-bytes 16 --json {choices}"
    );
    let report = place.line(&build).json();
    assert_eq!(number(&report, "nodes"), 3000.0);
    assert_eq!(number(&report, "code_bytes"), 16.0);
    assert!(number(&report, "index_bytes") > 3000.0 * 32.0);
    assert!(number(&report, "cpu_seconds") > 0.0);
    place
}

const SEARCH: &str = "search --index my.index --queries q.u8bin -k 10 --json";

#[test]
fn recall_is_kept_and_every_stable_key_is_there() {
    let place = prepared();
    let report = place
        .line(&format!("{SEARCH} --truth gt.ibin --recall 0.95"))
        .json();
    assert!(number(&report, "recall") >= 0.93, "{report}");
    for key in [
        "qps",
        "pages_per_query",
        "rounds_per_query",
        "list_size",
        "threads",
        "interleave",
        "open_ms",
        "k",
        "queries",
        "beam",
        "memory_budget_bytes",
        "bytes_per_query",
        "io_utilisation",
        "exact_distances_per_query",
        "approximate_distances_per_query",
        "hops_per_query",
        "cache_hits_per_query",
        "cpu_us_per_query",
        "wait_share",
        "compute_share",
        "expected_recall",
    ] {
        assert!(report[key].is_number(), "{key} in {report}");
    }
    assert!(report["io_backend"].is_string());
    for key in ["mean", "p50", "p99"] {
        assert!(number(&report["latency_us"], key) > 0.0, "{report}");
    }
    if cfg!(target_os = "linux") {
        assert!(number(&report, "peak_memory_bytes") > 0.0);
    }
}

#[test]
fn without_truth_the_speed_stands_beside_the_calibrated_recall() {
    let place = prepared();
    let report = place.line(SEARCH).json();
    assert!(report["recall"].is_null(), "{report}");
    assert!(number(&report, "expected_recall") > 0.9, "{report}");
    let text = place
        .line("search --index my.index --queries q.u8bin --show 2")
        .stdout;
    assert!(text.contains("expected (calibrated)"), "{text}");
    assert!(
        text.contains("query 0:") && text.contains("query 1:"),
        "{text}"
    );
    assert!(!text.contains("query 2:"), "{text}");
}

#[test]
fn threads_memory_and_backend_change_no_answer() {
    let place = prepared_with("--preset diskann");
    let run = |name: &str, options: &str, backend: Option<&str>| {
        let line = format!("{SEARCH} --list-size 40 --out {name}.ibin {options}");
        let report = place.line_with("PAGEWAY_IO", backend, &line).json();
        let reads = number(&report, "pages_per_query");
        (place.read(&format!("{name}.ibin")), reads)
    };
    let (single, none) = run("single", "--interleave 1", None);
    assert_eq!(single.len(), 8 + 200 * 10 * 8);
    assert_eq!(none, 0.0, "4 MB hold all records");
    assert!(single == run("interleaved", "--interleave 8", None).0);
    assert!(single == run("threads", "--threads 3 --interleave 4", None).0);
    // The smallest budget, which depends on how is read, leaves next to no room for records.
    for backend in [None, Some("blocking"), Some("threads")] {
        let line = format!("{SEARCH} --list-size 40 --memory 1kB");
        let least = smallest(&place.line_with("PAGEWAY_IO", backend, &line).stderr);
        let (found, reads) = run(
            "little",
            &format!("--interleave 3 --memory {}", least + 4000),
            backend,
        );
        assert!(reads > 1.0, "{backend:?}: {reads} pages per query");
        assert!(single == found, "{backend:?}");
    }
}

#[test]
fn results_agree_with_the_truth_file_they_are_scored_against() {
    let place = prepared();
    let line = format!("{SEARCH} --truth gt.ibin --list-size 60 --out found.ibin");
    let recall = number(&place.line(&line).json(), "recall");
    let ids = |name: &str, width: usize| -> Vec<Vec<i32>> {
        let bytes = place.read(name);
        let ids = bytes[8..8 + 200 * width * 4].chunks(4);
        let ids: Vec<i32> = ids
            .map(|id| i32::from_le_bytes(id.try_into().expect("4 bytes")))
            .collect();
        ids.chunks(width).map(<[i32]>::to_vec).collect()
    };
    let (found, truth) = (ids("found.ibin", 10), ids("gt.ibin", 20));
    let hits: usize = found
        .iter()
        .zip(&truth)
        .map(|(found, truth)| found.iter().filter(|id| truth[..10].contains(id)).count())
        .sum();
    // Ties at the tenth distance may count as hits beyond the listed ids.
    let counted = hits as f64 / 2000.0;
    assert!(
        (counted..=counted + 0.02).contains(&recall),
        "{recall} {counted}"
    );
}

#[test]
fn more_effort_reads_more_and_finds_more() {
    let place = prepared();
    let line = format!("{SEARCH} --list-size 100 --memory 1kB");
    let least = smallest(&place.line(&line).stderr);
    let run = |list_size: u32| {
        let line = format!("{SEARCH} --truth gt.ibin --list-size {list_size} --memory {least}");
        let report = place.line(&line).json();
        (
            number(&report, "recall"),
            number(&report, "pages_per_query"),
        )
    };
    let (short, long) = (run(10), run(100));
    assert!(long.0 >= short.0 && long.1 > short.1, "{short:?} {long:?}");
}

#[test]
fn a_second_build_replaces_the_first_and_threads_change_no_byte() {
    let place = prepared();
    let build = |out: &str, threads: u32| {
        let line = format!(
            "build --data base.u8bin --out {out} --metric l2 --memory 4MB --degree 24 \
             --build-list 50 --code-bytes 16 --threads {threads} --json"
        );
        place.line(&line).json();
        place.files(out)
    };
    assert!(
        build("one.index", 1) == build("two.index", 2),
        "the bytes differ"
    );
    build("my.index", 2);
    assert_eq!(place.line("verify my.index").code, 0);
    let description = place.line("inspect my.index --json").json();
    assert_eq!(number(&description, "generation"), 2.0, "{description}");
}

#[test]
fn user_ids_are_what_a_search_returns() {
    let place = Place::new();
    place.write("base.fbin", small_fbin(300, 8));
    place.write("ids.txt", lines((0..300).map(|row| 7_000_000_000 + row)));
    let build = "build --data base.fbin --out my.index --metric l2 --ids ids.txt --json";
    place.line(build).json();
    let text = place
        .line("search --index my.index --queries base.fbin -k 1 --show 3")
        .stdout;
    for query in 0..3 {
        assert!(
            text.contains(&format!("query {query}:  {}", 7_000_000_000_u64 + query)),
            "{text}"
        );
    }
    let run = place.line("search --index my.index --queries base.fbin -k 1 --out found.ibin");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("7000000000"), "{run:?}");
    assert!(!place.exists("found.ibin") && !place.exists("found.ibin.partial"));
}

#[test]
fn cosine_and_inner_product_find_the_right_rows() {
    let place = Place::new();
    // Row 3 is long: nearest by inner product, not by angle.
    let rows = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [30.0, 40.0]];
    place.write("base.fbin", fbin(4, 2, rows.as_flattened()));
    place.write("q.fbin", fbin(1, 2, &[2.0, 1.4]));
    for (metric, nearest) in [("cosine", 1), ("ip", 3), ("l2", 1)] {
        let build = format!("build --data base.fbin --out {metric}.index --metric {metric}");
        let run = place.line(&build);
        assert_eq!(run.code, 0, "{run:?}");
        let search =
            format!("search --index {metric}.index --queries q.fbin -k 1 --list-size 4 --show 1");
        let text = place.line(&search).stdout;
        assert!(
            text.contains(&format!("query 0:  {nearest} (")),
            "{metric}: {text}"
        );
    }
}

#[test]
fn formats_convert_and_slice_without_loss() {
    let place = Place::new();
    place.write("a.u8bin", clustered(50, 6, 3));
    for (from, to) in [
        ("a.u8bin", "a.npy"),
        ("a.npy", "a.fvecs"),
        ("a.fvecs", "a.f16bin"),
        ("a.f16bin", "a.bf16bin"),
        ("a.bf16bin", "b.npy"),
        ("b.npy", "a.fbin"),
        ("a.fbin", "a.bvecs"),
        ("a.bvecs", "b.u8bin"),
    ] {
        let run = place.line(&format!("convert {from} {to} --json"));
        let report = run.json();
        assert_eq!(
            (number(&report, "rows"), number(&report, "dimension")),
            (50.0, 6.0)
        );
    }
    assert!(place.read("a.u8bin") == place.read("b.u8bin"));
    place
        .line("slice a.u8bin c.u8bin --rows 10..30 --dimensions 2..4 --json")
        .json();
    let (whole, part) = (place.read("a.u8bin"), place.read("c.u8bin"));
    assert_eq!(part[..8], [20, 0, 0, 0, 2, 0, 0, 0]);
    let expected: Vec<u8> = (10..30)
        .flat_map(|row| whole[8 + row * 6 + 2..8 + row * 6 + 4].to_vec())
        .collect();
    assert_eq!(part[8..], expected);
}

#[test]
fn floats_are_stored_in_half_the_bytes_and_searched_with_queries_of_f32() {
    let place = Place::new();
    place.write("a.u8bin", clustered(2000, 16, 1));
    place.write("q.u8bin", clustered(50, 16, 2));
    let convert = "convert a.u8bin a.fbin --json";
    place.line(convert).json();
    place.line("convert q.u8bin q.fbin --json").json();
    place.line("convert a.u8bin a.bf16bin --json").json();
    let truth = "ground-truth --data a.fbin --queries q.fbin --metric l2 -k 10 --out gt.ibin";
    assert_eq!(place.line(truth).code, 0);
    let build = "build --metric l2 --memory 4MB --degree 24 --json";
    let given = place.line(&format!("{build} --data a.bf16bin --out given"));
    assert!(given.json().get("worst_rounding").is_none());
    let stored = format!("{build} --data a.fbin --store bf16 --queries q.fbin --out stored");
    // Whole numbers up to 256 are exact.
    assert_eq!(number(&place.line(&stored).json(), "worst_rounding"), 0.0);
    for index in ["given", "stored"] {
        let about = place.line(&format!("inspect {index}")).stdout;
        assert!(about.contains("2,000 of 16-d bf16"), "{about}");
        let search = "--queries q.fbin -k 10 --list-size 100 --truth gt.ibin --json";
        let found = place.line(&format!("search {index} {search}")).json();
        assert!(number(&found, "recall") > 0.95, "{found}");
    }
    let refused = place.line("build --data a.u8bin --store bf16 --out no --metric l2");
    assert_eq!(refused.code, 2);
    assert!(
        refused
            .stderr
            .contains("vectors of u8 are not stored as bf16"),
        "{}",
        refused.stderr
    );
}

#[test]
fn inspect_verify_and_doctor_speak_to_people_and_programs() {
    let place = prepared();
    let text = place.line("inspect my.index").stdout;
    for words in [
        "3,000 of 32-d u8",
        "graph.max_degree",
        "Calibration",
        "recall@10",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let report = place.line("verify my.index --json").json();
    assert_eq!(report["sound"], Value::Bool(true));
    assert!(place.line("verify my.index").stdout.contains("sound"));
    let report = place.line("doctor . --seconds 0.3 --json").json();
    assert!(report["io"]["io_backend"].is_string(), "{report}");
}

#[test]
fn the_program_alone_shows_an_overview() {
    let place = Place::new();
    let run = place.line("");
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("pageway build") && run.stdout.contains("pageway demo"));
    assert_eq!(place.line("--version").code, 0);
    assert_eq!(place.line("search --help").code, 0);
    assert_eq!(place.line("no-such-command").code, 2);
}
