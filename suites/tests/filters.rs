//! Random filtered queries against brute force: every form of every preset, rows deleted and
//! changed, lists short and long, exact and not. Whatever strategy is chosen or forced, a search
//! returns min(k, m) of the m rows that match and live, and no other.
//!
//! `PAGEWAY_FILTER_QUERIES` says how many queries there are in all; `make filters` asks a million.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed test may panic, and a suite says what it did"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{Data, quick_as};
use pageway::source::{TextRead, TextSlice, VectorSlice};
use pageway::{
    Answers, BuildInput, Durability, Effort, ErrorKind, Filter, Index, NoProgress, OpenOptions,
    Preset, Queries, Rows, SearchOptions, Strategy, UpdateOptions, Writer,
};
use pageway_testkit::SplitMix64;

const ROWS: usize = 1200;
const DIMENSION: u32 = 16;
/// Queries of a call, which share a filter.
const TOGETHER: usize = 16;
const DEPTH: u32 = 3;

/// Rows by id, with what is known of each; a row that was deleted is none.
struct World {
    data: Data,
    lives: Vec<bool>,
    /// Its index sees changes that no file holds yet.
    writer: Writer,
}

/// A condition as text, and whether it holds of a row.
struct Condition {
    text: String,
    holds: Box<dyn Fn(usize) -> bool>,
}

fn condition(text: String, holds: impl Fn(usize) -> bool + 'static) -> Condition {
    let holds = Box::new(holds);
    Condition { text, holds }
}

const KINDS: [&str; 4] = ["red", "green", "blue", "rare"];

/// One row in a hundred is rare.
fn kind(row: usize) -> usize {
    if row % 100 == 3 { 3 } else { row % 3 }
}

fn has_attributes(row: usize) -> bool {
    row % 20 != 9
}

fn document(row: usize) -> String {
    if !has_attributes(row) {
        return "{}".to_owned();
    }
    let kind = KINDS[kind(row)];
    let open = row.is_multiple_of(2);
    format!(
        r#"{{"row":{row},"kind":"{kind}","open":{open},"part":{}.5,"tags":["t{}","u{}"]}}"#,
        row % 7,
        row % 50,
        row % 9
    )
}

/// A leaf of a random tree.
fn leaf(random: &mut SplitMix64) -> Condition {
    let has = has_attributes;
    match random.below(8) {
        0 => {
            let wanted = random.below(4) as usize;
            condition(format!("kind = '{}'", KINDS[wanted]), move |row| {
                has(row) && kind(row) == wanted
            })
        }
        1 => {
            let first = random.below(ROWS as u64) as usize;
            let most = 1 << random.below(11);
            let last = first + random.below(most) as usize;
            condition(format!("row between {first} and {last}"), move |row| {
                has(row) && (first..=last).contains(&row)
            })
        }
        2 => {
            let tag = random.below(55) as usize;
            condition(format!("tags = 't{tag}'"), move |row| {
                has(row) && row % 50 == tag
            })
        }
        3 => {
            let tags = [random.below(9) as usize, random.below(50) as usize];
            let text = format!("tags in ['u{}', 't{}']", tags[0], tags[1]);
            condition(text, move |row| {
                has(row) && (row % 9 == tags[0] || row % 50 == tags[1])
            })
        }
        4 => condition("open = true".to_owned(), move |row| {
            has(row) && row.is_multiple_of(2)
        }),
        5 => {
            let limit = random.below(8) as usize;
            condition(format!("part < {limit}"), move |row| {
                has(row) && row % 7 < limit
            })
        }
        6 => condition("not exists(kind)".to_owned(), move |row| !has(row)),
        _ => {
            let ids = [random.below(2 * ROWS as u64), random.below(ROWS as u64)];
            condition(format!("has_id({}, {})", ids[0], ids[1]), move |row| {
                ids.contains(&(row as u64))
            })
        }
    }
}

