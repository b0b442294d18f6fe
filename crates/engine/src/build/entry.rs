//! Where walks start: fixed nodes, navigation graph, hash table, and the codes that go with them.

use pageway_graph::{
    Graph, HashBuild, HashTable, Layer, NavigationGraph, NavigationLayer, SampledVectors,
    VectorSet, fixed_entries,
};
use pageway_quant::{Quantizer, normalise};
use pageway_types::{Metric, NodeId, Progress, RowId, VectorRead};
use rayon::ThreadPool;

use super::order::{NodeOrder, row_of_unplaced};
use super::sample::{read_rows, sample_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::resolve::{self, EntryFile, Structure};
use crate::spec::{EntrySpec, IndexSpec};
use crate::storage::{ClusterTable, EntryCodes};

/// Rows among which fixed entries are looked for.
const FIXED_SAMPLE: u64 = 20_000;
/// Rows that are hashed at a time.
const HASHED_ROWS: usize = 2048;
/// Rows that hashes are trained on, at most.
const HASHED_ROWS_TRAINED: u64 = 1024;
/// Bytes of a hashed node beside its vector.
const HASHED_BYTES: u64 = 24;

/// The inputs of building entries.
pub(super) struct EntryBuild<'e, 't> {
    pub(super) vectors: &'e dyn VectorRead,
    pub(super) spec: &'e IndexSpec,
    pub(super) order: &'e NodeOrder,
    /// The node of the medoid's row.
    pub(super) medoid: NodeId,
    pub(super) layers: &'e [Layer],
    /// The clusters, if the design has them.
    pub(super) clusters: Option<&'t ClusterTable>,
    pub(super) quantizer: &'e Quantizer,
    pub(super) pool: &'e ThreadPool,
    pub(super) progress: &'e dyn Progress,
}

/// Fixed entries, nodes of the entry structure, and its file, if any.
pub(super) struct BuiltEntry<'t> {
    pub(super) nodes: Vec<NodeId>,
    /// Nodes of the structure; empty without one.
    pub(super) structure: Vec<NodeId>,
    pub(super) file: Option<EntryFile<'t>>,
}

