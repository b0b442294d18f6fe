//! Loading a segment.

use std::sync::Arc;

use pageway_quant::Quantizer;
use pageway_store::FileUuid;

use crate::error::Result;
use crate::execution::{IndexShape, Searcher};
use crate::resolve::{self, CacheBytes, OpenPages, Source};

/// A segment, open for searching.
pub(crate) struct Segment {
    /// Nodes of the segments before it: what its node 0 is in the index.
    pub(crate) base: u32,
    pub(crate) node_count: u32,
    pub(crate) searcher: Box<dyn Searcher>,
    /// What the scratch of a query must suit.
    pub(crate) index_shape: IndexShape,
    /// The file of its quantizer: segments with copies of one file share what was read of it.
    codebook: FileUuid,
}

impl Segment {
    /// Loads what a segment holds in memory, unless it is `shared` with another; `pages` are its
    /// records.
    pub(crate) fn load(
        (source, base): (Source<'_>, u32),
        pages: OpenPages,
        caches: CacheBytes,
        shared: Option<&Arc<Quantizer>>,
    ) -> Result<Self> {
        let segment = source.segment;
        Ok(Self {
            base,
            node_count: segment.node_count,
            searcher: resolve::searcher(source, pages, caches, shared)?,
            index_shape: resolve::index_shape(&segment.spec, segment.node_count)?,
            codebook: segment.files.codebook.uuid,
        })
    }

    /// The quantizer of the codes, if it is that of the file `codebook`.
    pub(crate) fn quantizer(&self, codebook: FileUuid) -> Option<&Arc<Quantizer>> {
        (self.codebook == codebook).then(|| self.searcher.quantizer())
    }
}
