//! What an index says of itself: the manifest, the one file whose rename publishes an index, its
//! segments, and the files that these name. `docs/format/manifest.md`.

mod files;
mod segment;
mod stored;
#[cfg(test)]
mod tests;
mod whole;

pub(crate) use files::{FileKind, Files};
pub(crate) use segment::{GraphStatistics, SegmentEntry};
pub(crate) use whole::{MAX_SEGMENTS, Manifest};
