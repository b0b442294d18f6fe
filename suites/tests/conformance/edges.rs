//! The smallest and strangest sets, on every preset and on the covering set of choices: fewer
//! vectors than a page holds, one, two; equal ones; one component; as many neighbours as vectors; a
//! wide beam over three nodes; a candidate list of one.

use pageway::spec::HarvestSpec;
use pageway::{
    Answers, BuildOptions, Effort, ElementType, ErrorKind, HeldOut, Index, NoProgress, OpenOptions,
    OsVfs, Preset, Queries, SearchOptions, Vfs, verify,
};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::axes::small;
use crate::common::{Data, long, quick_as};
use crate::cover::COVER;
use crate::embeddings::{DataSet, Rows, distance};
use crate::found::check_distance;
use crate::subject::{Subject, least_memory, open_options, open_with};

const DIMENSION: u32 = 8;

/// Rows of small whole numbers, some of them equal.
fn rows(count: usize, dimension: u32, element: ElementType) -> Rows {
    let mut random = pageway_testkit::SplitMix64::new(9);
    let values: Vec<f64> = (0..count * dimension as usize)
        .map(|_| (1 + random.below(5)) as f64 / 20.0)
        .collect();
    Rows::new(&values, dimension, element)
}

fn set_of(base: Rows) -> DataSet {
    let queries = Rows::of_bytes(&base.bytes, base.shape);
    DataSet { base, queries }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("index")
    }
}

/// Builds, and asks every row for all rows: with all memory and with the least.
fn check_all_found(name: &str, options: &BuildOptions, base: Rows, has_user_ids: bool) {
    let place = Place::new();
    let data = set_of(base);
    let count = data.base.count();
    let subject = Subject {
        name: format!("{name}, {count} rows"),
        dir: place.dir(),
        data: &data,
        has_user_ids,
        options: options.clone(),
    };
    let name = &subject.name;
    let built = subject.build();
    built.unwrap_or_else(|error| panic!("{name}: {error}"));
    let verdict = verify(&subject.dir, &NoProgress).unwrap();
    assert!(verdict.is_sound(), "{name}: {:?}", verdict.problems);
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let least = least_memory(&vfs, &subject.dir, &open_options(1));
    for memory in [least, 1 << 26] {
        let index = open_with(&vfs, &subject.dir, &open_options(1), memory).unwrap();
        for (list_size, beam) in [(100, None), (100, Some(1)), (1, None), (1, Some(1))] {
            check_search(&subject, &index, list_size, beam);
        }
    }
    let wide = OpenOptions::default().with_beam(64);
    let index = open_with(&vfs, &subject.dir, &wide, 1 << 26).unwrap();
    check_search(&subject, &index, 100, Some(64));
    check_range(&subject, &index);
}

fn check_search(subject: &Subject<'_>, index: &Index, list_size: u32, beam: Option<u32>) {
    let data = subject.data;
    let options = SearchOptions::nearest(data.base.count() as u32)
        .with_effort(Effort::ListSize(list_size))
        .with_beam(beam);
    let queries = Queries::new(&data.queries.bytes, data.queries.shape);
    let answers = index.search(&queries, &options).unwrap();
    let what = format!("{}: list {list_size}, beam {beam:?}", subject.name);
    let all: Vec<u32> = (0..data.base.count() as u32).collect();
    for query in 0..data.base.count() {
        let mut rows = check_found(subject, index, (&answers, query), &what);
        rows.sort_unstable();
        if follows_some(subject) {
            check_pages(index, (&answers, query), &what);
        } else {
            assert_eq!(rows, all, "{what}");
        }
    }
}

