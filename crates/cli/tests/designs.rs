//! Designs through the built program: the list of presets, explanations, and builds of any
//! combination.

mod common;

use common::{Place, clustered};
use serde_json::Value;

const INVALID: i32 = 2;
const NOT_FOUND: i32 = 3;

const PRESETS: [&str; 12] = [
    "diskann",
    "aisaq",
    "starling",
    "gorgeous",
    "pageann",
    "pageann-disk",
    "pipeann",
    "dgai",
    "freshdiskann",
    "odinann",
    "ipdiskann",
    "pageway",
];

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().expect(key)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().expect(key)
}

#[test]
fn every_preset_has_a_row_and_a_summary() {
    let place = Place::new();
    let report = place.line("presets --json").json();
    let rows = list(&report, "presets");
    let names: Vec<&str> = rows.iter().map(|row| text(row, "name")).collect();
    assert_eq!(names, PRESETS);
    let shown = place.line("presets").stdout;
    let help = place.line("build --help").stdout;
    for row in rows {
        let name = text(row, "name");
        let lines = |wanted: &&str| wanted.split_whitespace().next() == Some(name);
        let line = shown.lines().find(lines).expect(name);
        for column in ["storage", "layout", "cache", "execution", "update"] {
            assert!(line.contains(text(row, column)), "{name} {column}: {line}");
        }
        let summary = text(row, "summary").split_whitespace().next();
        assert!(shown.contains(summary.expect("a word")), "{name}: {shown}");
        assert!(help.contains(name), "{name}: {help}");
    }
}

