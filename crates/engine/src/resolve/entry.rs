//! Where walks start: sizes, the file, and its way back into memory.
//!
//! ```text
//! | structure length u64 | navigation graph or hash table, or nothing |
//! | nodes u32 | node u32 each | codes |
//! ```

use pageway_graph::{
    ClusterSpec, HashSpec, HashTable, NavigationGraph, NavigationScratch, NavigationSpec,
};
use pageway_store::FileEntry;
use pageway_types::{Metric, NodeId};

use super::{Source, kernels};
use crate::error::Result;
use crate::execution::{Entry, EntryPart, EntryShape};
use crate::spec::{EntrySpec, GraphSpec, IndexSpec};
use crate::storage::{ClusterTable, EntryCodes, MeanQuery};

/// Bits of a hash whatever the sample, at most.
const MAX_HASH_BITS: u32 = 24;

/// Nodes whose code is needed to start a walk, beside the fixed ones: a bound.
pub(crate) fn entry_sample(spec: &IndexSpec, node_count: u32) -> u32 {
    match spec.execution.entry {
        EntrySpec::Medoid | EntrySpec::Clusters => 1,
        EntrySpec::Fixed { count } => count.min(node_count),
        EntrySpec::Navigation { one_in, .. } | EntrySpec::Hash { one_in, .. } => {
            node_count.div_ceil(one_in).max(1)
        }
        // A node rises one layer with chance 1 / M; ten percent more for bad luck.
        EntrySpec::UpperLayers { .. } => {
            let m = (spec.graph.max_degree() / 2).max(2);
            (node_count / m + node_count / (10 * m) + 64).min(node_count)
        }
    }
}

/// Parameters of the navigation graph of a spec, if it has one.
pub(crate) fn navigation_spec(spec: &IndexSpec, node_count: u32) -> Option<NavigationSpec> {
    let sample = entry_sample(spec, node_count);
    let build_list = spec.graph.build_list();
    let seed = spec.seed;
    let max_degree = match spec.execution.entry {
        EntrySpec::Navigation { max_degree, .. } => max_degree,
        EntrySpec::UpperLayers { .. } => (spec.graph.max_degree() / 2).max(1),
        EntrySpec::Medoid
        | EntrySpec::Fixed { .. }
        | EntrySpec::Hash { .. }
        | EntrySpec::Clusters => return None,
    };
    Some(NavigationSpec {
        sample,
        max_degree,
        build_list,
        seed,
    })
}

/// Parameters of the hash table of a spec, if it has one.
pub(crate) fn hash_spec(spec: &IndexSpec, node_count: u32) -> Option<HashSpec> {
    let EntrySpec::Hash { radius, .. } = spec.execution.entry else {
        return None;
    };
    let sample = entry_sample(spec, node_count);
    Some(HashSpec {
        bits: HashTable::default_bits(sample.into()).clamp(1, MAX_HASH_BITS),
        sample,
        radius,
        seed: spec.seed,
    })
}

/// Parameters of the clusters of a spec, if its graph is one of those.
pub(crate) fn cluster_spec(spec: &IndexSpec) -> Option<ClusterSpec> {
    let GraphSpec::Clusters { members } = spec.graph else {
        return None;
    };
    let seed = spec.seed;
    Some(ClusterSpec { members, seed })
}

/// Clusters and groups of a spec; none where its graph has lists.
fn cluster_counts(spec: &IndexSpec, node_count: u32) -> (u32, u32) {
    cluster_spec(spec).map_or((0, 0), |spec| {
        (spec.clusters(node_count), spec.groups(node_count))
    })
}

/// Whether the codes of entry nodes are kept with the entry, because the code table lacks some.
pub(crate) fn entry_codes_in_file(spec: &IndexSpec, node_count: u32) -> bool {
    spec.storage.codes_in_memory(node_count) < node_count
}

