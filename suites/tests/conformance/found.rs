//! What an index finds, against brute force: searches, ranges, held-out rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use pageway::spec::{HarvestSpec, StopSpec, VectorStorage};
use pageway::{
    Answers, Effort, ErrorKind, HeldOut, Index, Metric, NodeId, OpenOptions, Queries,
    SearchOptions, VectorRead, Vfs,
};

use crate::check::Expected;
use crate::embeddings::{Rows, distance, ranked};
use crate::subject::{K, LIST_SIZE, Subject, least_memory, open_with, range_options, range_room};

/// Rank of the row whose distance is the radius of range searches.
const RANGE_RANK: usize = 30;

/// The index gives back every vector once; nodes may have another order than rows.
pub fn check_vectors(subject: &Subject<'_>, index: &Index) {
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

/// Distances are exact, ids and nodes belong to their rows, nothing comes twice. Returns the
/// recall.
pub fn check_answers(subject: &Subject<'_>, index: &Index, answers: &Answers) -> f64 {
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

/// A distance is the one by its definition.
pub fn check_distance(found: f32, exact: f64, what: &str) {
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
pub fn check_range(subject: &Subject<'_>, list_size: u32) -> f64 {
    let data = subject.data;
    let index = Index::open(&subject.dir, &range_room(data.base.count())).unwrap();
    let (mut found, mut all) = (0, 0);
    for query in 0..data.queries.count() {
        let ranked = data.ranked(query, index.metric());
        let radius = ranked[RANGE_RANK.min(ranked.len() - 1)].0 as f32;
        let queries = Queries::new(data.queries.row(query), data.queries.shape);
        let options = range_options(&index, radius).with_effort(Effort::ListSize(list_size));
        let answers = index.search(&queries, &options).unwrap();
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
    answers: &Answers,
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
pub fn check_pages_read_once(subject: &Subject<'_>, vfs: &Arc<dyn Vfs>) {
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
    let search = SearchOptions::nearest(1).with_effort(Effort::ListSize(rows as u32));
    let queries = &subject.data.queries;
    let answers = index
        .search(&Queries::new(&queries.bytes, queries.shape), &search)
        .unwrap();
    let per_page = index.description().unwrap().nodes_per_page;
    let pages = rows.div_ceil(per_page.into());
    for stats in &answers.stats {
        let what = format!("{}: {stats:?}", subject.name);
        // Where records hold fine codes, the vectors of the undecided are read from other pages.
        let coded = spec.storage.vectors == VectorStorage::Coded;
        assert!(coded || stats.refine_reads == 0, "{what}");
        assert!(
            stats.reads - stats.refine_reads + stats.page_hits <= pages,
            "{what}, {pages} pages"
        );
        assert!(stats.exact_distances <= rows, "{what}");
        if coded {
            continue;
        }
        // Every node is reached, unless it lies beyond a horizon, so every page is read, and none
        // of them is forgotten.
        let execution = &spec.execution;
        let all = execution.harvest == HarvestSpec::All && execution.stop == StopSpec::Exhausted;
        assert!(!all || stats.exact_distances == rows, "{what}");
    }
}

/// A row that is its own query is not found, and the others are.
pub fn check_held_out(subject: &Subject<'_>, index: &Index, expected: &Expected) {
    let (base, count) = (&subject.data.base, 10);
    let nodes: Vec<NodeId> = (0..count).map(|n| NodeId(n * 97 % 900)).collect();
    let mut rows = vec![0; count as usize * base.shape.row_bytes()];
    for (node, row) in nodes.iter().zip(rows.chunks_mut(base.shape.row_bytes())) {
        index.read(node.0.into(), row).unwrap();
    }
    let held: Vec<HeldOut> = nodes.iter().copied().map(HeldOut::new).collect();
    let queries = Queries::new(&rows, base.shape).with_held_out(Some(&held));
    let options = SearchOptions::nearest(K).with_effort(Effort::ListSize(LIST_SIZE));
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

/// What a search is asked to reach it does, as far as a few queries can tell.
pub fn check_recall_target(subject: &Subject<'_>) {
    let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
    let queries = &subject.data.queries;
    for target in [0.8, 0.9] {
        let options = SearchOptions::nearest(K).with_effort(Effort::Recall(target));
        let queries = Queries::new(&queries.bytes, queries.shape);
        let answers = match index.search(&queries, &options) {
            Ok(answers) => answers,
            // A graph this small may not have it to give.
            Err(error) if error.kind() == ErrorKind::Unsupported => continue,
            Err(error) => panic!("{}: {error}", subject.name),
        };
        let recall = check_answers(subject, &index, &answers);
        // Two standard errors.
        let floor = f64::from(target) - 0.06;
        assert!(recall >= floor, "{}: {target}, {recall}", subject.name);
    }
}
