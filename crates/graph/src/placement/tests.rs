//! What holds for every placement, and which ones keep more edges within pages.

use pageway_types::{Guide, NoProgress, NodeId};
use proptest::prelude::*;

use super::{Placement, PlacementSpec, overlap_ratio, place, placement_bytes};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::rng::SplitMix64;
use crate::testing::{Rows, StopAfter, clustered, pool};
use crate::vamana::{VamanaSpec, build};

const BNF: Placement = Placement::Bnf {
    rounds: 8,
    gain: 0.01,
};
const ALL: [Placement; 7] = [
    Placement::Bnp,
    BNF,
    Placement::Bns {
        rounds: 4,
        gain: 0.0,
    },
    Placement::Grouped { hops: 1 },
    Placement::Grouped { hops: 2 },
    Placement::Clustered,
    Placement::Nearest,
];

const fn spec(placement: Placement, nodes_per_page: u32) -> PlacementSpec {
    PlacementSpec {
        placement,
        nodes_per_page,
        seed: 5,
    }
}

/// Lists of random length to random nodes; some nodes have none and some nobody links to.
fn random_graph(count: u32, max_degree: u32, seed: u64) -> Graph {
    let mut random = SplitMix64::new(seed);
    let mut list = |node: u32| {
        let length = random.below(u64::from(max_degree) + 1);
        let mut list: Vec<NodeId> = (0..length)
            .map(|_| NodeId(random.below(u64::from(count)) as u32))
            .filter(|other| other.0 != node)
            .collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    let lists: Vec<_> = (0..count).map(&mut list).collect();
    Graph::from_lists(lists.iter().map(Vec::as_slice), max_degree, NodeId(0)).expect("a graph")
}

fn is_permutation(order: &[NodeId]) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq((0..order.len() as u32).map(NodeId))
}

/// A Vamana graph over clustered vectors.
fn vamana(rows: &Rows) -> Graph {
    let spec = VamanaSpec {
        max_degree: 24,
        build_list: 50,
        alpha: 1.2,
        seed: 1,
    };
    build(
        &rows.set(Guide::L2),
        (NodeId(0), &[]),
        &spec,
        &pool(2),
        &NoProgress,
    )
    .expect("a graph")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// As many nodes as a permutation has fill every page but the last, whatever the method.
    #[test]
    fn every_placement_is_a_permutation(
        count in 1_u32..200,
        max_degree in 1_u32..70,
        nodes_per_page in 1_u32..40,
        seed: u64,
    ) {
        let graph = random_graph(count, max_degree, seed);
        let rows = Rows::f32(3, &clustered(count as usize, 3, 2.0, seed));
        let pools = [pool(1), pool(3)];
        for placement in ALL {
            let spec = spec(placement, nodes_per_page);
            for metric in [Guide::L2, Guide::Cosine, Guide::InnerProduct] {
                let set = rows.set(metric);
                let orders = pools.each_ref().map(|pool| {
                    place(&graph, &set, (&spec, &[]), pool, &NoProgress).expect("an order")
                });
                prop_assert!(is_permutation(&orders[0]));
                prop_assert_eq!(orders[0].len(), count as usize);
                prop_assert_eq!(&orders[0], &orders[1]);
                if nodes_per_page == 1 {
                    prop_assert!(orders[0].is_sorted());
                }
            }
        }
    }
}

#[test]
fn threads_change_no_page() {
    let rows = Rows::f32(8, &clustered(3000, 8, 1.0, 3));
    let (graph, set) = (vamana(&rows), rows.set(Guide::L2));
    for placement in ALL {
        let orders = [1, 2, 3].map(|threads| {
            let spec = spec(placement, 7);
            place(&graph, &set, (&spec, &[]), &pool(threads), &NoProgress).expect("an order")
        });
        assert_eq!(orders[0], orders[1], "{placement:?}");
        assert_eq!(orders[0], orders[2], "{placement:?}");
        assert!(is_permutation(&orders[0]));
    }
}

