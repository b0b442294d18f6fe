//! Searches among rows that match, against brute force over vectors and documents.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

use std::path::Path;
use std::time::Duration;

use pageway::source::{IdSlice, TextRead, TextSlice, VectorSlice};
use pageway::{
    Answers, BuildInput, BuildOptions, Durability, Effort, ElementType, ErrorKind, Filter, IdSet,
    Index, MemoryPart, MemoryWish, NoProgress, NodeId, NodeSet, OpenOptions, Preset, Queries, Rows,
    SearchOptions, Strategy, UpdateOptions, VectorShape, Writer,
};

const SHAPE: VectorShape = VectorShape {
    dimension: 16,
    element: ElementType::U8,
};
const ROWS: usize = 2000;
const QUERIES: usize = 8;

fn rows(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..count)
        .flat_map(|row| {
            let centre = (row * 37 % 11 * 20) as u8;
            (0..16)
                .map(|_| centre.saturating_add(next() % 48))
                .collect::<Vec<u8>>()
        })
        .collect()
}

fn document(row: usize) -> String {
    if row % 50 == 7 {
        return "{}".to_owned();
    }
    let kind = ["one", "two", "three"][row % 3];
    format!(
        "{{\"row\": {row}, \"kind\": \"{kind}\", \"tags\": [\"t{}\", \"all\"], \"cluster\": {}}}",
        row % 100,
        row * 37 % 11
    )
}

fn id(row: usize) -> u64 {
    row as u64 * 3 + 5
}

fn build(dir: &Path, preset: Preset, segments: u32) -> Vec<u8> {
    let bytes = rows(ROWS, 1);
    let documents: Vec<String> = (0..ROWS).map(document).collect();
    let ids: Vec<u64> = (0..ROWS).map(id).collect();
    let (vectors, ids) = (VectorSlice::new(&bytes, SHAPE).unwrap(), IdSlice(&ids));
    let documents = TextSlice::attributes(&documents);
    let input = BuildInput::new(&vectors, "rows")
        .with_ids(Some(&ids as _))
        .with_attributes(Some(&documents as _));
    let options = BuildOptions::default()
        .with_preset(preset)
        .with_segments(segments)
        .with_degree(24)
        .with_calibration_queries(60)
        .with_threads(1);
    Index::build(dir, &input, &options, &NoProgress).unwrap();
    bytes
}

