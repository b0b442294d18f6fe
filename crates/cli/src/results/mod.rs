//! Answers of searches as files, in the formats that `pageway ground-truth` writes.
//!
//! ```text
//! file      ids and distances, k per query or as many as there are
//! partial   a file that gets its name when it is complete
//! ```

mod file;
mod partial;

pub(crate) use file::ResultsFile;
