//! Loading a segment.

use std::sync::Arc;

use crate::error::Result;
use crate::execution::{IndexShape, LoadedSegment, Segment};
use crate::resolve::{self, CacheBytes, InCommon, OpenPages, Source};

/// Loads what a segment holds in memory; `pages` are its records,
/// and a scratch is to suit `shape`. What one of `others` has of the
/// same files is taken over: all but what is cached, or the quantizer of the same codebook.
pub(crate) fn load<'o>(
    source: Source<'_>,
    (pages, shape): (OpenPages, IndexShape),
    caches: CacheBytes,
    others: impl Iterator<Item = &'o LoadedSegment>,
) -> Result<LoadedSegment> {
    let files = &source.segment.files;
    let mut shared = InCommon::Nothing;
    for other in others.filter(|other| other.codebook == files.codebook.uuid) {
        if other.records == files.identity() {
            shared = InCommon::Fixed(other.parts.fixed());
            break;
        }
        shared = InCommon::Codebook(other.parts.quantizer());
    }
    resolve::segment(source, (pages.records, shape), caches, shared)
}

/// A segment without what is cached of it, for who reads it in order, and for long: it holds
/// nothing that the one that is searched does not.
pub(crate) fn uncached(source: Source<'_>, segment: &Segment) -> Result<Segment> {
    let shared = InCommon::Fixed(segment.parts.fixed());
    let records = segment.pages.clone();
    let loaded = resolve::segment(
        source,
        (records, segment.shape),
        CacheBytes::default(),
        shared,
    )?;
    let dead = segment.dead.clone();
    Ok(Segment::new(Arc::new(loaded), segment.base, dead))
}
