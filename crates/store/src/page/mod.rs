//! Page files: the one container of every file of an index.
//!
//! ```text
//! +--------+--------+--------+-- - - --+--------+
//! | header | unit 0 | unit 1 |         | unit n |      header: one page; unit: `span` pages
//! +--------+--------+--------+-- - - --+--------+
//! ```
//!
//! A unit is what is read and checksummed at once. Its checksum starts from the file's uuid and the
//! unit's number, so a unit that is misplaced, foreign or stale fails like a damaged one.
//! Format: `docs/format/page.md`.

mod blob_reader;
mod blob_writer;
mod buffer;
mod crc;
mod entry;
mod file;
mod geometry;
mod header;
mod seal;
mod uuid;
mod verify;
mod writer;

pub use blob_reader::BlobReader;
pub use blob_writer::BlobWriter;
pub(crate) use buffer::ALIGNMENT;
pub use buffer::AlignedBuffers;
pub use entry::{DATA_EXTENSION, FileEntry};
pub use file::PageFile;
pub(crate) use file::corrupt_unit;
pub use geometry::{MAX_UNIT_BYTES, PAGE_HEADER_BYTES, PageGeometry};
pub use header::PAGE_FORMAT_VERSION;
pub use seal::unit_epoch;
pub(crate) use seal::{LOST_WRITE, SealError, UnitSeal};
pub use uuid::FileUuid;
pub use verify::{FileVerdict, verify_file, verify_units};
pub use writer::PageFileWriter;
