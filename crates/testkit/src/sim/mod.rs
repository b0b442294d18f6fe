//! A file system in memory that separates what is durable from what only seems to be.
//!
//! ```text
//! file       durable bytes  + pending writes and lengths     -- sync_data --> durable
//! directory  durable names  + pending additions, renames,    -- sync_dir  --> durable
//!                             removals
//! ```
//!
//! A crash keeps the durable part and any subset of the pending part: any device sectors of any
//! pending write, any pending change of a directory. The running program sees everything it did.

mod contents;
mod digest;
mod file;
mod image;
mod names;
mod state;
mod verdicts;
mod vfs;

pub use contents::DEVICE_SECTOR_BYTES;
pub use image::Boundary;
pub use verdicts::{Tally, Verdicts};
pub use vfs::SimVfs;
