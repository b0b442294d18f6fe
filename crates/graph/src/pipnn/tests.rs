//! Whole builds, checked for soundness, reach, repeatability, recall and memory.

use pageway_types::{ElementType, Guide, NoProgress, NodeId, VectorShape};

use super::{Joined, PiPnn, PiPnnSpec, pipnn, pipnn_bytes};
use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::testing::{
    Spoilt, assert_far_clusters_are_joined, assert_long_rows_are_found, assert_prune_order,
    assert_recall_of, assert_refused, assert_sound, assert_stops_soon,
    assert_threads_change_nothing, over_tiny_sets, recall,
};
use crate::testing::{Rows, clustered, pool};
use crate::vectors::VectorSet;

/// Leaves so small that some hundred vectors take several levels.
const SPEC: PiPnnSpec = PiPnnSpec {
    max_degree: 12,
    alpha: 1.2,
    fanout: 6,
    leaf: 64,
    knn: 4,
    seed: 5,
};

fn build_on(rows: &Rows, metric: Guide, spec: &PiPnnSpec, threads: usize) -> PiPnn {
    let set = rows.set(metric);
    let entry = NodeId(set.count() / 2);
    pipnn(
        &set,
        (entry, &[]),
        (spec, None),
        &pool(threads),
        &NoProgress,
    )
    .expect("a graph")
}

#[test]
fn tiny_sets_have_sound_graphs() {
    over_tiny_sets(
        &[1, 2, 12],
        &[5, 100],
        |rows, metric, (count, max_degree)| {
            let spec = PiPnnSpec { max_degree, ..SPEC };
            let PiPnn { graph, mut order } = build_on(rows, metric, &spec, 2);
            assert_sound(&graph, count, max_degree);
            order.sort();
            assert_eq!(order, (0..count).map(NodeId).collect::<Vec<_>>());
        },
    );
}

#[test]
fn equal_vectors_are_all_reachable() {
    let rows = Rows::u8(2, vec![7; 2 * 20_000]);
    let graph = build_on(&rows, Guide::L2, &SPEC, 2).graph;
    assert_sound(&graph, 20_000, 12);
}

/// Nine of ten vectors are copies of three.
#[test]
fn copies_do_not_hide_the_others() {
    let mut values = clustered(4000, 4, 1.0, 2);
    for (at, vector) in values
        .chunks_exact_mut(4)
        .enumerate()
        .filter(|(at, _)| at % 10 > 0)
    {
        vector.fill((at % 3) as f32);
    }
    let rows = Rows::f32(4, &values);
    let graph = build_on(&rows, Guide::L2, &SPEC, 2).graph;
    assert_sound(&graph, 4000, 12);
    let others: Vec<f32> = values
        .chunks_exact(4)
        .step_by(10)
        .flatten()
        .copied()
        .collect();
    let set = rows.set(Guide::L2);
    let found = recall(&graph, &set, &Rows::f32(4, &others[..400]), 60);
    assert!(found > 0.9, "{found}");
}

#[test]
fn far_clusters_are_joined() {
    assert_far_clusters_are_joined(|rows| build_on(rows, Guide::L2, &SPEC, 2).graph);
}

/// Clusters so tight that all leaves of a node hold its own alone.
#[test]
fn tight_clusters_are_joined() {
    let centres = clustered(50, 16, 40.0, 1);
    let spread = clustered(6000, 16, 0.02, 2);
    let rows = spread.chunks_exact(16).enumerate();
    let values: Vec<f32> = rows
        .flat_map(|(at, row)| {
            let centre = centres.chunks_exact(16).nth(at % 50).expect("a centre");
            let near = row.iter().map(|value| 0.01 * value);
            near.zip(centre).map(|(near, centre)| near + centre)
        })
        .collect();
    let rows = Rows::f32(16, &values);
    let graph = build_on(&rows, Guide::L2, &PiPnnSpec::new(24, 1.2, 1), 2).graph;
    assert_sound(&graph, 6000, 24);
    let queries = Rows::f32(16, &values[..100 * 16]);
    let found = recall(&graph, &rows.set(Guide::L2), &queries, 60);
    assert!(found > 0.95, "{found}");
}

/// Graphs over `parts` runs of rows, as one that is not connected, and the run of each row.
fn apart(rows: &[f32], dimension: u32, parts: usize, spec: &PiPnnSpec) -> (Graph, Vec<u16>) {
    let width = dimension as usize;
    let each = (rows.len() / width).div_ceil(parts);
    let (mut lists, mut numbers) = (Vec::new(), Vec::new());
    for (part, own) in (0u16..).zip(rows.chunks(each * width)) {
        let first = lists.len() as u32;
        let graph = build_on(&Rows::f32(dimension, own), Guide::L2, spec, 2).graph;
        lists.extend((0..graph.count()).map(|node| {
            let list = graph.neighbors(NodeId(node)).iter();
            list.map(|other| NodeId(other.0 + first))
                .collect::<Vec<_>>()
        }));
        numbers.resize(lists.len(), part);
    }
    let slices = lists.iter().map(Vec::as_slice);
    let graph = Graph::from_lists(slices, spec.max_degree, NodeId(0)).expect("lists");
    (graph, numbers)
}

