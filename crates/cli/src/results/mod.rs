//! Answers of searches as files, by extension.
//!
//! ```text
//! any       the format of an extension
//! file      .ibin and .rangeres, as `pageway ground-truth` writes them
//! arrays    .npy: ids, and distances in a file beside it
//! lines     .csv and .jsonl
//! rows      vectors and ids at places of their own
//! vectors   vectors with ids, by extension
//! partial   a file that gets its name when it is complete
//! ```

mod any;
mod arrays;
mod file;
mod lines;
mod partial;
mod rows;
mod vectors;

pub(crate) use any::ResultsFile;
pub(crate) use rows::RowsFile;
pub(crate) use vectors::{Rows, VectorsOut};