/// The rows that match, nearest first.
fn truth(bytes: &[u8], query: &[u8], matches: &dyn Fn(usize) -> bool) -> Vec<(u32, u64)> {
    let distance = |row: usize| -> u32 {
        let own = bytes[row * 16..].iter().zip(query);
        own.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let mut all: Vec<(u32, u64)> = (0..ROWS)
        .filter(|row| matches(*row))
        .map(|row| (distance(row), id(row)))
        .collect();
    all.sort_unstable();
    all
}

type Case = (&'static str, fn(usize) -> bool);

const CASES: [Case; 9] = [
    ("true", |_| true),
    ("kind = 'one'", |row| row % 50 != 7 && row % 3 == 0),
    ("tags in ['t3', 't4']", |row| {
        row % 50 != 7 && (row % 100 == 3 || row % 100 == 4)
    }),
    ("cluster = 4", |row| row % 50 != 7 && row * 37 % 11 == 4),
    ("row between 100 and 109 and not kind = 'two'", |row| {
        row % 50 != 7 && (100..110).contains(&row) && row % 3 != 1
    }),
    ("row = 1234", |row| row == 1234),
    ("row = 7", |_| false),
    ("not exists(kind)", |row| row % 50 == 7),
    ("has_id(5, 8, 3005, 4)", |row| [0, 1, 1000].contains(&row)),
];

/// Checks membership, number and distances; gives the share of the true neighbours that was found.
fn check(answers: &Answers, (bytes, queries): (&[u8], &[u8]), k: usize, case: Case) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for (number, query) in queries.chunks_exact(16).enumerate() {
        let expected = truth(bytes, query, &case.1);
        let own: Vec<u64> = answers.ids[number * k..(number + 1) * k]
            .iter()
            .copied()
            .filter(|id| *id != u64::MAX)
            .collect();
        assert_eq!(
            own.len(),
            expected.len().min(k),
            "{}: query {number}",
            case.0
        );
        assert!(
            own.iter()
                .all(|id| expected.iter().any(|(_, own)| own == id)),
            "{}",
            case.0
        );
        let last = expected
            .get(k.min(expected.len()).wrapping_sub(1))
            .map_or(0, |(d, _)| *d);
        let distances = &answers.distances[number * k..number * k + own.len()];
        found += distances.iter().filter(|own| **own <= last as f32).count();
        wanted += own.len();
    }
    if wanted == 0 {
        1.0
    } else {
        f64::from(found as u32) / f64::from(wanted as u32)
    }
}

fn search(index: &Index, queries: &[u8], filter: &Filter, k: u32) -> Answers {
    let asked = Queries::new(queries, SHAPE).with_filter(filter);
    let options = SearchOptions::nearest(k).with_effort(Effort::ListSize(60));
    index.search(&asked, &options).unwrap()
}

fn check_all(index: &Index, bytes: &[u8], used: &mut Vec<Strategy>) {
    let queries = rows(QUERIES, 9);
    for case in CASES {
        let written = Filter::expression(case.0).unwrap();
        let rows = (0..ROWS).filter(|row| (case.1)(*row));
        let listed = Filter::ids(rows.clone().map(id).collect::<IdSet>());
        let matches = rows.count() as u64;
        for (filter, k) in [(&written, 1), (&written, 10), (&listed, 10)] {
            assert_eq!(index.count(filter).unwrap(), matches, "{}", case.0);
            let answers = search(index, &queries, filter, k);
            let recall = check(&answers, (bytes, &queries), k as usize, case);
            assert!(recall >= 0.9, "{}: recall {recall}", case.0);
            let report = answers.filter.unwrap();
            assert_eq!(report.matches, matches);
            let pages: u64 = answers.stats.iter().map(|one| one.pages).sum();
            if report.strategy == Strategy::ScanVectors {
                assert_eq!(pages > 0, matches > 0, "{}", case.0);
            }
            used.push(report.strategy);
        }
    }
}

#[test]
fn every_preset_finds_min_k_m_rows_that_match_and_no_others() {
    let mut used = Vec::new();
    for preset in Preset::ALL {
        let dir = tempfile::tempdir().unwrap();
        let bytes = build(dir.path(), preset, 1);
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        assert!(index.memory().bytes_of(MemoryPart::Filters) > 0);
        check_all(&index, &bytes, &mut used);
        assert!(pageway::verify(dir.path(), &NoProgress).unwrap().is_sound());
    }
    for strategy in [Strategy::Walk, Strategy::ScanCodes, Strategy::ScanVectors] {
        assert!(used.contains(&strategy), "{strategy:?} was never chosen");
    }
}

#[test]
fn matches_far_from_the_query_are_found_all_the_same() {
    const FAR: Case = ("cluster >= 6", |row| row % 50 != 7 && row * 37 % 11 >= 6);
    let mut walked = 0;
    for preset in [
        Preset::default(),
        Preset::DiskAnn,
        Preset::PageAnn,
        Preset::AiSaq,
    ] {
        for segments in [1, 3] {
            let dir = tempfile::tempdir().unwrap();
            let bytes = build(dir.path(), preset, segments);
            let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
            let near = (0..ROWS).filter(|row| row * 37 % 11 == 1).take(20);
            let queries: Vec<u8> = near
                .flat_map(|row| bytes[row * 16..][..16].to_vec())
                .collect();
            let filter = Filter::expression(FAR.0).unwrap();
            let asked = Queries::new(&queries, SHAPE).with_filter(&filter);
            let options = SearchOptions::nearest(10).with_effort(Effort::ListSize(16));
            let answers = index.search(&asked, &options).unwrap();
            let recall = check(&answers, (&bytes, &queries), 10, FAR);
            let report = answers.filter.unwrap();
            assert!(recall >= 0.95, "{preset:?} {segments}: {recall} {report:?}");
            assert!(report.spent_cost > 0.0, "{preset:?} {segments}: {report:?}");
            walked += usize::from(report.strategy == Strategy::Walk);
        }
    }
    assert!(walked > 0, "no walk was chosen");
}

#[test]
fn several_segments_and_ranges_and_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = build(dir.path(), Preset::default(), 3);
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    check_all(&index, &bytes, &mut Vec::new());
    let queries = rows(3, 9);
    let filter = Filter::qdrant(r#"{"must": {"key": "kind", "match": {"value": "one"}}}"#).unwrap();
    let asked = Queries::new(&queries, SHAPE).with_filter(&filter);
    let options = SearchOptions::within(40_000.0).with_effort(Effort::ListSize(100));
    let answers = index.search(&asked, &options).unwrap();
    for (number, query) in queries.chunks_exact(16).enumerate() {
        let all = truth(&bytes, query, &CASES[1].1);
        let within: Vec<u64> = all
            .iter()
            .filter(|(d, _)| *d as f32 <= 40_000.0)
            .map(|(_, id)| *id)
            .collect();
        let own = &answers.ids[answers.lims[number]..answers.lims[number + 1]];
        assert!(own.iter().all(|id| within.contains(id)));
        assert!(
            own.len() as f64 >= 0.9 * within.len() as f64,
            "{} {}",
            own.len(),
            within.len()
        );
    }
    let error = index
        .count(&Filter::expression("kinds = 'one'").unwrap())
        .unwrap_err();
    assert!(
        error.to_string().contains("did you mean 'kind'?"),
        "{error}"
    );
    assert_eq!(
        index
            .count(&Filter::qdrant(r#"{"must_not": {"key": "x", "match": {"value": 1}}}"#).unwrap())
            .unwrap(),
        ROWS as u64
    );
    let fields = index.fields().unwrap();
    let names: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(names, ["cluster", "kind", "row", "tags", "tags[]"]);
}

#[test]
fn what_a_field_cannot_be_is_refused_in_expressions_and_matches_nothing_for_qdrant() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = build(dir.path(), Preset::default(), 2);
    let writer = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    )
    .unwrap();
    let index = writer.index();
    let count = |text: &str| index.count(&Filter::expression(text).unwrap());
    for (text, words) in [
        (
            "kind > 3",
            "filter: kind is compared with a number, and its values are of kind text",
        ),
        (
            "row = 'a' or row = 3",
            "row is compared with a text, and its values are of kind integer",
        ),
        ("tags = 3", "tags is compared with a number"),
    ] {
        let error = count(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(words), "{error}");
    }
    let lenient = r#"{"must": {"key": "kind", "range": {"gt": 3}}}"#;
    assert_eq!(index.count(&Filter::qdrant(lenient).unwrap()).unwrap(), 0);
    // A row that has a number there makes it a field of numbers too.
    let one = ["{\"kind\": 5}".to_owned()];
    let attributes = TextSlice::attributes(&one);
    let row = Rows::new(&bytes[..16], SHAPE).with_ids(&[1_000_000][..]);
    writer
        .insert(&row.with_attributes(&attributes as &dyn TextRead))
        .unwrap();
    assert_eq!(count("kind > 3").unwrap(), 1);
    writer.close().unwrap();
}

#[test]
fn matches_that_are_kept_are_those_of_now() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = build(dir.path(), Preset::default(), 1);
    let writer = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    )
    .unwrap();
    let filter = Filter::expression("row in [3, 6, 9]").unwrap();
    let near = &bytes[3 * 16..4 * 16];
    for (gone, left) in [(None, 3), (Some(id(3)), 2), (Some(id(9)), 1), (None, 1)] {
        if let Some(gone) = gone {
            writer.delete(&[gone], Durability::Synced).unwrap();
        }
        // The second time it is known.
        for _ in 0..2 {
            assert_eq!(writer.index().count(&filter).unwrap(), left);
            let found = search(writer.index(), near, &filter, 5);
            let own = found.ids.iter().filter(|id| **id != u64::MAX);
            assert_eq!(own.count() as u64, left);
            assert_eq!(found.filter.unwrap().matches, left);
        }
        if gone.is_none() {
            writer.merge(true, &NoProgress).unwrap();
        }
    }
    writer.close().unwrap();
}

