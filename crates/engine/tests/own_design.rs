//! Our own design from end to end: answers that codes decide without a read, and both its forms.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed test may panic"
)]

mod common;

use std::path::Path;

use common::{Random, Rows, distance, nearest, smallest_that_works};
use pageway::source::{IdRead, IdSlice, TextSlice, VectorSlice};
use pageway::spec::{CodecSpec, EntrySpec, PlacementSpec};
use pageway::{
    Answers, BuildInput, BuildOptions, Effort, ElementType, Filter, Index, MemoryWish, Metric,
    NoProgress, OpenOptions, Overrides, Preset, Queries, SearchOptions, Tolerance, VectorShape,
    verify,
};

const K: usize = 10;
const QUERIES: usize = 60;
/// First of the ids that the tests give.
const FIRST_ID: u64 = 1 << 40;

/// One cloud of rows, wide along its first components and narrow along the last.
fn cloud(count: usize, seed: u64) -> Rows {
    const DIMENSION: u32 = 48;
    let mut random = Random(seed);
    let mut bytes = Vec::new();
    for _ in 0..count {
        for component in 0..DIMENSION {
            let noise = (0..4)
                .map(|_| random.below(2001) as f32 - 1000.0)
                .sum::<f32>();
            bytes.extend((noise / (4 + component) as f32).to_le_bytes());
        }
    }
    let element = ElementType::F32;
    let shape = VectorShape {
        dimension: DIMENSION,
        element,
    };
    Rows { bytes, shape }
}

fn build(dir: &Path, base: &Rows, memory: u64) {
    try_build(dir, base, memory).unwrap();
}

fn try_build(dir: &Path, base: &Rows, memory: u64) -> pageway::Result<()> {
    let ids: Vec<u64> = (FIRST_ID..FIRST_ID + base.count() as u64).collect();
    let vectors = VectorSlice::new(&base.bytes, base.shape).unwrap();
    let ids = IdSlice(&ids);
    let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
    let options = BuildOptions::default()
        .with_preset(Preset::Pageway)
        .with_memory(MemoryWish::Bytes(memory))
        .with_degree(24)
        .with_build_list(48)
        .with_calibration_queries(20);
    Index::build(dir, &input, &options, &NoProgress).map(|_| ())
}

fn search(index: &Index, queries: &Rows, tolerance: Tolerance) -> Answers {
    let options = SearchOptions::nearest(K as u32)
        .with_effort(Effort::ListSize(60))
        .with_tolerance(tolerance);
    let queries = Queries::new(&queries.bytes, queries.shape);
    index.search(&queries, &options).unwrap()
}

fn estimated(answers: &Answers) -> u64 {
    answers.stats.iter().map(|stats| stats.estimated).sum()
}

/// Share of the true neighbours, after checking that ids belong to rows and distances to both.
fn checked_recall(answers: &Answers, base: &Rows, queries: &Rows, slack: f64) -> f64 {
    let mut found = 0;
    for query in 0..queries.count() {
        let target = queries.values(query);
        let truth = nearest(base, queries, query, K, Metric::L2);
        for at in query * K..(query + 1) * K {
            let row = answers.rows[at];
            assert_eq!(answers.ids[at], FIRST_ID + u64::from(row));
            let exact = distance(&target, &base.values(row as usize), Metric::L2);
            let told = f64::from(answers.distances[at]);
            assert!(
                (told - exact).abs() <= slack * exact + 1e-3,
                "row {row} of query {query}: {told} for {exact}"
            );
            found += usize::from(truth.contains(&u64::from(row)));
        }
    }
    found as f64 / (queries.count() * K) as f64
}

/// The index in the least memory that holds all its lists, and so no vectors.
fn opened_with_lists(dir: &Path, nodes: usize) -> Index {
    let open = |bytes| {
        let options = OpenOptions::default().with_memory(MemoryWish::Bytes(bytes));
        let index = Index::open(dir, &options).ok()?;
        (index.memory().cached_nodes == nodes).then_some(index)
    };
    let (mut low, mut high) = (0, 4_000_000);
    while high - low > 1000 {
        let middle = u64::midpoint(low, high);
        if open(middle).is_some() {
            high = middle;
        } else {
            low = middle;
        }
    }
    open(high).unwrap()
}

