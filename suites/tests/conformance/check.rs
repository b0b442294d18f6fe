//! What every index must do, whatever it is made of.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pageway::spec::HarvestSpec;
use pageway::{
    Answers, BuildOptions, BuildReport, Effort, ErrorKind, Index, Metric, NoProgress, NodeId,
    OpenOptions, OsVfs, Queries, RangeAnswers, RangeOptions, SearchOptions, VectorRead, Vfs,
    verify,
};

use crate::common::{contents, names, smallest_that_works};
use crate::embeddings::{Rows, distance, ranked};
use crate::late::LateVfs;
use crate::subject::{
    K, LIST_SIZE, Subject, check_equal, digest, least_memory, lines, open_options, open_with,
    range_options, range_room, search,
};

/// Rank of the row whose distance is the radius of range searches.
const RANGE_RANK: usize = 30;

/// What is expected beside correctness.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Mean recall@10 at list size 100.
    pub recall: f64,
    /// Mean share of the rows within a radius that a range search finds.
    pub range: f64,
    /// Whether answers are the same however pages arrive.
    pub repeatable: bool,
    /// Whether they are the same whatever nodes are cached.
    pub cache_blind: bool,
}

/// Recall of searches and of range searches, for the record.
pub type Measured = (f64, f64);

/// All checks. Returns what was measured, and the digest where answers are repeatable.
pub fn check(subject: &Subject<'_>, expected: &Expected) -> (Measured, Option<String>) {
    let name = &subject.name;
    let report = subject
        .build()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    check_report(subject, &report);
    check_rebuilt(subject);
    let verdict = verify(&subject.dir, &NoProgress).unwrap();
    assert!(verdict.is_sound(), "{name}: {:?}", verdict.problems);
    assert_eq!(verdict.records, subject.data.base.count() as u64, "{name}");
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
    check_vectors(subject, &index);
    let answers = search(&index, &subject.data.queries, 0).unwrap();
    let recall = check_answers(subject, &index, &answers);
    let range = [20, LIST_SIZE].map(|list_size| check_range(subject, list_size));
    let good = |range: [f64; 2]| range[0] >= expected.range && range[1] >= expected.recall;
    assert!(
        recall >= expected.recall && good(range),
        "{name}: recall {recall}, range recall {range:?}"
    );
    check_held_out(subject, &index, expected);
    check_pages_read_once(subject, &vfs);
    let least = check_memory(subject, &vfs, expected);
    if !expected.repeatable {
        return ((recall, range[0]), None);
    }
    check_interleaved(subject, &vfs, least, expected);
    let told = digest(&vfs, &subject.dir, &subject.data.queries).unwrap();
    let again = digest(&vfs, &subject.dir, &subject.data.queries).unwrap();
    check_equal(&told, &again, &format!("{name}: a second run"));
    let late: Arc<dyn Vfs> = Arc::new(LateVfs);
    let other = digest(&late, &subject.dir, &subject.data.queries).unwrap();
    check_equal(&told, &other, &format!("{name}: late reads"));
    ((recall, range[0]), Some(told))
}

fn check_report(subject: &Subject<'_>, report: &BuildReport) {
    let name = &subject.name;
    let rows = subject.data.base.count() as u64;
    assert_eq!(report.nodes, rows, "{name}");
    assert_eq!(report.shards, 1, "{name}");
    let description = pageway::describe(&subject.dir).unwrap();
    assert_eq!(description.nodes, rows, "{name}");
    let pages = description.page_utilisation;
    assert!(pages > 0.0 && pages <= 1.0, "{name}: filled {pages}");
    let overlap = description.overlap.unwrap();
    assert!((0.0..=1.0).contains(&overlap), "{name}: OR(G) {overlap}");
    let bytes: u64 = description.files.iter().map(|file| file.bytes).sum();
    assert_eq!(description.index_bytes, bytes, "{name}");
}

