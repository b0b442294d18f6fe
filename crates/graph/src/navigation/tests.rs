//! Navigation graphs against brute force, across bytes, and over bytes that nobody wrote.

use std::sync::LazyLock;

use pageway_kernels::KernelSet;
use pageway_types::{Candidate, Guide, NoProgress, NodeId, VectorShape};
use proptest::prelude::*;

use super::{NavigationGraph, NavigationLayer, NavigationScratch, NavigationSpec, SampledVectors};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::testing::{Rows, StopAfter, clustered, pool};

const SPEC: NavigationSpec = NavigationSpec {
    sample: 600,
    max_degree: 16,
    build_list: 40,
    seed: 7,
};
const DIMENSION: u32 = 12;
const METRICS: [Guide; 3] = [Guide::L2, Guide::InnerProduct, Guide::Cosine];

fn ids(ids: impl IntoIterator<Item = u32>) -> Vec<NodeId> {
    ids.into_iter().map(NodeId).collect()
}

/// A set of 3,000 vectors, and a sample of it.
fn sampled(metric: Guide) -> SampledVectors {
    let rows = Rows::f32(DIMENSION, &clustered(3000, DIMENSION as usize, 3.0, 11));
    let nodes = NavigationGraph::sample(3000, &SPEC);
    let set = rows.set(metric);
    SampledVectors {
        rows: nodes
            .iter()
            .flat_map(|&node| set.row(node))
            .copied()
            .collect(),
        nodes,
        shape: rows.shape,
        metric,
        kernels: KernelSet::detect().expect("kernels"),
    }
}

fn built(metric: Guide, threads: usize) -> NavigationGraph {
    NavigationGraph::build(sampled(metric), &SPEC, &pool(threads), &NoProgress).expect("a graph")
}

/// The same sample under layers of 600, 60 and 6 nodes, each a built graph of its own.
fn layered(metric: Guide) -> NavigationGraph {
    let whole = built(metric, 1);
    let layer = |step: usize| {
        let members: Vec<u32> = (0..600).step_by(step).collect();
        let vectors = sampled(metric);
        let row_bytes = vectors.shape.row_bytes();
        let rows = members
            .iter()
            .flat_map(|&at| &vectors.rows[at as usize * row_bytes..][..row_bytes]);
        let vectors = SampledVectors {
            nodes: ids(members.iter().copied()),
            rows: rows.copied().collect(),
            ..vectors
        };
        let graph = NavigationGraph::build(vectors, &SPEC, &pool(1), &NoProgress).expect("a graph");
        NavigationLayer {
            members,
            graph: graph.bottom,
        }
    };
    let upper = vec![layer(100), layer(10)];
    NavigationGraph::from_layers(sampled(metric), upper, whole.bottom).expect("layers")
}

fn search(graph: &NavigationGraph, query: &[u8], list_size: usize) -> Vec<Candidate> {
    let mut scratch = NavigationScratch::new(graph, 50).expect("memory");
    let mut out = Vec::new();
    graph.search(query, list_size, &mut scratch, &mut out);
    out
}

/// Share of the true ten nearest of the sample that a search with `list_size` finds.
fn recall(graph: &NavigationGraph, metric: Guide, list_size: usize) -> f64 {
    let queries = Rows::f32(
        DIMENSION,
        &clustered(3050, DIMENSION as usize, 3.0, 11)[3000 * 12..],
    );
    let positions = ids(0..600);
    let mut distances = vec![0.0; 600];
    let mut scratch = NavigationScratch::new(graph, 50).expect("memory");
    let (mut found, mut out) = (0, Vec::new());
    for query in queries.bytes.chunks_exact(queries.shape.row_bytes()) {
        graph.score(query, &positions, &mut distances);
        let scored = graph.nodes().iter().zip(&distances);
        let mut truth: Vec<_> = scored.map(|(&n, &d)| Candidate::new(n, d)).collect();
        truth.sort();
        out.clear();
        graph.search(query, list_size, &mut scratch, &mut out);
        assert!(out.is_sorted_by_key(|near| near.distance), "{metric}");
        assert_eq!(out.len(), list_size);
        found += out
            .iter()
            .take(10)
            .filter(|near| truth[..10].contains(near))
            .count();
    }
    found as f64 / 500.0
}

