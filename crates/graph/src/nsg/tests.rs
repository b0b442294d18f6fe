//! Whole builds, checked for soundness, reach, repeatability, recall and memory.

use pageway_types::{Guide, NoProgress, NodeId};

use super::{NsgSpec, nsg, nsg_bytes};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::testing::{METRICS, assert_prune_order, assert_sound, recall};
use crate::routing::fixed_entries;
use crate::testing::{Rows, StopAfter, clustered, pool};

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
    for max_degree in [1, 2, 12] {
        for count in [1, 2, 3, max_degree, max_degree + 1, 40] {
            let rows = Rows::f32(3, &clustered(count as usize, 3, 1.0, 1));
            let spec = NsgSpec { max_degree, ..SPEC };
            for metric in METRICS {
                assert_sound(&build_on(&rows, metric, &spec, 2), count, max_degree);
            }
        }
    }
}

#[test]
fn equal_vectors_are_all_reachable() {
    let rows = Rows::u8(2, vec![7; 2 * 6000]);
    assert_sound(&build_on(&rows, Guide::L2, &SPEC, 2), 6000, 12);
}

#[test]
fn far_clusters_are_joined() {
    let mut values = clustered(2000, 4, 1.0, 3);
    values[4000..].iter_mut().for_each(|value| *value += 1e6);
    let rows = Rows::f32(4, &values);
    let graph = build_on(&rows, Guide::L2, &SPEC, 2);
    assert_sound(&graph, 2000, 12);
    for half in values.chunks(4000) {
        let queries = Rows::f32(4, &half[..400]);
        let found = recall(&graph, &rows.set(Guide::L2), &queries, 30);
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
}

/// From the medoid, as in the paper: from elsewhere the kNN graph leads to few clusters.
#[test]
fn recall_has_a_floor_in_every_metric() {
    let all = clustered(5100, 16, 3.0, 6);
    let (base, queries) = all.split_at(5000 * 16);
    let (rows, queries) = (Rows::f32(16, base), Rows::f32(16, queries));
    let spec = NsgSpec {
        max_degree: 24,
        build_list: 100,
        knn: 48,
        ..SPEC
    };
    for metric in METRICS {
        let (set, pool) = (rows.set(metric), pool(2));
        let medoid = fixed_entries(&set, 1, 1, &pool, &NoProgress).expect("a medoid")[0];
        let graph = nsg(&set, medoid, &spec, &pool, &NoProgress).expect("a graph");
        assert_sound(&graph, 5000, 24);
        let found = recall(&graph, &set, &queries, 60);
        assert!(found > 0.94, "{metric}: {found}");
    }
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
    let rows = Rows::f32(4, &clustered(2000, 4, 1.0, 8));
    let set = rows.set(Guide::L2);
    for looks in [0, 1, 1500, 5000, 7000, 9000] {
        let stop = StopAfter::new(looks);
        let refused = nsg(&set, NodeId(0), &SPEC, &pool(2), &stop);
        let cancelled = matches!(refused, Err(GraphError::Cancelled(_)));
        assert!(cancelled, "{looks} looks");
        let late = stop.late_looks();
        assert!(late < 16, "{late} looks too many");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let rows = Rows::f32(1, &[1.0, 2.0]);
    let set = rows.set(Guide::L2);
    let refusal = |entry, spec| nsg(&set, NodeId(entry), &spec, &pool(1), &NoProgress).err();
    let refused = refusal(2, SPEC);
    assert!(matches!(
        refused,
        Some(GraphError::EntryOutOfRange { count: 2, .. })
    ));
    let wrong = [
        (
            "max_degree",
            NsgSpec {
                max_degree: 0,
                ..SPEC
            },
        ),
        (
            "build_list",
            NsgSpec {
                build_list: 0,
                ..SPEC
            },
        ),
        ("knn", NsgSpec { knn: 4097, ..SPEC }),
    ];
    for (field, spec) in wrong {
        let refused = refusal(0, spec);
        assert!(matches!(refused, Some(GraphError::Parameter { name, .. }) if name == field));
    }
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
