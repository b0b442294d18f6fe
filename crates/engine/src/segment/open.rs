//! Loading a segment.

use pageway_store::FileUuid;

use crate::error::Result;
use crate::execution::{IndexShape, Searcher};
use crate::resolve::{self, CacheBytes, OpenPages, Source};

/// A segment, open for searching.
pub(crate) struct Segment {
    pub(crate) searcher: Box<dyn Searcher>,
    /// What the scratch of a query must suit.
    pub(crate) index_shape: IndexShape,
    /// The file of its quantizer: segments with copies of one file share what was read of it.
    codebook: FileUuid,
}

impl Segment {
    /// Loads what a segment holds in memory; `pages` are its records. A quantizer that `other`
    /// shares is taken over.
    pub(crate) fn load(
        source: Source<'_>,
        pages: OpenPages,
        caches: CacheBytes,
        other: Option<&Self>,
    ) -> Result<Self> {
        let manifest = source.manifest;
        let codebook = manifest.files.codebook.uuid;
        let shared = other.filter(|other| other.codebook == codebook);
        let shared = shared.map(|other| other.searcher.quantizer());
        Ok(Self {
            searcher: resolve::searcher(source, pages, caches, shared)?,
            index_shape: resolve::index_shape(&manifest.spec, manifest.node_count)?,
            codebook,
        })
    }
}
