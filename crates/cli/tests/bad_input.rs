//! What bad input gets: an error that names the file and what is wrong with it, an exit code by
//! kind, and no index left behind.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make and damage files directly"
)]
#![expect(
    clippy::indexing_slicing,
    reason = "offsets in files that were just made"
)]

mod common;

use common::{Place, bin, clustered, fbin, lines, small_fbin, smallest};

const INVALID: i32 = 2;
const NOT_FOUND: i32 = 3;
const INCOMPATIBLE: i32 = 4;
const CORRUPT: i32 = 5;
const NO_SPACE: i32 = 7;
const BUSY: i32 = 8;
const UNSUPPORTED: i32 = 10;

/// A command line and what it must give.
#[derive(Clone)]
struct Case {
    line: String,
    code: i32,
    /// Words that the message must contain.
    words: Vec<&'static str>,
}

fn case(line: &str, code: i32, words: &'static str) -> Case {
    Case {
        line: line.to_owned(),
        code,
        words: words.split("; ").collect(),
    }
}

/// Cases of a table, a row each: kind of the error, what follows `beginning`, and words.
fn cases(beginning: &str, table: &'static str) -> Vec<Case> {
    let of_row = |row: &'static str| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let kinds = [("invalid", INVALID), ("not-found", NOT_FOUND)];
        let kind = kinds.iter().find(|(kind, _)| *kind == cells[0]);
        let (_, code) = kind.expect("a kind of error");
        case(&format!("{beginning}{}", cells[1]), *code, cells[2])
    };
    table.trim().lines().map(of_row).collect()
}

#[track_caller]
fn check(place: &Place, case: &Case) {
    let run = place.line(&case.line);
    assert_eq!(run.code, case.code, "{}: {run:?}", case.line);
    assert!(
        run.stderr.starts_with("pageway: error: "),
        "{}: {run:?}",
        case.line
    );
    for words in &case.words {
        assert!(
            run.stderr.contains(words),
            "'{words}' is missing: {}: {run:?}",
            case.line
        );
    }
    assert!(run.stdout.is_empty(), "{}: {run:?}", case.line);
}