#[test]
fn finds_the_nearest_of_the_sample_with_their_distances() {
    for metric in METRICS {
        for graph in [built(metric, 2), layered(metric)] {
            let found = recall(&graph, metric, 30);
            assert!(found > 0.95, "{metric}: {found}");
        }
    }
}

#[test]
fn one_scratch_serves_every_list_size() {
    let graph = layered(Guide::L2);
    let query = graph.rows[..48].to_vec();
    let mut scratch = NavigationScratch::new(&graph, 20).expect("memory");
    for list_size in [20, 1, 5, 20, 0, 400] {
        let mut out = Vec::new();
        graph.search(&query, list_size, &mut scratch, &mut out);
        let kept = list_size.min(20);
        assert_eq!(out, search(&graph, &query, kept));
        assert_eq!(out.len(), kept);
    }
}

#[test]
fn a_sample_of_one_node_is_found() {
    let spec = NavigationSpec { sample: 1, ..SPEC };
    let vectors = SampledVectors {
        nodes: ids([42]),
        rows: 3.0_f32.to_le_bytes().repeat(DIMENSION as usize),
        ..sampled(Guide::L2)
    };
    let query = vectors.rows.clone();
    let graph = NavigationGraph::build(vectors, &spec, &pool(1), &NoProgress).expect("a graph");
    assert_eq!(
        search(&graph, &query, 10),
        [Candidate::new(NodeId(42), 0.0)]
    );
}

#[test]
fn threads_change_no_byte() {
    let expected = built(Guide::Cosine, 1).to_bytes();
    for threads in [2, 3] {
        assert!(built(Guide::Cosine, threads).to_bytes() == expected);
    }
}

#[test]
fn memory_is_known_before() {
    for metric in METRICS {
        let graph = built(metric, 1);
        let row_bytes = 4 * u64::from(DIMENSION);
        let bound = NavigationGraph::bytes_for(600, row_bytes, SPEC.max_degree);
        assert_eq!(graph.resident_bytes(), bound);
        assert!(SPEC.build_bytes(sampled(metric).shape, metric, 1) > bound);
        let layers = NavigationLayer::bytes_for(60, 16) + NavigationLayer::bytes_for(6, 16);
        assert_eq!(layered(metric).resident_bytes(), bound + layers);
        assert!(graph.to_bytes().len() as u64 <= bound + 24);
    }
}

#[test]
fn renumbering_renames_what_a_search_finds() {
    let mut graph = layered(Guide::L2);
    let query = graph.rows[..48].to_vec();
    let before = search(&graph, &query, 10);
    graph.renumber(|node| NodeId(5000 - node.0));
    let expected = before
        .iter()
        .map(|near| Candidate::new(NodeId(5000 - near.node.0), near.distance));
    assert_eq!(search(&graph, &query, 10), expected.collect::<Vec<_>>());
    assert_eq!(
        graph.nodes()[0],
        NodeId(5000 - sampled(Guide::L2).nodes[0].0)
    );
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let refused = |change: fn(&mut SampledVectors, &mut Vec<NavigationLayer>)| {
        let graph = layered(Guide::L2);
        let (mut vectors, mut upper) = (sampled(Guide::L2), graph.upper);
        change(&mut vectors, &mut upper);
        NavigationGraph::from_layers(vectors, upper, graph.bottom).is_err()
    };
    assert!(!refused(|_, _| {}));
    assert!(refused(|vectors, _| vectors.nodes.truncate(599)));
    assert!(refused(|vectors, _| vectors.rows.truncate(600)));
    assert!(refused(|_, upper| upper[0].members.truncate(5)));
    assert!(
        refused(|_, upper| upper[0].members[5] = 501),
        "not in the layer below"
    );
    assert!(
        refused(|_, upper| upper[1].members[59] = 600),
        "not in the bottom"
    );
    assert!(
        refused(|_, upper| upper[1].members.swap(3, 4)),
        "not ascending"
    );
    assert!(refused(|_, upper| upper.swap(0, 1)));
    let vectors = SampledVectors {
        nodes: Vec::new(),
        rows: Vec::new(),
        ..sampled(Guide::L2)
    };
    let empty = NavigationGraph::build(vectors, &SPEC, &pool(1), &NoProgress);
    assert!(matches!(empty, Err(GraphError::Empty)));
}