/// A random tree.
fn tree(random: &mut SplitMix64, depth: u32) -> Condition {
    if depth == 0 {
        return leaf(random);
    }
    match random.below(5) {
        0 | 1 => leaf(random),
        2 => {
            let one = tree(random, depth - 1);
            condition(format!("not ({})", one.text), move |row| !(one.holds)(row))
        }
        3 => {
            let (one, other) = (tree(random, depth - 1), tree(random, depth - 1));
            let text = format!("({}) and ({})", one.text, other.text);
            condition(text, move |row| (one.holds)(row) && (other.holds)(row))
        }
        _ => {
            let (one, other) = (tree(random, depth - 1), tree(random, depth - 1));
            let text = format!("({}) or ({})", one.text, other.text);
            condition(text, move |row| (one.holds)(row) || (other.holds)(row))
        }
    }
}

impl World {
    /// Rows in an index, some of them deleted, some put in later.
    fn build(dir: &Path, preset: Preset, form: Option<&str>, segments: u32) -> Option<Self> {
        let data = Data::new(ROWS, DIMENSION, 9);
        let built = ROWS - 100;
        let row_bytes = data.shape.row_bytes();
        let vectors = VectorSlice::new(&data.rows[..built * row_bytes], data.shape).unwrap();
        let documents: Vec<String> = (0..ROWS).map(document).collect();
        let attributes = TextSlice::attributes(&documents[..built]);
        let input = BuildInput::new(&vectors, "rows").with_attributes(Some(&attributes as _));
        let options = quick_as(preset)
            .with_form(form.map(str::to_owned))
            .with_segments(segments);
        Index::build(dir, &input, &options, &NoProgress).ok()?;
        let writer = Writer::open(dir, &OpenOptions::default(), &UpdateOptions::default()).unwrap();
        let later = TextSlice::attributes(&documents[built..]);
        let rows = Rows::new(&data.rows[built * row_bytes..], data.shape)
            .with_attributes(&later as &dyn TextRead);
        writer.insert(&rows).unwrap();
        let mut lives = vec![true; ROWS];
        let mut random = SplitMix64::new(4);
        for _ in 0..ROWS / 6 {
            lives[random.below(ROWS as u64) as usize] = false;
        }
        let gone: Vec<u64> = (0..ROWS as u64)
            .filter(|row| !lives[*row as usize])
            .collect();
        writer.delete(&gone, Durability::Synced).unwrap();
        Some(Self {
            data,
            lives,
            writer,
        })
    }

    fn distance(&self, row: usize, query: &[u8]) -> f32 {
        let width = self.data.shape.row_bytes();
        let pairs = self.data.rows[row * width..][..width].iter().zip(query);
        pairs.map(|(a, b)| f32::from(a.abs_diff(*b)).powi(2)).sum()
    }

    /// Asks once, and checks what comes; gives the strategy that was taken.
    fn ask(&self, random: &mut SplitMix64) -> String {
        let condition = tree(random, DEPTH);
        let matches: BTreeSet<usize> = (0..ROWS)
            .filter(|row| self.lives[*row] && (condition.holds)(*row))
            .collect();
        let width = self.data.shape.row_bytes();
        let first = random.below((ROWS - TOGETHER) as u64) as usize;
        let queries = &self.data.rows[first * width..][..TOGETHER * width];
        let most = [5, 40, 300][random.below(3) as usize];
        let k = 1 + random.below(most) as usize;
        let longer = [2, 40, 400][random.below(3) as usize];
        let list = k as u64 + random.below(longer);
        let is_exact = random.below(6) == 0;
        // Chosen as often as each is forced.
        let forced = Strategy::ALL.get(random.below(4) as usize).copied();
        let forced = forced.filter(|_| !is_exact);
        let filter = Filter::expression(&condition.text).unwrap();
        let asked = Queries::new(queries, self.data.shape).with_filter(&filter);
        let options = SearchOptions::nearest(k as u32)
            .with_effort(Effort::ListSize(list as u32))
            .with_exact(is_exact)
            .with_strategy(forced)
            .with_threads(1);
        let answers = match self.writer.index().search(&asked, &options) {
            Err(error) if error.kind() == ErrorKind::Unsupported && forced.is_some() => {
                assert!(error.to_string().contains("scan-codes"), "{error}");
                self.writer
                    .index()
                    .search(&asked, &options.with_strategy(None))
            }
            answers => answers,
        };
        let answers = answers.unwrap();
        for (number, query) in queries.chunks_exact(width).enumerate() {
            let text = &condition.text;
            let what = format!("{text}: k {k}, list {list}, exact {is_exact}, {forced:?}");
            self.check(&answers, (number, query), &matches, &what);
            if is_exact {
                self.check_nearest(&answers, (number, query), &matches, &what);
            }
        }
        let report = answers.filter.unwrap();
        let given_up = if report.rescued > 0 { ", given up" } else { "" };
        let by_force = if forced == Some(report.strategy) {
            ", forced"
        } else {
            ""
        };
        if is_exact {
            "exact".to_owned()
        } else {
            format!("{}{given_up}{by_force}", report.strategy.name())
        }
    }

