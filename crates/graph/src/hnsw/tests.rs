//! Whole builds, checked for soundness, nesting, reach, repeatability, recall and memory.

use pageway_types::{Guide, NoProgress, NodeId};

use super::{Hnsw, HnswSpec, Layer, hnsw, hnsw_bytes};
use crate::linking::testing::{
    METRICS, Spoilt, assert_far_clusters_are_joined, assert_long_rows_are_found,
    assert_prune_order, assert_refused, assert_sound, assert_stops_soon,
    assert_threads_change_nothing, over_tiny_sets, recall,
};
use crate::testing::{Rows, clustered, pool};

const SPEC: HnswSpec = HnswSpec {
    max_degree: 12,
    build_list: 30,
    seed: 5,
};

fn build_on(rows: &Rows, metric: Guide, spec: &HnswSpec, threads: usize) -> Hnsw {
    hnsw(&rows.set(metric), spec, &pool(threads), &NoProgress).expect("layers")
}

/// Every layer sound by itself, entered at the entry of the base, and part of the one below.
fn assert_layers(hnsw: &Hnsw, count: u32, max_degree: u32) {
    assert_sound(&hnsw.base, count, max_degree);
    let mut above: &[NodeId] = &[hnsw.base.entry()];
    for Layer { nodes, graph } in &hnsw.layers {
        assert!(nodes.len() > 1 && nodes.is_sorted_by(|a, b| a < b));
        assert!(above.iter().all(|node| nodes.contains(node)));
        assert_sound(graph, nodes.len() as u32, max_degree / 2);
        assert_eq!(nodes[graph.entry().index()], hnsw.base.entry());
        above = nodes;
    }
    assert!(above.iter().all(|node| node.0 < count));
}

/// The rows of a layer, to search it like any other set.
fn rows_of(layer: &Layer, rows: &Rows) -> Rows {
    let row_bytes = rows.shape.row_bytes();
    let row = |node: &NodeId| &rows.bytes[node.index() * row_bytes..][..row_bytes];
    Rows {
        bytes: layer.nodes.iter().flat_map(row).copied().collect(),
        ..rows.clone()
    }
}

#[test]
fn tiny_sets_have_sound_layers() {
    over_tiny_sets(&[4, 5, 12], &[300], |rows, metric, (count, max_degree)| {
        let spec = HnswSpec { max_degree, ..SPEC };
        assert_layers(&build_on(rows, metric, &spec, 2), count, max_degree);
    });
}

#[test]
fn equal_vectors_are_all_reachable() {
    let rows = Rows::u8(2, vec![7; 2 * 6000]);
    let hnsw = build_on(&rows, Guide::L2, &SPEC, 2);
    assert_layers(&hnsw, 6000, 12);
    assert!(hnsw.layers.len() > 2);
}

#[test]
fn far_clusters_are_joined() {
    assert_far_clusters_are_joined(|rows| {
        let hnsw = build_on(rows, Guide::L2, &SPEC, 2);
        assert_layers(&hnsw, 2000, 12);
        hnsw.base
    });
}

#[test]
fn threads_change_no_byte() {
    let rows = Rows::f32(8, &clustered(3000, 8, 2.0, 4));
    assert_threads_change_nothing(|metric, threads| build_on(&rows, metric, &SPEC, threads));
    let other = HnswSpec { seed: 6, ..SPEC };
    let levels = |spec| {
        build_on(&rows, Guide::L2, spec, 1)
            .layers
            .pop()
            .map(|l| l.nodes)
    };
    assert_ne!(levels(&other), levels(&SPEC));
}

#[test]
fn recall_has_a_floor_in_every_layer_and_metric() {
    let all = clustered(5100, 16, 3.0, 6);
    let (base, queries) = all.split_at(5000 * 16);
    let (rows, queries) = (Rows::f32(16, base), Rows::f32(16, queries));
    let spec = HnswSpec {
        max_degree: 24,
        build_list: 100,
        ..SPEC
    };
    for metric in METRICS {
        let hnsw = build_on(&rows, metric, &spec, 2);
        assert_layers(&hnsw, 5000, 24);
        let found = recall(&hnsw.base, &rows.set(metric), &queries, 60);
        assert!(found > 0.97, "{metric}: {found}");
        let lowest = hnsw.layers.last().expect("a layer");
        assert!((300..550).contains(&lowest.nodes.len()));
        let rows = rows_of(lowest, &rows);
        let found = recall(&lowest.graph, &rows.set(metric), &queries, 60);
        assert!(found > 0.97, "{metric}, layer 1: {found}");
    }
    assert_long_rows_are_found(0.9, |rows| {
        build_on(rows, Guide::InnerProduct, &spec, 2).base
    });
}

#[test]
fn lists_are_in_prune_order() {
    let rows = Rows::f32(6, &clustered(1500, 6, 1.0, 7));
    let spec = HnswSpec {
        max_degree: 16,
        build_list: 60,
        ..SPEC
    };
    let hnsw = build_on(&rows, Guide::L2, &spec, 2);
    let prune = spec.base().lists.prune;
    let chosen = assert_prune_order(&hnsw.base, &rows.set(Guide::L2), prune);
    assert!(chosen > 5 * 1500, "{chosen}");
    let edges = (0..1500).map(|node| hnsw.base.neighbors(NodeId(node)).len());
    assert!(
        edges.sum::<usize>() > chosen + 2 * 1500,
        "short lists are filled"
    );
    let lowest = hnsw.layers.last().expect("a layer");
    let rows = rows_of(lowest, &rows);
    let prune = spec.upper().lists.prune;
    assert_prune_order(&lowest.graph, &rows.set(Guide::L2), prune);
}

#[test]
fn cancelling_stops_within_a_few_looks() {
    assert_stops_soon(&[0, 1, 1500, 4000, 6500], |set, stop| {
        hnsw(set, &SPEC, &pool(2), stop)
    });
}

#[test]
fn bad_parameters_are_refused() {
    let spoilt: [Spoilt<HnswSpec>; 3] = [
        ("max_degree", |spec| spec.max_degree = 3),
        ("max_degree", |spec| spec.max_degree = 4097),
        ("build_list", |spec| spec.build_list = 0),
    ];
    assert_refused(&SPEC, &spoilt, |set, spec| {
        hnsw(set, spec, &pool(1), &NoProgress)
    });
}

#[test]
fn memory_grows_with_what_it_is_for() {
    let spec = HnswSpec {
        max_degree: 48,
        build_list: 100,
        ..SPEC
    };
    let million = hnsw_bytes(1_000_000, &spec, 2);
    let lists = 1_000_000 * (62 + 1) * 4;
    assert!(
        million > lists + 5_000_000 && million < lists + 40_000_000,
        "{million}"
    );
    assert!(hnsw_bytes(1_000_000, &spec, 3) > million);
    assert!(hnsw_bytes(1, &spec, 1) > 0);
    assert_eq!(hnsw_bytes(u64::MAX, &spec, usize::MAX), u64::MAX);
}