/// What a query found comes nearest first, nothing twice, each row with its id and the distance
/// that it has; what it did not find stands behind. Returns the rows found.
fn check_found(
    subject: &Subject<'_>,
    index: &Index,
    (answers, query): (&Answers, usize),
    what: &str,
) -> Vec<u32> {
    let (data, own) = (subject.data, query * answers.k..(query + 1) * answers.k);
    let rows = &answers.rows[own.clone()];
    let found = rows.iter().take_while(|row| **row != u32::MAX).count();
    for (at, row) in own.clone().zip(rows).take(found) {
        let base = data.base.values(*row as usize);
        let exact = distance(data.base.values(query), base, index.metric());
        check_distance(answers.distances[at], exact, what);
        assert_eq!(subject.row_of(answers.ids[at]), u64::from(*row), "{what}");
    }
    let (rows, others) = rows.split_at(found);
    assert!(others.iter().all(|row| *row == u32::MAX), "{what}");
    assert!(answers.distances[own].is_sorted(), "{what}");
    let distinct: HashSet<&u32> = rows.iter().collect();
    assert_eq!(distinct.len(), found, "{what}: {rows:?}");
    rows.to_vec()
}

/// Whether records beside a target are scored and not all followed: a page that only they lead to,
/// in a graph of short lists, is not met.
fn follows_some(subject: &Subject<'_>) -> bool {
    let harvest = subject.options.overrides.harvest;
    matches!(harvest, Some(HarvestSpec::Near { share }) if share < 1.0)
}

/// Nearly all rows; where no node is cached, what is missing are whole pages: of a page that was
/// read every record is scored.
fn check_pages(index: &Index, (answers, query): (&Answers, usize), what: &str) {
    let count = answers.k;
    let nodes = answers.nodes[query * count..(query + 1) * count].iter();
    let found: HashSet<u32> = nodes.filter(|node| **node != u32::MAX).copied().collect();
    assert!(found.len() * 10 >= count * 8, "{what}: {found:?}");
    if index.memory().cached_nodes > 0 {
        return;
    }
    let per_page = index.description().unwrap().nodes_per_page as usize;
    let all: Vec<u32> = (0..count as u32).collect();
    for page in all.chunks(per_page) {
        let met = page.iter().filter(|node| found.contains(node)).count();
        let whole = met == 0 || met == page.len();
        assert!(whole, "{what}: {met} of the nodes {page:?}");
    }
}

fn check_range(subject: &Subject<'_>, index: &Index) {
    let data = subject.data;
    let queries = Queries::new(&data.queries.bytes, data.queries.shape);
    let count = data.base.count();
    let range = |radius, limit| {
        let options = SearchOptions::within(radius)
            .with_k(limit)
            .with_effort(Effort::ListSize(100));
        index.search(&queries, &options)
    };
    let name = &subject.name;
    let all = range(f32::INFINITY, 100).unwrap();
    let least = if follows_some(subject) { 8 } else { 10 };
    assert!(
        all.ids.len() * 10 >= count * count * least,
        "{name}: all within"
    );
    assert_eq!(all.truncated, 0, "{name}");
    let none = range(f32::NEG_INFINITY, 100).unwrap();
    assert_eq!(
        (none.ids.len(), none.lims),
        (0, vec![0; count + 1]),
        "{name}"
    );
    let one = range(f32::INFINITY, 1).unwrap();
    assert_eq!(one.ids.len(), count, "{name}: the nearest alone");
    // Where there is one vector, nothing is left out.
    let cut = if count > 1 { count } else { 0 };
    assert_eq!(one.truncated, cut, "{name}");
    let refused = range(f32::NAN, 100).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{name}");
}

#[test]
fn every_preset_finds_all_of_a_few_vectors() {
    for preset in Preset::ALL {
        for count in [1, 2, 3, 5, 13, 40] {
            for element in [ElementType::U8, ElementType::F32] {
                let options = small(DIMENSION).with_preset(preset);
                let base = rows(count, DIMENSION, element);
                check_all_found(preset.name(), &options, base, count == 5);
            }
        }
    }
}

