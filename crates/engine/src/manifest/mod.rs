//! What an index says of itself: the manifest, the one file whose rename publishes an index, its
//! segments, and the files that these name. `docs/format/manifest.md`.

mod changes;
mod files;
mod log;
mod segment;
mod stored;
#[cfg(test)]
mod tests;
mod whole;
mod wish;

pub(crate) use changes::ChangeEntry;
pub(crate) use files::{
    AdditionFiles, AttributeFiles, FileKind, Files, OverwrittenFiles, PatchFiles,
};
pub(crate) use log::{log_dir, remove_log};
pub(crate) use segment::{CodeError, GraphStatistics, PatchEntry, SegmentEntry};
pub(crate) use whole::{MAX_SEGMENTS, Manifest};
pub(crate) use wish::DesignWish;
