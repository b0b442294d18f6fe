//! The graph of a build: whole, by the algorithm of the spec, or in shards that are merged.

use pageway_graph::{
    Graph, HnswSpec, Joined, Layer, NsgSpec, PiPnnSpec, VamanaSpec, VectorSet, build, build_bytes,
    hnsw, hnsw_bytes, nsg, nsg_bytes, pipnn, pipnn_bytes,
};
use pageway_types::{Metric, NodeId, Progress, VectorRead, VectorShape};
use rayon::ThreadPool;

use super::donor::Donor;
use super::phases::StageParts;
use super::pipeline::not_in_memory;
use crate::error::{Error, ErrorKind, Result};
use crate::resolve;
use crate::spec::{GraphSpec, IndexSpec};

/// A graph in memory, with the vectors it is a graph of.
pub(super) struct WholeGraph<'p> {
    rows: &'p [u8],
    pub(super) graph: Graph,
    /// The layers above, of an HNSW graph; top first.
    pub(super) layers: Vec<Layer>,
    metric: Metric,
    max_norm: Option<f32>,
    vectors: &'p dyn VectorRead,
}

/// The inputs of building a graph.
#[derive(Clone, Copy)]
pub(super) struct GraphInput<'p> {
    pub(super) vectors: &'p dyn VectorRead,
    pub(super) spec: &'p IndexSpec,
    pub(super) entry: NodeId,
    /// Rows that stand in for queries.
    pub(super) guests: &'p [NodeId],
    pub(super) max_norm: Option<f32>,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p dyn Progress,
}

impl<'p> WholeGraph<'p> {
    /// Builds the graph of vectors in memory, from graphs over parts of them if some are `joined`;
    /// or takes over that of `donor`.
    pub(super) fn build(
        input: GraphInput<'p>,
        joined: Option<Joined<'_>>,
        donor: Option<&Donor<'_>>,
    ) -> Result<Self> {
        let vectors = input.vectors;
        let rows = vectors.resident().ok_or_else(not_in_memory)?;
        let metric = input.spec.shape.metric;
        let kernels = resolve::kernels()?;
        let set = VectorSet::new(
            rows,
            vectors.shape(),
            metric.guide(),
            kernels,
            input.max_norm,
        )?;
        let (graph, layers) = match donor {
            Some(donor) => (donor.graph(input.entry, input.progress)?, Vec::new()),
            None => grow(&set, input, joined)?,
        };
        drop(set);
        Ok(Self {
            layers,
            ..Self::of(graph, input)?
        })
    }

    /// A graph of vectors that are in memory.
    pub(super) fn of(graph: Graph, input: GraphInput<'p>) -> Result<Self> {
        let vectors = input.vectors;
        Ok(Self {
            rows: vectors.resident().ok_or_else(not_in_memory)?,
            graph,
            layers: Vec::new(),
            metric: input.spec.shape.metric,
            max_norm: input.max_norm,
            vectors,
        })
    }

    /// The vectors, with their distances.
    pub(super) fn vectors(&self) -> Result<VectorSet<'_>> {
        let (kernels, shape) = (resolve::kernels()?, self.vectors.shape());
        let set = VectorSet::new(
            self.rows,
            shape,
            self.metric.guide(),
            kernels,
            self.max_norm,
        )?;
        Ok(set)
    }
}

fn grow(
    set: &VectorSet<'_>,
    input: GraphInput<'_>,
    joined: Option<Joined<'_>>,
) -> Result<(Graph, Vec<Layer>)> {
    let GraphInput {
        entry,
        guests,
        pool,
        progress,
        ..
    } = input;
    let algorithm = algorithm(input.spec).ok_or_else(|| {
        let what = "nodes of this graph have no lists";
        Error::new(ErrorKind::Internal, what)
    })?;
    algorithm.grow(set, (entry, guests, joined), pool, progress)
}

/// A way to build a graph, with its parameters.
pub(super) enum Algorithm {
    Vamana(VamanaSpec),
    Nsg(NsgSpec),
    Hnsw(HnswSpec),
    PiPnn(PiPnnSpec),
}

