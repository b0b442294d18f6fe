//! The graph of a build: whole, by the algorithm of the spec, or in shards that are merged.

use std::borrow::Cow;

use pageway_graph::{
    Graph, HnswSpec, Layer, NsgSpec, VamanaSpec, VectorSet, build, build_bytes, hnsw, hnsw_bytes,
    nsg, nsg_bytes,
};
use pageway_kernels::advise_huge_pages;
use pageway_types::{Metric, NodeId, Progress, VectorRead};
use rayon::ThreadPool;

use crate::error::Result;
use crate::resolve;
use crate::spec::{GraphSpec, IndexSpec};

/// A graph in memory, with the vectors it is a graph of.
pub(super) struct WholeGraph<'p> {
    rows: Cow<'p, [u8]>,
    pub(super) graph: Graph,
    /// The layers above, of an HNSW graph; top first.
    pub(super) layers: Vec<Layer>,
    metric: Metric,
    max_norm: Option<f32>,
    vectors: &'p dyn VectorRead,
}

/// What a graph is built from.
#[derive(Clone, Copy)]
pub(super) struct GraphInput<'p> {
    pub(super) vectors: &'p dyn VectorRead,
    pub(super) spec: &'p IndexSpec,
    pub(super) entry: NodeId,
    pub(super) max_norm: Option<f32>,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p dyn Progress,
}

impl<'p> WholeGraph<'p> {
    /// Loads the vectors, unless they are in memory, and builds the graph.
    pub(super) fn build(input: GraphInput<'p>) -> Result<Self> {
        let vectors = input.vectors;
        let rows = match vectors.resident() {
            Some(rows) => Cow::Borrowed(rows),
            None => {
                let mut bytes = vec![0; vectors.count() as usize * vectors.shape().row_bytes()];
                vectors.read(0, &mut bytes)?;
                advise_huge_pages(&bytes);
                Cow::Owned(bytes)
            }
        };
        let metric = input.spec.shape.metric;
        let kernels = resolve::kernels()?;
        let set = VectorSet::new(&rows, vectors.shape(), metric, kernels, input.max_norm)?;
        let (graph, layers) = grow(&set, input)?;
        drop(set);
        Ok(Self {
            rows,
            graph,
            layers,
            metric,
            max_norm: input.max_norm,
            vectors,
        })
    }

    /// The vectors, with their distances.
    pub(super) fn vectors(&self) -> Result<VectorSet<'_>> {
        let (kernels, shape) = (resolve::kernels()?, self.vectors.shape());
        let set = VectorSet::new(&self.rows, shape, self.metric, kernels, self.max_norm)?;
        Ok(set)
    }
}

fn grow(set: &VectorSet<'_>, input: GraphInput<'_>) -> Result<(Graph, Vec<Layer>)> {
    let GraphInput {
        entry,
        pool,
        progress,
        ..
    } = input;
    Ok(match algorithm(input.spec) {
        Algorithm::Vamana(spec) => (build(set, entry, &spec, pool, progress)?, Vec::new()),
        Algorithm::Nsg(spec) => (nsg(set, entry, &spec, pool, progress)?, Vec::new()),
        Algorithm::Hnsw(spec) => {
            let built = hnsw(set, &spec, pool, progress)?;
            (built.base, built.layers)
        }
    })
}

enum Algorithm {
    Vamana(VamanaSpec),
    Nsg(NsgSpec),
    Hnsw(HnswSpec),
}

fn algorithm(spec: &IndexSpec) -> Algorithm {
    let seed = spec.seed;
    match spec.graph {
        GraphSpec::Vamana {
            max_degree,
            build_list,
            alpha,
        } => Algorithm::Vamana(VamanaSpec {
            max_degree,
            build_list,
            alpha,
            seed,
        }),
        GraphSpec::Nsg {
            max_degree,
            build_list,
            knn,
        } => Algorithm::Nsg(NsgSpec {
            max_degree,
            build_list,
            knn,
            seed,
        }),
        GraphSpec::Hnsw {
            max_degree,
            build_list,
        } => Algorithm::Hnsw(HnswSpec {
            max_degree,
            build_list,
            seed,
        }),
    }
}

/// Bytes that building the graph of a spec takes beside the vectors.
pub(super) fn graph_bytes(spec: &IndexSpec, count: u64, threads: usize) -> u64 {
    match algorithm(spec) {
        Algorithm::Vamana(spec) => build_bytes(count, &spec, threads),
        Algorithm::Nsg(spec) => nsg_bytes(count, &spec, threads),
        Algorithm::Hnsw(spec) => hnsw_bytes(count, &spec, threads),
    }
}

/// The spec of a shard's graph: Vamana with lists of `max_degree`, whatever the index has.
pub(super) fn shard_spec(spec: &IndexSpec, max_degree: u32) -> VamanaSpec {
    let alpha = match spec.graph {
        GraphSpec::Vamana { alpha, .. } => alpha,
        GraphSpec::Nsg { .. } | GraphSpec::Hnsw { .. } => 1.0,
    };
    VamanaSpec {
        max_degree,
        build_list: spec.graph.build_list(),
        alpha,
        seed: spec.seed,
    }
}