/// One thread builds the same bytes as several.
fn check_rebuilt(subject: &Subject<'_>) {
    let dir = subject.dir.with_file_name("again");
    let again = Subject {
        name: subject.name.clone(),
        dir: dir.clone(),
        options: BuildOptions {
            threads: 1,
            ..subject.options.clone()
        },
        ..*subject
    };
    again.build().unwrap();
    let names = |dir: &Path| names(&OsVfs, dir);
    assert_eq!(names(&dir), names(&subject.dir), "{}", subject.name);
    for name in names(&dir) {
        let read = |dir: &Path| contents(&OsVfs, &dir.join(&name));
        let same = read(&dir) == read(&subject.dir);
        assert!(same, "{}: {name} of one thread is another", subject.name);
    }
}

/// The index gives back every vector once; nodes may have another order than rows.
fn check_vectors(subject: &Subject<'_>, index: &Index) {
    let base = &subject.data.base;
    let mut bytes = vec![0; base.bytes.len()];
    index.read(0, &mut bytes).unwrap();
    let sorted = |bytes: &[u8]| {
        let rows = bytes
            .chunks_exact(base.shape.row_bytes())
            .map(<[u8]>::to_vec);
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable();
        rows
    };
    assert!(sorted(&bytes) == sorted(&base.bytes), "{}", subject.name);
}

/// Distances are exact, ids and nodes belong to their rows, nothing comes twice. Returns the recall.
fn check_answers(subject: &Subject<'_>, index: &Index, answers: &Answers) -> f64 {
    let (data, metric) = (subject.data, index.metric());
    let mut hits = 0;
    for query in 0..data.queries.count() {
        let own = query * answers.k..(query + 1) * answers.k;
        let rows = &answers.rows[own.clone()];
        for (at, row) in own.clone().zip(rows) {
            let what = format!("{}: query {query}", subject.name);
            assert_ne!(*row, u32::MAX, "{what}: fewer than k");
            assert_eq!(subject.row_of(answers.ids[at]), u64::from(*row), "{what}");
            check_node(
                index,
                answers.nodes[at],
                data.base.row(*row as usize),
                &what,
            );
            let exact = distance(
                data.queries.values(query),
                data.base.values(*row as usize),
                metric,
            );
            check_distance(answers.distances[at], exact, &what);
        }
        let distances = &answers.distances[own];
        assert!(distances.is_sorted(), "{}", subject.name);
        let unique: BTreeSet<u32> = rows.iter().copied().collect();
        assert_eq!(unique.len(), answers.k, "{}: a row twice", subject.name);
        hits += hits_of(&data.ranked(query, metric), distances);
    }
    hits as f64 / (data.queries.count() * answers.k) as f64
}

fn check_node(index: &Index, node: u32, row: &[u8], what: &str) {
    let mut bytes = vec![0; row.len()];
    index.read(node.into(), &mut bytes).unwrap();
    assert!(bytes == row, "{what}: node {node} is another row");
}

fn check_distance(found: f32, exact: f64, what: &str) {
    let error = (f64::from(found) - exact).abs();
    assert!(
        error <= 1e-4 * exact.abs().max(1.0),
        "{what}: distance {found} instead of {exact}"
    );
}

/// Answers that are at least as near as the k-th neighbour.
fn hits_of(ranked: &[(f64, u32)], distances: &[f32]) -> usize {
    let (last, _) = ranked[distances.len() - 1];
    let limit = last + 1e-4 * last.abs().max(1e-2);
    distances
        .iter()
        .filter(|distance| f64::from(**distance) <= limit)
        .count()
}

