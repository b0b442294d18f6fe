//! The manifest: which files make up the current index, and the protocol that switches it.
//!
//! ```text
//! data files synced -> directory synced -> MANIFEST.tmp written -> synced -> renamed to MANIFEST
//!                   -> directory synced -> acknowledged -> files of the old index removed
//! ```
//!
//! Each arrow bears load: `suites/tests/crash_store.rs` removes them one at a time and shows which
//! crash then loses the index. Format: `docs/format/manifest.md`.

mod commit;
mod container;
mod lock;
mod orphans;

pub use commit::{commit_manifest, read_manifest};
pub use container::{MANIFEST_HEADER_BYTES, MANIFEST_VERSION, MAX_MANIFEST_BYTES};
pub use lock::{DirectoryLock, LOCK_FILE};
pub use orphans::remove_orphans;

/// Name of the manifest in an index directory.
pub const MANIFEST_FILE: &str = "MANIFEST";

/// Name under which a manifest is written before it is renamed.
pub const MANIFEST_TMP_FILE: &str = "MANIFEST.tmp";