    /// As many as there are, each of them once, in order, at its distance.
    fn check(
        &self,
        answers: &Answers,
        (number, query): (usize, &[u8]),
        matches: &BTreeSet<usize>,
        what: &str,
    ) {
        let own = number * answers.k..(number + 1) * answers.k;
        let (ids, distances) = (&answers.ids[own.clone()], &answers.distances[own]);
        let found: Vec<usize> = ids
            .iter()
            .filter(|id| **id != u64::MAX)
            .map(|id| *id as usize)
            .collect();
        assert_eq!(found.len(), answers.k.min(matches.len()), "{what}");
        assert!(found.iter().all(|row| matches.contains(row)), "{what}");
        let once: BTreeSet<usize> = found.iter().copied().collect();
        assert_eq!(once.len(), found.len(), "{what}");
        assert!(distances.is_sorted(), "{what}");
        for (row, distance) in found.iter().zip(distances) {
            assert_eq!(*distance, self.distance(*row, query), "{what}: row {row}");
        }
    }

    /// No row is nearer than those that an exact search found.
    fn check_nearest(
        &self,
        answers: &Answers,
        (number, query): (usize, &[u8]),
        matches: &BTreeSet<usize>,
        what: &str,
    ) {
        let mut truth: Vec<f32> = matches
            .iter()
            .map(|row| self.distance(*row, query))
            .collect();
        truth.sort_by(f32::total_cmp);
        truth.truncate(answers.k);
        let found = &answers.distances[number * answers.k..][..truth.len()];
        assert_eq!(found, truth, "{what}");
    }
}

/// Every form of every preset; the first in segments too.
fn designs() -> Vec<(Preset, Option<&'static str>, u32)> {
    let mut all = Vec::new();
    for preset in Preset::ALL {
        let forms = preset.form_names();
        if forms.is_empty() {
            all.push((preset, None, 1));
        }
        all.extend(forms.into_iter().map(|form| (preset, Some(form), 1)));
    }
    all.push((Preset::Pageway, None, 3));
    all
}

#[test]
fn all_that_match_and_nothing_else_is_found() {
    let asked = std::env::var("PAGEWAY_FILTER_QUERIES").ok();
    let queries = asked.map_or(4000, |number| number.parse().expect("a number of queries"));
    let designs = designs();
    let calls = (queries / designs.len() / TOGETHER).max(1);
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut done = 0;
    for (at, (preset, form, segments)) in designs.into_iter().enumerate() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("index");
        let world = World::build(&dir, preset, form, segments).expect("every form can be built");
        let mut random = SplitMix64::new(at as u64);
        for _ in 0..calls {
            *taken.entry(world.ask(&mut random)).or_default() += TOGETHER;
            done += TOGETHER;
        }
    }
    println!("filters: {done} queries, by strategy {taken:?}");
    for strategy in Strategy::ALL.map(Strategy::name) {
        for own in [strategy.to_owned(), format!("{strategy}, forced")] {
            assert!(taken.contains_key(&own), "{own} was never taken");
        }
    }
}