#[test]
fn a_strategy_can_be_forced() {
    let queries = rows(QUERIES, 9);
    for preset in [Preset::default(), Preset::DiskAnn, Preset::AiSaq] {
        let dir = tempfile::tempdir().unwrap();
        let bytes = build(dir.path(), preset, 1);
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        for case in CASES {
            let filter = Filter::expression(case.0).unwrap();
            let asked = Queries::new(&queries, SHAPE).with_filter(&filter);
            for strategy in Strategy::ALL {
                let options = SearchOptions::nearest(10)
                    .with_effort(Effort::ListSize(60))
                    .with_strategy(strategy);
                let answers = match index.search(&asked, &options) {
                    Err(error) if preset == Preset::AiSaq => {
                        assert_eq!(strategy, Strategy::ScanCodes, "{error}");
                        continue;
                    }
                    answers => answers.unwrap(),
                };
                assert_eq!(answers.filter.unwrap().strategy, strategy);
                let recall = check(&answers, (&bytes, &queries), 10, case);
                assert!(recall >= 0.9, "{preset} {strategy:?} {}: {recall}", case.0);
            }
        }
        let plain = Queries::new(&queries, SHAPE);
        let forced = SearchOptions::nearest(10).with_strategy(Strategy::Walk);
        let error = index.search(&plain, &forced).unwrap_err();
        assert!(error.to_string().contains("without a filter"), "{error}");
        let filter = Filter::expression("true").unwrap();
        let error = index.search(&plain.with_filter(&filter), &forced.with_exact(true));
        assert!(error.unwrap_err().to_string().contains("no walk does"));
    }
    let error = "scan".parse::<Strategy>().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("known are walk, scan-codes, scan-vectors"),
        "{error}"
    );
}

