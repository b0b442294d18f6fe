//! Whole builds, checked for soundness, nesting, reach, repeatability, recall and memory.

use pageway_types::{Guide, NoProgress, NodeId};

use super::{Hnsw, HnswSpec, Layer, hnsw, hnsw_bytes};
use crate::error::GraphError;
use crate::linking::testing::{METRICS, assert_prune_order, assert_sound, recall};
use crate::testing::{Rows, StopAfter, clustered, pool};

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
    for max_degree in [4, 5, 12] {
        for count in [1, 2, 3, max_degree, max_degree + 1, 40, 300] {
            let rows = Rows::f32(3, &clustered(count as usize, 3, 1.0, 1));
            let spec = HnswSpec { max_degree, ..SPEC };
            for metric in METRICS {
                assert_layers(&build_on(&rows, metric, &spec, 2), count, max_degree);
            }
        }
    }
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
    let mut values = clustered(2000, 4, 1.0, 3);
    values[4000..].iter_mut().for_each(|value| *value += 1e6);
    let rows = Rows::f32(4, &values);
    let hnsw = build_on(&rows, Guide::L2, &SPEC, 2);
    assert_layers(&hnsw, 2000, 12);
    for half in values.chunks(4000) {
        let queries = Rows::f32(4, &half[..400]);
        let found = recall(&hnsw.base, &rows.set(Guide::L2), &queries, 30);
        assert!(found > 0.97, "{found}");
    }
}

#[test]
fn threads_change_no_byte() {
    let rows = Rows::f32(8, &clustered(3000, 8, 2.0, 4));
    for metric in [Guide::L2, Guide::InnerProduct] {
        let expected = build_on(&rows, metric, &SPEC, 1);
        assert_eq!(build_on(&rows, metric, &SPEC, 2), expected);
        assert_eq!(build_on(&rows, metric, &SPEC, 3), expected);
    }
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
    let rows = Rows::f32(4, &clustered(2000, 4, 1.0, 8));
    let set = rows.set(Guide::L2);
    for looks in [0, 1, 1500, 4000, 6500] {
        let stop = StopAfter::new(looks);
        let refused = hnsw(&set, &SPEC, &pool(2), &stop);
        let cancelled = matches!(refused, Err(GraphError::Cancelled(_)));
        assert!(cancelled, "{looks} looks");
        let late = stop.late_looks();
        assert!(late < 16, "{late} looks too many");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let rows = Rows::f32(1, &[1.0, 2.0]);
    let wrong = [
        (
            "max_degree",
            HnswSpec {
                max_degree: 3,
                ..SPEC
            },
        ),
        (
            "max_degree",
            HnswSpec {
                max_degree: 4097,
                ..SPEC
            },
        ),
        (
            "build_list",
            HnswSpec {
                build_list: 0,
                ..SPEC
            },
        ),
    ];
    for (field, spec) in wrong {
        let refused = hnsw(&rows.set(Guide::L2), &spec, &pool(1), &NoProgress).err();
        assert!(matches!(refused, Some(GraphError::Parameter { name, .. }) if name == field));
    }
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
