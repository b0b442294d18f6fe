//! Whole builds, checked for soundness, reach, repeatability and recall.

use pageway_types::{Guide, NoProgress, NodeId};

use super::{VamanaSpec, build, build_bytes};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::testing::{
    assert_far_clusters_are_joined, assert_long_rows_are_found, assert_prune_order,
    assert_recall_of, assert_refused, assert_sound, assert_stops_soon,
    assert_threads_change_nothing, over_tiny_sets,
};
use crate::search::greedy_search;
use crate::testing::{Rows, clustered, pool};

const SPEC: VamanaSpec = VamanaSpec {
    max_degree: 12,
    build_list: 30,
    alpha: 1.2,
    seed: 5,
};

fn build_on(rows: &Rows, metric: Guide, spec: &VamanaSpec, threads: usize) -> Graph {
    let set = rows.set(metric);
    let entry = NodeId(set.count() / 2);
    build(&set, (entry, &[]), spec, &pool(threads), &NoProgress).expect("a graph")
}

#[test]
fn tiny_sets_have_sound_graphs() {
    over_tiny_sets(&[1, 2, 12], &[], |rows, metric, (count, max_degree)| {
        let spec = VamanaSpec { max_degree, ..SPEC };
        assert_sound(&build_on(rows, metric, &spec, 2), count, max_degree);
    });
}

#[test]
fn equal_vectors_are_all_reachable() {
    let rows = Rows::u8(2, vec![7; 2 * 20_000]);
    let graph = build_on(&rows, Guide::L2, &SPEC, 2);
    assert_sound(&graph, 20_000, SPEC.max_degree);
    assert!(graph.repaired() > 10_000);
    let set = rows.set(Guide::L2);
    let (answer, _) = greedy_search(&graph, &set, &[7, 7], 40, 10).expect("memory");
    assert_eq!(answer.len(), 10);
}

#[test]
fn far_clusters_are_joined() {
    assert_far_clusters_are_joined(|rows| build_on(rows, Guide::L2, &SPEC, 2));
}

#[test]
fn threads_change_no_byte() {
    let rows = Rows::f32(8, &clustered(3000, 8, 2.0, 4));
    assert_threads_change_nothing(|metric, threads| build_on(&rows, metric, &SPEC, threads));
    let other = VamanaSpec { seed: 6, ..SPEC };
    assert_ne!(
        build_on(&rows, Guide::L2, &other, 1),
        build_on(&rows, Guide::L2, &SPEC, 1)
    );
}

#[test]
fn recall_has_a_floor_in_every_metric() {
    let spec = VamanaSpec {
        max_degree: 24,
        ..SPEC
    };
    assert_recall_of(0.97, |rows, metric| build_on(rows, metric, &spec, 2));
    assert_long_rows_are_found(0.9, |rows| build_on(rows, Guide::InnerProduct, &spec, 2));
}

#[test]
fn lists_are_in_prune_order() {
    let rows = Rows::f32(6, &clustered(1500, 6, 1.0, 7));
    let graph = build_on(&rows, Guide::L2, &SPEC, 2);
    let chosen = assert_prune_order(&graph, &rows.set(Guide::L2), SPEC.prune());
    let edges = (0..1500).map(|node| graph.neighbors(NodeId(node)).len());
    assert!(
        chosen < edges.sum(),
        "some lists keep what pruning would drop"
    );
}

#[test]
fn cancelling_stops_within_a_few_looks() {
    assert_stops_soon(&[0, 1, 100, 1500, 4000], |set, stop| {
        build(set, (NodeId(0), &[]), &SPEC, &pool(2), stop)
    });
}

#[test]
fn bad_parameters_are_refused() {
    let rows = Rows::f32(1, &[1.0, 2.0]);
    let set = rows.set(Guide::L2);
    let refused = build(&set, (NodeId(2), &[]), &SPEC, &pool(1), &NoProgress);
    assert!(matches!(
        refused,
        Err(GraphError::EntryOutOfRange { count: 2, .. })
    ));
    assert_refused(
        &SPEC,
        &[("max_degree", |spec| spec.max_degree = 0)],
        |set, spec| build(set, (NodeId(0), &[]), spec, &pool(1), &NoProgress),
    );
}

#[test]
fn memory_grows_with_what_it_is_for() {
    let spec = VamanaSpec {
        max_degree: 48,
        build_list: 100,
        ..SPEC
    };
    let million = build_bytes(1_000_000, &spec, 2);
    let lists = 1_000_000 * (62 + 1) * 4;
    assert!(
        million > lists + 4_000_000 && million < lists + 32_000_000,
        "{million}"
    );
    assert!(build_bytes(1_000_000, &spec, 3) > million);
    assert!(build_bytes(1, &spec, 1) > 0);
    assert_eq!(build_bytes(u64::MAX, &spec, usize::MAX), u64::MAX);
}

#[test]
fn guests_are_found_and_leave_the_graph_of_the_others_as_it_is() {
    let rows = Rows::f32(6, &clustered(600, 6, 1.0, 4));
    let set = rows.set(Guide::L2);
    let guests: Vec<NodeId> = (0..30).map(|at| NodeId(at * 20 + 3)).collect();
    let built = |threads| {
        build(
            &set,
            (NodeId(0), &guests),
            &SPEC,
            &pool(threads),
            &NoProgress,
        )
        .expect("a graph")
    };
    let graph = built(1);
    let lists = |graph: &Graph| -> Vec<Vec<NodeId>> {
        (0..600)
            .map(|node| graph.neighbors(NodeId(node)).to_vec())
            .collect()
    };
    assert_eq!(lists(&graph), lists(&built(3)));
    let hosts = |guest: &NodeId| {
        lists(&graph)
            .iter()
            .filter(|list| list.contains(guest))
            .count()
    };
    assert!(guests.iter().all(|guest| hosts(guest) >= 2));
    // A page may have no room for the last edges of its nodes: no edge to a guest is behind a
    // longer one.
    for host in (0..600).map(NodeId) {
        let list = graph.neighbors(host);
        let own = list.iter().position(|node| guests.contains(node));
        let (before, guest) = match own.filter(|_| !guests.contains(&host)) {
            Some(at) => (&list[..at], list[at]),
            None => continue,
        };
        let reach = set.distance(host, guest);
        assert!(before.iter().all(|node| set.distance(host, *node) <= reach));
    }
    let changed = (0..600)
        .map(NodeId)
        .filter(|node| !guests.contains(node))
        .filter(|node| {
            graph
                .neighbors(*node)
                .iter()
                .any(|other| guests.contains(other))
        });
    assert!(changed.count() <= 30 * 12);
    let outside = build(
        &set,
        (NodeId(0), &[NodeId(600)]),
        &SPEC,
        &pool(1),
        &NoProgress,
    );
    assert!(outside.is_err());
}