#[test]
fn a_share_of_memory_that_filters_take_is_refused_with_what_would_do() {
    let bytes = rows(ROWS, 1);
    let documents: Vec<String> = (0..ROWS).map(document).collect();
    let (vectors, documents) = (
        VectorSlice::new(&bytes, SHAPE).unwrap(),
        TextSlice::attributes(&documents),
    );
    let input = BuildInput::new(&vectors, "rows").with_attributes(Some(&documents as _));
    let with = |wish| BuildOptions::default().with_memory(wish).with_threads(1);
    let dir = tempfile::tempdir().unwrap();
    let error = Index::build(
        dir.path(),
        &input,
        &with(MemoryWish::Share(0.5)),
        &NoProgress,
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("a memory budget of 16.0 kB (16000 B)"),
        "{error}"
    );
    assert!(error.contains("filters 1.0 MB"), "{error}");
    let least = error.split("works is ").nth(1).unwrap();
    let least: u64 = least.split(' ').next().unwrap().parse().unwrap();
    let enough = with(MemoryWish::Bytes(least));
    Index::build(dir.path(), &input, &enough, &NoProgress).unwrap();
}

#[test]
fn wrong_attributes_are_refused_before_anything_is_built() {
    let bytes = rows(10, 1);
    let vectors = VectorSlice::new(&bytes, SHAPE).unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["{}"; 9], "attributes of 9 rows"),
        (
            &["{}", "{", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}"],
            "row 1",
        ),
        (
            &["{}", "{}", "[1]", "{}", "{}", "{}", "{}", "{}", "{}", "{}"],
            "row 2",
        ),
    ];
    for (documents, words) in cases {
        let dir = tempfile::tempdir().unwrap();
        let documents: Vec<String> = documents.iter().map(|own| (*own).to_owned()).collect();
        let documents = TextSlice::attributes(&documents);
        let input = BuildInput::new(&vectors, "rows").with_attributes(Some(&documents as _));
        let error = Index::build(dir.path(), &input, &BuildOptions::default(), &NoProgress);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(words), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let input = BuildInput::new(&vectors, "rows");
    Index::build(dir.path(), &input, &BuildOptions::default(), &NoProgress).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let error = index
        .count(&Filter::expression("a = 1").unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        index
            .count(&Filter::ids(IdSet::from_iter([3, 4, 400])))
            .unwrap(),
        2
    );
    assert_eq!(index.memory().bytes_of(MemoryPart::Filters), 0);
}

