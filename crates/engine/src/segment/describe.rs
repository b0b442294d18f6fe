//! What a segment is, read off its entry in the manifest alone.

use pageway_types::ElementType;
use serde::Serialize;

use crate::error::Result;
use crate::manifest::SegmentEntry;
use crate::resolve;
use crate::spec::LayoutSpec;

/// What a segment of an index is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SegmentDescription {
    /// Row of the data that its first row is.
    pub first_row: u32,
    /// Vectors.
    pub nodes: u32,
    /// Element type of its files: f16 where that holds all of f32 vectors exactly.
    pub stored: ElementType,
    /// Components at the end of a vector that lie in a free bit of the others.
    pub folded: u32,
    /// Bytes on disk.
    pub index_bytes: u64,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Nodes where walks start, in its own numbers.
    pub entry: Vec<u32>,
    /// Mean length of adjacency lists.
    pub mean_degree: f64,
    /// Longest adjacency list there is.
    pub max_degree: u32,
    /// Partitions the graph was built in; 0 for a graph built whole.
    pub shards: u32,
    /// Share of the bytes of record pages that records fill.
    pub page_utilisation: f64,
    /// OR(G), as of the index.
    pub overlap: Option<f64>,
    /// Bytes of all adjacency lists in memory, packed, with what finds them; absent where memory
    /// does not hold lists.
    pub list_memory_bytes: Option<u64>,
    /// Bytes of all adjacency lists on pages, packed, without room that is left; absent where those
    /// are not packed, or where the nodes of a page share a list.
    pub page_list_bytes: Option<u64>,
}

impl SegmentDescription {
    pub(crate) fn of(segment: &SegmentEntry) -> Result<Self> {
        let LayoutSpec { codec, lists, .. } = segment.spec.layout;
        let packs = lists.is_packed() && !codec.is_page_node();
        let graph = segment.graph;
        Ok(Self {
            first_row: segment.first_row,
            nodes: segment.node_count,
            stored: segment.spec.shape.element,
            folded: segment.spec.layout.folded.unwrap_or(0),
            index_bytes: segment.files.bytes()?,
            code_bytes: segment.spec.storage.quantizer.code_bytes(),
            entry: segment.entry.iter().map(|node| node.0).collect(),
            mean_degree: graph.mean_degree,
            max_degree: graph.max_degree,
            shards: graph.shards,
            page_utilisation: graph.page_utilisation,
            overlap: graph.overlap,
            list_memory_bytes: resolve::packed_list_bytes(segment),
            page_list_bytes: graph.packed_bytes.filter(|_| packs),
        })
    }
}
