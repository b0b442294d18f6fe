//! What an index says of itself: the manifest, the one file whose rename publishes an index, and
//! the files that it names. `docs/format/manifest.md`.

mod whole;

pub(crate) use whole::{FileKind, Files, GraphStatistics, Manifest};
