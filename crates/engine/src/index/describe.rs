//! What an index is, for `inspect`: read off the manifest alone.

use std::path::Path;

use pageway_store::{FileEntry, OsVfs};
use serde::Serialize;

use super::Index;
use crate::calibration::Calibration;
use crate::error::Result;
use crate::manifest::Manifest;
use crate::resolve;
use crate::spec::{CodecSpec, IndexSpec, LayoutSpec, ListSpec};

/// A file of an index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct FileDescription {
    /// Name inside the index directory.
    pub name: String,
    /// Pages, the header page not counted.
    pub pages: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// What an index is.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// Builds in this directory so far.
    pub generation: u64,
    /// Program and version that wrote it.
    pub created_by: String,
    /// Its design.
    pub spec: IndexSpec,
    /// Vectors.
    pub nodes: u64,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
    /// Bytes on disk, manifest not counted.
    pub index_bytes: u64,
    /// Mean length of adjacency lists.
    pub mean_degree: f64,
    /// Longest adjacency list there is.
    pub max_degree: u32,
    /// Partitions the graph was built in.
    pub shards: u32,
    /// Node where walks start.
    pub entry: Vec<u32>,
    /// Nodes whose adjacency lists share a page.
    pub nodes_per_page: u32,
    /// Vectors that share a page, where vectors have pages of their own.
    pub vectors_per_page: u32,
    /// Pages that one read takes, for large vectors.
    pub pages_per_read: u32,
    /// Share of the bytes of record pages that records fill.
    pub page_utilisation: f64,
    /// OR(G): mean share of a page's other nodes that a node of it names; absent where the graph
    /// was built in partitions.
    pub overlap: Option<f64>,
    /// Bytes of all adjacency lists in memory, packed, with what finds them; absent where memory
    /// does not hold lists.
    pub list_memory_bytes: Option<u64>,
    /// Bits that a neighbour takes of them.
    pub list_edge_bits: Option<f64>,
    /// Bytes of all adjacency lists on pages, packed, without room that is left; absent where those
    /// are not packed, or where the nodes of a page share a list.
    pub page_list_bytes: Option<u64>,
    /// Bits that a neighbour takes of them.
    pub page_edge_bits: Option<f64>,
    /// Memory of a search, unless `open` says otherwise.
    pub memory_bytes: u64,
    /// Its files.
    pub files: Vec<FileDescription>,
    /// Recall and cost by list size.
    pub calibration: Calibration,
}

/// Reads the manifest of the index in `dir` and nothing else.
///
/// # Errors
/// `NotFound`, `Corrupt` or `Incompatible`, as the manifest is.
pub fn describe(dir: &Path) -> Result<Description> {
    Description::of(&Manifest::read(&OsVfs, dir)?)
}

impl Index {
    /// What this index is.
    ///
    /// # Errors
    /// `Corrupt` when the manifest contradicts itself.
    pub fn description(&self) -> Result<Description> {
        Description::of(&self.manifest)
    }
}

impl Description {
    fn of(manifest: &Manifest) -> Result<Self> {
        let codec = resolve::codec(&manifest.spec, manifest.node_count)?;
        let map = codec.map();
        let list_memory_bytes = resolve::packed_list_bytes(manifest);
        let LayoutSpec {
            codec: form, lists, ..
        } = manifest.spec.layout;
        let shared = matches!(form, CodecSpec::PageNode { .. });
        let packs = lists == ListSpec::Packed && !shared;
        let page_list_bytes = manifest.graph.packed_bytes.filter(|_| packs);
        let edges = manifest.graph.mean_degree * f64::from(manifest.node_count);
        let edge_bits = |bytes: u64| bytes as f64 * 8.0 / edges.max(1.0);
        let files = manifest.files.all().into_iter().map(describe_file);
        Ok(Self {
            generation: manifest.generation,
            created_by: manifest.created_by.clone(),
            spec: manifest.spec.clone(),
            nodes: manifest.node_count.into(),
            raw_bytes: manifest.raw_bytes(),
            index_bytes: manifest.files.bytes()?,
            mean_degree: manifest.graph.mean_degree,
            max_degree: manifest.graph.max_degree,
            shards: manifest.graph.shards,
            entry: manifest.entry.iter().map(|node| node.0).collect(),
            nodes_per_page: map.nodes_per_page,
            vectors_per_page: map.vectors_per_page,
            pages_per_read: map.geometry.span(),
            page_utilisation: manifest.graph.page_utilisation,
            overlap: manifest.graph.overlap,
            list_memory_bytes,
            list_edge_bits: list_memory_bytes.map(edge_bits),
            page_list_bytes,
            page_edge_bits: page_list_bytes.map(edge_bits),
            memory_bytes: manifest.memory_bytes,
            files: files.collect::<Result<_>>()?,
            calibration: manifest.calibration.clone(),
        })
    }
}

fn describe_file(file: &FileEntry) -> Result<FileDescription> {
    Ok(FileDescription {
        name: file.name.clone(),
        pages: file.units * u64::from(file.span),
        bytes: file.file_bytes()?,
    })
}
