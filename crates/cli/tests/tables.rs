//! Tables in and out: Parquet and JSON lines as data, results by extension, vectors back.

mod common;

use common::Place;

/// 400 vectors of 4 components as JSON lines, with ids from 1000 on.
fn lines() -> String {
    let vector = |row: u32| [0, 1, 2, 3].map(|at| f64::from((row * 37 + at * 11) % 101) / 8.0);
    let line = |row: u32| format!("{{\"key\": {}, \"v\": {:?}}}\n", row + 1000, vector(row));
    let lines: Vec<String> = (0..400).map(line).collect();
    lines.concat()
}

#[test]
fn json_lines_and_parquet_make_the_same_index() {
    let place = Place::new();
    place.write("a.jsonl", lines());
    let build = "--metric l2 --memory 2MB --calibration-queries 20 --json";
    let built = place.line(&format!(
        "build --data a.jsonl --id-column key --out a.index {build}"
    ));
    assert_eq!(built.json()["nodes"], 400);
    place.line("export a.index v.parquet --json").json();
    place
        .line("export a.index v.npy --ids ids.npy --json")
        .json();
    place.line("export a.index v.jsonl").text_of_success();
    for (number, data) in [
        "v.parquet --id-column id",
        "v.npy --ids ids.npy",
        "v.jsonl --id-column id",
    ]
    .iter()
    .enumerate()
    {
        let out = format!("{number}.index");
        place
            .line(&format!("build --data {data} --out {out} {build}"))
            .json();
        let shown = place.line(&format!(
            "search --index {out} --queries v.npy -k 1 --list-size 40 --show 400 --json"
        ));
        let shown = shown.json();
        let answers = shown["answers"].as_array().expect("answers");
        assert_eq!(answers.len(), 400);
        for answer in answers {
            assert_eq!(answer["distances"][0], 0.0, "{data}: {answer}");
        }
    }
    assert_eq!(
        place.line("convert v.parquet back.fbin --json").json()["rows"],
        400
    );
    let wrong = place.line(&format!(
        "build --data v.parquet --column x --out x {build}"
    ));
    assert_eq!(wrong.code, 2);
    assert!(
        wrong
            .stderr
            .contains("there are id (int64), vector (float lists)"),
        "{wrong:?}"
    );
}

#[test]
fn results_are_written_by_extension() {
    let place = Place::new();
    place.write("a.jsonl", lines());
    let build = "build --data a.jsonl --id-column key --out i --metric l2 --memory 2MB";
    place.line(build).text_of_success();
    let search = "search --index i --queries a.jsonl -k 3 --list-size 40 --out";
    for name in ["r.npy", "r.csv", "r.jsonl", "r.parquet", "r.ibin"] {
        place.line(&format!("{search} {name}")).text_of_success();
        assert!(place.exists(name));
    }
    let ids = place.read("r.npy");
    assert_eq!(ids.len(), 128 + 400 * 3 * 8);
    assert_eq!(ids[128..136], 1000_i64.to_le_bytes());
    let distances = place.read("r.distances.npy");
    assert_eq!(distances.len(), 128 + 400 * 3 * 4);
    let csv = String::from_utf8(place.read("r.csv")).expect("text");
    assert_eq!(csv.lines().count(), 1 + 400 * 3);
    assert!(
        csv.starts_with("query,rank,id,distance\n0,1,1000,0\n"),
        "{csv:.80}"
    );
    let json = String::from_utf8(place.read("r.jsonl")).expect("text");
    let first: serde_json::Value =
        serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["query"], &first["ids"][0]),
        (&0.into(), &1000.into())
    );
    assert!(place.read("r.parquet").starts_with(b"PAR1"));
    let unknown = place.line(&format!("{search} r.txt"));
    assert!(
        unknown.stderr.contains(".ibin .npy .csv .jsonl .parquet"),
        "{unknown:?}"
    );
    let within = "range --index i --queries a.jsonl --radius 1.5 --out w";
    place.line(&format!("{within}.csv")).text_of_success();
    let refused = place.line(&format!("{within}.npy"));
    assert!(refused.stderr.contains(".rangeres .csv"), "{refused:?}");
}

