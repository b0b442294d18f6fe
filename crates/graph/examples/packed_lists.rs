//! Packs the adjacency lists of a graph over a file of vectors, its nodes numbered by a placement
//! and as they come, and prints what that takes.
//!
//! ```text
//! packed_lists <file.u8bin|fbin> <rows> [max degree, 48] [threads, 2]
//! ```
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measuring program: reads a file, prints, and stops at the first surprise"
)]

use std::time::Instant;

use pageway_graph::{
    Graph, ListCode, Placement, PlacementSpec, VamanaSpec, VectorSet, build, place,
};
use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, NoProgress, NodeId, SplitMix64, VectorShape};

/// Times that all lists are unpacked; the fastest counts.
const ROUNDS: usize = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, absent: usize| {
        let argument = arguments.get(at);
        argument.map_or(absent, |argument| argument.parse().unwrap())
    };
    let (mut bytes, shape) = read(&arguments[1]);
    let rows = number(2, 0).min(bytes.len() / shape.row_bytes());
    bytes.truncate(rows * shape.row_bytes());
    let kernels = KernelSet::detect().unwrap();
    let set = VectorSet::new(&bytes, shape, Guide::L2, kernels, None).unwrap();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(number(4, 2));
    let pool = threads.build().unwrap();
    let spec = VamanaSpec {
        max_degree: number(3, 48) as u32,
        build_list: 100,
        alpha: 1.2,
        seed: 1,
    };
    let graph = build(&set, (NodeId(0), &[]), &spec, &pool, &NoProgress).unwrap();
    println!("{rows} rows of {shape}, max degree {}", spec.max_degree);
    measure("as they come", &graph, false);
    let spec = PlacementSpec {
        placement: Placement::Clustered,
        nodes_per_page: 12,
        seed: 1,
    };
    let order = place(&graph, &set, (&spec, &[]), &pool, &NoProgress).unwrap();
    measure("clustered", &graph.renumbered(&order).unwrap(), true);
}

fn measure(name: &str, graph: &Graph, placed: bool) {
    let code = ListCode::new(graph.count());
    let (mut bytes, mut ends, mut edges) = (Vec::new(), vec![0], 0);
    for node in (0..graph.count()).map(NodeId) {
        let mut list = graph.neighbors(node).to_vec();
        list.sort_unstable();
        code.encode(node, &list, &mut bytes).unwrap();
        ends.push(bytes.len());
        edges += list.len();
    }
    let mut nodes: Vec<u32> = (0..graph.count()).collect();
    let in_order = unpack(&code, &nodes, (&bytes, &ends)) / edges as f64;
    let mut random = SplitMix64::new(1);
    for at in (1..nodes.len()).rev() {
        nodes.swap(at, random.next_u64() as usize % (at + 1));
    }
    let at_random = unpack(&code, &nodes, (&bytes, &ends)) / edges as f64;
    let count = f64::from(graph.count());
    let degree = edges as f64 / count;
    println!(
        "{name}: mean degree {degree:.2}, {:.2} bits per edge, {:.1} bytes per list (expected \
         {:.1}); ns per edge: {in_order:.2} in order, {at_random:.2} at random",
        bytes.len() as f64 * 8.0 / edges as f64,
        bytes.len() as f64 / count,
        code.expected_bytes(degree, placed),
    );
}

/// Nanoseconds to unpack the lists of all nodes.
fn unpack(code: &ListCode, nodes: &[u32], (bytes, ends): (&[u8], &[usize])) -> f64 {
    let (mut list, mut fastest) = (Vec::new(), f64::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for &node in nodes {
            let packed = &bytes[ends[node as usize]..ends[node as usize + 1]];
            code.decode(NodeId(node), packed, &mut list, |node| node)
                .unwrap();
            std::hint::black_box(&list);
        }
        fastest = fastest.min(start.elapsed().as_nanos() as f64);
    }
    fastest
}

fn read(path: &str) -> (Vec<u8>, VectorShape) {
    let element = match path.rsplit('.').next() {
        Some("u8bin") => ElementType::U8,
        Some("fbin") => ElementType::F32,
        _ => panic!("unknown extension: {path}"),
    };
    let mut bytes = std::fs::read(path).unwrap();
    let dimension = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    bytes.drain(..8);
    (bytes, VectorShape { dimension, element })
}
