//! The graph of a build: whole, by the algorithm of the spec, or in shards that are merged.

use std::path::Path;
use std::sync::Arc;

use pageway_graph::{
    Graph, HnswSpec, Layer, NsgSpec, PiPnnSpec, VamanaSpec, VectorSet, build, build_bytes, hnsw,
    hnsw_bytes, nsg, nsg_bytes, pipnn, pipnn_bytes,
};
use pageway_store::Vfs;
use pageway_types::{Metric, NodeId, Progress, VectorRead, VectorShape};
use rayon::ThreadPool;

use super::phases::StageParts;
use super::pipeline::not_in_memory;
use super::sample::{read_rows, sample_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::manifest::Manifest;
use crate::memory::MemoryWish;
use crate::options::OpenOptions;
use crate::plan::least_memory;
use crate::resolve::{self, Source};
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

/// What a graph is built from.
#[derive(Clone, Copy)]
pub(super) struct GraphInput<'p> {
    pub(super) vectors: &'p dyn VectorRead,
    pub(super) spec: &'p IndexSpec,
    pub(super) entry: NodeId,
    /// Rows that stand in for queries.
    pub(super) guests: &'p [NodeId],
    pub(super) max_norm: Option<f32>,
    /// An index of the same vectors whose graph is taken over.
    pub(super) donor: Option<(&'p Arc<dyn Vfs>, &'p Path)>,
    pub(super) pool: &'p ThreadPool,
    pub(super) progress: &'p dyn Progress,
}

impl<'p> WholeGraph<'p> {
    /// Builds the graph of vectors that are in memory.
    pub(super) fn build(input: GraphInput<'p>) -> Result<Self> {
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
        let (graph, layers) = match input.donor {
            Some(donor) => (take_over(donor, input)?, Vec::new()),
            None => grow(&set, input)?,
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

/// Nodes whose lists are read per batch.
const BATCH: usize = 4096;

/// The graph of another index of the same rows, off its records.
fn take_over((vfs, dir): (&Arc<dyn Vfs>, &Path), input: GraphInput<'_>) -> Result<Graph> {
    let manifest = Manifest::read(vfs.as_ref(), dir)?;
    refuse_other_graph(&manifest, dir, input)?;
    refuse_other_vectors((vfs, dir), &manifest, input)?;
    let segment = manifest.first()?;
    let source = Source {
        vfs: vfs.as_ref(),
        dir,
        segment,
    };
    let reader = resolve::list_reader(source)?;
    let mut lists: Vec<Vec<NodeId>> = vec![Vec::new(); segment.node_count as usize];
    let nodes: Vec<NodeId> = (0..segment.node_count).map(NodeId).collect();
    input.progress.stage("read graph", nodes.len() as u64);
    for (batch, out) in nodes.chunks(BATCH).zip(lists.chunks_mut(BATCH)) {
        input.progress.check()?;
        reader.lists(batch, &mut |at, neighbors| {
            if let Some(list) = out.get_mut(at) {
                *list = neighbors.to_vec();
            }
        })?;
        input.progress.advance(batch.len() as u64);
    }
    let max_degree = input.spec.graph.max_degree();
    let slices = lists.iter().map(Vec::as_slice);
    Ok(Graph::from_lists(slices, max_degree, input.entry)?)
}

/// Rows that are compared before a graph is taken over.
const COMPARED_ROWS: u64 = 256;

/// Refuses an index that holds other vectors of the same shape. It is opened with the least memory,
/// which is less than its lists will take.
fn refuse_other_vectors(
    (vfs, dir): (&Arc<dyn Vfs>, &Path),
    manifest: &Manifest,
    input: GraphInput<'_>,
) -> Result<()> {
    let least = least_memory(&manifest.spec, manifest.node_count())?.reserved();
    let options = OpenOptions {
        memory: Some(MemoryWish::Bytes(least)),
        ..OpenOptions::default()
    };
    let index = Index::open_on(vfs, dir, &options)?;
    let rows = sample_rows(input.vectors.count(), COMPARED_ROWS, input.spec.seed);
    let widened = |vectors: &dyn VectorRead| -> Result<Vec<f32>> {
        let (bytes, element) = (read_rows(vectors, &rows)?, vectors.shape().element);
        let mut values = vec![0.0; element.components_in(bytes.len())];
        resolve::kernels()?.widen(element)(&bytes, &mut values);
        Ok(values)
    };
    if widened(&index)? == widened(input.vectors)? {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the graph of {} cannot be taken over: it is over other vectors",
        dir.display()
    )))
}

/// Whose lists are not those that this build would make.
fn refuse_other_graph(manifest: &Manifest, dir: &Path, input: GraphInput<'_>) -> Result<()> {
    let (theirs, ours) = (&manifest.spec, input.spec);
    let refuse = |what: &str| {
        Err(Error::invalid(format!(
            "the graph of {} cannot be taken over: {what}",
            dir.display()
        )))
    };
    let is_alike = theirs.shape.keeps(ours.shape) || ours.shape.keeps(theirs.shape);
    if !is_alike || u64::from(manifest.node_count()) != input.vectors.count() {
        return refuse("it is over other vectors");
    }
    if manifest.segments.len() > 1 {
        return refuse("it has several segments, each with a graph of its own");
    }
    if theirs.graph != ours.graph {
        return refuse("it was built with another algorithm, degree, list or alpha");
    }
    if !theirs.nodes_are_rows() || theirs.layout.codec.is_page_node() {
        return refuse("its nodes are not in the order of the data; take one with placement by_id");
    }
    if theirs.layout.lists.is_packed() {
        return refuse("its lists are packed and have lost their order; take one with lists plain");
    }
    if ours.execution.entry.needs_layers() {
        return refuse("it does not keep the upper layers that entry upper_layers needs");
    }
    Ok(())
}

fn grow(set: &VectorSet<'_>, input: GraphInput<'_>) -> Result<(Graph, Vec<Layer>)> {
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
    algorithm.grow(set, (entry, guests), pool, progress)
}

/// A way to build a graph, with its parameters.
pub(super) enum Algorithm {
    Vamana(VamanaSpec),
    Nsg(NsgSpec),
    Hnsw(HnswSpec),
    PiPnn(PiPnnSpec),
}

impl Algorithm {
    /// A graph over `set`, and the layers above it, if it has any. `guests` are known to Vamana
    /// and PiPNN alone.
    pub(super) fn grow(
        &self,
        set: &VectorSet<'_>,
        (entry, guests): (NodeId, &[NodeId]),
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
                let built = pipnn(set, (entry, guests), spec, pool, progress)?;
                (built.graph, Vec::new())
            }
        })
    }

    /// The stages that it reports, and about their parts of it.
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

    /// About how many nanoseconds a row takes one thread.
    pub(super) fn nanos(&self, dimension: f64) -> f64 {
        match self {
            Self::Vamana(_) | Self::Hnsw(_) => 60_000.0 + 600.0 * dimension,
            Self::Nsg(_) => 120_000.0 + 1_200.0 * dimension,
            Self::PiPnn(_) => 30_000.0 + 200.0 * dimension,
        }
    }

    /// Bytes that building takes beside the vectors.
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