#[test]
fn what_memory_holds_has_exact_distances_without_a_read() {
    let (base, queries) = (cloud(1000, 1), cloud(QUERIES, 2));
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &base, 16_000_000);
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let answers = search(&index, &queries, Tolerance::ANY);
    assert!(checked_recall(&answers, &base, &queries, 1e-5) >= 0.95);
    assert_eq!(estimated(&answers), 0);
    assert!(answers.stats.iter().all(|stats| stats.reads == 0));
}

#[test]
fn a_choice_that_one_form_cannot_have_leads_to_another() {
    let base = cloud(300, 1);
    for (placement, codec) in [
        (PlacementSpec::Bnp, None),
        (
            PlacementSpec::Grouped { hops: 1 },
            Some(CodecSpec::PageNode { min_degree: 8 }),
        ),
    ] {
        let options = BuildOptions::default()
            .with_degree(16)
            .with_calibration_queries(5)
            .with_overrides(Overrides {
                placement: Some(placement),
                codec,
                ..Overrides::default()
            });
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options).unwrap();
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let layout = index.description().unwrap().spec.layout;
        assert_eq!(layout.placement, placement);
        assert_eq!(layout.codec == CodecSpec::Split, codec.is_none());
    }
}

#[test]
fn what_codes_decide_is_found_without_a_read() {
    let (base, queries) = (cloud(3000, 1), cloud(QUERIES, 2));
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &base, 4_000_000);
    let index = opened_with_lists(dir.path(), base.count());
    let spec = index.description().unwrap().spec;
    assert_eq!(spec.layout.codec, CodecSpec::Split);
    assert_eq!(index.memory().cached_nodes, base.count(), "all lists");

    let answers = search(&index, &queries, Tolerance::ANY);
    let exact = search(&index, &queries, Tolerance::EXACT);
    let recall = checked_recall(&answers, &base, &queries, 0.1);
    assert!(recall >= 0.95, "{recall}");
    assert!(checked_recall(&exact, &base, &queries, 1e-5) >= recall - 0.01);
    // Most are decided, no walk reads, and what is left is one round.
    let all = (QUERIES * K) as u64;
    assert!(
        estimated(&answers) > all / 2,
        "{} of {all}",
        estimated(&answers)
    );
    assert_eq!(estimated(&exact), 0);
    for stats in answers.stats.iter().chain(&exact.stats) {
        assert!(
            stats.reads == stats.refine_reads && stats.rounds <= 1,
            "{stats:?}"
        );
    }
    let reads = |answers: &Answers| answers.stats.iter().map(|s| s.reads).sum::<u64>();
    assert!(reads(&answers) < reads(&exact));
}

#[test]
fn with_less_memory_lists_are_read() {
    let (base, queries) = (cloud(6000, 1), cloud(QUERIES, 2));
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), &base, 4_000_000);
    let with = |bytes| {
        OpenOptions::default()
            .with_memory(MemoryWish::Bytes(bytes))
            .with_effort(Effort::ListSize(30))
    };
    let least = smallest_that_works(&Index::open(dir.path(), &with(1)).err().unwrap());
    let small = Index::open(dir.path(), &with(least + 20_000)).unwrap();
    assert!(small.memory().cached_nodes < base.count());
    let options = SearchOptions::nearest(K as u32).with_effort(Effort::ListSize(30));
    let answers = small
        .search(&Queries::new(&queries.bytes, queries.shape), &options)
        .unwrap();
    assert!(checked_recall(&answers, &base, &queries, 0.001) >= 0.9);
    assert!(
        answers
            .stats
            .iter()
            .any(|stats| stats.reads > stats.refine_reads)
    );
}

