//! What the tests of all builders ask of a graph: soundness, reach, recall.

use pageway_types::{Candidate, Guide, NodeId};

use crate::graph::Graph;
use crate::prune::{PruneSpec, Pruner};
use crate::search::greedy_search;
use crate::testing::Rows;
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
