//! Loading a segment.

use crate::error::Result;
use crate::execution::LoadedSegment;
use crate::resolve::{self, CacheBytes, OpenPages, Source};

/// Loads what a segment holds in memory; `pages` are its records. A quantizer that one of `others`
/// has of the same codebook file is taken over.
pub(crate) fn load<'o>(
    source: Source<'_>,
    pages: OpenPages,
    caches: CacheBytes,
    mut others: impl Iterator<Item = &'o LoadedSegment>,
) -> Result<LoadedSegment> {
    let codebook = source.segment.files.codebook.uuid;
    let shared = others.find(|other| other.codebook == codebook);
    let shared = shared.map(|other| other.parts.quantizer());
    resolve::segment(source, pages, caches, shared)
}