#[test]
fn a_build_can_be_cancelled() {
    let stop = StopAfter::new(3);
    let built = NavigationGraph::build(sampled(Guide::L2), &SPEC, &pool(2), &stop);
    assert!(matches!(built, Err(GraphError::Cancelled(_))));
}

fn read(bytes: &[u8], shape: VectorShape) -> Result<NavigationGraph, GraphError> {
    let kernels = KernelSet::detect().expect("kernels");
    NavigationGraph::from_bytes(bytes, shape, Guide::L2, kernels)
}

#[test]
fn bytes_make_the_same_graph() {
    for graph in [built(Guide::L2, 1), layered(Guide::L2)] {
        let shape = sampled(Guide::L2).shape;
        let back = read(&graph.to_bytes(), shape).expect("sound bytes");
        assert!(back.to_bytes() == graph.to_bytes());
        let query = &graph.rows[480..528];
        assert_eq!(search(&back, query, 20), search(&graph, query, 20));
        let other = VectorShape {
            dimension: DIMENSION + 1,
            ..shape
        };
        assert!(read(&graph.to_bytes(), other).is_err());
    }
}

/// Six nodes under a layer of two, small enough to damage every part of it.
static SMALL: LazyLock<(VectorShape, Vec<u8>)> = LazyLock::new(|| {
    let rows = Rows::u8(3, (0..18).collect());
    let lists = [
        ids([1, 2]),
        ids([0, 3]),
        ids([4]),
        ids([5]),
        ids([]),
        ids([0]),
    ];
    let bottom = Graph::from_lists(lists.iter().map(Vec::as_slice), 2, NodeId(3));
    let top = [ids([1]), ids([0])];
    let top = Graph::from_lists(top.iter().map(Vec::as_slice), 1, NodeId(1));
    let vectors = SampledVectors {
        nodes: ids([4, 9, 11, 30, 31, 60]),
        rows: rows.bytes,
        shape: rows.shape,
        metric: Guide::L2,
        kernels: KernelSet::detect().expect("kernels"),
    };
    let upper = vec![NavigationLayer {
        members: vec![1, 4],
        graph: top.expect("lists"),
    }];
    let graph = NavigationGraph::from_layers(vectors, upper, bottom.expect("lists"));
    (rows.shape, graph.expect("layers").to_bytes())
});

/// Reading ends, with an error or with a graph that can be searched.
fn survives(bytes: &[u8]) {
    if let Ok(graph) = read(bytes, SMALL.0) {
        let found = search(&graph, &[1, 2, 3], 4);
        assert!((1..=4).contains(&found.len()));
    }
}

#[test]
fn truncated_bytes_are_refused() {
    let (shape, bytes) = &*SMALL;
    assert!(read(bytes, *shape).is_ok());
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length], *shape).is_err(), "{length} bytes");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(read(&longer, *shape).is_err());
}

#[test]
fn every_flipped_bit_is_survived() {
    for bit in 0..SMALL.1.len() * 8 {
        let mut bytes = SMALL.1.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        survives(&bytes);
    }
}

proptest! {
    #[test]
    fn damaged_bytes_are_survived(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = SMALL.1.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes);
        survives(&[&SMALL.1[..8], &bytes].concat());
    }
}