/// The flags by which an explanation says that its choices are made.
fn flags(explanation: &Value) -> String {
    let choices = list(explanation, "choices").iter();
    let flags = choices.filter(|choice| text(choice, "flag").starts_with("--"));
    let words = flags.map(|choice| format!("{} {}", text(choice, "flag"), text(choice, "choice")));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_an_explanation_says_can_be_typed() {
    let place = Place::new();
    for preset in PRESETS {
        for shape in [
            "",
            "--dimension 384 --element f16 --metric cosine --degree 30 --beam 7",
        ] {
            let explained = place
                .line(&format!("explain {preset} {shape} --json"))
                .json();
            assert_eq!(text(&explained, "name"), preset);
            let flags = flags(&explained);
            // All choices of a design turn another design into this one.
            let shape = shape.replace("--degree 30 --beam 7", "");
            let mut other = place
                .line(&format!("explain diskann {shape} {flags} --json"))
                .json();
            // How it changes is told, and not chosen.
            other["spec"]["update"] = explained["spec"]["update"].clone();
            assert_eq!(other["spec"], explained["spec"], "{preset}: {flags}");
            assert_eq!(other["sizes"], explained["sizes"], "{preset}");
        }
    }
}

#[test]
fn an_explanation_reads_as_sentences_with_sizes() {
    let place = Place::new();
    let shown = place.line("explain starling --rows 2000000").stdout;
    for words in [
        "starling: ",
        "--placement bnf:gain=0.01,rounds=8\n",
        "page where most of its neighbours were",
        "--lists plain\n",
        "--harvest near:share=0.3\n",
        "nearest 30 %",
        "2,000,000 of 128-d u8",
        "12 records",
        "codes 64.0 MB",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.lines().all(|line| line.len() < 160), "{shown}");
    let shown = place.line("explain dgai --page-size 8192").stdout;
    assert!(
        shown.contains("8,192 bytes hold") && shown.contains("vectors"),
        "{shown}"
    );
}

/// With a memory the form is that which a build takes.
#[test]
fn a_design_with_forms_is_explained_as_memory_decides() {
    let place = Place::new();
    let explained = |memory: &str| {
        let line = format!("explain pageway --rows 2000000 --dimension 384 --element f32 {memory}");
        (
            place.line(&line).stdout.replace('\n', " "),
            place.line(&format!("{line} --json")).json(),
        )
    };
    let (shown, most) = explained("");
    let form = "form for most memory";
    assert!(shown.contains(form), "{shown}");
    let graphs = ["30%", "8%", "2%"].map(|memory| {
        let (shown, explained) = explained(&format!("--memory {memory}"));
        assert!(!shown.contains(form), "{memory}: {shown}");
        let spec = &explained["spec"];
        let of = |pointer: &str| text(spec.pointer(pointer).unwrap(), "kind").to_owned();
        (of("/execution/entry"), of("/layout/codec"))
    });
    let own = |entry: &str, codec: &str| (entry.to_owned(), codec.to_owned());
    let expected = [
        own("medoid", "split"),
        own("clusters", "packed"),
        own("hash", "page_node"),
    ];
    assert_eq!(graphs, expected);
    assert_eq!(most["spec"]["cache"]["nodes"], "lists");
    let (shown, explained) = explained("--form clustered");
    assert!(!shown.contains(form), "{shown}");
    assert_eq!(explained["spec"]["graph"]["algorithm"], "clusters");
    let refused = place.line("explain pageway --rows 2000000 --memory 1KB");
    assert_eq!(refused.code, INVALID, "{refused:?}");
    assert!(
        refused.stderr.contains("smallest that works"),
        "{refused:?}"
    );
    let diskann = place.line("explain diskann").stdout;
    assert!(!diskann.contains(form), "{diskann}");
}

#[test]
fn an_index_is_explained_by_what_it_is() {
    let place = Place::new();
    place.write("base.u8bin", clustered(700, 16, 1));
    let build = "build --data base.u8bin --out my.index --metric l2 --preset starling --degree 12 \
                 --build-list 24 --harvest all --calibration-queries 20 --json";
    assert_eq!(text(&place.line(build).json(), "preset"), "starling");
    let explained = place.line("explain my.index --json").json();
    let described = place.line("inspect my.index --json").json();
    assert_eq!(explained["spec"], described["spec"]);
    assert_eq!(explained["sizes"]["nodes"], 700);
    assert_eq!(
        explained["sizes"]["nodes_per_page"],
        described["nodes_per_page"]
    );
    let shown = place.line("explain my.index").stdout;
    assert!(
        shown.contains("--harvest all") && shown.contains("700 of 16-d u8"),
        "{shown}"
    );
    let run = place.line("explain my.index --harvest target");
    assert_eq!(run.code, INVALID, "{run:?}");
    assert!(run.stderr.contains("as it is"), "{run:?}");
    // Where neighbours lie, and how full pages are, stands in the manifest.
    assert!(described["overlap"].as_f64() > Some(0.0), "{described}");
    let shown = place.line("inspect my.index").stdout;
    for words in ["OR(G) 0.", "nodes per page", "of the bytes used"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let place = Place::new();
    for (line, code, words) in [
        ("explain hnswlib", NOT_FOUND, "there is diskann, aisaq"),
        (
            "explain diskann --codec split",
            INVALID,
            "choose vectors separate",
        ),
        ("explain diskann --dimension 0", INVALID, "dimension = 0"),
        ("explain diskann --rows 0", INVALID, "at least one"),
        ("explain diskann --page-size 5000", INVALID, "8192"),
        (
            "explain diskann --placement bnf:x=1",
            INVALID,
            "takes gain and rounds",
        ),
        ("explain", INVALID, "NAME"),
    ] {
        let run = place.line(line);
        assert_eq!(run.code, code, "{line}: {run:?}");
        assert!(run.stderr.contains(words), "{line}: {run:?}");
        assert!(run.stdout.is_empty(), "{line}: {run:?}");
    }
}

fn with_vectors() -> Place {
    let place = Place::new();
    place.write("base.u8bin", clustered(1500, 24, 1));
    place.write("q.u8bin", clustered(60, 24, 2));
    let truth = "ground-truth --data base.u8bin --queries q.u8bin --metric l2 -k 10 --out gt.ibin";
    assert_eq!(place.line(truth).code, 0);
    place
}

const BUILD: &str = "build --data base.u8bin --metric l2 --memory 8MB --degree 20 --build-list 40 \
                     --calibration-queries 20";

/// A build of `choices` in place of those of a plain design, where they name no other.
fn build_of(choices: &str, out: &str) -> String {
    let preset = if choices.contains("--preset") {
        ""
    } else {
        "--preset diskann"
    };
    format!("{BUILD} --out {out} {preset} {choices}")
}

/// Choices, and what the specification of the index must say then.
const COMBINATIONS: [(&str, &[(&str, &str)]); 9] = [
    (
        "--placement bnf:rounds=3 --harvest near:share=0.5 \
         --schedule overlapped:doubling=true --beam 2 --entry navigation:one_in=20",
        &[
            ("/layout/placement/rounds", "3"),
            ("/execution/harvest/share", "0.5"),
            ("/execution/schedule/beam", "2"),
            ("/execution/schedule/doubling", "true"),
            ("/execution/entry/one_in", "20"),
            ("/execution/entry/max_degree", "24"),
        ],
    ),
    (
        "--codec inline_codes --codes in_page --code-bytes 8 --entry fixed:count=3",
        &[
            ("/layout/codec/kind", "\"inline_codes\""),
            ("/storage/codes", "\"in_page\""),
            ("/execution/entry/count", "3"),
        ],
    ),
    (
        "--codec split --vectors separate --refine deferred:share=0.7 --harvest held \
         --cache-nodes lists --cache-pages clock --page-share 0.25",
        &[
            ("/storage/vectors", "\"separate\""),
            ("/cache/page_share", "0.25"),
            ("/cache/pages", "\"clock\""),
            ("/execution/harvest/kind", "\"held\""),
        ],
    ),
    (
        "--codec page_node:min_degree=6 --codes split --harvest all --cache-nodes none \
         --cache-pages hot --cache-selection visits --placement grouped:hops=1 --entry hash:one_in=9",
        &[
            ("/layout/codec/min_degree", "6"),
            ("/cache/selection", "\"visits\""),
            ("/layout/placement/hops", "1"),
            ("/execution/entry/one_in", "9"),
        ],
    ),
    (
        "--cache-nodes clock --cache-pages hot --page-share 0.5 --slack 0.25",
        &[("/cache/nodes", "\"clock\""), ("/execution/slack", "0.25")],
    ),
    (
        "--graph hnsw --entry upper_layers --schedule pipelined:completion=in_order,most=8",
        &[
            ("/graph/algorithm", "\"hnsw\""),
            ("/execution/schedule/least", "4"),
            ("/execution/schedule/completion", "\"in_order\""),
        ],
    ),
    (
        "--graph nsg:knn=25 --placement clustered --lists packed --cache-nodes none \
         --cache-pages lru",
        &[
            ("/layout/lists", "\"packed\""),
            ("/graph/knn", "25"),
            ("/graph/max_degree", "20"),
            ("/cache/pages", "\"lru\""),
        ],
    ),
    (
        "--codec replicated:lists=2 --refine cascade:read=0.6 --second-code-bytes 4 \
         --harvest held --schedule prefetch --cache-nodes lists",
        &[
            ("/layout/codec/lists", "2"),
            ("/storage/second_quantizer/code_bytes", "4"),
            ("/execution/schedule/kind", "\"prefetch\""),
        ],
    ),
    (
        "--preset dgai --second-code-bytes 0 --refine deferred --placement bnp \
         --stop horizon:growth=9",
        &[
            ("/execution/stop/growth", "9.0"),
            ("/storage/second_quantizer", "null"),
            ("/execution/refine/share", "0.5"),
            ("/layout/placement/kind", "\"bnp\""),
        ],
    ),
];

#[test]
fn any_combination_builds_and_answers() {
    let place = with_vectors();
    for (number, (choices, fields)) in COMBINATIONS.iter().enumerate() {
        let out = format!("{number}.index");
        let run = place.line(&build_of(choices, &out));
        assert_eq!(run.code, 0, "{choices}: {run:?}");
        let described = place.line(&format!("inspect {out} --json")).json();
        for (path, value) in *fields {
            let found = described["spec"].pointer(path).expect(path);
            assert_eq!(found.to_string(), *value, "{choices}: {path}");
        }
        let packed = described["page_edge_bits"].as_f64();
        let few = packed.is_some_and(|bits| (2.0..24.0).contains(&bits));
        assert_eq!(few, choices.contains("--lists packed"), "{packed:?} bits");
        let shown = place.line(&format!("inspect {out}")).stdout;
        assert_eq!(shown.contains("lists on pages"), few, "{shown}");
        let search = format!(
            "search --index {out} --queries q.u8bin --truth gt.ibin --list-size 100 --json"
        );
        let report = place.line(&search).json();
        assert!(report["recall"].as_f64() > Some(0.9), "{choices}: {report}");
        assert_eq!(place.line(&format!("verify {out}")).code, 0, "{choices}");
    }
}

#[test]
fn our_own_is_built_where_no_design_is_named() {
    let place = with_vectors();
    assert!(
        place
            .line("build --help")
            .stdout
            .contains("[default: pageway]")
    );
    let built = place.line(&format!("{BUILD} --out my.index --json")).json();
    assert_eq!(text(&built, "preset"), "pageway");
    let search = "search --index my.index --queries q.u8bin --truth gt.ibin --json";
    for flags in ["", "--tolerance any"] {
        let report = place.line(&format!("{search} {flags}")).json();
        assert!(report["recall"].as_f64() > Some(0.93), "{report}");
        // Memory holds all vectors, so nothing has to be estimated.
        assert_eq!(report["estimated_per_query"].as_f64(), Some(0.0));
        assert_eq!(report["pages_per_query"].as_f64(), Some(0.0));
    }
}

#[test]
fn every_preset_builds_and_its_costs_are_shown() {
    let place = with_vectors();
    for preset in PRESETS {
        let out = format!("{preset}.index");
        let run = place.line(&format!("{BUILD} --out {out} --preset {preset}"));
        assert_eq!(run.code, 0, "{preset}: {run:?}");
        assert!(run.stdout.contains(preset), "{run:?}");
        let search =
            format!("search --index {out} --queries q.u8bin --truth gt.ibin --list-size 80");
        let report = place.line(&format!("{search} --json")).json();
        assert!(report["recall"].as_f64() > Some(0.9), "{preset}: {report}");
        let shown = place.line(&search).stdout;
        // What is there is said, what is not is not.
        for (key, words) in [
            ("refine_reads_per_query", "of them to refine"),
            ("page_hits_per_query", "of them pages"),
        ] {
            let number = report[key].as_f64().expect(key);
            assert_eq!(
                shown.contains(words),
                number > 0.0,
                "{preset} {key}: {shown}"
            );
        }
        let pages = report["cached_pages"].as_u64().expect("cached_pages");
        let said = shown
            .lines()
            .any(|line| line.contains("cached") && line.ends_with("pages"));
        assert_eq!(said, pages > 0, "{preset}: {shown}");
    }
}

#[test]
fn a_disk_limit_packs_fewer_lists_or_is_refused() {
    let place = with_vectors();
    let build = |disk: &str| {
        place.line(&format!(
            "{BUILD} --out my.index --preset gorgeous {disk} --json"
        ))
    };
    let lists = || {
        let described = place.line("inspect my.index --json").json();
        described["spec"]["layout"]["codec"]["lists"]
            .as_u64()
            .expect("lists")
    };
    let free = build("").json()["index_bytes"].as_u64().expect("bytes");
    let all = lists();
    let limit = free / 2;
    let bounded = build(&format!("--disk {limit}")).json();
    assert!(bounded["index_bytes"].as_u64() <= Some(limit), "{bounded}");
    assert!(lists() < all, "{all}");
    let run = build("--disk 1kB");
    assert_eq!(run.code, INVALID, "{run:?}");
    assert!(run.stderr.contains("smallest that works"), "{run:?}");
}

#[test]
fn a_codebook_can_be_shared() {
    let place = with_vectors();
    let first = place.line(&format!(
        "{BUILD} --out a.index --code-bytes 12 --preset aisaq"
    ));
    assert_eq!(first.code, 0, "{first:?}");
    let second = format!("{BUILD} --out b.index --codebook-from a.index --preset aisaq --json");
    assert_eq!(place.line(&second).json()["code_bytes"], 12);
    let absent = place.line(&format!("{BUILD} --out c.index --codebook-from nowhere"));
    assert_eq!(absent.code, NOT_FOUND, "{absent:?}");
}

/// Choices that cannot be, and what the refusal must say.
const REFUSED: [(&str, &[&str]); 18] = [
    ("--preset leanvec", &["leanvec", "diskann, aisaq"]),
    (
        "--placement bnx",
        &[
            "--placement bnx",
            "by_id, bnp, bnf, bns, grouped, clustered and nearest",
        ],
    ),
    (
        "--placement bnf:tau=1",
        &["bnf takes gain and rounds", "tau"],
    ),
    (
        "--placement bnf:rounds=0",
        &["rounds = 0", "nearest legal value is 1"],
    ),
    (
        "--placement bnf:rounds=1.5",
        &["--placement bnf:rounds=1.5"],
    ),
    ("--graph kgraph", &["vamana, nsg, hnsw, pipnn and clusters"]),
    (
        "--codec inline_codes",
        &["codec = inline_codes", "choose codes in_page"],
    ),
    (
        "--codec split",
        &["codec = split", "choose vectors separate"],
    ),
    (
        "--codes in_page",
        &["codes = in_page", "choose codec inline_codes"],
    ),
    (
        "--cache-nodes lists",
        &["cache nodes = lists", "refine deferred"],
    ),
    ("--cache-pages lru --page-share 2", &["page_share = 2"]),
    ("--slack 1.5", &["slack = 1.5", "between 0 and 1"]),
    (
        "--cache-nodes clock --schedule pipelined",
        &["cache nodes = clock", "earlier queries", "lockstep"],
    ),
    (
        "--cache-pages lru --page-share 0",
        &["page_share = 0", "0.8"],
    ),
    (
        "--entry upper_layers",
        &["entry = upper_layers", "graph hnsw"],
    ),
    (
        "--schedule overlapped",
        &["schedule = overlapped", "schedule lockstep"],
    ),
    (
        "--schedule pipelined:completion=sorted",
        &["sorted", "in_order"],
    ),
    (
        "--refine cascade",
        &["refine = cascade", "second quantizer"],
    ),
];

#[test]
fn what_cannot_be_is_refused_before_work() {
    let place = with_vectors();
    for (choices, words) in REFUSED {
        let run = place.line(&build_of(choices, "my.index"));
        assert_eq!(run.code, INVALID, "{choices}: {run:?}");
        for words in words {
            assert!(run.stderr.contains(words), "{choices}: '{words}': {run:?}");
        }
        assert!(!place.exists("my.index"), "{choices}");
    }
}
