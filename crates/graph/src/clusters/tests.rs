use super::*;
use crate::placement::Paging;
use crate::testing::{Rows, clustered, pool};
use pageway_types::{Guide, NoProgress};

fn found(rows: &Rows, metric: Guide, members: u32, threads: usize) -> Clusters {
    let spec = ClusterSpec { members, seed: 3 };
    clusters(
        &rows.set(metric),
        (&spec, Paging::whole(4)),
        &pool(threads),
        &NoProgress,
    )
    .expect("clusters")
}

fn is_partition(clusters: &Clusters, count: u32) {
    let mut nodes: Vec<u32> = clusters.order.iter().map(|node| node.0).collect();
    nodes.sort_unstable();
    assert!(nodes.into_iter().eq(0..count), "every node once");
    assert!(clusters.starts.is_sorted() && clusters.groups.is_sorted());
    assert_eq!(clusters.starts.last(), Some(&count));
    assert_eq!(
        clusters.groups.last().map(|last| *last as usize),
        Some(clusters.starts.len() - 1)
    );
}

#[test]
fn every_node_is_in_one_cluster_whatever_the_metric_and_the_threads() {
    let rows = Rows::f32(6, &clustered(3000, 6, 2.0, 5));
    for metric in [Guide::L2, Guide::InnerProduct, Guide::Cosine] {
        let clusters = found(&rows, metric, 20, 1);
        is_partition(&clusters, 3000);
        assert_eq!(clusters.starts.len(), 151);
        assert_eq!(clusters.centroids.len(), 150 * 6);
        assert_eq!(clusters.groups.len(), 14);
        assert_eq!(clusters, found(&rows, metric, 20, 2), "{metric}");
    }
}

#[test]
fn most_nodes_are_where_their_nearest_centroid_is() {
    let rows = Rows::f32(8, &clustered(4000, 8, 3.0, 7));
    let set = rows.set(Guide::L2);
    let clusters = found(&rows, Guide::L2, 25, 2);
    let mut right = 0;
    for (number, pair) in clusters.starts.windows(2).enumerate() {
        for node in &clusters.order[pair[0] as usize..pair[1] as usize] {
            let mut row = vec![0.0; 8];
            set.embed(*node, &mut row);
            let distance = |at: usize| {
                let centroid = &clusters.centroids[at * 8..][..8];
                crate::float::squared_l2(&row, centroid)
            };
            let best = (0..clusters.starts.len() - 1)
                .map(distance)
                .fold(f32::INFINITY, f32::min);
            right += usize::from(distance(number) <= best * 1.0001 + 1e-5);
        }
    }
    assert!(right >= 3900, "{right} of 4000");
}

#[test]
fn separate_heaps_are_clusters() {
    let values: Vec<f32> = (0..640)
        .flat_map(|node| [(node % 16 * 100) as f32, (node / 16) as f32 * 0.01])
        .collect();
    let rows = Rows::f32(2, &values);
    let clusters = found(&rows, Guide::L2, 10, 1);
    is_partition(&clusters, 640);
    for pair in clusters.starts.windows(2) {
        let nodes = &clusters.order[pair[0] as usize..pair[1] as usize];
        assert!(nodes.iter().all(|node| node.0 % 16 == nodes[0].0 % 16));
    }
}

#[test]
fn copies_and_tiny_sets_are_no_trouble() {
    for count in [1_u32, 2, 3, 70] {
        let rows = Rows::u8(4, vec![7; 4 * count as usize]);
        is_partition(&found(&rows, Guide::L2, 32, 1), count);
        is_partition(&found(&rows, Guide::L2, 1, 1), count);
    }
    let rows = Rows::u8(1, vec![1, 2, 3]);
    let spec = ClusterSpec {
        members: 0,
        seed: 0,
    };
    let spec_of = |members| ClusterSpec { members, ..spec };
    for (members, per_page) in [(0, 4), (2, 0)] {
        let spec = (&spec_of(members), Paging::whole(per_page));
        let outcome = clusters(&rows.set(Guide::L2), spec, &pool(1), &NoProgress);
        assert!(outcome.is_err(), "{members}, {per_page}");
    }
    assert_eq!(found(&rows, Guide::L2, 3, 1).order.len(), 3);
}
