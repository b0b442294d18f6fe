//! Indexes in object storage: published under the hashes of their bytes, read through a cache.
//!
//! ```text
//! place      a URL, and the store behind it
//! objects    requests to a store: repeated, counted, with a deadline
//! runner     the threads that asynchronous requests run on
//! version    what one published version names: files, hashes, checksums of blocks
//! publish    an index directory -> objects, a version, the pointer CURRENT
//! collect    removes what no version names
//! lease      who writes for a while
//! shared_log a log of one writer at a time, which fences those of before
//! log_snapshot  what a log has come to, so that its first records can go
//! vfs        a published version as a file system that is only read
//! blocks     a block of a file: from the cache, or by a request, always against its checksum
//! cache      blocks in one file on local disk, within a budget
//! ```
//!
//! Invariants: an object named by a hash never changes; a block is handed out only after its
//! checksum agreed with that of the version, wherever it came from; the engine checks its own
//! checksums of pages after that. Layout and promises: `docs/object-storage.md`.

mod blocks;
mod cache;
mod collect;
mod lease;
mod log_snapshot;
mod objects;
mod place;
mod publish;
mod runner;
mod shared_log;
mod version;
mod vfs;

pub use blocks::BLOCK_BYTES;
pub use cache::BlockCache;
pub use collect::{Collected, collect};
pub use lease::Lease;
pub use log_snapshot::{LogSnapshot, NewSnapshot};
pub use objects::{ObjectCounters, Objects, Patience};
pub use pageway_store::is_url;
pub use place::open_url;
pub use publish::{Published, publish};
pub use shared_log::{Appended, LogLead, LogNext, SharedLog, SharedRecord, place_of};
pub use vfs::{CacheMode, RemoteVfs};