/// Vectors of which one value is replaced.
fn with_value(value: f32) -> Vec<u8> {
    let mut bytes = small_fbin(100, 4);
    bytes[8 + (37 * 4 + 2) * 4..][..4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// Two lines that gzip packed, without the end.
const CUT_GZIP: [u8; 28] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 139, 54, 212, 81, 48, 138, 229, 138, 54, 214, 81, 48, 137,
    229, 2, 0, 97, 110,
];

fn with_damaged_files() -> Place {
    let place = Place::new();
    let good = small_fbin(100, 4);
    place.write("good.fbin", &good);
    place.write("cut.fbin", &good[..good.len() - 1]);
    place.write("long.fbin", [good.as_slice(), &[0]].concat());
    place.write("header.fbin", &good[..5]);
    place.write("count.fbin", [&200_u32.to_le_bytes(), &good[4..]].concat());
    place.write("none.fbin", bin(0, 4, &[]));
    place.write("zero-dimension.fbin", bin(10, 0, &[]));
    place.write("huge-dimension.fbin", bin(1, 20_000, &vec![0; 80_000]));
    place.write("nan.fbin", with_value(f32::NAN));
    place.write("infinity.fbin", with_value(f32::NEG_INFINITY));
    let mut zero = good;
    zero[8 + 12 * 16..][..16].fill(0);
    place.write("zero.fbin", zero);
    let row = |dimension: u32| [&dimension.to_le_bytes()[..], &[0; 16]].concat();
    place.write("mixed.fvecs", [row(4), row(4), row(5), row(4)].concat());
    place.write("vectors.parquet", b"PAR1");
    place.write("vectors.xyz", b"xyz");
    place.write("cut.jsonl.gz", CUT_GZIP);
    place.write("plain.bin", small_fbin(10, 4));
    place.write("fake.npy", b"not an array at all");
    place.write("repeated.txt", lines((0..100).map(|row| row % 99)));
    place.write("words.txt", "1\ntwo\n3\n");
    place.write("short.txt", "1\n2\n3\n");
    place
}

/// `--data`, `--metric` and more, and what the build must say.
const BUILDS: &str = "
invalid | cut.jsonl.gz --metric l2 | cut.jsonl.gz; gzip file is cut
invalid | cut.fbin --metric l2 | cut.fbin; 1607; truncated
invalid | long.fbin --metric l2 | long.fbin; 1609; longer
invalid | header.fbin --metric l2 | header.fbin; header; 5
invalid | count.fbin --metric l2 | count.fbin; 200 rows; 3208
invalid | none.fbin --metric l2 | none.fbin; no rows
invalid | zero-dimension.fbin --metric l2 | zero-dimension.fbin; dimension 0
invalid | huge-dimension.fbin --metric l2 | huge-dimension.fbin; 20000; 16384
invalid | nan.fbin --metric l2 | nan.fbin; row 37; component 2; NaN
invalid | infinity.fbin --metric l2 | infinity.fbin; row 37; component 2; inf
invalid | zero.fbin --metric cosine | zero.fbin; row 12; cosine
invalid | mixed.fvecs --metric l2 | mixed.fvecs
invalid | vectors.parquet --metric l2 | vectors.parquet; Parquet
invalid | vectors.xyz --metric l2 | vectors.xyz; extension; .npy; .ndjson
invalid | plain.bin --metric l2 | plain.bin; f32, f16, bf16, u8, i8 or bit
invalid | fake.npy --metric l2 | fake.npy; NumPy
not-found | absent.fbin --metric l2 | absent.fbin
invalid | good.fbin --metric l2 --ids repeated.txt | repeated.txt; id 0; row 99
invalid | good.fbin --metric l2 --ids words.txt | words.txt; line 2
invalid | good.fbin --metric l2 --ids short.txt | 3; 100
invalid | good.fbin --metric l2 --memory 1kB | budget; smallest
invalid | good.fbin --metric l2 --build-memory 1kB | smallest
invalid | good.fbin --metric hamming | hamming; l2
invalid | good.fbin --metric l2 --recall 1.5 | recall; 1.5
";

#[test]
fn a_bad_build_names_the_fault_and_leaves_no_index() {
    let place = with_damaged_files();
    for case in cases("build --out bad.index --data ", BUILDS) {
        check(&place, &case);
        let line = &case.line;
        assert!(!place.exists("bad.index/MANIFEST"), "{line}");
        let left = if place.exists("bad.index") {
            place.files("bad.index")
        } else {
            Vec::new()
        };
        let left: Vec<&String> = left.iter().map(|(name, _)| name).collect();
        assert!(
            left.iter().all(|name| *name == "LOCK"),
            "{line} left {left:?}"
        );
    }
}

#[test]
fn a_failed_build_leaves_the_old_index_alone() {
    let place = with_damaged_files();
    assert_eq!(
        place
            .line("build --data good.fbin --out my.index --metric l2")
            .code,
        0
    );
    let before = place.files("my.index");
    for data in ["nan.fbin", "cut.fbin"] {
        let run = place.line(&format!("build --data {data} --out my.index --metric l2"));
        assert_eq!(run.code, INVALID, "{run:?}");
        assert!(place.files("my.index") == before, "{data}");
    }
    assert_eq!(place.line("verify my.index").code, 0);
}

#[test]
fn a_url_is_no_directory_to_change() {
    let place = Place::new();
    place.write("good.fbin", small_fbin(100, 4));
    let words = "s3://bucket/a; a URL";
    let build = "build --data good.fbin --metric l2 --out s3://bucket/a";
    check(&place, &case(build, INVALID, words));
    let insert = "insert s3://bucket/a --data good.fbin";
    check(&place, &case(insert, NOT_FOUND, words));
    assert!(!place.exists("s3:"));
}

#[test]
fn a_directory_that_is_no_index_is_refused_and_untouched() {
    let place = with_damaged_files();
    std::fs::create_dir(place.path("letters")).unwrap();
    place.write("letters/to-my-aunt.txt", "dear aunt");
    let run = place.line("build --data good.fbin --out letters --metric l2");
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("letters"), "{run:?}");
    assert_eq!(place.read("letters/to-my-aunt.txt"), b"dear aunt");
    let run = place.line("inspect letters");
    assert_eq!(run.code, NOT_FOUND, "{run:?}");
}