/// Bytes in memory of the entry: a bound known before the build.
pub(crate) fn entry_bytes(spec: &IndexSpec, node_count: u32) -> u64 {
    let sample = u64::from(entry_sample(spec, node_count));
    let row_bytes = spec.shape.vectors().row_bytes() as u64;
    let code_bytes = u64::from(spec.storage.quantizer.code_bytes());
    let structure = if let Some(navigation) = navigation_spec(spec, node_count) {
        let one_layer = NavigationGraph::bytes_for(sample, row_bytes, navigation.max_degree);
        match spec.graph {
            // Layers above the lowest hold a fraction of its nodes, and no vectors.
            GraphSpec::Hnsw { .. } => one_layer + one_layer / 2,
            GraphSpec::Vamana { .. }
            | GraphSpec::Nsg { .. }
            | GraphSpec::PiPnn { .. }
            | GraphSpec::Clusters { .. } => one_layer,
        }
    } else if let Some(hash) = hash_spec(spec, node_count) {
        HashTable::bytes_for(sample, spec.shape.dimension.into(), hash.bits)
    } else {
        let (clusters, groups) = cluster_counts(spec, node_count);
        match clusters {
            0 => 0,
            _ => ClusterTable::bytes(clusters.into(), groups.into(), spec.shape),
        }
    };
    let codes = if entry_codes_in_file(spec, node_count) {
        EntryCodes::bytes(sample, code_bytes)
    } else {
        0
    };
    structure + codes
}

/// What a query's scratch needs for finding entries.
pub(super) fn scratch_shape(spec: &IndexSpec, node_count: u32) -> EntryShape {
    let (clusters, groups) = cluster_counts(spec, node_count);
    EntryShape {
        bytes: scratch_bytes(spec, node_count),
        groups: groups as usize,
        clusters: clusters as usize,
    }
}

fn scratch_bytes(spec: &IndexSpec, node_count: u32) -> usize {
    const PER_CANDIDATE: usize = 16;
    match (spec.execution.entry, navigation_spec(spec, node_count)) {
        (
            EntrySpec::Navigation { list_size, .. } | EntrySpec::UpperLayers { list_size },
            Some(navigation),
        ) => {
            let NavigationSpec {
                sample, max_degree, ..
            } = navigation;
            let search = NavigationScratch::bytes(sample, max_degree, list_size);
            search as usize + list_size as usize * PER_CANDIDATE
        }
        (EntrySpec::Hash { limit, .. }, _) => {
            limit as usize * PER_CANDIDATE + spec.shape.dimension as usize * 4
        }
        (EntrySpec::Clusters, _) => {
            let (_, groups) = cluster_counts(spec, node_count);
            MeanQuery::bytes(spec.shape.dimension as usize, groups as usize)
        }
        _ => 0,
    }
}

/// What an entry file is written of.
pub(crate) struct EntryFile<'t> {
    pub(crate) structure: Structure<'t>,
    pub(crate) codes: EntryCodes,
}

/// What walks start by.
pub(crate) enum Structure<'t> {
    /// A navigation graph or a hash table, or nothing.
    Bytes(Vec<u8>),
    Clusters(&'t ClusterTable),
}

/// What an entry file holds.
struct ReadEntry {
    structure: Vec<u8>,
    codes: EntryCodes,
}

impl Structure<'_> {
    /// Shows its bytes, piece by piece.
    fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Bytes(bytes) => out(bytes),
            Self::Clusters(table) => table.write(out),
        }
    }
}

impl EntryFile<'_> {
    /// Shows the file's payload, piece by piece.
    pub(crate) fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut length = 0;
        self.structure.write(&mut |piece| {
            length += piece.len() as u64;
            Ok(())
        })?;
        out(&length.to_le_bytes())?;
        self.structure.write(out)?;
        out(&(self.codes.nodes.len() as u32).to_le_bytes())?;
        for node in &self.codes.nodes {
            out(&node.0.to_le_bytes())?;
        }
        out(&self.codes.codes)
    }
}

impl ReadEntry {
    /// Reads what an entry file was written of; `None` where that is not what it is.
    fn from_bytes(bytes: &[u8], code_bytes: usize) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (structure, rest) = rest.split_at_checked(length)?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (nodes, codes) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (nodes, _) = nodes.as_chunks::<4>();
        let nodes: Vec<NodeId> = nodes
            .iter()
            .map(|word| NodeId(u32::from_le_bytes(*word)))
            .collect();
        let ascend = nodes.is_sorted_by(|left, right| left < right);
        let sound = ascend && codes.len() == count.checked_mul(code_bytes)?;
        sound.then(|| Self {
            structure: structure.to_vec(),
            codes: EntryCodes {
                nodes,
                codes: codes.to_vec(),
            },
        })
    }
}

