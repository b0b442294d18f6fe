//! From data to components: the one place that turns the enums of a spec into codecs, kernels and
//! policies.

use std::path::Path;

use pageway_kernels::KernelSet;
use pageway_quant::ProductQuantizer;
use pageway_store::{BlobReader, IoProbe, OpenMode, PageFile, PageReader, Vfs};
use pageway_types::NodeId;

use crate::cache::NodeCache;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Parts;
use crate::index::{Manifest, PageSearcher, Searcher};
use crate::layout::{PackedCodec, PageCodec};
use crate::spec::{CodecSpec, IndexSpec, NodeCacheSpec, QuantizerSpec};
use crate::storage::{CodeTable, gather};

/// Largest codebook that is believed: dimension 16,384 times 256 centroids of `f32`, and a header.
const MAX_CODEBOOK_BYTES: u64 = 16_384 * 257 * 4 + 4096;

/// Nodes whose records are loaded into a cache per batch.
const LOAD_BATCH: usize = 4096;

/// The kernels of this machine, or of `PAGEWAY_ISA`.
pub(crate) fn kernels() -> Result<&'static KernelSet> {
    KernelSet::detect().map_err(|error| Error::invalid(error.to_string()))
}

/// The record codec of a spec.
pub(crate) fn codec(spec: &IndexSpec, node_count: u32) -> Result<PackedCodec> {
    match spec.layout.codec {
        CodecSpec::Packed => PackedCodec::new(spec, node_count),
    }
}

/// Bytes of the quantizer in memory.
pub(crate) fn codebook_bytes(spec: &IndexSpec) -> u64 {
    match spec.storage.quantizer {
        QuantizerSpec::Pq { .. } => u64::from(spec.shape.dimension) * 257 * 4 + 4096,
    }
}

/// Opens the record file for reads by page.
pub(crate) fn record_reader(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
) -> Result<(PageFile, PageReader, IoProbe)> {
    let file = PageFile::open(vfs, dir, &manifest.files.records, OpenMode::ReadDirect)?;
    let codec = codec(&manifest.spec, manifest.node_count)?;
    let expected = codec.address().page_count();
    if file.units() != u64::from(expected) || file.geometry() != codec.geometry() {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "{}: its pages do not fit the spec of the manifest",
                file.path().display()
            ),
        ));
    }
    let (reader, probe) = PageReader::open(file.clone())?;
    Ok((file, reader, probe))
}

/// Loads what a searcher holds in memory. `cache_bytes` is what the node cache may take.
pub(crate) fn searcher(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    opened: (PageFile, PageReader),
    cache_bytes: u64,
) -> Result<Box<dyn Searcher>> {
    let spec = &manifest.spec;
    let (file, reader) = opened;
    let kernels = kernels()?;
    let shape = spec.shape;
    let codec = codec(spec, manifest.node_count)?;
    let cache = match spec.cache.nodes {
        NodeCacheSpec::None => NodeCache::default(),
        NodeCacheSpec::RecordsBreadthFirst => {
            let hot = hot_nodes(vfs, dir, manifest, &codec, cache_bytes)?;
            load_cache(&codec, &reader, &hot)?
        }
    };
    let parts = Parts {
        geometry: codec.geometry(),
        codec,
        cache,
        codes: codes(vfs, dir, manifest)?,
        quantizer: quantizer(vfs, dir, manifest)?,
        exact: kernels.distance(shape.element, shape.metric),
        widen: kernels.widen(shape.element),
        entry: manifest.entry.clone(),
        execution: spec.execution,
    };
    let row_bytes = shape.vectors().row_bytes();
    Ok(Box::new(PageSearcher {
        parts,
        reader,
        file,
        kernels,
        row_bytes,
    }))
}

/// Checks what `searcher` would load, apart from the records: the codebook, and the list of hot
/// nodes.
pub(crate) fn check_side_files(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<()> {
    quantizer(vfs, dir, manifest)?;
    let mut hot = BlobReader::open(vfs, dir, &manifest.files.hot)?;
    let mut word = [0; 4];
    while hot.remaining_bytes() > 0 {
        hot.read_exact(&mut word)?;
        let node = u32::from_le_bytes(word);
        if node >= manifest.node_count {
            let name = &manifest.files.hot.name;
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("{name}: node {node} is out of range"),
            ));
        }
    }
    Ok(())
}

fn codes(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<CodeTable> {
    let entry = &manifest.files.codes;
    let bytes = BlobReader::open(vfs, dir, entry)?.read_rest(entry.payload_bytes)?;
    Ok(CodeTable::new(bytes))
}

fn quantizer(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<ProductQuantizer> {
    let entry = &manifest.files.codebook;
    let bytes = BlobReader::open(vfs, dir, entry)?.read_rest(MAX_CODEBOOK_BYTES)?;
    let corrupt = |what: String| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{}: {what}", dir.join(&entry.name).display()),
        )
    };
    let quantizer =
        ProductQuantizer::from_bytes(&bytes).map_err(|error| corrupt(error.to_string()))?;
    let shape = manifest.spec.shape;
    let expected = (
        shape.dimension as usize,
        manifest.spec.storage.quantizer.code_bytes() as usize,
        shape.metric,
    );
    let found = (
        quantizer.dimension(),
        quantizer.code_bytes(),
        quantizer.metric(),
    );
    if found == expected {
        Ok(quantizer)
    } else {
        Err(corrupt(format!(
            "a quantizer for {found:?}, the manifest says {expected:?}"
        )))
    }
}

/// As many nodes of the hot list as `cache_bytes` holds records of.
fn hot_nodes(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    codec: &PackedCodec,
    cache_bytes: u64,
) -> Result<Vec<NodeId>> {
    let record_bytes = codec.record_bytes();
    let mut hot = BlobReader::open(vfs, dir, &manifest.files.hot)?;
    let listed = (hot.total_bytes() / 4).min(u64::from(manifest.node_count)) as usize;
    let count = NodeCache::capacity_for(cache_bytes, record_bytes, listed);
    let mut bytes = vec![0; count * 4];
    hot.read_exact(&mut bytes)?;
    let (words, _) = bytes.as_chunks::<4>();
    let mut nodes: Vec<NodeId> = words
        .iter()
        .map(|w| NodeId(u32::from_le_bytes(*w)))
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.retain(|node| node.0 < manifest.node_count);
    Ok(nodes)
}

fn load_cache(codec: &PackedCodec, reader: &PageReader, nodes: &[NodeId]) -> Result<NodeCache> {
    let record_bytes = codec.record_bytes();
    let mut cache = NodeCache::with_capacity(nodes.len(), record_bytes);
    for batch in nodes.chunks(LOAD_BATCH) {
        gather(codec, reader, batch, &mut |_, record| {
            cache.insert(record.node, record.bytes);
            Ok(())
        })?;
    }
    Ok(cache)
}