#[test]
fn every_choice_finds_all_of_a_few_vectors() {
    for choice in &COVER.chosen {
        for count in [1, 2, 7, 30] {
            for options in and_following_all(choice.options(16)) {
                let base = rows(count, 16, choice.element());
                check_all_found(&choice.text(), &options, base, choice.has_user_ids());
            }
        }
    }
}

/// A choice as it is, and where it does not follow every record of a page the same following them
/// all: what the one misses is for no other reason.
fn and_following_all(options: BuildOptions) -> Vec<BuildOptions> {
    let mut all = options.clone();
    let Some(HarvestSpec::Near { share }) = &mut all.overrides.harvest else {
        return vec![options];
    };
    *share = 1.0;
    vec![options, all]
}

#[test]
fn one_component_is_enough() {
    for preset in Preset::ALL {
        let options = small(1).with_preset(preset);
        for element in ElementType::NUMBERS {
            // A line: each row has its own place.
            let values: Vec<f64> = (1..=40).map(|row| f64::from(row) / 250.0).collect();
            let base = Rows::new(&values, 1, element);
            check_all_found(preset.name(), &options, base, false);
        }
    }
}

/// More equal vectors than lists are long: graphs must still lead to all of them.
#[test]
fn equal_vectors_are_all_found() {
    let count = if long() { 3000 } else { 600 };
    for preset in Preset::ALL {
        let place = Place::new();
        let data = set_of(Rows::new(&vec![0.1; count * 8], 8, ElementType::U8));
        let subject = Subject {
            name: preset.name().to_owned(),
            dir: place.dir(),
            data: &data,
            has_user_ids: false,
            options: small(8).with_preset(preset),
        };
        subject.build().unwrap();
        let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
        for k in [10, 200] {
            let options = SearchOptions::nearest(k).with_effort(Effort::ListSize(k));
            let query = Queries::new(data.base.row(0), data.base.shape);
            let answers = index.search(&query, &options).unwrap();
            let mut rows = answers.rows.clone();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), k as usize, "{preset}: {k} of equal vectors");
            assert!(answers.distances.iter().all(|distance| *distance == 0.0));
        }
    }
}

/// Held-out rows where little else is there.
#[test]
fn a_held_out_row_is_not_found_even_if_walks_start_there() {
    for preset in Preset::ALL {
        for count in [1usize, 2, 3, 30] {
            let place = Place::new();
            let data = set_of(rows(count, DIMENSION, ElementType::F32));
            let subject = Subject {
                name: format!("{preset} {count}"),
                dir: place.dir(),
                data: &data,
                has_user_ids: false,
                options: small(DIMENSION).with_preset(preset),
            };
            subject.build().unwrap();
            let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
            let nodes = (0..count as u32).map(pageway::NodeId);
            let held: Vec<_> = nodes.map(HeldOut::new).collect();
            let queries =
                Queries::new(&data.base.bytes, data.base.shape).with_held_out(Some(&held));
            let options = SearchOptions::nearest(count as u32).with_effort(Effort::ListSize(100));
            let answers = index.search(&queries, &options).unwrap();
            for (query, nodes) in answers.nodes.chunks(count).enumerate() {
                let mut found = nodes.to_vec();
                found.retain(|node| *node != u32::MAX);
                found.sort_unstable();
                found.dedup();
                let what = format!("{}: query {query}: {nodes:?}", subject.name);
                assert!(!found.contains(&(query as u32)), "{what}");
                // It may have been the only bridge between two others.
                assert!(found.len() >= (count - 1).min(1), "{what}");
                assert!(found.len() + 2 >= count, "{what}");
            }
        }
    }
}

/// Pages that hold one record, and records that span pages.
#[test]
fn records_larger_than_a_page_are_found() {
    for preset in Preset::ALL {
        let data = Data::new(60, 6000, 3);
        let base = Rows::of_bytes(&data.rows, data.shape);
        let options = quick_as(preset).with_code_bytes(4);
        check_all_found(preset.name(), &options, base, true);
    }
}