/// Parts of the same kind, of clusters of their own, and of copies of each other.
#[test]
fn joined_graphs_are_as_good_as_one() {
    let near = clustered(6000, 16, 1.0, 2);
    let mut far = near.clone();
    for (at, cluster) in far.chunks_mut(1000 * 16).enumerate() {
        for value in cluster {
            *value += 100.0 * at as f32;
        }
    }
    let copies = near[..1000 * 16].repeat(6);
    let spec = PiPnnSpec::new(24, 1.2, 1);
    for (values, least) in [(near, 0.98), (far, 0.98), (copies, 0.85)] {
        let (lists, parts) = apart(&values, 16, 6, &spec);
        let rows = Rows::f32(16, &values);
        let set = rows.set(Guide::L2);
        let joined = Joined {
            lists: &lists,
            parts: &parts,
        };
        let build = |threads| {
            let wanted = (&spec, Some(joined));
            let built = pipnn(&set, (NodeId(0), &[]), wanted, &pool(threads), &NoProgress);
            built.expect("a graph").graph
        };
        let graph = build(2);
        assert_sound(&graph, 6000, 24);
        assert_eq!(graph, build(1));
        let others: Vec<f32> = values
            .chunks_exact(16)
            .step_by(40)
            .flatten()
            .copied()
            .collect();
        let queries = Rows::f32(16, &others);
        let (found, one) = (
            recall(&graph, &set, &queries, 40),
            recall(
                &build_on(&rows, Guide::L2, &spec, 2).graph,
                &set,
                &queries,
                40,
            ),
        );
        assert!(found > least && found > one - 0.02, "{found}, {one}");
    }
}

#[test]
fn lists_of_other_nodes_are_not_joined() {
    let rows = Rows::f32(4, &clustered(100, 4, 1.0, 1));
    let set = rows.set(Guide::L2);
    let (lists, parts) = apart(&clustered(90, 4, 1.0, 1), 4, 2, &SPEC);
    let joined = Joined {
        lists: &lists,
        parts: &parts,
    };
    let refused = pipnn(
        &set,
        (NodeId(0), &[]),
        (&SPEC, Some(joined)),
        &pool(1),
        &NoProgress,
    );
    assert!(matches!(
        refused.err(),
        Some(GraphError::Parameter { name: "joined", .. })
    ));
}

/// Rows that come in so many copies that leaves tell a node of nothing but its own.
#[test]
fn groups_of_copies_are_joined() {
    for noise in [0.0, 0.001] {
        let centres = clustered(2500, 12, 3.0, 1);
        let spread = clustered(20_000, 12, 1.0, 2);
        let rows = spread.chunks_exact(12).enumerate();
        let values: Vec<f32> = rows
            .flat_map(|(at, row)| {
                let centre = centres.chunks_exact(12).nth(at % 2500).expect("a centre");
                let near = row.iter().map(move |value| noise * value);
                near.zip(centre).map(|(near, centre)| near + centre)
            })
            .collect();
        let rows = Rows::f32(12, &values);
        let graph = build_on(&rows, Guide::L2, &PiPnnSpec::new(24, 1.2, 1), 2).graph;
        assert_sound(&graph, 20_000, 24);
        let queries = Rows::f32(12, &values[..400 * 12]);
        let found = recall(&graph, &rows.set(Guide::L2), &queries, 20);
        assert!(found > 0.975, "noise {noise}: {found}");
    }
}

#[test]
fn threads_change_no_byte() {
    // Above the size from which threads share a group.
    let rows = Rows::f32(8, &clustered(17_000, 8, 2.0, 4));
    assert_threads_change_nothing(|metric, threads| {
        let PiPnn { graph, order } = build_on(&rows, metric, &SPEC, threads);
        (graph, order)
    });
    let rows = Rows::f32(8, &clustered(1000, 8, 2.0, 4));
    let other = PiPnnSpec { seed: 6, ..SPEC };
    assert_ne!(
        build_on(&rows, Guide::L2, &other, 1).graph,
        build_on(&rows, Guide::L2, &SPEC, 1).graph
    );
}