/// With less and less memory candidates come from lists, from clusters and from the disk.
#[test]
fn every_form_finds_what_there_is() {
    let (base, queries) = (cloud(3000, 1), cloud(QUERIES, 2));
    let mut forms = Vec::new();
    for memory in (0..20).map(|step| 1_400_000 - 60_000 * step) {
        let dir = tempfile::tempdir().unwrap();
        if try_build(dir.path(), &base, memory).is_err() {
            break;
        }
        let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
        let spec = index.description().unwrap().spec;
        let form = (spec.layout.codec, spec.execution.entry);
        if forms.last() == Some(&form) {
            continue;
        }
        forms.push(form);
        let answers = search(&index, &queries, Tolerance::ANY);
        let recall = checked_recall(&answers, &base, &queries, 0.4);
        // As is asked, .95, less what that may be off.
        assert!(recall >= 0.945, "{memory}: {recall} of {form:?}");
        assert_eq!(
            estimated(&search(&index, &queries, Tolerance::EXACT)),
            0,
            "{form:?}"
        );
        if spec.execution.entry == EntrySpec::Clusters {
            assert!(
                answers.stats.iter().all(|stats| stats.rounds <= 2),
                "{form:?}"
            );
        }
    }
    let has = |wanted: fn(&(CodecSpec, EntrySpec)) -> bool| forms.iter().any(wanted);
    assert!(has(|form| form.1 == EntrySpec::Medoid), "{forms:?}");
    assert!(has(|form| form.1 == EntrySpec::Clusters), "{forms:?}");
    assert!(
        has(|form| matches!(form.0, CodecSpec::PageNode { .. })),
        "{forms:?}"
    );
}

#[test]
fn longer_lists_of_clusters_find_more_and_no_row_twice() {
    let (base, queries) = (cloud(3000, 1), cloud(QUERIES, 2));
    let dir = tempfile::tempdir().unwrap();
    let options = BuildOptions::default()
        .with_form("clustered".to_owned())
        .with_code_bytes(20)
        .with_memory(MemoryWish::Bytes(4_000_000))
        .with_calibration_queries(20);
    base.build(dir.path(), &options).unwrap();
    let index = Index::open(dir.path(), &OpenOptions::default()).unwrap();
    let storage = index.description().unwrap().spec.storage;
    assert!(storage.ids_in_memory && storage.second_quantizer.is_some());
    let recall = |list_size| {
        let options = SearchOptions::nearest(K as u32).with_effort(Effort::ListSize(list_size));
        let asked = Queries::new(&queries.bytes, queries.shape);
        let answers = index.search(&asked, &options).unwrap();
        let mut found = 0;
        for query in 0..queries.count() {
            let mut rows = answers.rows[query * K..(query + 1) * K].to_vec();
            let truth = nearest(&base, &queries, query, K, Metric::L2);
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), K, "query {query}, list {list_size}: {rows:?}");
            let is_true = |row: &&u32| truth.contains(&u64::from(**row));
            found += rows.iter().filter(is_true).count();
        }
        found as f64 / (queries.count() * K) as f64
    };
    let (short, long) = (recall(20), recall(400));
    assert!(long >= short && long >= 0.98, "{short}, then {long}");
}