#[test]
fn merges_keep_attributes_and_rows_that_came_later_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = build(dir.path(), Preset::default(), 1);
    let writer = Writer::open(
        dir.path(),
        &OpenOptions::default(),
        &UpdateOptions::default(),
    )
    .unwrap();
    let index = writer.index();
    let more = rows(40, 5);
    let ids: Vec<u64> = (0..40).map(|row| 1_000_000 + row).collect();
    writer
        .insert(&Rows::new(&more, SHAPE).with_ids(ids.as_slice()))
        .unwrap();
    writer
        .delete(&[id(0), id(3), id(1)], Durability::Synced)
        .unwrap();
    let count = |text: &str| index.count(&Filter::expression(text).unwrap()).unwrap();
    for merged in [false, true] {
        assert_eq!(count("kind = 'one'"), 654 - 2, "merged: {merged}");
        assert_eq!(count("not exists(kind)"), 40 + 40, "merged: {merged}");
        assert_eq!(count("has_id(5, 1000003)"), 1);
        let even = Filter::ids((0..1_000_040).step_by(2).collect::<IdSet>());
        let kept = (0..ROWS).map(id).filter(|id| id % 2 == 0).count() as u64;
        let gone = [0, 3, 1].map(id).iter().filter(|id| *id % 2 == 0).count() as u64;
        assert_eq!(index.count(&even).unwrap(), kept - gone + 20);
        let filter = Filter::expression("row = 1234 or has_id(1000003)").unwrap();
        let answers = search(index, &bytes[1234 * 16..1235 * 16], &filter, 5);
        assert_eq!(answers.ids[..3], [id(1234), 1_000_003, u64::MAX]);
        if !merged {
            writer.merge(true, &NoProgress).unwrap();
        }
    }
    writer.close().unwrap();
    assert!(pageway::verify(dir.path(), &NoProgress).unwrap().is_sound());
}

#[test]
fn an_exact_search_compares_every_vector() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = build(dir.path(), Preset::default(), 2);
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let queries = rows(QUERIES, 7);
    let wanted = Queries::new(&queries, SHAPE);
    let options = SearchOptions::nearest(5).with_exact(true);
    let found = index.search(&wanted, &options).unwrap();
    assert!(found.filter.is_none());
    for (query, own) in queries.chunks(16).enumerate() {
        let squared = |row: &[u8]| {
            let pairs = row.iter().zip(own);
            pairs
                .map(|(a, b)| (f32::from(*a) - f32::from(*b)).powi(2))
                .sum::<f32>()
        };
        let mut all: Vec<f32> = bytes.chunks(16).map(squared).collect();
        all.sort_by(f32::total_cmp);
        assert_eq!(found.distances[query * 5..query * 5 + 5], all[..5]);
        assert_eq!(found.stats[query].exact_distances, ROWS as u64);
    }
    let all = found.nodes.len();
    let odd = NodeSet::new((0..ROWS as u32).filter(|node| node % 2 == 1).map(NodeId));
    let among = wanted.with_admitted(&odd);
    let found = index.search(&among, &options).unwrap();
    assert_eq!(found.nodes.len(), all);
    assert!(
        found.nodes.iter().all(|node| node % 2 == 1),
        "rows that are not among them were found"
    );
    assert_eq!(found.stats[0].exact_distances, ROWS as u64 / 2);
    let late = options.with_timeout(Duration::ZERO);
    let filtered = Filter::expression("exists(row)").unwrap();
    for queries in [wanted, wanted.with_filter(&filtered)] {
        let error = index.search(&queries, &late).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}