#[test]
fn recall_has_a_floor_in_every_metric() {
    let spec = PiPnnSpec {
        leaf: 256,
        ..PiPnnSpec::new(24, 1.2, 1)
    };
    assert_recall_of(0.97, |rows, metric| build_on(rows, metric, &spec, 2).graph);
    assert_long_rows_are_found(0.9, |rows| {
        build_on(rows, Guide::InnerProduct, &spec, 2).graph
    });
}

#[test]
fn lists_are_full_and_in_prune_order() {
    let rows = Rows::f32(6, &clustered(1500, 6, 1.0, 7));
    let graph = build_on(&rows, Guide::L2, &SPEC, 2).graph;
    let chosen = assert_prune_order(&graph, &rows.set(Guide::L2), SPEC.lists().prune);
    assert!(chosen > 5 * 1500, "{chosen}");
    let full = (0..1500).filter(|&node| graph.neighbors(NodeId(node)).len() == 12);
    assert!(full.count() > 1000);
}

/// Nodes that follow each other are nearer than nodes at random.
#[test]
fn the_order_keeps_near_nodes_together() {
    let rows = Rows::f32(6, &clustered(3000, 6, 1.0, 7));
    let set = rows.set(Guide::L2);
    let order = build_on(&rows, Guide::L2, &SPEC, 2).order;
    let length = |order: &[NodeId]| -> f32 {
        order
            .windows(2)
            .map(|pair| set.distance(pair[0], pair[1]))
            .sum()
    };
    let by_row: Vec<_> = (0..3000).map(NodeId).collect();
    assert!(length(&order) < 0.5 * length(&by_row));
}

#[test]
fn guests_are_found_and_leave_the_graph_of_the_others_as_it_is() {
    let rows = Rows::f32(6, &clustered(600, 6, 1.0, 4));
    let set = rows.set(Guide::L2);
    let guests: Vec<NodeId> = (0..30).map(|at| NodeId(at * 20 + 3)).collect();
    let built = |threads| {
        let entry = NodeId(23);
        let built = pipnn(
            &set,
            (entry, &guests),
            (&SPEC, None),
            &pool(threads),
            &NoProgress,
        );
        built.expect("a graph")
    };
    let PiPnn { graph, mut order } = built(1);
    assert_sound(&graph, 600, 12);
    assert!(graph == built(3).graph);
    order.sort();
    assert_eq!(order, (0..600).map(NodeId).collect::<Vec<_>>());
    let joining = guests.iter().filter(|node| **node != NodeId(23));
    let hosts = |guest: &NodeId| {
        let lists = (0..600).map(|node| graph.neighbors(NodeId(node)));
        lists.filter(|list| list.contains(guest)).count()
    };
    assert!(
        joining
            .clone()
            .all(|guest| (2..=40).contains(&hosts(guest)))
    );
    assert!(
        joining
            .clone()
            .all(|guest| !graph.neighbors(*guest).is_empty())
    );
}

#[test]
fn cancelling_stops_within_a_few_looks() {
    assert_stops_soon(&[0, 1, 40, 300, 1500], |set, stop| {
        pipnn(set, (NodeId(0), &[]), (&SPEC, None), &pool(2), stop)
    });
}

#[test]
fn bad_parameters_are_refused() {
    let build = |set: &VectorSet<'_>, entry, spec: &PiPnnSpec| {
        let entry = (NodeId(entry), &[][..]);
        pipnn(set, entry, (spec, None), &pool(1), &NoProgress)
    };
    let rows = Rows::f32(1, &[1.0, 2.0]);
    assert!(matches!(
        build(&rows.set(Guide::L2), 2, &SPEC),
        Err(GraphError::EntryOutOfRange { count: 2, .. })
    ));
    let spoilt: [Spoilt<PiPnnSpec>; 6] = [
        ("max_degree", |spec| spec.max_degree = 0),
        ("alpha", |spec| spec.alpha = 0.9),
        ("alpha", |spec| spec.alpha = f32::NAN),
        ("fanout", |spec| spec.fanout = 65),
        ("leaf", |spec| spec.leaf = 15),
        ("knn", |spec| spec.knn = 0),
    ];
    assert_refused(&SPEC, &spoilt, |set, spec| build(set, 0, spec));
}

#[test]
fn memory_grows_with_what_it_is_for() {
    let shape = VectorShape {
        dimension: 128,
        element: ElementType::U8,
    };
    let spec = PiPnnSpec::new(48, 1.2, 0);
    let million = pipnn_bytes(1_000_000, shape, &spec, 2);
    let candidates = 1_000_000 * 96 * 8;
    assert!(
        million > candidates && million < candidates + 300_000_000,
        "{million}"
    );
    assert!(pipnn_bytes(1_000_000, shape, &spec, 3) > million);
    assert!(pipnn_bytes(1, shape, &spec, 1) > 0);
    assert_eq!(pipnn_bytes(u64::MAX, shape, &spec, usize::MAX), u64::MAX);
}
