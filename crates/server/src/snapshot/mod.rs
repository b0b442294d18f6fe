//! Collections as archives: made while changes go on, kept in a folder, and taken back.
//!
//! ```text
//! DATA/snapshots/COLLECTION/NAME.snapshot        a tar archive
//! DATA/snapshots/COLLECTION/NAME.snapshot.json   its checksum and when it was made
//! ```
//!
//! The first entry of an archive is `snapshot.json`, what is known of the collection; then come the
//! files of its indexes, `v0/FILE`. Nothing else is in one, and nothing else is taken out of one.

mod archive;
mod file;
mod folder;

pub(crate) use archive::{SnapshotHead, unpack};
pub(crate) use file::{FileSink, digits, sha256_of};
pub(crate) use folder::{SnapshotEntry, SnapshotFolder};
