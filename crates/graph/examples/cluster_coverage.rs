//! Finds the clusters of a file of vectors and prints how many of them, nearest first, hold a share
//! of the true ten neighbours of queries, and how many nodes those have.
//!
//! ```text
//! cluster_coverage <base.u8bin|fbin> <queries> <truth.ibin> [nodes per cluster, 64] [queries, 300]
//! ```
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program: reads files, prints, and stops at the first surprise"
)]

use std::time::Instant;

use pageway_graph::{ClusterSpec, Clusters, Paging, VectorSet, clusters};
use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, NoProgress, VectorShape};

/// Neighbours that are looked for.
const K: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, absent: usize| {
        let argument = arguments.get(at);
        argument.map_or(absent, |argument| argument.parse().unwrap())
    };
    let (base, shape) = read(&arguments[1]);
    let (queries, _) = read(&arguments[2]);
    let (truth, wide) = read(&arguments[3]);
    let kernels = KernelSet::detect().unwrap();
    let set = VectorSet::new(&base, shape, Guide::L2, kernels, None).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let spec = ClusterSpec {
        members: number(4, 64) as u32,
        seed: 42,
    };
    let start = Instant::now();
    let found = clusters(&set, (&spec, Paging::whole(4)), &pool.unwrap(), &NoProgress).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let (count, groups) = (found.starts.len() - 1, found.groups.len() - 1);
    println!("{count} clusters in {groups} groups, found in {seconds:.2} s");

    let owners = owners(&found);
    let mut ranks = Vec::new();
    let mut passed = vec![0.0; count];
    let taken = number(5, 300).min(queries.len() / shape.row_bytes());
    for (query, row) in queries
        .chunks_exact(shape.row_bytes())
        .take(taken)
        .enumerate()
    {
        let mut values = vec![0.0; shape.dimension as usize];
        kernels.widen(shape.element)(row, &mut values);
        let places = places(&found, &values, &mut passed);
        let near = truth
            .chunks_exact(4 * wide.dimension as usize)
            .nth(query)
            .unwrap();
        let ids = near
            .chunks_exact(4)
            .take(K)
            .map(|id| u32::from_le_bytes(id.try_into().unwrap()));
        ranks.extend(ids.map(|id| places[owners[id as usize]]));
    }
    ranks.sort_unstable();
    for share in [0.9, 0.95, 0.97, 0.99] {
        let rank = ranks[(ranks.len() as f64 * share) as usize];
        let nodes = passed[rank] / taken as f64;
        println!("{share}: {} clusters, {nodes:.0} nodes", rank + 1);
    }
}

/// The cluster of each node.
fn owners(found: &Clusters) -> Vec<usize> {
    let mut owners = vec![0; found.order.len()];
    for (cluster, ends) in found.starts.windows(2).enumerate() {
        for node in &found.order[ends[0] as usize..ends[1] as usize] {
            owners[node.index()] = cluster;
        }
    }
    owners
}

/// The place of each cluster by its distance to a query; adds to `passed` the nodes up to each.
fn places(found: &Clusters, query: &[f32], passed: &mut [f64]) -> Vec<usize> {
    let distance = |mean: &[f32]| {
        let pairs = mean.iter().zip(query);
        pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
    };
    let distances: Vec<f32> = found
        .centroids
        .chunks_exact(query.len())
        .map(distance)
        .collect();
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by(|a, b| distances[*a].total_cmp(&distances[*b]));
    let (mut places, mut nodes) = (vec![0; order.len()], 0);
    for (place, cluster) in order.into_iter().enumerate() {
        places[cluster] = place;
        nodes += found.starts[cluster + 1] - found.starts[cluster];
        passed[place] += f64::from(nodes);
    }
    places
}

/// Rows behind a header of two numbers, and their shape.
fn read(path: &str) -> (Vec<u8>, VectorShape) {
    let mut bytes = std::fs::read(path).unwrap();
    let dimension = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    let element = if path.ends_with("u8bin") {
        ElementType::U8
    } else {
        ElementType::F32
    };
    bytes.drain(..8);
    (bytes, VectorShape { dimension, element })
}
