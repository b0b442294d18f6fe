//! Places the nodes of a graph over a file of vectors by every method and prints how much of a
//! page its members link to, and what that takes.
//!
//! ```text
//! placement_overlap <file.u8bin|fbin> <rows> [nodes per page, 12] [threads, 2]
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
    Placement, PlacementSpec, VamanaSpec, VectorSet, build, overlap_ratio, place, placement_bytes,
};
use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide, NoProgress, NodeId, VectorShape};

const MAX_DEGREE: u32 = 48;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, absent: usize| {
        let argument = arguments.get(at);
        argument.map_or(absent, |argument| argument.parse().unwrap())
    };
    let (mut bytes, shape) = read(&arguments[1]);
    let rows = number(2, 0).min(bytes.len() / shape.row_bytes());
    bytes.truncate(rows * shape.row_bytes());
    let nodes_per_page = number(3, 12) as u32;
    let kernels = KernelSet::detect().unwrap();
    let set = VectorSet::new(&bytes, shape, Guide::L2, kernels, None).unwrap();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(number(4, 2));
    let pool = threads.build().unwrap();
    let spec = VamanaSpec {
        max_degree: MAX_DEGREE,
        build_list: 100,
        alpha: 1.2,
        seed: 1,
    };
    let start = Instant::now();
    let graph = build(&set, (NodeId(0), &[]), &spec, &pool, &NoProgress).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!("{rows} rows of {shape}, {nodes_per_page} per page, graph in {seconds:.2} s");

    let by_id: Vec<NodeId> = (0..rows as u32).map(NodeId).collect();
    println!(
        "by id OR {:.4}",
        overlap_ratio(&graph, &by_id, nodes_per_page)
    );
    for placement in methods() {
        let spec = PlacementSpec {
            placement,
            nodes_per_page,
            seed: 1,
        };
        let start = Instant::now();
        let order = place(&graph, &set, (&spec, &[]), &pool, &NoProgress).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let overlap = overlap_ratio(&graph, &order, nodes_per_page);
        let mib = placement_bytes(rows as u64, placement, MAX_DEGREE) >> 20;
        println!("OR {overlap:.4}  {seconds:6.2} s  {mib:4} MiB  {placement:?}");
    }
}

fn methods() -> [Placement; 6] {
    let (rounds, gain) = (8, 0.01);
    [
        Placement::Bnp,
        Placement::Bnf { rounds, gain },
        Placement::Bns { rounds, gain },
        Placement::Grouped { hops: 1 },
        Placement::Grouped { hops: 2 },
        Placement::Clustered,
    ]
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