impl<'t> EntryBuild<'_, 't> {
    /// Builds what the spec asks for.
    pub(super) fn run(&self) -> Result<BuiltEntry<'t>> {
        let mut nodes = vec![self.medoid];
        let in_bytes = |(nodes, bytes)| (nodes, Some(Structure::Bytes(bytes)));
        let (structure, written) = match self.spec.execution.entry {
            EntrySpec::Medoid => (Vec::new(), None),
            EntrySpec::Fixed { count } => {
                nodes.extend(self.fixed(count)?);
                nodes.dedup();
                nodes.truncate(count as usize);
                (Vec::new(), None)
            }
            EntrySpec::Navigation { .. } => in_bytes(self.navigation()?),
            EntrySpec::UpperLayers { .. } => in_bytes(self.upper_layers()?),
            EntrySpec::Hash { .. } => in_bytes(self.hash()?),
            EntrySpec::Clusters => {
                let table = self.clusters.ok_or_else(missing)?;
                (Vec::new(), Some(Structure::Clusters(table)))
            }
        };
        let in_file = resolve::entry_codes_in_file(self.spec, self.node_count());
        let codes = if in_file {
            let mut coded: Vec<NodeId> = nodes.iter().chain(&structure).copied().collect();
            coded.sort_unstable();
            coded.dedup();
            self.codes(coded)?
        } else {
            EntryCodes::default()
        };
        let file = (in_file || written.is_some()).then(|| EntryFile {
            structure: written.unwrap_or(Structure::Bytes(Vec::new())),
            codes,
        });
        Ok(BuiltEntry {
            nodes,
            structure,
            file,
        })
    }

    fn node_count(&self) -> u32 {
        self.vectors.count() as u32
    }

    /// Nodes nearest to the centres of clusters.
    fn fixed(&self, count: u32) -> Result<Vec<NodeId>> {
        let sampled = sample_rows(self.vectors.count(), FIXED_SAMPLE, self.spec.seed);
        let rows = read_rows(self.vectors, &sampled)?;
        let (shape, metric) = (self.vectors.shape(), self.spec.shape.metric);
        let set = VectorSet::new(&rows, shape, metric.guide(), resolve::kernels()?, None)?;
        let count = count.min(sampled.len() as u32);
        let found = fixed_entries(&set, count, self.spec.seed, self.pool, self.progress)?;
        let row = |at: NodeId| sampled.get(at.index()).map(|row| RowId(*row as u32));
        Ok(found
            .into_iter()
            .filter_map(row)
            .map(|row| self.order.node_of(row))
            .filter(|node| *node != self.medoid)
            .collect())
    }

    fn sampled(&self, rows: &[NodeId]) -> Result<SampledVectors> {
        let numbers: Vec<u64> = rows.iter().map(|row| row.0.into()).collect();
        Ok(SampledVectors {
            nodes: rows.to_vec(),
            rows: read_rows(self.vectors, &numbers)?,
            shape: self.vectors.shape(),
            metric: self.spec.shape.metric.guide(),
            kernels: resolve::kernels()?,
        })
    }

    fn navigation(&self) -> Result<(Vec<NodeId>, Vec<u8>)> {
        let spec = resolve::navigation_spec(self.spec, self.node_count()).ok_or_else(missing)?;
        let rows = NavigationGraph::sample(self.node_count(), &spec);
        let sampled = self.sampled(&rows)?;
        let graph = NavigationGraph::build(sampled, &spec, self.pool, self.progress)?;
        Ok(self.renumbered(graph))
    }

    fn upper_layers(&self) -> Result<(Vec<NodeId>, Vec<u8>)> {
        let Some((bottom, upper)) = self.layers.split_last() else {
            // Too few nodes for any layer: one sampled node leads to all.
            return self.navigation();
        };
        let place = |node: &NodeId| bottom.nodes.binary_search(node).ok().map(|at| at as u32);
        let upper = upper
            .iter()
            .map(|layer| NavigationLayer {
                members: layer.nodes.iter().filter_map(place).collect(),
                graph: layer.graph.clone(),
            })
            .collect();
        let sampled = self.sampled(&bottom.nodes)?;
        let bottom: Graph = bottom.graph.clone();
        let graph = NavigationGraph::from_layers(sampled, upper, bottom)?;
        Ok(self.renumbered(graph))
    }

    fn renumbered(&self, mut graph: NavigationGraph) -> (Vec<NodeId>, Vec<u8>) {
        graph.renumber(|node| self.order.node_of(row_of_unplaced(node)));
        (graph.nodes().to_vec(), graph.to_bytes())
    }

    fn hash(&self) -> Result<(Vec<NodeId>, Vec<u8>)> {
        let spec = resolve::hash_spec(self.spec, self.node_count()).ok_or_else(missing)?;
        let nodes = HashTable::sample(self.node_count(), &spec);
        let dimension = self.vectors.shape().dimension as usize;
        let step = HashBuild::step(nodes.len());
        let (mut mean, mut training) = (vec![0.0f64; dimension], Vec::new());
        let mut values = Vec::new();
        for (block, nodes) in nodes.chunks(HASHED_ROWS).enumerate() {
            self.read_directions(nodes, &mut values)?;
            let numbered = (block * HASHED_ROWS..).zip(values.chunks_exact(dimension));
            for (at, row) in numbered {
                for (sum, value) in mean.iter_mut().zip(row) {
                    *sum += f64::from(*value);
                }
                if at % step == 0 {
                    training.extend_from_slice(row);
                }
            }
        }
        let count = nodes.len().max(1) as f64;
        let mean: Vec<f32> = mean.iter().map(|sum| (sum / count) as f32).collect();
        let mut build = HashBuild::train(&training, &mean, &spec)?;
        for nodes in nodes.chunks(HASHED_ROWS) {
            self.read_directions(nodes, &mut values)?;
            build.add(nodes, &values);
        }
        let mut table = build.finish();
        table.renumber(|node| self.order.node_of(row_of_unplaced(node)));
        Ok((table.nodes().to_vec(), table.to_bytes()))
    }

    /// Rows of nodes that have not been placed, widened; of length 1 for cosine.
    fn read_directions(&self, nodes: &[NodeId], values: &mut Vec<f32>) -> Result<()> {
        let sampled = self.sampled(nodes)?;
        let shape = self.vectors.shape();
        let widen = resolve::kernels()?.widen(shape.element);
        values.resize(nodes.len() * shape.dimension as usize, 0.0);
        let rows = sampled.rows.chunks_exact(shape.row_bytes());
        for (row, out) in rows.zip(values.chunks_exact_mut(shape.dimension as usize)) {
            widen(row, out);
            if self.spec.shape.metric == Metric::Cosine {
                normalise(out);
            }
        }
        Ok(())
    }

    fn codes(&self, nodes: Vec<NodeId>) -> Result<EntryCodes> {
        let rows: Vec<u64> = nodes
            .iter()
            .map(|node| self.order.row_of(*node).0.into())
            .collect();
        let rows = read_rows(self.vectors, &rows)?;
        let mut codes = vec![0; nodes.len() * self.quantizer.code_bytes()];
        let element = self.vectors.shape().element;
        let mut encoder = self.quantizer.encoder(element, resolve::kernels()?);
        encoder.encode(&rows, &mut codes);
        Ok(EntryCodes { nodes, codes })
    }
}

/// Most bytes that building the entry takes beside the rows of all nodes.
pub(super) fn entry_building_bytes(spec: &IndexSpec, node_count: u32) -> u64 {
    let (vectors, row) = (
        spec.shape.vectors(),
        spec.shape.vectors().row_bytes() as u64,
    );
    let widened = 4 * u64::from(vectors.dimension);
    let rows = match spec.execution.entry {
        EntrySpec::Medoid | EntrySpec::UpperLayers { .. } | EntrySpec::Clusters => 0,
        EntrySpec::Fixed { .. } => FIXED_SAMPLE.min(node_count.into()) * (row + widened),
        EntrySpec::Navigation { .. } => {
            resolve::navigation_spec(spec, node_count).map_or(0, |own| u64::from(own.sample) * row)
        }
        EntrySpec::Hash { .. } => {
            let at_once = (HASHED_ROWS as u64 + HASHED_ROWS_TRAINED) * (row + widened);
            resolve::hash_spec(spec, node_count)
                .map_or(0, |own| at_once + u64::from(own.sample) * HASHED_BYTES)
        }
    };
    rows + 2 * resolve::entry_bytes(spec, node_count)
}

fn missing() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the entry of the spec has no parameters",
    )
}
