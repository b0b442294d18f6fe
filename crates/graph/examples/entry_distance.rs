//! How near to a query the ways of choosing an entry come, and what they cost.
//!
//! ```text
//! entry_distance <base.u8bin|fbin> <queries> <rows> <sample> <list size or limit>
//! ```
//! Rank: nodes of all rows that are nearer to the query than the best entry. Ratio: the distance
//! of the best entry over that of the nearest node.
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
    HashSpec, HashTable, NavigationGraph, NavigationScratch, NavigationSpec, SampledVectors,
    VectorSet, fixed_entries,
};
use pageway_kernels::KernelSet;
use pageway_types::{Candidate, ElementType, Guide, NoProgress, NodeId, VectorShape};
use rayon::ThreadPool;

const QUERIES: usize = 500;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<usize>().unwrap();
    let (bytes, shape) = read(&arguments[1]);
    let (queries, _) = read(&arguments[2]);
    let (sample, list_size) = (number(4) as u32, number(5));
    let kernels = KernelSet::detect().unwrap();
    let rows = &bytes[..(number(3) * shape.row_bytes()).min(bytes.len())];
    let set = VectorSet::new(rows, shape, Guide::L2, kernels, None).unwrap();
    let spec = NavigationSpec {
        sample,
        max_degree: 32,
        build_list: 100,
        seed: 1,
    };
    let trial = Trial {
        set: &set,
        judge: Judge::new(&set, &queries),
        nodes: NavigationGraph::sample(set.count(), &spec),
        kernels,
        list_size,
    };
    let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
    trial.rate_nodes(&pool);
    trial.rate_navigation(&spec, &pool);
    trial.rate_hash();
}

/// What every way of choosing is tried on.
struct Trial<'t> {
    set: &'t VectorSet<'t>,
    judge: Judge<'t>,
    /// The sample.
    nodes: Vec<NodeId>,
    kernels: &'static KernelSet,
    list_size: usize,
}

impl Trial<'_> {
    /// Without any structure.
    fn rate_nodes(&self, pool: &ThreadPool) {
        let Self { judge, nodes, .. } = self;
        judge.rate("all of the sample", |_, out| out.extend_from_slice(nodes));
        judge.rate("first of the sample", |_, out| {
            out.extend_from_slice(&nodes[..self.list_size]);
        });
        let entries = fixed_entries(self.set, 32, 1, pool, &NoProgress).unwrap();
        judge.rate("32 fixed entries", |_, out| out.extend_from_slice(&entries));
    }

    fn rate_navigation(&self, spec: &NavigationSpec, pool: &ThreadPool) {
        let rows = self.nodes.iter().flat_map(|&node| self.set.row(node));
        let vectors = SampledVectors {
            rows: rows.copied().collect(),
            nodes: self.nodes.clone(),
            shape: self.set.shape(),
            metric: Guide::L2,
            kernels: self.kernels,
        };
        let begun = Instant::now();
        let graph = NavigationGraph::build(vectors, spec, pool, &NoProgress).unwrap();
        let built = begun.elapsed().as_secs_f64();
        println!("graph: {built:.3} s, {} bytes", graph.resident_bytes());
        let list_size = self.list_size;
        let mut scratch = NavigationScratch::new(&graph, list_size as u32).unwrap();
        let mut found: Vec<Candidate> = Vec::new();
        self.judge.rate("navigation graph", |query, out| {
            found.clear();
            graph.search(query, list_size, &mut scratch, &mut found);
            out.extend(found.iter().map(|near| near.node));
        });
    }

    fn rate_hash(&self) {
        let rows = self.nodes.iter().map(|&node| self.set.row(node));
        let values: Vec<f32> = rows.flat_map(|row| self.widened(row)).collect();
        let dimension = self.set.shape().dimension as usize;
        let sums = (0..dimension).map(|at| values.iter().skip(at).step_by(dimension).sum::<f32>());
        let mean: Vec<f32> = sums.map(|sum| sum / self.nodes.len() as f32).collect();
        let sample = self.nodes.len() as u32;
        let usual = HashTable::default_bits(u64::from(sample));
        for bits in [usual - 2, usual, usual + 2] {
            let spec = HashSpec {
                bits,
                sample,
                radius: 2,
                seed: 1,
            };
            let begun = Instant::now();
            let table = HashTable::build(&self.nodes, &values, &mean, &spec).unwrap();
            let built = begun.elapsed().as_secs_f64();
            println!("hash: {built:.3} s, {} bytes", table.resident_bytes());
            self.judge
                .rate(&format!("hash, {bits} bits"), |query, out| {
                    table.lookup(&self.widened(query), self.list_size, out);
                });
        }
    }

    fn widened(&self, row: &[u8]) -> Vec<f32> {
        let shape = self.set.shape();
        let mut wide = vec![0.0; shape.dimension as usize];
        self.kernels.widen(shape.element)(row, &mut wide);
        wide
    }
}

/// Distances of all rows to all queries.
struct Judge<'j> {
    queries: Vec<&'j [u8]>,
    distances: Vec<Vec<f32>>,
}

impl<'j> Judge<'j> {
    fn new(set: &VectorSet<'_>, queries: &'j [u8]) -> Self {
        let queries: Vec<_> = queries
            .chunks_exact(set.shape().row_bytes())
            .take(QUERIES)
            .collect();
        let nodes: Vec<_> = (0..set.count()).map(NodeId).collect();
        let distances = queries.iter().map(|query| {
            let mut distances = vec![0.0; nodes.len()];
            set.query_distance_many(query, &nodes, &mut distances);
            distances
        });
        Self {
            distances: distances.collect(),
            queries,
        }
    }

    fn rate(&self, name: &str, mut choose: impl FnMut(&[u8], &mut Vec<NodeId>)) {
        let (mut ranks, mut ratios, mut nodes) = (Vec::new(), 0.0, Vec::new());
        let mut entries = 0;
        for (query, distances) in self.queries.iter().zip(&self.distances) {
            nodes.clear();
            choose(query, &mut nodes);
            entries += nodes.len();
            let best = nodes.iter().map(|node| distances[node.index()]);
            let best = best.fold(f32::INFINITY, f32::min);
            let nearest = distances.iter().copied().fold(f32::INFINITY, f32::min);
            ranks.push(distances.iter().filter(|&&other| other < best).count());
            ratios += f64::from((best / nearest.max(f32::MIN_POSITIVE)).sqrt());
        }
        let begun = Instant::now();
        for query in &self.queries {
            nodes.clear();
            choose(query, &mut nodes);
        }
        let count = self.queries.len();
        let micros = begun.elapsed().as_secs_f64() * 1e6 / count as f64;
        ranks.sort_unstable();
        println!(
            "{name:22} entries {:7.1}  rank mean {:7.1} median {:5}  ratio {:.3}  {micros:8.2} us",
            entries as f64 / count as f64,
            ranks.iter().sum::<usize>() as f64 / count as f64,
            ranks[count / 2],
            ratios / count as f64,
        );
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