/// A directory with a small index and queries of many kinds.
fn with_index() -> Place {
    let place = Place::new();
    place.write("base.fbin", small_fbin(500, 8));
    place.write("q.fbin", small_fbin(20, 8));
    place.write("wide.fbin", small_fbin(20, 9));
    place.write("bytes.u8bin", clustered(20, 8, 1));
    place.write("nan.fbin", fbin(1, 8, &[f32::NAN; 8]));
    let truth = |queries: u32, k: u32| bin(queries, k, &vec![0; (queries * k * 8) as usize]);
    place.write("gt.ibin", truth(20, 10));
    place.write("gt19.ibin", truth(19, 10));
    place.write("gt3.ibin", truth(20, 3));
    place.write("cut.ibin", &truth(20, 10)[..100]);
    let build = "build --data base.fbin --out my.index --metric l2 --degree 16 --build-list 32";
    let run = place.line(build);
    assert_eq!(run.code, 0, "{run:?}");
    place
}

/// What follows `search --index my.index`, and what it must say.
const SEARCHES: &str = "
invalid | --queries q.fbin -k 100001 | k = 100001; 1 to 100000
invalid | --queries q.fbin -k 0 | k = 0; 1 to 100000
invalid | --queries q.fbin -k 100001 --list-size 600 | k = 100001; 1 to 100000
invalid | --queries wide.fbin | 9-d f32; 8-d f32
invalid | --queries bytes.u8bin | 8-d u8; 8-d f32
invalid | --queries nan.fbin --list-size 10 | row 0; NaN
not-found | --queries absent.fbin | absent.fbin
invalid | --queries q.fbin --memory 1kB | budget; smallest
invalid | --queries q.fbin --memory lots | lots; 200MB; 10%
invalid | --queries q.fbin --list-size 0 | list size 0
invalid | --queries q.fbin --recall 1.5 | recall; 1.5
invalid | --queries q.fbin --beam 0 | beam; 0
invalid | --queries q.fbin --truth gt19.ibin | gt19.ibin; 19; 20
invalid | --queries q.fbin --truth gt3.ibin | gt3.ibin; 3; 10
invalid | --queries q.fbin --truth cut.ibin | cut.ibin; 100
";

#[test]
fn a_bad_search_names_the_fault() {
    let place = with_index();
    for case in cases("search --index my.index ", SEARCHES) {
        check(&place, &case);
    }
    let nowhere = case(
        "search --index nowhere --queries q.fbin",
        NOT_FOUND,
        "nowhere",
    );
    check(&place, &nowhere);
    let file = case(
        "search --index base.fbin --queries q.fbin",
        INVALID,
        "base.fbin; directory",
    );
    check(&place, &file);
}

#[test]
fn a_failed_search_leaves_no_results_file() {
    let place = with_index();
    let run = place.line("search --index my.index --queries wide.fbin --out found.ibin");
    assert_eq!(run.code, INVALID, "{run:?}");
    let run = place.line("search --index my.index --queries q.fbin --out found.txt");
    assert_eq!(run.code, INVALID, "{run:?}");
    for name in [
        "found.ibin",
        "found.ibin.partial",
        "found.txt",
        "found.txt.partial",
    ] {
        assert!(!place.exists(name), "{name}");
    }
}

#[test]
fn the_smallest_budget_that_a_refusal_names_works() {
    let place = with_index();
    let search = |memory: &str| {
        place.line(&format!(
            "search --index my.index --queries q.fbin --memory {memory}"
        ))
    };
    let bytes = smallest(&search("1kB").stderr);
    assert_eq!(search(&bytes.to_string()).code, 0, "{bytes}");
    assert_eq!(search(&(bytes - 1).to_string()).code, INVALID, "{bytes}");
    place.write("many.u8bin", clustered(20_000, 256, 1));
    for (data, form, parts) in [
        ("base.fbin", "", false),
        ("many.u8bin", "--form resident", true),
    ] {
        let build = |memory: &str| {
            place.line(&format!(
                "build --data {data} --out {data}.index --metric l2 --degree 8 {form} \
                 --calibration-queries 10 --build-memory {memory} --json"
            ))
        };
        let bytes = smallest(&build("1kB").stderr);
        let report = build(&bytes.to_string()).json();
        assert_eq!(
            report["shards"].as_u64() > Some(1),
            parts,
            "{data} {bytes}: {report}"
        );
        assert_eq!(
            build(&(bytes - 1).to_string()).code,
            INVALID,
            "{data} {bytes}"
        );
    }
}

