//! Whole builds, checked for soundness, reach, repeatability, recall and memory.

use pageway_types::{Guide, NoProgress, NodeId};

use super::{NsgSpec, nsg, nsg_bytes};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::testing::{
    Spoilt, assert_far_clusters_are_joined, assert_long_rows_are_found, assert_prune_order,
    assert_recall_of, assert_refused, assert_sound, assert_stops_soon,
    assert_threads_change_nothing, over_tiny_sets,
};
use crate::routing::fixed_entries;
use crate::testing::{Rows, clustered, pool};

const SPEC: NsgSpec = NsgSpec {
    max_degree: 12,
    build_list: 30,
    knn: 16,
    seed: 5,
};

fn build_on(rows: &Rows, metric: Guide, spec: &NsgSpec, threads: usize) -> Graph {
    let set = rows.set(metric);
    let entry = NodeId(set.count() / 2);
    nsg(&set, entry, spec, &pool(threads), &NoProgress).expect("a graph")
}

#[test]
fn tiny_sets_have_sound_graphs() {
    over_tiny_sets(&[1, 2, 12], &[], |rows, metric, (count, max_degree)| {
        let spec = NsgSpec { max_degree, ..SPEC };
        assert_sound(&build_on(rows, metric, &spec, 2), count, max_degree);
    });
}

#[test]
fn equal_vectors_are_all_reachable() {
    let rows = Rows::u8(2, vec![7; 2 * 6000]);
    assert_sound(&build_on(&rows, Guide::L2, &SPEC, 2), 6000, 12);
}

#[test]
fn far_clusters_are_joined() {
    assert_far_clusters_are_joined(|rows| build_on(rows, Guide::L2, &SPEC, 2));
}

#[test]
fn threads_change_no_byte() {
    let rows = Rows::f32(8, &clustered(3000, 8, 2.0, 4));
    assert_threads_change_nothing(|metric, threads| build_on(&rows, metric, &SPEC, threads));
}

/// From the medoid, as in the paper: from elsewhere the kNN graph leads to few clusters.
#[test]
fn recall_has_a_floor_in_every_metric() {
    let spec = NsgSpec {
        max_degree: 24,
        build_list: 100,
        knn: 48,
        ..SPEC
    };
    let build = |rows: &Rows, metric| {
        let (set, pool) = (rows.set(metric), pool(2));
        let medoid = fixed_entries(&set, 1, 1, &pool, &NoProgress).expect("a medoid")[0];
        nsg(&set, medoid, &spec, &pool, &NoProgress).expect("a graph")
    };
    assert_recall_of(0.94, build);
    assert_long_rows_are_found(0.9, |rows| build(rows, Guide::InnerProduct));
}

#[test]
fn lists_are_full_and_begin_with_mrng_edges() {
    let rows = Rows::f32(6, &clustered(1500, 6, 1.0, 7));
    let graph = build_on(&rows, Guide::L2, &SPEC, 2);
    let chosen = assert_prune_order(&graph, &rows.set(Guide::L2), SPEC.prune());
    assert!(chosen > 5 * 1500 && chosen < 12 * 1500, "{chosen}");
    assert!((0..1500).all(|node| graph.neighbors(NodeId(node)).len() == 12));
}

#[test]
fn cancelling_stops_within_a_few_looks() {
    assert_stops_soon(&[0, 1, 1500, 5000, 7000, 9000], |set, stop| {
        nsg(set, NodeId(0), &SPEC, &pool(2), stop)
    });
}

#[test]
fn bad_parameters_are_refused() {
    let rows = Rows::f32(1, &[1.0, 2.0]);
    let refused = nsg(
        &rows.set(Guide::L2),
        NodeId(2),
        &SPEC,
        &pool(1),
        &NoProgress,
    );
    assert!(matches!(
        refused,
        Err(GraphError::EntryOutOfRange { count: 2, .. })
    ));
    let spoilt: [Spoilt<NsgSpec>; 3] = [
        ("max_degree", |spec| spec.max_degree = 0),
        ("build_list", |spec| spec.build_list = 0),
        ("knn", |spec| spec.knn = 4097),
    ];
    assert_refused(&SPEC, &spoilt, |set, spec| {
        nsg(set, NodeId(0), spec, &pool(1), &NoProgress)
    });
}

#[test]
fn memory_grows_with_what_it_is_for() {
    let spec = NsgSpec {
        max_degree: 48,
        build_list: 100,
        knn: 64,
        ..SPEC
    };
    let million = nsg_bytes(1_000_000, &spec, 2);
    let lists = 1_000_000 * (62 + 1 + 64 + 1) * 4;
    assert!(million > lists && million < lists + 32_000_000, "{million}");
    assert!(nsg_bytes(1_000_000, &spec, 3) > million);
    assert!(nsg_bytes(1, &spec, 1) > 0);
    assert_eq!(nsg_bytes(u64::MAX, &spec, usize::MAX), u64::MAX);
}
