//! Builds every kind of graph over the same rows and prints what each costs and what it is worth.
//!
//! ```text
//! graph_recall <base.u8bin|fbin> <queries> <rows> <max degree> <build list> \
//!     [l2|ip|cosine] [PARTS]
//! ```
//! PARTS are shares of the rows, as in 10,2,1,1,1,1: graphs over each are joined by PiPNN, and the
//! others are not built. Recall is that of a greedy search from the entry; hops are the nodes that
//! it expands.
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
    Graph, HnswSpec, Joined, NsgSpec, PiPnnSpec, VamanaSpec, VectorSet, build, build_bytes,
    fixed_entries, greedy_search, hnsw, hnsw_bytes, nsg, nsg_bytes, pipnn, pipnn_bytes,
};
use pageway_kernels::KernelSet;
use pageway_types::{Candidate, ElementType, Guide, NoProgress, NodeId, VectorShape};

const QUERIES: usize = 500;
const K: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<u32>().unwrap();
    let (bytes, shape) = read(&arguments[1]);
    let (queries, _) = read(&arguments[2]);
    let rows = &bytes[..(number(3) as usize * shape.row_bytes()).min(bytes.len())];
    let metric = match arguments.get(6).map(String::as_str) {
        None | Some("l2") => Guide::L2,
        Some("ip") => Guide::InnerProduct,
        Some("cosine") => Guide::Cosine,
        Some(other) => panic!("unknown metric: {other}"),
    };
    let set = VectorSet::new(rows, shape, metric, KernelSet::detect().unwrap(), None).unwrap();
    let judge = Judge::new(&set, &queries);
    match arguments.get(7) {
        Some(parts) => join(&judge, rows, metric, (number(4), parts)),
        None => compare(&judge, number(4), number(5)),
    }
}

fn compare(judge: &Judge<'_>, max_degree: u32, build_list: u32) {
    let (set, count) = (judge.set, judge.set.count().into());
    let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
    let threads = pool.current_num_threads();
    let medoid = fixed_entries(set, 1, 1, &pool, &NoProgress).unwrap()[0];

    let spec = VamanaSpec {
        max_degree,
        build_list,
        alpha: 1.2,
        seed: 1,
    };
    judge.rate("Vamana", build_bytes(count, &spec, threads), || {
        build(set, (medoid, &[]), &spec, &pool, &NoProgress).unwrap()
    });
    let spec = PiPnnSpec::new(max_degree, 1.2, 1);
    let bytes = pipnn_bytes(count, set.shape(), &spec, threads);
    judge.rate("PiPNN", bytes, || {
        let built = pipnn(set, (medoid, &[]), (&spec, None), &pool, &NoProgress);
        built.unwrap().graph
    });
    let spec = NsgSpec {
        max_degree,
        build_list,
        knn: max_degree * 3 / 2,
        seed: 1,
    };
    judge.rate("NSG", nsg_bytes(count, &spec, threads), || {
        nsg(set, medoid, &spec, &pool, &NoProgress).unwrap()
    });
    let spec = HnswSpec {
        max_degree,
        build_list,
        seed: 1,
    };
    judge.rate("HNSW", hnsw_bytes(count, &spec, threads), || {
        let hnsw = hnsw(set, &spec, &pool, &NoProgress).unwrap();
        let layers = hnsw.layers.iter().map(|layer| layer.nodes.len());
        println!("layers of {:?} nodes", layers.collect::<Vec<_>>());
        hnsw.base
    });
}

/// A graph over all rows, and one that joins graphs over parts of them.
fn join(judge: &Judge<'_>, rows: &[u8], metric: Guide, (max_degree, parts): (u32, &str)) {
    let set = judge.set;
    let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
    let spec = PiPnnSpec::new(max_degree, 1.2, 1);
    let build = |set: &VectorSet<'_>, joined| {
        let entry = fixed_entries(set, 1, 1, &pool, &NoProgress).unwrap()[0];
        let built = pipnn(set, (entry, &[]), (&spec, joined), &pool, &NoProgress);
        built.unwrap().graph
    };
    judge.rate("PiPNN", 0, || build(set, None));
    let shares: Vec<usize> = parts.split(',').map(|part| part.parse().unwrap()).collect();
    let (count, all) = (set.count() as usize, shares.iter().sum::<usize>());
    let (mut lists, mut numbers, mut share) = (Vec::new(), Vec::new(), 0);
    for (part, own) in (0u16..).zip(&shares) {
        share += own;
        let (first, end) = (lists.len(), count * share / all);
        let bytes = set.shape().row_bytes();
        let rows = &rows[first * bytes..end * bytes];
        let kernels = KernelSet::detect().unwrap();
        let graph = build(
            &VectorSet::new(rows, set.shape(), metric, kernels, None).unwrap(),
            None,
        );
        lists.extend((0..graph.count()).map(|node| {
            let list = graph.neighbors(NodeId(node)).iter();
            list.map(|other| NodeId(other.0 + first as u32)).collect()
        }));
        numbers.resize(end, part);
    }
    let slices = lists.iter().map(Vec::as_slice);
    let known = Graph::from_lists(slices, max_degree, NodeId(0)).unwrap();
    let joined = Joined {
        lists: &known,
        parts: &numbers,
    };
    judge.rate("PiPNN, joined", 0, || build(set, Some(joined)));
}

/// Queries with their true neighbours.
struct Judge<'j> {
    set: &'j VectorSet<'j>,
    queries: Vec<&'j [u8]>,
    truth: Vec<Vec<Candidate>>,
}

impl<'j> Judge<'j> {
    fn new(set: &'j VectorSet<'j>, queries: &'j [u8]) -> Self {
        let nodes: Vec<_> = (0..set.count()).map(NodeId).collect();
        let mut distances = vec![0.0; nodes.len()];
        let rows = queries.chunks_exact(set.shape().row_bytes());
        let queries: Vec<_> = rows.take(QUERIES).collect();
        let nearest = |query: &&[u8]| {
            set.query_distance_many(query, &nodes, &mut distances);
            let scored = nodes.iter().zip(&distances);
            let mut all: Vec<_> = scored.map(|(&n, &d)| Candidate::new(n, d)).collect();
            all.select_nth_unstable(K);
            all.truncate(K);
            all
        };
        let truth = queries.iter().map(nearest).collect();
        Self {
            set,
            queries,
            truth,
        }
    }

    fn rate(&self, name: &str, bytes: u64, build: impl FnOnce() -> Graph) {
        let begun = Instant::now();
        let graph = build();
        let seconds = begun.elapsed().as_secs_f64();
        let edges = (0..graph.count()).map(|node| graph.neighbors(NodeId(node)).len());
        let degree = edges.sum::<usize>() as f64 / f64::from(graph.count());
        let (mib, repaired) = (bytes >> 20, graph.repaired());
        println!("{name}: {seconds:.2} s, {mib} MiB, mean degree {degree:.2}, repaired {repaired}");
        for list_size in [10, 20, 30, 40, 60, 100, 200] {
            let (mut found, mut hops) = (0, 0);
            for (query, truth) in self.queries.iter().zip(&self.truth) {
                let (answer, expanded) =
                    greedy_search(&graph, self.set, query, list_size, K).unwrap();
                found += answer.iter().filter(|near| truth.contains(near)).count();
                hops += expanded;
            }
            let count = self.queries.len() as f64;
            let recall = found as f64 / count / K as f64;
            let hops = hops as f64 / count;
            println!("  L {list_size:3}  recall@10 {recall:.4}  hops {hops:.1}");
        }
    }
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
