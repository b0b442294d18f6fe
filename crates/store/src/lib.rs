//! The only door to the operating system: bytes, pages and files, never vectors.
//!
//! ```text
//! manifest   which files make up the current index, switched atomically
//! log        records that survive before the files that will hold them are written
//! io         lanes: many page reads and writes in flight (io_uring, threads, blocking, memory)
//! page       page files: a header page, then checksummed units
//! vfs        files and directories behind one trait, so that tests can crash and damage them
//! clock      monotonic time
//! fork       which process this is: what a child must not use of its parent
//! machine    memory, limits, and what the operating system counts
//! ```
//!
//! Invariants: every byte that leaves this crate was covered by a checksum or compared with one
//! that is; nothing is reported durable before `fsync` said so; no length found on disk is believed
//! before it has been compared with the size of the file. Formats: `docs/format/page.md`,
//! `docs/format/manifest.md`, `docs/format/log.md`.

pub mod clock;
mod error;
mod fork;
mod frame;
mod io;
mod log;
pub mod machine;
mod manifest;
mod page;
mod vfs;

pub use error::StoreError;
pub use fork::{PerProcess, Process};
pub use io::{
    IoBackend, IoCounters, IoProbe, LaneRequest, MAX_LANE_BUFFERS, PageDone, PageIo, PageRead,
    PageReader, PageWrite, probe,
};
pub use log::{
    Acknowledgement, Durability, GroupCommit, LOG_EXTENSION, LogDamage, LogFileReport, LogFloor,
    LogPlace, LogReport, LogTail, LogWriter, Lsn, MAX_RECORD_BYTES, OnDamage, Records, Replayed,
    Room, Sequence, inspect_log, replay_log,
};
pub use manifest::{
    DirectoryLock, LOCK_FILE, MANIFEST_FILE, MANIFEST_HEADER_BYTES, MANIFEST_TMP_FILE,
    MANIFEST_VERSION, MAX_MANIFEST_BYTES, commit_manifest, read_manifest, remove_orphans,
};
pub use page::{
    AlignedBuffers, BlobReader, BlobWriter, DATA_EXTENSION, FileEntry, FileUuid, FileVerdict,
    MAX_UNIT_BYTES, PAGE_FORMAT_VERSION, PAGE_HEADER_BYTES, PageFile, PageFileWriter, PageGeometry,
    unit_epoch, verify_file, verify_units,
};
pub use vfs::{LockGuard, OpenMode, OsVfs, Vfs, VfsFile, create_directory, is_url};