#[test]
fn a_recall_out_of_reach_is_said_with_the_best_there_is() {
    let place = Place::new();
    // Codes of one byte and a tiny graph cannot tell 3,000 vectors apart.
    place.write("base.u8bin", clustered(3000, 32, 1));
    let build = "build --data base.u8bin --out my.index --metric l2 --code-bytes 1 --degree 4 \
                 --build-list 4 --recall 1.0 --json";
    let report = place.line(build).json();
    if report["list_size"].is_null() {
        let search = "search --index my.index --queries base.u8bin --recall 1.0";
        check(
            &place,
            &case(search, UNSUPPORTED, "recall@10; best; list size"),
        );
    }
}

#[test]
fn a_flipped_bit_in_any_file_is_found_and_named() {
    let place = with_index();
    let files = place.files("my.index");
    assert!(
        files.len() >= 4,
        "{:?}",
        files.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for (name, bytes) in files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        for place_of_bit in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place_of_bit] ^= 0x10;
            place.write(&format!("my.index/{name}"), damaged);
            let run = place.line("verify my.index");
            assert_eq!(run.code, CORRUPT, "{name} byte {place_of_bit}: {run:?}");
            let said = run.stdout + &run.stderr;
            assert!(
                said.contains(name.as_str()),
                "{name} byte {place_of_bit}: {said}"
            );
            assert!(!said.contains("0 records"), "{said}");
        }
        place.write(&format!("my.index/{name}"), bytes);
    }
    assert_eq!(place.line("verify my.index").code, 0);
}

#[test]
fn a_missing_or_cut_file_is_found() {
    let place = with_index();
    for (name, bytes) in place.files("my.index") {
        if bytes.is_empty() {
            continue;
        }
        place.write(&format!("my.index/{name}"), &bytes[..bytes.len() / 2]);
        let run = place.line("verify my.index");
        assert_eq!(run.code, CORRUPT, "{name} cut: {run:?}");
        std::fs::remove_file(place.path(&format!("my.index/{name}"))).unwrap();
        let run = place.line("verify my.index");
        assert!(
            [CORRUPT, NOT_FOUND].contains(&run.code),
            "{name} removed: {run:?}"
        );
        place.write(&format!("my.index/{name}"), &bytes);
    }
}

/// CRC-32C, a bit at a time.
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 * (crc & 1))
        })
    })
}

#[test]
fn an_index_of_a_newer_format_is_refused_as_such() {
    let place = with_index();
    let mut manifest = place.read("my.index/MANIFEST");
    manifest[8..12].copy_from_slice(&999_u32.to_le_bytes());
    let covered = manifest[..60].iter().chain(&manifest[64..]).copied();
    let crc = crc32c(covered);
    manifest[60..64].copy_from_slice(&crc.to_le_bytes());
    place.write("my.index/MANIFEST", manifest);
    for line in [
        "inspect my.index",
        "verify my.index",
        "search --index my.index --queries q.fbin --list-size 20",
    ] {
        check(&place, &case(line, INCOMPATIBLE, "MANIFEST; 999"));
    }
}

#[test]
fn a_directory_in_use_is_busy() {
    let place = with_index();
    let lock = std::fs::File::create(place.path("my.index/LOCK")).unwrap();
    lock.lock().unwrap();
    let build = "build --data base.fbin --out my.index --metric l2";
    check(&place, &case(build, BUSY, "my.index"));
    // Readers do not care.
    assert_eq!(
        place
            .line("search --index my.index --queries q.fbin --list-size 20")
            .code,
        0
    );
    drop(lock);
    assert_eq!(place.line(build).code, 0);
}

#[test]
fn too_little_disk_is_said_before_work() {
    let place = Place::new();
    let file = std::fs::File::create(place.path("sparse.u8bin")).unwrap();
    // 4 TB of rows that take no space: nothing here can hold a copy of four bytes per byte.
    let (rows, dimension) = (1_000_000_000_u32, 4096_u32);
    if file
        .set_len(8 + u64::from(rows) * u64::from(dimension))
        .is_err()
    {
        return;
    }
    let header = [rows.to_le_bytes(), dimension.to_le_bytes()].concat();
    std::os::unix::fs::FileExt::write_all_at(&file, &header, 0).unwrap();
    let convert = case("convert sparse.u8bin out.fbin", NO_SPACE, "out.fbin; free");
    check(&place, &convert);
    assert!(!place.exists("out.fbin"));
}

