//! Builds a graph over a file of vectors and prints what it costs and what it is worth.
//!
//! ```text
//! vamana_speed <file.u8bin|i8bin|fbin> <rows> <max degree> <build list> <threads>
//! ```
//! The last 200 rows behind the cut serve as queries, or rows of the set when there are none;
//! their true neighbours are found by comparing with every row.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measuring program: reads a file, prints, and stops at the first surprise"
)]

use std::collections::HashSet;
use std::time::Instant;

use pageway_graph::{
    Graph, MedoidSpec, VamanaSpec, VectorSet, build, build_bytes, greedy_search, medoid,
};
use pageway_kernels::{KernelSet, advise_huge_pages};
use pageway_types::{Candidate, ElementType, Guide, NoProgress, NodeId, VectorRead, VectorShape};
use rayon::prelude::*;

const QUERIES: usize = 200;
const K: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<usize>().unwrap();
    let (bytes, shape) = read(&arguments[1]);
    let rows = number(2).min(bytes.len() / shape.row_bytes());
    let spec = VamanaSpec {
        max_degree: number(3) as u32,
        build_list: number(4) as u32,
        alpha: 1.2,
        seed: 1,
    };
    let (base, behind) = bytes.split_at(rows * shape.row_bytes());
    let queries = if behind.is_empty() { base } else { behind };
    let kernels = KernelSet::detect().unwrap();
    let set = VectorSet::new(base, shape, Guide::L2, kernels, None).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(number(5))
        .build()
        .unwrap();

    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let search = MedoidSpec {
        metric: Guide::L2,
        kernels,
        block_bytes: 16 << 20,
    };
    let entry = medoid(&Rows { bytes: base, shape }, &search, &pool, &NoProgress)
        .unwrap()
        .node;
    let graph = build(&set, (entry, &[]), &spec, &pool, &NoProgress).unwrap();
    let cpu = cpu_seconds() - cpu;
    let mib = build_bytes(rows as u64, &spec, number(5)) >> 20;
    println!(
        "{rows} rows of {shape}, {:?}, memory {mib} MiB",
        kernels.isa()
    );
    println!(
        "build: wall {:.2} s, cpu {cpu:.2} s",
        wall.elapsed().as_secs_f64()
    );
    let edges: usize = (0..rows as u32)
        .map(|node| graph.neighbors(NodeId(node)).len())
        .sum();
    let degree = edges as f64 / rows as f64;
    println!(
        "mean degree {degree:.2}, repaired {}, digest {:016x}",
        graph.repaired(),
        digest(&graph)
    );
    let step = queries.len() / shape.row_bytes() / QUERIES;
    let queries: Vec<_> = queries
        .chunks_exact(shape.row_bytes())
        .step_by(step.max(1))
        .take(QUERIES)
        .collect();
    measure(&graph, &set, &queries, &pool);
}

struct Rows<'r> {
    bytes: &'r [u8],
    shape: VectorShape,
}

impl VectorRead for Rows<'_> {
    fn count(&self) -> u64 {
        (self.bytes.len() / self.shape.row_bytes()) as u64
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> std::io::Result<()> {
        out.copy_from_slice(&self.bytes[first as usize * self.shape.row_bytes()..][..out.len()]);
        Ok(())
    }
}

fn measure(graph: &Graph, set: &VectorSet<'_>, queries: &[&[u8]], pool: &rayon::ThreadPool) {
    let truth: Vec<HashSet<NodeId>> = pool.install(|| {
        queries
            .par_iter()
            .map(|query| nearest(set, query))
            .collect()
    });
    for list_size in [10, 15, 20, 30, 40, 60, 80, 100] {
        let (mut found, mut hops) = (0, 0);
        for (query, truth) in queries.iter().zip(&truth) {
            let (answer, expanded) = greedy_search(graph, set, query, list_size, K).unwrap();
            found += answer
                .iter()
                .filter(|answer| truth.contains(&answer.node))
                .count();
            hops += expanded;
        }
        let count = queries.len() as f64;
        let recall = found as f64 / count / K as f64;
        println!(
            "L {list_size:3}  recall@10 {recall:.4}  hops {:.2}",
            hops as f64 / count
        );
    }
}

fn nearest(set: &VectorSet<'_>, query: &[u8]) -> HashSet<NodeId> {
    let nodes: Vec<_> = (0..set.count()).map(NodeId).collect();
    let mut distances = vec![0.0; nodes.len()];
    set.query_distance_many(query, &nodes, &mut distances);
    let scored = nodes.iter().zip(&distances);
    let mut all: Vec<_> = scored
        .map(|(&node, &distance)| Candidate::new(node, distance))
        .collect();
    all.select_nth_unstable(K);
    all.truncate(K);
    all.iter().map(|candidate| candidate.node).collect()
}

/// FNV-1a over all lists, to compare builds.
fn digest(graph: &Graph) -> u64 {
    let lists = (0..graph.count()).map(|node| graph.neighbors(NodeId(node)));
    let ids = lists.flat_map(|list| list.iter().map(|id| u64::from(id.0)).chain([u64::MAX]));
    ids.fold(0xcbf2_9ce4_8422_2325, |hash, id| {
        (hash ^ id).wrapping_mul(0x100_0000_01b3)
    })
}

fn read(path: &str) -> (Vec<u8>, VectorShape) {
    let element = match path.rsplit('.').next() {
        Some("u8bin") => ElementType::U8,
        Some("i8bin") => ElementType::I8,
        Some("fbin") => ElementType::F32,
        _ => panic!("unknown extension: {path}"),
    };
    let mut bytes = std::fs::read(path).unwrap();
    let dimension = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    bytes.drain(..8);
    advise_huge_pages(&bytes);
    (bytes, VectorShape { dimension, element })
}

/// User and system time of this process, in the kernel's hundredths.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}