/// Every result lies within the radius; returns the share of the true ones that was found.
fn check_range(subject: &Subject<'_>, list_size: u32) -> f64 {
    let data = subject.data;
    let index = Index::open(&subject.dir, &range_room(data.base.count())).unwrap();
    let (mut found, mut all) = (0, 0);
    for query in 0..data.queries.count() {
        let ranked = data.ranked(query, index.metric());
        let radius = ranked[RANGE_RANK.min(ranked.len() - 1)].0 as f32;
        let queries = Queries::new(data.queries.row(query), data.queries.shape);
        let options = RangeOptions {
            list_size,
            ..range_options(&index, radius)
        };
        let answers = index.range(&queries, &options, &NoProgress).unwrap();
        let what = format!("{}: range of query {query}", subject.name);
        check_range_rows(subject, &answers, (query, index.metric()), &what);
        assert!(answers.distances.iter().all(|d| *d <= radius), "{what}");
        assert_eq!(answers.lims, [0, answers.ids.len()], "{what}");
        assert_eq!(answers.truncated, 0, "{what}");
        let within = ranked.iter().filter(|(d, _)| *d < f64::from(radius));
        let rows: BTreeSet<u32> = within.map(|(_, row)| *row).collect();
        all += rows.len();
        found += answers.rows.iter().filter(|row| rows.contains(row)).count();
    }
    found as f64 / all as f64
}

fn check_range_rows(
    subject: &Subject<'_>,
    answers: &RangeAnswers,
    (query, metric): (usize, Metric),
    what: &str,
) {
    let data = subject.data;
    let unique: BTreeSet<u32> = answers.rows.iter().copied().collect();
    assert_eq!(unique.len(), answers.rows.len(), "{what}: a row twice");
    assert!(answers.distances.is_sorted(), "{what}");
    for (at, row) in answers.rows.iter().enumerate() {
        let base = data.base.values(*row as usize);
        let exact = distance(data.queries.values(query), base, metric);
        check_distance(answers.distances[at], exact, what);
        assert_eq!(subject.row_of(answers.ids[at]), u64::from(*row), "{what}");
    }
}

/// Where whole pages are scored, none is read twice by one walk.
fn check_pages_read_once(subject: &Subject<'_>, vfs: &Arc<dyn Vfs>) {
    let options = range_room(subject.data.base.count());
    let least = least_memory(vfs, &subject.dir, &options);
    let index = open_with(vfs, &subject.dir, &options, least).unwrap();
    let spec = index.description().unwrap().spec;
    let whole = matches!(
        spec.execution.harvest,
        HarvestSpec::Near { .. } | HarvestSpec::All
    );
    if !whole {
        return;
    }
    let rows = index.len();
    let search = SearchOptions {
        k: 1,
        effort: Effort::ListSize(rows as u32),
        ..SearchOptions::default()
    };
    let queries = &subject.data.queries;
    let answers = index
        .search(&Queries::new(&queries.bytes, queries.shape), &search)
        .unwrap();
    let per_page = index.description().unwrap().nodes_per_page;
    let pages = rows.div_ceil(per_page.into());
    for stats in &answers.stats {
        let what = format!("{}: {stats:?}", subject.name);
        assert_eq!(stats.refine_reads, 0, "{what}");
        assert!(
            stats.reads + stats.page_hits <= pages,
            "{what}, {pages} pages"
        );
        assert!(stats.exact_distances <= rows, "{what}");
    }
}

/// A row that is its own query is not found, and the others are.
fn check_held_out(subject: &Subject<'_>, index: &Index, expected: &Expected) {
    let (base, count) = (&subject.data.base, 10);
    let nodes: Vec<NodeId> = (0..count).map(|n| NodeId(n * 97 % 900)).collect();
    let mut rows = vec![0; count as usize * base.shape.row_bytes()];
    for (node, row) in nodes.iter().zip(rows.chunks_mut(base.shape.row_bytes())) {
        index.read(node.0.into(), row).unwrap();
    }
    let queries = Queries {
        held_out: Some(&nodes),
        ..Queries::new(&rows, base.shape)
    };
    let options = SearchOptions {
        k: K,
        effort: Effort::ListSize(LIST_SIZE),
        ..SearchOptions::default()
    };
    let answers = index.search(&queries, &options).unwrap();
    let mut hits = 0;
    for (query, node) in nodes.iter().enumerate() {
        let own = query * K as usize..(query + 1) * K as usize;
        let what = format!("{}: node {}", subject.name, node.0);
        assert!(!answers.nodes[own.clone()].contains(&node.0), "{what}");
        let row = base.shape.row_bytes() * query;
        let values = Rows::of_bytes(&rows[row..][..base.shape.row_bytes()], base.shape);
        let mut ranked = ranked(base, values.values(0), index.metric());
        let at = ranked
            .iter()
            .position(|(_, row)| values.bytes == base.row(*row as usize));
        ranked.remove(at.unwrap());
        hits += hits_of(&ranked, &answers.distances[own]);
    }
    let recall = hits as f64 / nodes.len() as f64 / f64::from(K);
    let floor = expected.recall - 0.05;
    assert!(recall >= floor, "{}: held out {recall}", subject.name);
}