/// Reads where walks start.
pub(super) fn load(source: Source<'_>) -> Result<EntryPart> {
    let segment = source.segment;
    let mut part = EntryPart {
        entry: Entry::Nodes,
        nodes: segment.entry.clone(),
        codes: EntryCodes::default(),
    };
    let in_memory = segment.spec.storage.codes_in_memory(segment.node_count);
    let Some(file) = &segment.files.entry else {
        let has_structure = !matches!(
            segment.spec.execution.entry,
            EntrySpec::Medoid | EntrySpec::Fixed { .. }
        );
        if has_structure || in_memory < segment.node_count {
            return Err(source.corrupt("entry", "missing from the manifest"));
        }
        return Ok(part);
    };
    let bytes = source.read(Some(file), "entry")?;
    let code_bytes = segment.spec.storage.quantizer.code_bytes() as usize;
    let read = ReadEntry::from_bytes(&bytes, code_bytes)
        .ok_or_else(|| source.corrupt(&file.name, "makes no sense"))?;
    drop(bytes);
    part.codes = read.codes;
    let shape = segment.spec.shape;
    part.entry = match segment.spec.execution.entry {
        EntrySpec::Medoid | EntrySpec::Fixed { .. } => Entry::Nodes,
        EntrySpec::Clusters => {
            let table = ClusterTable::from_bytes(&read.structure, shape, kernels()?)
                .filter(|table| table.node_count() == segment.node_count);
            let damaged = || source.corrupt(&file.name, "its clusters do not hold the nodes");
            Entry::Clusters(table.ok_or_else(damaged)?)
        }
        EntrySpec::Navigation { list_size, .. } | EntrySpec::UpperLayers { list_size } => {
            let vectors = (shape.vectors(), shape.metric);
            let graph = NavigationGraph::from_bytes(
                &read.structure,
                vectors.0,
                vectors.1.guide(),
                kernels()?,
            )
            .map_err(|error| source.corrupt(&file.name, error))?
            .for_queries(segment.element, (vectors.0, vectors.1.guide()), kernels()?)
            .ok_or_else(|| source.corrupt(&file.name, "its vectors are not those of queries"))?;
            Entry::Navigation {
                graph,
                list_size: list_size as usize,
            }
        }
        EntrySpec::Hash { limit, .. } => {
            let table = HashTable::from_bytes(&read.structure, shape.vectors())
                .map_err(|error| source.corrupt(&file.name, error))?;
            Entry::Hash {
                table,
                limit: limit as usize,
                unit: shape.metric == Metric::Cosine,
            }
        }
    };
    check_nodes(source, file, &part)?;
    Ok(part)
}

/// Every node that a walk may begin at exists and has a code.
fn check_nodes(source: Source<'_>, file: &FileEntry, part: &EntryPart) -> Result<()> {
    let segment = source.segment;
    let in_memory = segment.spec.storage.codes_in_memory(segment.node_count);
    let structure: &[NodeId] = match &part.entry {
        Entry::Nodes | Entry::Clusters(_) => &[],
        Entry::Navigation { graph, .. } => graph.nodes(),
        Entry::Hash { table, .. } => table.nodes(),
    };
    let coded = &part.codes.nodes;
    if coded
        .iter()
        .chain(structure)
        .any(|node| node.0 >= segment.node_count)
    {
        return Err(source.corrupt(&file.name, "an entry node does not exist"));
    }
    let has_code = |node: &NodeId| node.0 < in_memory || part.codes.place_of(*node).is_some();
    let walks = !matches!(part.entry, Entry::Clusters(_));
    if walks && !part.nodes.iter().chain(structure).all(has_code) {
        return Err(source.corrupt(&file.name, "an entry node has no code"));
    }
    Ok(())
}