/// Where memory does not hold the vectors they are put in order part by part: answers are as good,
/// belong to their rows and ids, and do not depend on threads.
#[test]
fn little_build_memory_makes_an_index_as_good_of_both_forms() {
    let all = Rows::clustered(16_000 + QUERIES, 128, ElementType::F32, 1);
    let (base, queries) = all.bytes.split_at(16_000 * all.shape.row_bytes());
    let [base, queries] = [base, queries].map(|bytes| Rows {
        bytes: bytes.to_vec(),
        shape: all.shape,
    });
    let ids: Vec<u64> = (FIRST_ID..FIRST_ID + base.count() as u64).collect();
    let documents: Vec<String> = (0..ids.len())
        .map(|row| format!("{{\"row\": {row}}}"))
        .collect();
    let documents = TextSlice::attributes(&documents);
    for (form, given) in [("clustered", false), ("resident", true)] {
        let root = tempfile::tempdir().unwrap();
        let built = |name: &str, memory: u64, threads| {
            let dir = root.path().join(name);
            let vectors = VectorSlice::new(&base.bytes, base.shape)?;
            let listed = IdSlice(&ids);
            let input = BuildInput::new(&vectors, "rows");
            let input = input
                .with_ids(given.then_some(&listed as &dyn IdRead))
                .with_attributes(Some(&documents as _));
            let options = BuildOptions::default()
                .with_form(form.to_owned())
                .with_memory(MemoryWish::Share(0.4))
                .with_build_memory(MemoryWish::Bytes(memory))
                .with_threads(threads)
                .with_degree(24)
                .with_build_list(48)
                .with_calibration_queries(20);
            let report = Index::build(&dir, &input, &options, &NoProgress)?;
            assert!(verify(&dir, &NoProgress)?.is_sound());
            let index = Index::open(&dir, &OpenOptions::default())?;
            let answers = search(&index, &queries, Tolerance::EXACT);
            for row in [4321, 0, 15_999] {
                let filter = Filter::expression(&format!("row = {row}"))?;
                let asked = Queries::new(&queries.bytes, queries.shape).with_filter(&filter);
                let found = index.search(&asked, &SearchOptions::nearest(1))?;
                assert!(found.rows.iter().all(|own| *own == row), "{row}");
            }
            let placement = match form {
                "resident" => PlacementSpec::Nearest,
                _ => PlacementSpec::Clustered,
            };
            assert_eq!(index.description()?.spec.layout.placement, placement);
            Ok::<_, pageway::Error>((report, answers))
        };
        let memory = smallest_that_works(&built("refused", 1, 1).unwrap_err());
        let (free, expected) = built("free", 1 << 30, 2).unwrap();
        let (tight, found) = built("tight", memory, 2).unwrap();
        assert_eq!(free.temporary_bytes, 0);
        assert!(tight.temporary_bytes > 0, "{form}: built whole in {memory}");
        assert_eq!(tight.shards > 1, form == "resident", "{}", tight.shards);
        let (_, alone) = built("alone", memory, 1).unwrap();
        assert_eq!(alone.ids, found.ids);
        let recall = |mut answers: Answers| {
            if !given {
                let rows = answers.rows.iter().map(|row| u64::from(*row));
                assert!(rows.eq(answers.ids.iter().copied()));
                answers.ids.iter_mut().for_each(|id| *id += FIRST_ID);
            }
            checked_recall(&answers, &base, &queries, 1e-5)
        };
        let (expected, found) = (recall(expected), recall(found));
        assert!(found > expected - 0.02, "{form}: {found}, {expected}");
    }
}

#[test]
fn a_form_is_built_by_its_name_or_refused_with_those_there_are() {
    let base = cloud(600, 1);
    let built = |form: &str, preset| {
        let options = BuildOptions::default()
            .with_preset(preset)
            .with_form(form.to_owned())
            .with_degree(16)
            .with_calibration_queries(5);
        let dir = tempfile::tempdir().unwrap();
        base.build(dir.path(), &options)?;
        let index = Index::open(dir.path(), &OpenOptions::default())?;
        Ok::<_, pageway::Error>(index.description()?.spec)
    };
    for form in Preset::Pageway.form_names() {
        let spec = built(form, Preset::Pageway).unwrap();
        let found = match (spec.graph.max_degree(), spec.layout.codec) {
            (0, _) => "clustered",
            (_, CodecSpec::Split) => "resident",
            _ => "on-disk",
        };
        assert_eq!(found, form);
    }
    let said = built("small", Preset::Pageway).unwrap_err();
    assert!(
        said.context().contains("resident, clustered, on-disk"),
        "{said}"
    );
    let said = built("clustered", Preset::Starling).unwrap_err();
    assert!(said.context().contains("it has one"), "{said}");
}