#[test]
fn each_method_keeps_more_edges_within_pages() {
    let rows = Rows::f32(8, &clustered(3000, 8, 1.0, 3));
    let (graph, set) = (vamana(&rows), rows.set(Guide::L2));
    let by_id: Vec<NodeId> = (0..3000).map(NodeId).collect();
    for nodes_per_page in [2, 5, 12, 32] {
        let overlap = |placement| {
            let spec = spec(placement, nodes_per_page);
            let order = place(&graph, &set, (&spec, &[]), &pool(2), &NoProgress).expect("an order");
            overlap_ratio(&graph, &order, nodes_per_page)
        };
        let bns = Placement::Bns {
            rounds: 8,
            gain: 0.01,
        };
        let (none, bnp) = (
            overlap_ratio(&graph, &by_id, nodes_per_page),
            overlap(Placement::Bnp),
        );
        let (bnf, bns) = (overlap(BNF), overlap(bns));
        assert!(
            none < bnp && bnp < bnf && bnf <= bns,
            "{none} {bnp} {bnf} {bns}"
        );
        assert!(bnf > 1.2 * bnp || nodes_per_page == 2, "{bnp} {bnf}");
        for placement in [Placement::Grouped { hops: 2 }, Placement::Clustered] {
            assert!(overlap(placement) > 2.0 * none, "{placement:?}");
        }
    }
}

#[test]
fn rounds_and_gain_bound_the_work() {
    let rows = Rows::f32(8, &clustered(2000, 8, 1.0, 4));
    let (graph, set) = (vamana(&rows), rows.set(Guide::L2));
    let overlap = |placement| {
        let order = place(
            &graph,
            &set,
            (&spec(placement, 8), &[]),
            &pool(1),
            &NoProgress,
        );
        overlap_ratio(&graph, &order.expect("an order"), 8)
    };
    let bnf = |rounds, gain| overlap(Placement::Bnf { rounds, gain });
    let bns = |rounds, gain| overlap(Placement::Bns { rounds, gain });
    assert!(bnf(0, 0.0) < bnf(1, 0.0) && bnf(1, 0.0) <= bnf(8, 0.0));
    assert_eq!(bnf(8, 1.0), bnf(1, 0.0), "no round doubles the overlap");
    assert_eq!(bns(0, 0.0), bnf(0, 0.0));
    assert!(bns(1, 0.0) > bnf(1, 0.0) && bns(8, 0.0) > bns(1, 0.0));
    assert_eq!(bns(8, 1.0), bns(1, 0.0), "no sweep doubles the overlap");
}

#[test]
fn the_seed_moves_the_cuts() {
    let rows = Rows::f32(4, &clustered(2000, 4, 1.0, 4));
    let (graph, set) = (random_graph(2000, 3, 1), rows.set(Guide::L2));
    let orders = [5, 6].map(|seed| {
        let spec = PlacementSpec {
            seed,
            ..spec(Placement::Clustered, 8)
        };
        place(&graph, &set, (&spec, &[]), &pool(1), &NoProgress).expect("an order")
    });
    assert_ne!(orders[0], orders[1]);
}

#[test]
fn a_wrong_number_of_vectors_is_refused() {
    let rows = Rows::f32(1, &[1.0, 2.0, 3.0]);
    let set = rows.set(Guide::L2);
    let placed = place(
        &random_graph(4, 2, 1),
        &set,
        (&spec(Placement::Bnp, 2), &[]),
        &pool(1),
        &NoProgress,
    );
    assert!(matches!(
        placed,
        Err(GraphError::Parameter {
            name: "vectors",
            ..
        })
    ));
}

#[test]
fn every_placement_can_be_stopped() {
    let rows = Rows::f32(2, &clustered(1000, 2, 1.0, 4));
    let (graph, set) = (random_graph(1000, 8, 1), rows.set(Guide::L2));
    for placement in ALL {
        for looks in [0, 1, 5] {
            let stop = StopAfter::new(looks);
            let placed = place(&graph, &set, (&spec(placement, 4), &[]), &pool(2), &stop);
            // Padding looks once in some thousand nodes, so it is done before the second look.
            let done = placement == Placement::Bnp && looks > 0;
            assert_eq!(placed.is_ok(), done, "{placement:?}");
            assert!(done || matches!(placed, Err(GraphError::Cancelled(_))));
        }
    }
}

#[test]
fn memory_grows_with_the_nodes() {
    for placement in ALL {
        let bytes = |count| placement_bytes(count, placement, 48);
        let result = size_of::<NodeId>() as u64;
        assert!(bytes(2_000_000) - bytes(1_000_000) >= 1_000_000 * result);
        assert!(bytes(1_000_000) < 64 * 1_000_000, "{placement:?}");
        assert!(placement_bytes(u64::MAX, placement, u32::MAX) > bytes(1_000_000));
    }
}
