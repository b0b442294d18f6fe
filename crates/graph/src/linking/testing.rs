//! What the tests of all builders ask of a graph and of its build: soundness, reach, recall, and
//! that a build can be stopped and refuses what cannot be.

use pageway_types::{Candidate, Guide, NodeId};

use crate::error::GraphError;
use crate::graph::Graph;
use crate::prune::{PruneSpec, Pruner};
use crate::search::greedy_search;
use crate::testing::{Rows, StopAfter, clustered, unequal};
use crate::vectors::VectorSet;

pub(crate) const METRICS: [Guide; 3] = [Guide::L2, Guide::InnerProduct, Guide::Cosine];

/// Lists within the degree, without self-loops, repeats or strangers; every node reachable.
pub(crate) fn assert_sound(graph: &Graph, count: u32, max_degree: u32) {
    assert_eq!((graph.count(), graph.max_degree()), (count, max_degree));
    let lists = (0..count).map(|node| graph.neighbors(NodeId(node)));
    Graph::from_lists(lists, max_degree, graph.entry()).expect("sound lists");
    assert_eq!(reached(graph), count as usize);
}

pub(crate) fn reached(graph: &Graph) -> usize {
    let mut reached = vec![false; graph.count() as usize];
    reached[graph.entry().index()] = true;
    let mut open = vec![graph.entry()];
    while let Some(node) = open.pop() {
        for &neighbor in graph.neighbors(node) {
            if !std::mem::replace(&mut reached[neighbor.index()], true) {
                open.push(neighbor);
            }
        }
    }
    reached.iter().filter(|reached| **reached).count()
}

pub(crate) fn recall(graph: &Graph, set: &VectorSet<'_>, queries: &Rows, list_size: u32) -> f64 {
    let nodes: Vec<_> = (0..set.count()).map(NodeId).collect();
    let mut distances = vec![0.0; nodes.len()];
    let mut found = 0;
    let queries = queries.bytes.chunks_exact(queries.shape.row_bytes());
    let count = queries.len();
    for query in queries {
        set.query_distance_many(query, &nodes, &mut distances);
        let scored = nodes.iter().zip(&distances);
        let mut truth: Vec<_> = scored.map(|(&n, &d)| Candidate::new(n, d)).collect();
        truth.sort();
        let (answer, hops) = greedy_search(graph, set, query, list_size, 10).expect("memory");
        assert!(hops <= set.count() as usize && answer.is_sorted());
        found += answer
            .iter()
            .filter(|answer| truth[..10].contains(answer))
            .count();
    }
    found as f64 / (10 * count) as f64
}

/// Each list begins with what pruning it again would keep, in the same order; the rest follows,
/// nearest first. Only an edge that repair added may break this. Returns the number of edges kept
/// in all lists.
pub(crate) fn assert_prune_order(graph: &Graph, set: &VectorSet<'_>, spec: PruneSpec) -> usize {
    let mut pruner = Pruner::new(spec.max_degree as usize).expect("memory");
    let (mut kept, mut broken) = (0, 0);
    for node in (0..set.count()).map(NodeId) {
        let list = graph.neighbors(node);
        let candidate = |&other: &NodeId| Candidate::new(other, set.distance(node, other));
        let mut candidates: Vec<_> = list.iter().map(candidate).collect();
        candidates.sort();
        let chosen = pruner.prune(&candidates, spec, |node, others, out| {
            set.distance_many(node, others, out);
        });
        let rest = list[chosen.len()..].iter().map(candidate);
        broken += u32::from(!list.starts_with(chosen) || !rest.is_sorted());
        kept += chosen.len();
    }
    assert!(broken <= graph.repaired(), "{broken} lists out of order");
    kept
}

/// Builds over rows of every count that is an edge, for every metric and degree: `check` takes what
/// is built, the count and the degree.
pub(crate) fn over_tiny_sets(
    degrees: &[u32],
    counts: &[u32],
    check: impl Fn(&Rows, Guide, (u32, u32)),
) {
    for max_degree in degrees {
        let edges = [1, 2, 3, *max_degree, max_degree + 1, 40];
        for count in edges.iter().chain(counts) {
            let rows = Rows::f32(3, &clustered(*count as usize, 3, 1.0, 1));
            for metric in METRICS {
                check(&rows, metric, (*count, *max_degree));
            }
        }
    }
}