/// The smallest memory that a refusal names works, one byte less does not, and what is reserved is
/// never more than was granted. Returns the smallest.
fn check_memory(subject: &Subject<'_>, vfs: &Arc<dyn Vfs>, expected: &Expected) -> u64 {
    let (dir, queries, name) = (&subject.dir, &subject.data.queries, &subject.name);
    let mut options = open_options(1);
    for list_size in [1, LIST_SIZE] {
        options.list_size = list_size;
        let least = least_memory(vfs, dir, &options);
        let refused = open_with(vfs, dir, &options, least - 1).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{name}");
        assert_eq!(smallest_that_works(&refused), least, "{name}");
        for more in [0, 1, 20_000, 5_000_000] {
            let index = open_with(vfs, dir, &options, least + more).unwrap();
            check_ledger(&index, name);
            let call = SearchOptions {
                k: 1,
                effort: Effort::ListSize(list_size),
                ..SearchOptions::default()
            };
            let few = Queries::new(queries.row(0), queries.shape);
            index.search(&few, &call).unwrap();
            check_ledger(&index, name);
        }
    }
    let least = least_memory(vfs, dir, &options);
    let index = open_with(vfs, dir, &options, least).unwrap();
    let answers = search(&index, queries, 0).unwrap();
    check_ledger(&index, name);
    let recall = check_answers(subject, &index, &answers);
    assert!(recall >= expected.recall, "{name}: least memory, {recall}");
    least
}

fn check_ledger(index: &Index, name: &str) {
    let memory = index.memory();
    let reserved: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(reserved <= memory.budget_bytes, "{name}: {memory:?}");
    let searches = ["one query", "more queries in flight"];
    let set_aside: u64 = memory
        .parts
        .iter()
        .filter(|(part, _)| searches.contains(part))
        .map(|(_, bytes)| bytes)
        .sum();
    assert!(
        memory.searches_peak_bytes <= set_aside,
        "{name}: {memory:?}"
    );
}

/// Queries beside each other change nothing; nor does a cache that is bigger, where it should not.
fn check_interleaved(subject: &Subject<'_>, vfs: &Arc<dyn Vfs>, least: u64, expected: &Expected) {
    let (dir, queries) = (&subject.dir, &subject.data.queries);
    let small = open_with(vfs, dir, &open_options(1), least).unwrap();
    let alone = lines(&search(&small, queries, 1).unwrap());
    let roomy = open_with(vfs, dir, &open_options(8), least + 40_000_000).unwrap();
    let one = search(&roomy, queries, 1).unwrap();
    let eight = search(&roomy, queries, 8).unwrap();
    assert_eq!(eight.settings.interleave, 8, "{}", subject.name);
    let what = format!("{}: 8 queries in flight", subject.name);
    check_equal(&lines(&one), &lines(&eight), &what);
    if expected.cache_blind {
        let what = format!("{}: another memory", subject.name);
        let answers = |text: &str| -> Vec<String> {
            let before = |line: &str| line.split_once('(').map(|(head, _)| head.to_owned());
            text.lines().filter_map(before).collect()
        };
        assert_eq!(answers(&alone), answers(&lines(&one)), "{what}");
    }
}