impl Algorithm {
    /// Builds a graph over `set`, and the layers above it, if any. Only Vamana and PiPNN know
    /// `guests`, and only PiPNN joins lists.
    pub(super) fn grow(
        &self,
        set: &VectorSet<'_>,
        (entry, guests, joined): (NodeId, &[NodeId], Option<Joined<'_>>),
        pool: &ThreadPool,
        progress: &dyn Progress,
    ) -> Result<(Graph, Vec<Layer>)> {
        Ok(match self {
            Self::Vamana(spec) => (
                build(set, (entry, guests), spec, pool, progress)?,
                Vec::new(),
            ),
            Self::Nsg(spec) => (nsg(set, entry, spec, pool, progress)?, Vec::new()),
            Self::Hnsw(spec) => {
                let built = hnsw(set, spec, pool, progress)?;
                (built.base, built.layers)
            }
            Self::PiPnn(spec) => {
                let built = pipnn(set, (entry, guests), (spec, joined), pool, progress)?;
                (built.graph, Vec::new())
            }
        })
    }

    /// The stages that it reports, with their rough shares.
    pub(super) const fn stages(&self) -> StageParts {
        match self {
            Self::Vamana(_) => &[
                ("mean of vectors", 0.01),
                ("medoid", 0.01),
                ("link vectors", 0.9),
                ("order lists", 0.05),
                ("check reachability", 0.03),
            ],
            Self::Nsg(_) => &[
                ("mean of vectors", 0.01),
                ("medoid", 0.01),
                ("find nearest", 0.5),
                ("choose neighbors", 0.3),
                ("link back", 0.1),
                ("fill lists", 0.05),
                ("check reachability", 0.05),
            ],
            Self::Hnsw(_) => &[
                ("link vectors", 0.9),
                ("order lists", 0.05),
                ("check reachability", 0.05),
            ],
            Self::PiPnn(_) => &[
                ("mean of vectors", 0.01),
                ("medoid", 0.01),
                ("carve groups", 0.15),
                ("compare neighbors", 0.45),
                ("link vectors", 0.08),
                ("order lists", 0.01),
                ("choose neighbors", 0.3),
                ("check reachability", 0.05),
            ],
        }
    }

    /// Nanoseconds of one thread per row, roughly.
    pub(super) fn nanos(&self, dimension: f64) -> f64 {
        match self {
            Self::Vamana(_) | Self::Hnsw(_) => 60_000.0 + 600.0 * dimension,
            Self::Nsg(_) => 120_000.0 + 1_200.0 * dimension,
            Self::PiPnn(_) => 30_000.0 + 200.0 * dimension,
        }
    }

    /// Bytes of building beside the vectors.
    pub(super) fn bytes(&self, shape: VectorShape, count: u64, threads: usize) -> u64 {
        match self {
            Self::Vamana(spec) => build_bytes(count, spec, threads),
            Self::Nsg(spec) => nsg_bytes(count, spec, threads),
            Self::Hnsw(spec) => hnsw_bytes(count, spec, threads),
            Self::PiPnn(spec) => pipnn_bytes(count, shape, spec, threads),
        }
    }
}

/// How the graph of a spec is built in one piece; `None` where nodes have no lists.
pub(super) fn algorithm(spec: &IndexSpec) -> Option<Algorithm> {
    let (seed, max_degree) = (spec.seed, spec.graph.max_degree());
    let build_list = spec.graph.build_list();
    Some(match spec.graph {
        GraphSpec::Clusters { .. } => return None,
        GraphSpec::Vamana { alpha, .. } => Algorithm::Vamana(VamanaSpec {
            max_degree,
            build_list,
            alpha,
            seed,
        }),
        GraphSpec::Nsg { knn, .. } => Algorithm::Nsg(NsgSpec {
            max_degree,
            build_list,
            knn,
            seed,
        }),
        GraphSpec::Hnsw { .. } => Algorithm::Hnsw(HnswSpec {
            max_degree,
            build_list,
            seed,
        }),
        GraphSpec::PiPnn {
            alpha,
            fanout,
            leaf,
            knn,
            ..
        } => Algorithm::PiPnn(PiPnnSpec {
            max_degree,
            alpha,
            fanout,
            leaf,
            knn,
            seed,
        }),
    })
}

/// How the graph of a shard is built: like the whole, with lists of `max_degree`. `None` for graphs
/// that cannot be merged from shards.
pub(super) fn shard_algorithm(spec: &IndexSpec, max_degree: u32) -> Option<Algorithm> {
    match algorithm(spec)? {
        Algorithm::Vamana(spec) => Some(Algorithm::Vamana(VamanaSpec { max_degree, ..spec })),
        Algorithm::PiPnn(spec) => Some(Algorithm::PiPnn(PiPnnSpec { max_degree, ..spec })),
        Algorithm::Nsg(_) | Algorithm::Hnsw(_) => None,
    }
}
