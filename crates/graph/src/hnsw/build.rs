//! The layers, the base first.

use pageway_types::{NodeId, Progress};

use super::level::Levels;
use super::spec::HnswSpec;
use crate::error::GraphError;
use crate::graph::Graph;
use crate::linking::{Insertion, Subset};
use crate::vectors::VectorSet;

/// A finished HNSW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hnsw {
    /// The layer of all nodes. Its entry is in every layer.
    pub base: Graph,
    /// The layers above, the top one first: the smallest, which a search enters. None when the set
    /// is too small for any.
    pub layers: Vec<Layer>,
}

/// A layer above the base, of at least two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its nodes, ascending. All of them are in the layers below too.
    pub nodes: Vec<NodeId>,
    /// Lists over positions in `nodes`: node `i` of the graph is `nodes[i]`. Its entry stands for
    /// the entry of the base.
    pub graph: Graph,
}

/// Builds an HNSW over `vectors`. Searches enter where all layers meet, so there is no entry to
/// choose.
///
/// Takes [`hnsw_bytes`](super::hnsw_bytes) of memory beside the vectors, and about
/// `build_list * max_degree` distances per vector for the base; the layers above add a share of
/// about `1 / M`. The layers are the same for any number of threads in `pool`.
///
/// # Errors
/// When a parameter is out of range, memory is refused, or `progress` cancels; that is noticed
/// within some milliseconds.
pub fn hnsw(
    vectors: &VectorSet<'_>,
    spec: &HnswSpec,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<Hnsw, GraphError> {
    spec.validate()?;
    let levels = Levels::draw(vectors.count(), spec.links(), spec.seed)?;
    let base = Insertion {
        vectors,
        entry: levels.top(),
        spec: spec.base(),
        guests: &[],
        progress,
    };
    pool.install(|| {
        let base = base.graph()?;
        let mut layers = Vec::new();
        for level in (1..=levels.highest()).rev() {
            let nodes = levels.layer(level)?;
            if nodes.len() > 1 {
                layers.push(layer(vectors, nodes, base.entry(), spec, progress)?);
            }
        }
        Ok(Hnsw { base, layers })
    })
}

/// The layer of `nodes`, entered at `top`, which is one of them.
fn layer(
    vectors: &VectorSet<'_>,
    nodes: Vec<NodeId>,
    top: NodeId,
    spec: &HnswSpec,
    progress: &dyn Progress,
) -> Result<Layer, GraphError> {
    let position = nodes.partition_point(|&node| node < top);
    let growth = Insertion {
        vectors: &Subset {
            vectors,
            nodes: &nodes,
        },
        entry: NodeId(position as u32),
        spec: spec.upper(),
        guests: &[],
        progress,
    };
    let graph = growth.graph()?;
    Ok(Layer { nodes, graph })
}