/// An array of one axis, or two, as NumPy writes it, without its elements.
fn npy(descr: &str, shape: &str) -> Vec<u8> {
    let literal = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{literal:<117}\n");
    [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes()].concat()
}

#[test]
fn ids_that_int64_does_not_hold_come_and_go_whole() {
    let place = Place::new();
    place.write("a.jsonl", lines());
    let first = u64::MAX - 1 - 399;
    let ids = (first..).take(400).flat_map(u64::to_le_bytes);
    let ids: Vec<u8> = npy("<u8", "(400,)").into_iter().chain(ids).collect();
    place.write("ids.npy", ids);
    let build = "build --data a.jsonl --column v --ids ids.npy --out i --metric l2 --memory 2MB";
    place.line(build).text_of_success();
    let search = "search --index i --queries a.jsonl -k 3 --list-size 40 --out";
    place.line(&format!("{search} r.npy")).text_of_success();
    let found = place.read("r.npy");
    assert_eq!(found[..128], npy("<u8", "(400, 3)"));
    assert_eq!(found[128..136], first.to_le_bytes());
}

#[test]
fn rows_are_put_in_with_the_ids_that_their_table_has() {
    let place = Place::new();
    place.write("a.jsonl", lines());
    let build = "build --data a.jsonl --id-column key --attributes a.jsonl --out i --metric l2 \
                 --memory 2MB --calibration-queries 0";
    place.line(build).text_of_success();
    let fields = place.line("count i --json").json();
    assert!(!fields.to_string().contains("\"v"), "{fields}");
    let again = place.line("insert i --data a.jsonl --column v --id-column key");
    assert!(again.stderr.contains("id 1000: a row has it"), "{again:?}");
    let upsert = "insert i --data a.jsonl --id-column key --upsert --json";
    let put = place.line(upsert).json();
    assert_eq!(
        (&put["inserted"], &put["replaced"]),
        (&0.into(), &400.into())
    );
    let imported = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/library/ivf.faiss"
    );
    let out = place
        .line(&format!("import {imported} v.npy --ids ids.npy --json"))
        .json();
    let dimension = &out["dimension"];
    let create = format!("create --out f --dimension {dimension} --metric l2 --memory 4MB");
    place.line(&create).text_of_success();
    place
        .line(&format!("insert f --data {imported}"))
        .text_of_success();
    place.line("delete f --ids ids.npy --json").json();
    assert_eq!(place.line("count f --json").json()["rows"], 0);
}

#[test]
fn bits_are_packed_bytes_wherever_a_file_of_them_is_read() {
    let place = Place::new();
    let rows: Vec<u8> = (0..400_u32)
        .flat_map(|row| row.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    place.write(
        "packed.npy",
        [npy("|u1", "(400, 4)"), rows.clone()].concat(),
    );
    let bit = |place: usize| rows[place / 8] >> (7 - place % 8) & 1;
    let floats = (0..rows.len() * 8).flat_map(|at| f32::from(bit(at)).to_le_bytes());
    let floats: Vec<u8> = floats.collect();
    place.write("floats.npy", [npy("<f4", "(400, 32)"), floats].concat());
    for data in ["packed.npy", "floats.npy"] {
        let line = format!("convert {data} {data}.bitbin --json");
        assert_eq!(place.line(&line).json()["dimension"], 32, "{data}");
        assert_eq!(place.read(&format!("{data}.bitbin"))[8..], rows, "{data}");
    }
    let back = place.line("convert packed.npy.bitbin back.npy --element u8 --json");
    assert_eq!(back.json()["dimension"], 4);
    assert_eq!(place.read("back.npy"), place.read("packed.npy"));
    let build = "build --data floats.npy --element bit --metric hamming --out i --memory 2MB \
                 --queries packed.npy";
    place.line(build).text_of_success();
    let truth = "ground-truth --data packed.npy.bitbin --queries packed.npy --metric hamming -k 2 \
                 --out gt.ibin";
    place.line(truth).text_of_success();
    let search = "search i --queries packed.npy -k 2 --truth gt.ibin --list-size 100 --json";
    assert_eq!(place.line(search).json()["recall"], 1.0);
    for line in [
        "recall i --queries packed.npy --json",
        "calibrate i --queries packed.npy --json",
        "open i --queries packed.npy --repeats 1 --json",
        "insert i --data packed.npy --json",
    ] {
        place.line(line).json();
    }
}

#[test]
fn names_that_are_nearly_right_are_offered() {
    let place = Place::new();
    for (arguments, words) in [
        ("--metric cosnie", "did you mean 'cosine'?"),
        ("--metric l2 --preset startling", "did you mean 'starling'?"),
    ] {
        let run = place.line(&format!("build --data a.fbin --out i {arguments}"));
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(words), "{run:?}");
    }
}