#[test]
fn degenerate_data_build_and_answer() {
    let place = Place::new();
    place.write("one.fbin", fbin(1, 3, &[1.0, 2.0, 3.0]));
    place.write("equal.fbin", fbin(300, 3, &[1.5; 900]));
    place.write("five.fbin", small_fbin(5, 3));
    place.write("wide.fbin", small_fbin(20, 16_384));
    place.write("thin.fbin", small_fbin(50, 1));
    for (name, most) in [
        ("one", 1),
        ("equal", 300),
        ("five", 5),
        ("wide", 20),
        ("thin", 50),
    ] {
        let run = place.line(&format!(
            "build --data {name}.fbin --out {name}.index --metric l2"
        ));
        assert_eq!(run.code, 0, "{name}: {run:?}");
        let search = format!("search --index {name}.index --queries {name}.fbin --list-size 400");
        let run = place.line(&format!("{search} -k {}", most.min(10)));
        assert_eq!(run.code, 0, "{name}: {run:?}");
        // The places of rows that are not there stay empty.
        let run = place.line(&format!("{search} -k {}", most + 1));
        assert_eq!(run.code, 0, "{name}: {run:?}");
        assert_eq!(
            place.line(&format!("verify {name}.index")).code,
            0,
            "{name}"
        );
    }
}

const CONVERSIONS: &str = "
invalid | convert good.fbin out.u8bin | good.fbin; row 0; u8
invalid | convert good.fbin out.txt | out.txt; extension
invalid | convert cut.fbin out.npy | cut.fbin; truncated
invalid | convert mixed.fvecs out.npy | mixed.fvecs; row 2
invalid | slice good.fbin out.fbin --rows 90..101 | good.fbin; 90..101
invalid | slice good.fbin out.fbin --dimensions 0..5 | good.fbin; 0..5
invalid | slice good.fbin out.fbin --rows 7..7 | 7..7; empty
";

/// What follows `ground-truth --data good.fbin --metric l2`.
const TRUTHS: &str = "
invalid | --queries good.fbin -k 101 --out out.ibin | 101; 100
invalid | --queries nan.fbin -k 5 --out out.ibin | 37
invalid | --queries good.fbin -k 5 --out out.txt | out.txt
";

#[test]
fn bad_conversions_and_truths_name_the_fault() {
    let place = with_damaged_files();
    let truths = "ground-truth --data good.fbin --metric l2 ";
    for case in [cases("", CONVERSIONS), cases(truths, TRUTHS)].concat() {
        check(&place, &case);
        for name in ["out.u8bin", "out.txt", "out.npy", "out.fbin", "out.ibin"] {
            assert!(!place.exists(name), "{}", case.line);
        }
    }
}

#[test]
fn an_interrupt_stops_a_build_and_leaves_no_index() {
    let place = Place::new();
    place.write("base.u8bin", clustered(60_000, 64, 1));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_pageway"))
        .args("build --data base.u8bin --out my.index --metric l2 --threads 1".split(' '))
        .current_dir(place.path(""))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !place.exists("my.index") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let id = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!place.exists("my.index/MANIFEST"));
    assert_eq!(place.line("inspect my.index").code, NOT_FOUND);
}

#[test]
fn files_that_would_be_written_over_are_refused_by_both_arguments() {
    let place = Place::new();
    place.write("q.u8bin", clustered(40, 16, 1));
    let build = "build --data q.u8bin --out i --metric l2 --memory 2MB";
    place.line(build).text_of_success();
    place.line("export i q.npy").text_of_success();
    let before = place.read("q.npy");
    for (line, both) in [
        ("export i q.npy --ids q.npy", "TO and --ids"),
        (
            "search i --queries q.npy --out ./q.npy",
            "--queries and --out",
        ),
        (
            "range i --queries q.npy --radius 9 --out q.npy",
            "--queries and --out",
        ),
        ("convert q.npy i/../q.npy", "FROM and TO"),
        ("slice q.npy q.npy --rows 0..3", "FROM and TO"),
        ("import q.npy e.npy --ids e.npy", "TO and --ids"),
        (
            "snapshot i --out i/copy",
            "lies in the directory of the index",
        ),
        ("snapshot i --out i", "lies in the directory of the index"),
    ] {
        let run = place.line(line);
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(run.stderr.contains(both), "{line}: {run:?}");
        assert_eq!(place.read("q.npy"), before, "{line}");
    }
}