/// Two clusters a long way apart are one graph of 2,000 nodes, which answers queries in both.
pub(crate) fn assert_far_clusters_are_joined(build: impl Fn(&Rows) -> Graph) {
    let mut values = clustered(2000, 4, 1.0, 3);
    values[4000..].iter_mut().for_each(|value| *value += 1e6);
    let rows = Rows::f32(4, &values);
    let graph = build(&rows);
    assert_sound(&graph, 2000, 12);
    for half in values.chunks(4000) {
        let queries = Rows::f32(4, &half[..400]);
        let found = recall(&graph, &rows.set(Guide::L2), &queries, 30);
        assert!(found > 0.97, "{found}");
    }
}

/// One, two and three threads build the same.
pub(crate) fn assert_threads_change_nothing<T: PartialEq>(build: impl Fn(Guide, usize) -> T) {
    for metric in [Guide::L2, Guide::InnerProduct] {
        let expected = build(metric, 1);
        assert!(build(metric, 2) == expected && build(metric, 3) == expected);
    }
}

/// Recall over 5,000 rows of lengths that differ, in every metric.
pub(crate) fn assert_recall_of(floor: f64, build: impl Fn(&Rows, Guide) -> Graph) {
    let all = clustered(5100, 16, 3.0, 6);
    let (base, queries) = all.split_at(5000 * 16);
    let (rows, queries) = (Rows::f32(16, base), Rows::f32(16, queries));
    for metric in METRICS {
        let graph = build(&rows, metric);
        assert_sound(&graph, 5000, 24);
        let found = recall(&graph, &rows.set(metric), &queries, 60);
        assert!(found > floor, "{metric}: {found}");
    }
}

/// Recall by inner products of 3,000 rows of very unequal lengths; queries want the longest.
pub(crate) fn assert_long_rows_are_found(floor: f64, build: impl Fn(&Rows) -> Graph) {
    let all = unequal(3100, 24, 6);
    let (base, queries) = all.split_at(3000 * 24);
    let (rows, queries) = (Rows::f32(24, base), Rows::f32(24, queries));
    let graph = build(&rows);
    let found = recall(&graph, &rows.set(Guide::InnerProduct), &queries, 60);
    assert!(found > floor, "{found}");
}

/// Builds that are cancelled after so many looks stop soon.
pub(crate) fn assert_stops_soon<T>(
    looks: &[i64],
    build: impl Fn(&VectorSet<'_>, &StopAfter) -> Result<T, GraphError>,
) {
    let rows = Rows::f32(4, &clustered(2000, 4, 1.0, 8));
    for looks in looks {
        let stop = StopAfter::new(*looks);
        let refused = build(&rows.set(Guide::L2), &stop);
        let cancelled = matches!(refused, Err(GraphError::Cancelled(_)));
        assert!(cancelled, "{looks} looks");
        let late = stop.late_looks();
        assert!(late < 16, "{late} looks too many");
    }
}

/// A field, and what makes a spec wrong in it.
pub(crate) type Spoilt<S> = (&'static str, fn(&mut S));

/// The build refuses a spec that is spoilt in a field, over two rows, by the name of the field.
pub(crate) fn assert_refused<S: Clone, T>(
    good: &S,
    spoilt: &[Spoilt<S>],
    build: impl Fn(&VectorSet<'_>, &S) -> Result<T, GraphError>,
) {
    let rows = Rows::f32(1, &[1.0, 2.0]);
    for (field, spoil) in spoilt {
        let mut spec = good.clone();
        spoil(&mut spec);
        let refused = build(&rows.set(Guide::L2), &spec).err();
        let named = matches!(refused, Some(GraphError::Parameter { name, .. }) if name == *field);
        assert!(named, "{field}: {refused:?}");
    }
}
