//! Loading a segment.

use crate::error::Result;
use crate::execution::Searcher;
use crate::resolve::{self, CacheBytes, OpenPages, Source};

/// Loads what a segment holds in memory; `pages` are its records. A quantizer that one of `others`
/// shares is taken over.
pub(crate) fn load(
    source: Source<'_>,
    pages: OpenPages,
    caches: CacheBytes,
    others: &[Searcher],
) -> Result<Searcher> {
    let codebook = source.manifest.files.codebook.uuid;
    let shared = others.iter().find(|other| other.codebook == codebook);
    let shared = shared.map(|other| other.parts.quantizer());
    resolve::searcher(source, pages, caches, shared)
}