#[test]
fn index_files_of_other_libraries_are_imported_and_built_from() {
    let place = Place::new();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/library");
    let json = place
        .line(&format!("import {corpus}/ivf.faiss lists.npy --json"))
        .json();
    assert_eq!((&json["rows"], &json["metric"]), (&20.into(), &"l2".into()));
    place
        .line(&format!("import {corpus}/flat.faiss flat.npy"))
        .text_of_success();
    let [lists, flat] = ["lists.npy", "flat.npy"].map(|name| place.read(name));
    assert_eq!(lists, flat, "rows lie where their ids say");
    let homeless = place.line(&format!("import {corpus}/idmap.faiss x.npy"));
    assert_eq!(homeless.code, 2);
    assert!(homeless.stderr.contains("--ids"), "{}", homeless.stderr);
    place
        .line(&format!("import {corpus}/idmap.faiss x.npy --ids ids.npy"))
        .text_of_success();
    assert_eq!(place.read("x.npy"), flat);
    let said = place.line(&format!("import {corpus}/hnswlib.bin h.parquet"));
    assert!(said.text_of_success().contains("2 deleted rows"));
    let vectors = place.line("import flat.npy y.npy");
    assert!(vectors.stderr.contains("convert"), "{}", vectors.stderr);
    place
        .line(&format!(
            "build --data {corpus}/idmap.faiss --out i.index --metric l2 --memory 2MB --json"
        ))
        .json();
    let shown = place
        .line("search i.index --queries flat.npy -k 1 --list-size 20 --show 20 --json")
        .json();
    let answers = shown["answers"].as_array().expect("answers");
    for (id, answer) in (100..120).zip(answers) {
        assert_eq!(answer["ids"][0], id, "{answer}");
    }
}

#[test]
fn queries_of_several_columns_are_named_wherever_they_are_given() {
    let place = Place::new();
    let two = (0..60).map(|row| format!("{{\"v\": [{row}, 1], \"w\": [{row}, 2]}}\n"));
    place.write("two.jsonl", two.collect::<Vec<_>>().concat());
    let build = "build --data two.jsonl --column v --metric l2 --memory 2MB --out";
    let unnamed = place.line(&format!("{build} i --queries two.jsonl"));
    assert!(unnamed.stderr.contains("--queries-column"), "{unnamed:?}");
    let named = format!("{build} i --queries two.jsonl --queries-column v");
    place.line(&named).text_of_success();
    let truth = "ground-truth --data two.jsonl --queries two.jsonl --metric l2 -k 3 --out t.ibin";
    for (line, columns) in [
        ("search i --queries two.jsonl", "--column v"),
        ("range i --queries two.jsonl --radius 2", "--column v"),
        ("recall i --queries two.jsonl", "--column v"),
        ("calibrate i --queries two.jsonl", "--column v"),
        ("open i --queries two.jsonl", "--column v"),
        ("convert two.jsonl c.fbin", "--column w"),
        ("slice two.jsonl s.fbin --rows 0..9", "--column w"),
        (truth, "--column v --queries-column w"),
    ] {
        let unnamed = place.line(line);
        assert_eq!(unnamed.code, 2, "{line}: {unnamed:?}");
        assert!(unnamed.stderr.contains("--column"), "{line}: {unnamed:?}");
        place.line(&format!("{line} {columns}")).text_of_success();
    }
    let component = place.read("c.fbin")[12..16].to_vec();
    assert_eq!(component, 2.0_f32.to_le_bytes(), "of w");
}
